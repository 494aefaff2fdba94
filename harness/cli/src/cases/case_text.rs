//! Writes a case as text: its pods, plans and steps. The text comes from the values that were read, not from the file.
//! For each probe, it includes what follows from the fields by arithmetic.

use probity_case::{Case, Workload, flow};
use probity_model::measure::Interval;
use probity_model::timeline::{ProbeKind, ProbeSpec};
use probity_script::{Plan, Script};
use probity_trial::promise::{self, Failing};
use serde::Serialize;
use serde_json::Value;

use super::pods::{self, DescribedContainer};
use crate::output::{counted, wrapped};

/// The whole case.
pub(crate) fn of(case: &Case) -> String {
    let mut text = wrapped(&case.story, "  ", 108);
    for pod in pods::described(case) {
        let later = if pod.later { ", created by a step" } else { "" };
        match pod.workload {
            Some(workload) => text += &of_workload(pod.key, workload),
            None => {
                let pending = if pod.stays_pending { ", not expected to start" } else { "" };
                text += &format!("\npod {}{later}{pending}\n", pod.key);
            }
        }
        text += &settings(pod.spec, &["containers", "initContainers"], "  ");
        for container in pod.containers() {
            text += &of_container(&container);
        }
    }
    if !case.objects.is_empty() {
        text += "\nother objects\n";
        for object in &case.objects {
            text += &format!("  {} {}\n", plain(&object["kind"]), plain(&object["metadata"]["name"]));
        }
    }
    text += "\nsteps\n";
    for (at, step) in case.steps.iter().enumerate() {
        text += &format!("  {}. {}\n", at + 1, step.in_words());
    }
    if case.steps.is_empty() {
        text += "  none: the case ends when each of its probes could have reached its threshold twice\n";
    }
    if !case.expect.is_empty() {
        text += "\nexpected\n";
        for expectation in &case.expect {
            text += &format!("  {}\n", expectation.in_words());
        }
    }
    text
}

/// The fields of a spec or of a container that no other part explains.
fn settings(of: &Value, told: &[&str], indent: &str) -> String {
    let fields = of.as_object().into_iter().flatten();
    let fields = fields.filter(|(field, value)| !told.contains(&field.as_str()) && !value.is_null());
    fields.map(|(field, value)| format!("{indent}{field} {}\n", flow(value))).collect()
}

/// A workload: its kind, its number of pods, and the other fields of its spec.
fn of_workload(key: &str, workload: &Workload) -> String {
    let (pods, most) = (workload.replicas(), workload.most_pods());
    let above = if most > pods { format!(", and up to {most} during a rollout") } else { String::new() };
    let pods = counted(pods, "pod");
    let mut text = format!("\nworkload {key}: {} of {pods}{above}\n", workload.kind());
    let spec = workload.workload["spec"].as_object();
    for (field, value) in spec.into_iter().flatten() {
        if field != "replicas" && field != "template" {
            text += &format!("  {field} {}\n", plain(value));
        }
    }
    text
}

/// The fields of a container that have their own explanation. `probity lint` has a hint for fields that are replaced in
/// a target.
const TOLD: [&str; 8] =
    ["name", "image", "command", "args", "lifecycle", "startupProbe", "livenessProbe", "readinessProbe"];

fn of_container(container: &DescribedContainer<'_>) -> String {
    let image = match (container.plan, container.value["image"].as_str()) {
        (Some(_), _) => "target",
        (None, Some(image)) => image,
        (None, None) => "sleeps",
    };
    let mut text = format!("  {} {} ({image})\n", container.kind(), container.name);
    text += &settings(container.value, &TOLD, "    ");
    let probes = container.probes();
    let gated = probes.iter().any(|probe| probe.kind == ProbeKind::Startup);
    for probe in &probes {
        text += &of_probe(probe, gated);
    }
    for hook in ["postStart", "preStop"] {
        let value = &container.value["lifecycle"][hook];
        if !value.is_null() {
            text += &format!("    {hook:<9}  {}\n", flow(value));
        }
    }
    if let Some(plan) = container.plan {
        for line in of_plan(plan) {
            text += &format!("    {line}\n");
        }
    }
    text
}

