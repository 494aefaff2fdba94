//! The lanes of everything except containers: pods, endpoints, the node, and the harness.

use std::collections::BTreeMap;

use probity_model::history::{Listener, Source};
use probity_model::timeline::{PodLife, ServiceSeen};
use probity_model::{Clock, Stamp, Timeline};

use super::{Item, Lane, LaneGroup, Look, until_next, words};

/// Stalls are drawn as one if the time between them is less than one part in this many of the case's duration.
const TOO_CLOSE_TO_SEE: i64 = 1000;

/// Conditions that change once at the start of every pod and say nothing about probes.
const DULL: [&str; 3] = ["PodScheduled", "Initialized", "PodReadyToStartContainers"];

/// The lanes of a pod: its phase, its conditions, the events recorded for it.
pub(super) fn pod(run: &Timeline<'_>, pod: &PodLife<'_>) -> LaneGroup {
    let gone = pod.revisions.iter().find(|revision| revision.gone).map(|revision| revision.at.at.lo);
    let end = gone.unwrap_or(run.ended_us);
    let mut lanes = vec![Lane::new("phase", phases(pod, end))];
    lanes.extend(conditions(pod).into_iter().map(|kind| condition(pod, &kind, end)));
    let events = pod.events.iter().map(|event| {
        let look = if event.kind == "Warning" { Look::Alarm } else { Look::Plain };
        Item::point(event.at.at.lo, look, format!("{}: {}", event.reason, event.message), event.id)
    });
    lanes.push(Lane::new("events", events.collect()));
    LaneGroup { name: format!("Pod {}", pod.key), lanes }
}

fn phases(pod: &PodLife<'_>, end: i64) -> Vec<Item> {
    let mut changes: Vec<(i64, (_, String, Look))> = Vec::new();
    for revision in pod.revisions.iter().filter(|revision| !revision.gone) {
        let going = if revision.terminating() { ", terminating" } else { "" };
        let text = format!("phase {}{going}", revision.phase());
        if changes.last().is_some_and(|(_, (_, last, _))| *last == text) {
            continue;
        }
        let look = match revision.phase() {
            _ if revision.terminating() => Look::Ended,
            "Running" => Look::Life,
            "Succeeded" => Look::Good,
            "Failed" => Look::Bad,
            _ => Look::Faint,
        };
        changes.push((revision.at.at.lo, (revision.id, text, look)));
    }
    until_next(&changes, end)
        .map(|(at, until, (id, text, look))| Item::span(at, until, *look, text, vec![*id]))
        .collect()
}

/// The types of the conditions that have a lane, in the order in which they appeared.
fn conditions(pod: &PodLife<'_>) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for revision in &pod.revisions {
        let of = revision.object.get("status").and_then(|status| status.get("conditions")?.as_array());
        let of = of.into_iter().flatten().filter_map(|condition| condition.get("type")?.as_str());
        for kind in of {
            if !DULL.contains(&kind) && !kinds.iter().any(|known| known == kind) {
                kinds.push(kind.to_owned());
            }
        }
    }
    kinds.sort_by_key(|kind| kind != "Ready");
    kinds
}

fn condition(pod: &PodLife<'_>, kind: &str, end: i64) -> Lane {
    let changes: Vec<_> = pod
        .changes_of_condition(kind)
        .map(|(revision, now)| (revision.at.at.lo, (revision.id, now)))
        .collect();
    let items = until_next(&changes, end).map(|(at, until, (id, now))| {
        let (look, word) = if *now { (Look::Good, "true") } else { (Look::Faint, "not true") };
        Item::span(at, until, look, format!("condition {kind} is {word}"), vec![*id])
    });
    Lane::new(format!("condition {kind}"), items.collect())
}

/// A group for each Service, with a lane for each of its endpoints.
pub(super) fn endpoints(run: &Timeline<'_>) -> Vec<LaneGroup> {
    let group = |service: &ServiceSeen<'_>| {
        let mut pods: Vec<&str> = Vec::new();
        for endpoint in service.slices.iter().flat_map(|slice| &slice.endpoints) {
            if !pods.contains(&endpoint.pod) {
                pods.push(endpoint.pod);
            }
        }
        let lanes = pods.into_iter().map(|pod| endpoint(run, service, pod)).collect();
        LaneGroup { name: format!("Endpoints of {}", service.name), lanes }
    };
    run.services.iter().map(group).collect()
}

