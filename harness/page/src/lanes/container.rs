//! The lanes of one container: its instances, its status in the API, its probes, and its signals.

use probity_model::Timeline;
use probity_model::timeline::{Attempt, ContainerKind, ContainerLife, ContainerSeen, Life, PodLife, State};
use probity_script::witness::Fact;

use super::{Item, Lane, LaneGroup, Look, probes, until_next, when};

/// The lanes of a container.
pub(super) fn group(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> LaneGroup {
    let kind = match container.kind {
        ContainerKind::Main => "container",
        ContainerKind::Sidecar => "sidecar",
        ContainerKind::Init => "init container",
        ContainerKind::Ephemeral => "ephemeral container",
    };
    let mut lanes = vec![
        Lane::new("instances", instances(run, pod, container)),
        Lane::new("status", status(run, pod, container)),
        Lane::new("restarts", restarts(pod, container)),
    ];
    lanes.extend(probes::lanes(run, container));
    lanes.push(Lane::new("signals and exits", signals(run, container)));
    LaneGroup { name: format!("{} / {kind} {}", pod.key, container.name), lanes }
}

/// The instances, each from its start to its end, according to the records of its target.
fn instances(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Vec<Item> {
    let span = |attempt: &Attempt<'_>| {
        let end = attempt.end();
        let ended = attempt.ended.as_ref();
        let until = end.map(|line| when(run, &line.at, line.id));
        let until = until.or(ended.map(|at| when(run, &at.stamp, at.id))).unwrap_or(run.ended_us);
        let how = Life { run, pod, container, attempt }.termination();
        let how = how.map(|(_, code)| format!(", ended with {code}")).unwrap_or_default();
        let still = if end.is_none() && ended.is_none() { ", running until the end of the case" } else { "" };
        let text = format!("instance {}{how}{still}", attempt.number);
        let events = [Some(attempt.began.id), end.map(|line| line.id), ended.map(|at| at.id)];
        let began = when(run, &attempt.began.stamp, attempt.began.id);
        Item::span(began, until, Look::Life, text, events.into_iter().flatten().collect())
    };
    container.attempts.iter().map(span).collect()
}

/// The container's status as the API server showed it.
fn status(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Vec<Item> {
    let shown: Vec<_> = pod
        .changes_of(&container.name)
        .map(|(revision, seen)| (revision.at.at.lo, (revision.id, look_of(&seen), status_in_words(&seen))))
        .collect();
    let gone = pod.revisions.iter().find(|revision| revision.gone).map(|revision| revision.at.at.lo);
    let spans = until_next(&shown, gone.unwrap_or(run.ended_us));
    spans.map(|(at, until, (id, look, text))| Item::span(at, until, *look, text, vec![*id])).collect()
}

fn look_of(seen: &ContainerSeen<'_>) -> Look {
    match &seen.state {
        State::Running { .. } if seen.ready => Look::Good,
        State::Running { .. } => Look::Mixed,
        State::Terminated { .. } => Look::Ended,
        State::Waiting { .. } | State::Unknown => Look::Faint,
    }
}

fn status_in_words(seen: &ContainerSeen<'_>) -> String {
    let state = match &seen.state {
        State::Running { .. } => "running".to_owned(),
        State::Waiting { reason } => format!("waiting: {reason}"),
        State::Terminated { code, reason, .. } => format!("ended with {code}: {reason}"),
        State::Unknown => "no state".to_owned(),
    };
    let started = if seen.started == Some(true) { "started" } else { "not started" };
    let ready = if seen.ready { "ready" } else { "not ready" };
    format!("status: {state}; {started}, {ready}, restartCount {}", seen.restarts)
}

/// The revisions in which the count of restarts grew.
fn restarts(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Vec<Item> {
    let mut known = 0;
    let mut items = Vec::new();
    for (revision, seen) in pod.changes_of(&container.name) {
        if seen.restarts > known {
            let why = match &seen.last {
                State::Terminated { code, reason, .. } => {
                    format!("; the last one ended with {code} ({reason})")
                }
                _ => String::new(),
            };
            let text = format!("restartCount {}{why}", seen.restarts);
            items.push(Item::point(revision.at.at.lo, Look::Alarm, text, revision.id));
            known = seen.restarts;
        }
    }
    items
}

/// Signals, and the report of the process when it exited by itself.
fn signals(run: &Timeline<'_>, container: &ContainerLife<'_>) -> Vec<Item> {
    let lines = container.attempts.iter().flat_map(|attempt| &attempt.lines);
    let items = lines.filter_map(|line| {
        let (look, text) = match &line.line.fact {
            Fact::Signal(signal) => match &signal.child {
                Some(child) => {
                    (Look::Plain, format!("{} of child {child}: {}", signal.signal, signal.answer))
                }
                None => (Look::Alarm, format!("{}: {}", signal.signal, signal.answer)),
            },
            Fact::Exiting(exiting) => (Look::Ended, format!("exits with {}: {}", exiting.code, exiting.why)),
            Fact::Trouble(trouble) => (Look::Alarm, format!("trouble: {}: {}", trouble.doing, trouble.error)),
            Fact::Change(_) => (Look::Plain, "its plan was changed".to_owned()),
            Fact::Mark(mark) => (Look::Plain, format!("mark {} by {}", mark.name, mark.by)),
            _ => return None,
        };
        Some(Item::point(when(run, &line.at, line.id), look, text, line.id))
    });
    items.collect()
}
