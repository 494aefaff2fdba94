//! Why a clause that the case targets was not exercised, as far as the history shows it.

use serde_json::Value;

use crate::history::{Did, EventId, Happening};
use crate::measure::seconds;
use crate::stamp::Stamp;
use crate::timeline::{PodLife, Timeline};
use crate::verdict::{Doubt, Verdict};

/// A quarter of a case is a large part.
const LARGE_PART: i64 = 4;
/// The maximum length of a message of the cluster in an explanation, in characters.
const LONGEST: usize = 300;
/// The waiting reasons that every container has for a while, or that the case causes on purpose. They explain nothing.
const USUAL_WAITS: [&str; 3] = ["ContainerCreating", "PodInitializing", "CrashLoopBackOff"];

/// An explanation, and the event that shows it.
type Explanation = (EventId, String);

/// The verdict on a clause that was not exercised. A failed step is a better explanation than missing evidence. Without a
/// failed step, the verdict names the wait that timed out, the pod that did not start, and the busy node.
pub(super) fn unseen(timeline: &Timeline<'_>) -> Verdict {
    if let Some((id, why)) = failed(timeline) {
        return Verdict::Inconclusive { doubt: Doubt::StepFailed, why, events: vec![id] };
    }
    let obstacle = timeline.pods.iter().find_map(obstacle).or_else(|| refused_pods(timeline));
    let (events, found): (Vec<_>, Vec<_>) = timed_out(timeline).into_iter().chain(obstacle).unzip();
    let unseen = "the situation that the clause is about was not observed, although the case targets it";
    let words: Vec<String> = [unseen.to_owned()].into_iter().chain(found).chain(busiest(timeline)).collect();
    Verdict::Inconclusive { doubt: Doubt::Unseen, why: words.join("; "), events }
}

/// The first step that failed, or the early end of the case. A rejected patch is not a failed step: cases send invalid
/// patches on purpose, and resizes for which no node has room.
fn failed(timeline: &Timeline<'_>) -> Option<Explanation> {
    timeline.history.events().find_map(|(id, event)| match &event.what {
        Happening::Deed(deed) => match &deed.did {
            Did::Failed { why, .. } if why.contains("422 Invalid") => None,
            Did::Failed { what, why } if what.contains("(resize)") && why.contains("403 Forbidden") => None,
            Did::Failed { what, why } => Some((id, format!("a step failed: {what}: {why}"))),
            Did::Over { why } if why != "done" => Some((id, format!("the case ended early: {why}"))),
            _ => None,
        },
        _ => None,
    })
}

/// The first wait of the case that timed out.
fn timed_out(timeline: &Timeline<'_>) -> Option<Explanation> {
    timeline.deeds.iter().find_map(|(id, deed)| match &deed.did {
        Did::Waited { what, came: false } => Some((*id, format!("a step timed out: {what}"))),
        _ => None,
    })
}

/// What keeps a pod from running, according to its last revision and, if its containers are not created yet, its last
/// warning.
fn obstacle(pod: &PodLife<'_>) -> Option<Explanation> {
    let last = pod.last().filter(|last| !last.gone && !last.terminating())?;
    let status = last.object.get("status")?;
    let name = &pod.name;
    if last.phase() == "Failed" && !text(status, "reason").is_empty() {
        return Some((last.id, format!("the pod {name} failed with {}", reason(status))));
    }
    let scheduled = last.condition("PodScheduled").filter(|one| text(one, "status") == "False");
    if let Some(scheduled) = scheduled.filter(|one| text(one, "reason") == "Unschedulable") {
        let message = shortened(text(scheduled, "message"));
        return Some((last.id, format!("the pod {name} could not be scheduled: {message}")));
    }
    let lists = ["initContainerStatuses", "containerStatuses"];
    let statuses = lists.iter().filter_map(|list| status.get(list)?.as_array()).flatten();
    let waits = statuses.filter_map(|of| Some((text(of, "name"), of.get("state")?.get("waiting")?)));
    let mut unusual = waits.filter(|(_, waiting)| !USUAL_WAITS.contains(&text(waiting, "reason")));
    if let Some((container, waiting)) = unusual.find(|(_, waiting)| !text(waiting, "reason").is_empty()) {
        let why = format!("the container {container} of the pod {name} was waiting: {}", reason(waiting));
        return Some((last.id, why));
    }
    let warning = pod.events.iter().rfind(|event| event.kind == "Warning" && last.phase() == "Pending")?;
    let why = format!("{}: {}", warning.reason, shortened(warning.message));
    Some((warning.id, format!("the pod {name} did not start, with the warning {why}")))
}

/// The last event with which a controller reports that it cannot create the pods of a workload.
fn refused_pods(timeline: &Timeline<'_>) -> Option<Explanation> {
    timeline.history.events().rev().find_map(|(id, event)| {
        let Happening::Sighting(seen) = &event.what else { return None };
        let of = seen.object.get("involvedObject").filter(|_| seen.kind == "Event")?;
        let is_meant = text(&seen.object, "reason") == "FailedCreate" && text(of, "kind") != "Pod";
        (is_meant && event.us <= timeline.ended_us).then(|| {
            let (kind, name) = (text(of, "kind"), text(of, "name"));
            let message = shortened(text(&seen.object, "message"));
            (id, format!("the pods of the {kind} {name} could not be created: {message}"))
        })
    })
}

/// The node of the case that was busy or stalled for the longest time, if that was a large part of the case.
fn busiest(timeline: &Timeline<'_>) -> Option<String> {
    let (start, end) = (Stamp::harness(0), Stamp::harness(timeline.ended_us));
    let noise = |node| timeline.late_between(node, (&start, &end), i64::MAX);
    let nodes = timeline.pods.iter().map(|pod| (noise(&pod.node), &pod.node));
    let (stalled, node) = nodes.max().filter(|(stalled, _)| stalled * LARGE_PART > timeline.ended_us)?;
    Some(format!(
        "{node} or the harness was busy or stalled for {} of {}",
        seconds(stalled),
        seconds(timeline.ended_us)
    ))
}

/// The reason and the message of a status.
fn reason(of: &Value) -> String {
    match text(of, "message") {
        "" => text(of, "reason").to_owned(),
        message => format!("{}: {}", text(of, "reason"), shortened(message)),
    }
}

fn shortened(message: &str) -> String {
    message.chars().take(LONGEST).collect()
}

fn text<'v>(of: &'v Value, field: &str) -> &'v str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}