/// The endpoint of a pod, from each change in its slice to the next.
fn endpoint(run: &Timeline<'_>, service: &ServiceSeen<'_>, pod: &str) -> Lane {
    let mut changes: Vec<(i64, (_, String, Look))> = Vec::new();
    let mut holder = "";
    for slice in &service.slices {
        let (text, look) = match slice.of_pod(pod) {
            // A Service may have several slices. Slices that never contained the pod say nothing about it.
            None if slice.name != holder => continue,
            None => ("not in the slice".to_owned(), Look::Faint),
            Some(endpoint) => {
                holder = slice.name;
                let word = |of: Option<bool>| of.map_or("unset", |of| if of { "true" } else { "false" });
                let look = if endpoint.ready == Some(false) { Look::Mixed } else { Look::Good };
                let (ready, serving) = (word(endpoint.ready), word(endpoint.serving));
                (
                    format!("ready {ready}, serving {serving}, terminating {}", word(endpoint.terminating)),
                    look,
                )
            }
        };
        if changes.last().is_none_or(|(_, (_, last, _))| *last != text) {
            changes.push((slice.at.at.lo, (slice.id, text, look)));
        }
    }
    let items = until_next(&changes, run.ended_us)
        .map(|(at, until, (id, text, look))| Item::span(at, until, *look, text, vec![*id]));
    let known = run.pods.iter().find(|known| known.name == pod).map_or(pod, |known| known.key.as_str());
    Lane::new(known, items.collect())
}

/// The stalls of the node, the targets, the harness and the watch, each in a separate lane.
pub(super) fn node(run: &Timeline<'_>) -> LaneGroup {
    let mut lanes: BTreeMap<(Listener, String), Vec<(i64, i64)>> = BTreeMap::new();
    for (_, noise) in run.noise.iter().chain(&run.late_kubelet) {
        let on = |us| {
            run.clocks
                .on_harness(&Stamp { clock: noise.clock.clone(), at: probity_model::Interval::point(us) })
        };
        if let (Some(from), Some(to)) = (on(noise.from_us), on(noise.to_us)) {
            let node = match &noise.clock {
                Clock::Node(node) | Clock::Wall(node) if run.history.header.nodes.len() > 1 => {
                    format!(", {node}")
                }
                _ => String::new(),
            };
            lanes.entry((noise.by, node)).or_default().push((from.lo, to.hi));
        }
    }
    let near =
        (run.ended_us - lanes.values().flatten().map(|span| span.0).min().unwrap_or(0)) / TOO_CLOSE_TO_SEE;
    let mut lanes: Vec<Lane> = lanes
        .into_iter()
        .map(|((by, node), spans)| {
            let name = who(by);
            let items = joined(spans, near).into_iter().filter(|(from, _)| *from < run.ended_us);
            let items = items.map(|(from, to)| Item::span(from, to, Look::Stalled, name, Vec::new()));
            Lane::new(format!("{name}{node}"), items.collect())
        })
        .collect();
    let gaps = run.gaps.iter().map(|(id, gap)| {
        let of = match &gap.of {
            Source::Watch(kind) => format!("the watch of {kind}"),
            Source::Recorder => "the recorder".to_owned(),
            Source::Witness { pod, container } => format!("{pod}/{container}"),
        };
        Item::span(gap.from_us, gap.to_us, Look::Alarm, format!("not heard of {of}: {}", gap.why), vec![*id])
    });
    lanes.push(Lane::new("gaps", gaps.collect()));
    LaneGroup { name: "Node and watch".to_owned(), lanes }
}

fn who(by: Listener) -> &'static str {
    match by {
        Listener::Harness => "harness stalled",
        Listener::Target => "target stalled",
        Listener::Metronome => "kubelet late",
        Listener::Node => "node busy",
        Listener::Overload => "node overloaded",
        Listener::Echo => "watch late",
    }
}

/// Spans in order. Spans that touch or nearly touch are joined.
fn joined(mut spans: Vec<(i64, i64)>, near: i64) -> Vec<(i64, i64)> {
    spans.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 + near => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// What the harness did.
pub(super) fn harness(run: &Timeline<'_>) -> LaneGroup {
    let deeds = run.deeds.iter().map(|(id, deed)| {
        let until = super::heard(run, *id);
        Item::span(deed.began_us.min(until), until, Look::Plain, words(run, *id), vec![*id])
    });
    let lanes = vec![Lane::new("what it did", deeds.collect())];
    LaneGroup { name: "Harness".to_owned(), lanes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_that_nearly_touch_are_one() {
        assert_eq!(joined(vec![(5, 9), (0, 3), (10, 12), (20, 21)], 2), [(0, 12), (20, 21)]);
    }
}
