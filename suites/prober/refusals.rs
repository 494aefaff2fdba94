//! What the API server refuses besides: commands that are empty, hooks that sleep too long, and wrong probes in the
//! templates of workloads.
//!
//! A refusal counts only if its message names the field: a manifest may be refused for other reasons. Each judge looks
//! at what is written, not at what a trial is called.

use probity_model::history::Tried;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "validation.exec-command-required", judge: command_is_required },
    Judge { clause: "validation.prestop-sleep-range", judge: sleep_has_a_range },
    Judge { clause: "validation.template-level", judge: templates_are_checked },
];

const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

/// An exec probe has a command.
fn command_is_required(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in pods(run) {
        let spec = tried.manifest.get("spec");
        let commands: Vec<bool> = probes(spec)
            .filter_map(|(_, probe)| probe.get("exec"))
            .map(|exec| !is_empty(exec.get("command")))
            .collect();
        if !commands.is_empty() {
            hold(seen, (id, tried), commands.iter().all(|given| *given), &["exec.command"]);
        }
    }
}

/// A sleep before the stop lasts between 0 and the grace period.
fn sleep_has_a_range(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in pods(run) {
        let Some(spec) = tried.manifest.get("spec") else { continue };
        let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
        let sleeps: Vec<i64> = containers(Some(spec))
            .filter_map(|(_, container)| {
                container.get("lifecycle")?.get("preStop")?.get("sleep")?.get("seconds")?.as_i64()
            })
            .collect();
        if !sleeps.is_empty() {
            let fits = sleeps.iter().all(|seconds| (0..=grace).contains(seconds));
            hold(seen, (id, tried), fits, &["preStop.sleep", "preStop"]);
        }
    }
}

/// What is wrong with a probe is refused in a template, too.
fn templates_are_checked(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in run.tried.iter().copied() {
        let Some(spec) = tried.manifest.get("spec").and_then(|spec| spec.get("template")?.get("spec")) else {
            continue;
        };
        let written: Vec<_> = probes(Some(spec)).collect();
        if written.is_empty() {
            continue;
        }
        let misfits: Vec<&str> =
            written.iter().filter_map(|(place, probe)| misfit(place.kind, probe)).collect();
        match misfits.first() {
            Some(field) => hold(seen, (id, tried), false, &[*field]),
            None => hold(seen, (id, tried), true, &PROBES),
        }
    }
}

/// Where a probe stands.
struct Place {
    kind: &'static str,
}

/// The field of a probe that no API server may accept, if there is one.
fn misfit(kind: &str, probe: &Value) -> Option<&'static str> {
    let number = |field: &str| probe.get(field).and_then(Value::as_i64);
    let port = |handler: &str| probe.get(handler)?.get("port")?.as_i64();
    let outside = |port: i64| !(1..=65_535).contains(&port);
    if probe.get("exec").is_some_and(|exec| is_empty(exec.get("command"))) {
        return Some("exec.command");
    }
    if port("httpGet").is_some_and(outside) {
        return Some("httpGet.port");
    }
    if port("tcpSocket").is_some_and(outside) {
        return Some("tcpSocket.port");
    }
    if kind != "readinessProbe" && number("successThreshold").is_some_and(|times| times > 1) {
        return Some("successThreshold");
    }
    ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"]
        .into_iter()
        .find(|field| number(field).is_some_and(|number| number < 0))
}

fn is_empty(list: Option<&Value>) -> bool {
    list.and_then(Value::as_array).is_none_or(Vec::is_empty)
}

fn containers(spec: Option<&Value>) -> impl Iterator<Item = (&'static str, &Value)> {
    ["initContainers", "containers"].into_iter().flat_map(move |list| {
        let containers = spec.and_then(|spec| spec.get(list)?.as_array());
        containers.into_iter().flatten().map(move |container| (list, container))
    })
}

fn probes(spec: Option<&Value>) -> impl Iterator<Item = (Place, &Value)> {
    containers(spec).flat_map(|(_, container)| {
        PROBES.into_iter().filter_map(move |kind| Some((Place { kind }, container.get(kind)?)))
    })
}

fn pods<'h>(run: &Timeline<'h>) -> impl Iterator<Item = (EventId, &'h Tried)> {
    let is_pod = |tried: &Tried| tried.manifest.get("kind").and_then(Value::as_str) == Some("Pod");
    run.tried.iter().copied().filter(move |(_, tried)| is_pod(tried))
}

/// Holds an answer against what is written: what does not fit is refused for one of these fields, what fits is not.
fn hold(seen: &mut Seen, (id, tried): (EventId, &Tried), fits: bool, fields: &[&str]) {
    seen.applies();
    let named = fields.iter().any(|field| tried.message.contains(field));
    let name = &tried.name;
    match (fits, tried.code) {
        (true, ..300) => seen.fine([id]),
        (false, 422) if named => seen.fine([id]),
        (false, ..300) => seen.violated(format!("`{name}` was accepted, though it is wrong"), [id]),
        (true, 422) if named => {
            seen.violated(format!("`{name}` is right, and was refused: {}", tried.message), [id]);
        }
        (false, 422) => {
            let why = format!("`{name}` was refused for something else: {}", tried.message);
            seen.doubt(Doubt::Ambiguous, why, [id]);
        }
        _ => {}
    }
}
