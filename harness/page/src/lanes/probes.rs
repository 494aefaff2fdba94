//! The probes of a container with their answers: one lane for each kind.

use probity_model::Timeline;
use probity_model::timeline::{Attempt, ContainerLife, Probe, ProbeKind, ProbeOutcome};

use super::{Item, Lane, Look, when};

/// A lane for each kind of probe, lanes for requests that can belong to several kinds, and one lane for all other
/// requests.
pub(super) fn lanes(run: &Timeline<'_>, container: &ContainerLife<'_>) -> Vec<Lane> {
    let mut lanes: Vec<Lane> =
        container.probes.iter().map(|spec| Lane::new(name(&[spec.kind]), Vec::new())).collect();
    for attempt in &container.attempts {
        for probe in &attempt.probes {
            let (name, item) = of_probe(run, container, attempt, probe);
            match lanes.iter_mut().find(|lane| lane.name == name) {
                Some(lane) => lane.items.push(item),
                None => lanes.push(Lane::new(name, vec![item])),
            }
        }
    }
    lanes.push(Lane::new("other requests", others(run, container)));
    lanes
}

fn name(kinds: &[ProbeKind]) -> String {
    let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
    format!("{} probes", words.join(" or "))
}

/// A probe: its lane and its item. A lifecycle hook that requests the same endpoint is marked as a hook.
fn of_probe(
    run: &Timeline<'_>,
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    probe: &Probe<'_>,
) -> (String, Item) {
    let asked = attempt.request(probe);
    let is_hook = asked
        .is_some_and(|asked| asked.header("user-agent").any(|agent| agent.starts_with("kube-lifecycle")));
    let lane = if is_hook { "hooks".to_owned() } else { name(&probe.kinds) };
    let spec = probe.kinds.first().and_then(|kind| container.probe(*kind));
    let look = match spec.map(|spec| attempt.result(probe, spec).outcome()) {
        Some(ProbeOutcome::Success) => Look::Good,
        Some(ProbeOutcome::Failure) => Look::Bad,
        Some(ProbeOutcome::Unclear) | None => Look::Mixed,
    };
    let at = when(run, &probe.at, probe.id);
    let settled = probe.settled.as_ref().map_or(at, |settled| when(run, &settled.stamp, settled.id));
    (lane, Item::span(at, settled, look, in_words(attempt, probe), probe.events()))
}

/// The request and the answer.
fn in_words(attempt: &Attempt<'_>, probe: &Probe<'_>) -> String {
    if let Some(asked) = attempt.request(probe) {
        let what = match (&asked.request.service, probe.endpoint) {
            (Some(service), _) => format!("health of `{service}`"),
            (None, Some(endpoint)) => format!("{} of {endpoint}", asked.request.method),
            (None, None) => format!("{} {}", asked.request.method, asked.request.target),
        };
        let answer = asked.answer.as_ref().map(|answer| {
            let broke = answer.error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("answered {}{broke}", answer.answer)
        });
        return format!("{what}: {}", answer.unwrap_or_else(|| "no answer".to_owned()));
    }
    if let Some(command) = attempt.command(probe) {
        let exit = command.ended.as_ref().map(|ended| ended.exit);
        let how = match exit {
            Some(Some(status)) => format!("ended with {status}"),
            Some(None) => "was cut off".to_owned(),
            None => "did not end".to_owned(),
        };
        return format!("{}: {how}", command.seen.endpoint);
    }
    let connection = attempt.connection_of(probe);
    connection.map_or_else(
        || "connection".to_owned(),
        |of| format!("connection to {}: {}", of.accepted.listener, of.accepted.answer),
    )
}

/// Requests that cannot be probes, except those of the harness.
fn others(run: &Timeline<'_>, container: &ContainerLife<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for attempt in &container.attempts {
        let probes: Vec<_> = attempt.probes.iter().map(|probe| probe.id).collect();
        let others =
            attempt.requests.iter().filter(|asked| !asked.from_our_client() && !probes.contains(&asked.id));
        for asked in others {
            let answer = asked.answer.as_ref().map_or("no answer", |answer| answer.answer.as_str());
            let text = format!("{} {}: {answer}", asked.request.method, asked.request.target);
            let at = when(run, &asked.at, asked.id);
            let done = asked.answer.as_ref().map_or(at, |answer| when(run, &answer.at.stamp, answer.at.id));
            items.push(Item::span(at, done, Look::Plain, text, asked.events()));
        }
    }
    items
}