/// A probe and what follows from its fields: when the first attempt is due, and when failures or successes take effect.
/// `gated` means that the container has a startup probe, which delays the other two.
fn of_probe(probe: &ProbeSpec, gated: bool) -> String {
    let mut text = format!(
        "    {:<9}  {} every {}, with a timeout of {}\n",
        probe.kind.word(),
        pods::asks(&probe.handler),
        seconds(probe.period),
        seconds(probe.timeout)
    );
    let mut line = |said: String| text += &format!("               {said}\n");
    let gated = gated && probe.kind != ProbeKind::Startup;
    line(format!(
        "first probe {} after the container's start{}",
        range(promise::first_probe(probe).span),
        if gated { ", and not before the startup probe succeeds" } else { "" }
    ));
    let (failed, succeeded) = match probe.kind {
        ProbeKind::Startup => ("killed", "started, and no longer probed,"),
        ProbeKind::Liveness => ("killed", "healthy again"),
        ProbeKind::Readiness => ("not ready", "ready"),
    };
    let row = |n: i64| if n == 1 { "" } else { " in a row" };
    line(format!(
        "{failed} after {}{}: {} after the fault begins, up to {} later if the answers hang",
        counted(probe.failures, "failure"),
        row(probe.failures),
        range(promise::failures(probe, Failing::AtOnce).span),
        seconds(probe.timeout)
    ));
    let successes = if probe.successes == 1 { "success" } else { "successes" };
    line(format!(
        "{succeeded} after {} {successes}{}: {} after the fault ends",
        probe.successes,
        row(probe.successes),
        range(promise::successes(probe).span)
    ));
    if let Some(grace) = probe.grace {
        line(format!("if the probe fails, the container has {} to terminate", seconds(grace)));
    }
    text
}

fn range(span: Interval) -> String {
    format!("{} to {}", seconds(span.lo), seconds(span.hi))
}

fn seconds(us: i64) -> String {
    format!("{} s", us / 1_000_000)
}

/// A plan, one line for each listener and script.
pub(crate) fn of_plan(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, listener) in &plan.listeners {
        let tls = if listener.tls.is_some() { " over TLS" } else { "" };
        lines.push(format!("{name} serves {}{tls} at port {}", listener.protocol.word(), listener.port));
        for (what, script) in
            [("port", script(&listener.listen)), ("connections", script(&listener.connections))]
        {
            if script != "open" && script != "serve" {
                lines.push(format!("  its {what}: {script}"));
            }
        }
        lines.extend(
            listener.paths.iter().map(|(path, answers)| format!("  {path} answers {}", script(answers))),
        );
        let services = listener.services.iter();
        lines.extend(
            services.map(|(service, answers)| format!("  service `{service}` is {}", script(answers))),
        );
    }
    lines.extend(plan.exec.iter().map(|(name, answers)| format!("command {name}: {}", script(answers))));
    let process = serde_json::to_value(&plan.process).unwrap_or_default();
    let ordinary = serde_json::to_value(probity_script::Process::default()).unwrap_or_default();
    for (field, value) in process.as_object().into_iter().flatten() {
        if ordinary.get(field) != Some(value) {
            lines.push(format!("process {field}: {}", flow(value)));
        }
    }
    lines
}

fn script<A: Serialize>(script: &Script<A>) -> String {
    let steps = script.steps().iter().map(|step| {
        let mut said = answer(&serde_json::to_value(&step.answer).unwrap_or_default());
        if let Some(lasts) = step.lasts {
            said += &format!(" for {lasts}");
        }
        if let Some(times) = step.times {
            said += &format!(" {times} times");
        }
        let when = serde_json::to_value(&step.when).unwrap_or_default();
        if when.as_object().is_some_and(|when| !when.is_empty()) {
            said += &format!(" when {}", flow(&when));
        }
        said
    });
    steps.collect::<Vec<_>>().join(", then ")
}

/// An answer as it would be written in a plan: a word, a bare status, or settings.
fn answer(value: &Value) -> String {
    match value.as_object() {
        Some(settings) if settings.len() == 1 && settings.contains_key("status") => {
            settings["status"].to_string()
        }
        _ => plain(value),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| flow(value), str::to_owned)
}
