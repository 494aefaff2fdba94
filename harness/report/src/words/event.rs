//! Events of a history in words.

use probity_script::witness::{Entry, Fact};
use serde_json::Value;

use probity_model::history::{Change, Did, EventId, Happening, Heard, History, Sighting};
use probity_model::measure::seconds;
use probity_model::timeline::ContainerSeen;

/// An event as a fragment of a sentence, with the time at which the harness received it.
#[must_use]
pub fn event_in_words(history: &History, id: EventId) -> String {
    let Some(event) = history.get(id) else { return "not in this history".to_owned() };
    let what = match &event.what {
        Happening::Deed(deed) => deed_in_words(&deed.did),
        Happening::Sighting(sighting) => sighting_in_words(sighting),
        Happening::Witness(heard) => witness_in_words(heard),
        Happening::Gap(gap) => {
            format!("something may have been missed for {}: {}", seconds(gap.to_us - gap.from_us), gap.why)
        }
        Happening::Noise(noise) => {
            let by = format!("{:?}", noise.by).to_lowercase();
            format!("noise ({by}) for {}", seconds(noise.to_us - noise.from_us))
        }
        Happening::Reading(reading) => format!("the harness read the clocks of {}", reading.node),
    };
    format!("+{} {what}", seconds(event.us))
}

fn deed_in_words(did: &Did) -> String {
    let ended =
        |exit: &Option<i32>| exit.map_or("without a status".to_owned(), |exit| format!("with {exit}"));
    match did {
        Did::Created { kind, name, .. } => format!("the harness created {kind} {name}"),
        Did::Tried(tried) if tried.message.is_empty() => {
            format!("the harness submitted {} as a dry run: {}", tried.name, tried.code)
        }
        Did::Tried(tried) => {
            format!("the harness submitted {} as a dry run: {} {}", tried.name, tried.code, tried.message)
        }
        Did::Patched { kind, name, .. } => format!("the harness patched {kind} {name}"),
        Did::Deleted { kind, name, grace: Some(grace) } => {
            format!("the harness deleted {kind} {name} with a grace period of {grace} s")
        }
        Did::Deleted { kind, name, grace: None } => format!("the harness deleted {kind} {name}"),
        Did::Evicted { pod, refused: None, .. } => format!("the harness evicted {pod}"),
        Did::Evicted { pod, refused: Some(why), .. } => format!("the eviction of {pod} was rejected: {why}"),
        Did::Changed { pod, container, endpoints, .. } => {
            let endpoints: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
            format!("the harness changed the plan of {pod}/{container}: {}", endpoints.join(", "))
        }
        Did::Called { pod, container, call } => format!("the harness called `{call}` of {pod}/{container}"),
        Did::Executed { pod, container, command, exit } => {
            format!("`{}` in {pod}/{container} exited {}", command.join(" "), ended(exit))
        }
        Did::Scaled { kind, name, replicas } => format!("the harness scaled {kind} {name} to {replicas}"),
        Did::NodeVerb { node, verb, exit, output, .. } => match did.unproven() {
            Some(why) => format!("{verb} of {node}: {why}"),
            None if did.kubelet_refused() => {
                let told = output.as_ref().and_then(|output| output.get("error")?.as_str());
                let why = told.map(|told| format!(": {told}")).unwrap_or_default();
                format!("{verb} of {node}: the kubelet is not running{why}")
            }
            None => format!("{verb} of {node} ended {}", ended(exit)),
        },
        Did::Tainted { node, key, value, effect } => {
            let value = if value.is_empty() { String::new() } else { format!("={value}") };
            format!("the harness tainted {node} with {key}{value}:{effect}")
        }
        Did::Untainted { node, key, effect } => {
            format!("the harness removed the taint {key}:{effect} from {node}")
        }
        Did::Cordoned { node } => format!("the harness cordoned {node}"),
        Did::Advertised { node, resource, amount } => {
            format!("the harness advertised {amount} of {resource} for {node}")
        }
        Did::Drained { node, exit, .. } => format!("kubectl drain {node} ended {}", ended(exit)),
        Did::Measured { node, probes, .. } => {
            format!("the kubelet of {node} had {} probe counters of the case", probes.len())
        }
        Did::Waited { what, came: true } => format!("completed: {what}"),
        Did::Waited { what, came: false } => format!("timed out: {what}"),
        Did::Failed { what, why } => format!("{what} failed: {why}"),
        Did::Over { why } => format!("the case ended: {why}"),
    }
}

fn sighting_in_words(sighting: &Sighting) -> String {
    let Sighting { kind, name, change, object, .. } = sighting;
    let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "Event" {
        let of = object.get("involvedObject").map(|of| text(of, "name")).unwrap_or_default();
        return format!("event {} about {of}: {}", text(object, "reason"), text(object, "message"));
    }
    let change = match change {
        Change::Added => "appeared",
        Change::Modified => "changed",
        Change::Deleted => "is gone",
    };
    let status = object.get("status").filter(|_| kind == "Pod").map(pod_in_words).unwrap_or_default();
    format!("{kind} {name} {change}{status}")
}

/// The state of a pod according to its status: phase, readiness and the restarts of each container.
fn pod_in_words(status: &Value) -> String {
    let phase = status.get("phase").and_then(Value::as_str).unwrap_or("no phase");
    let lists = ["initContainerStatuses", "containerStatuses"];
    let containers = lists.iter().filter_map(|list| status.get(list)?.as_array()).flatten();
    let containers: Vec<String> = containers
        .map(|of| {
            let seen = ContainerSeen::of(of);
            let name = of.get("name").and_then(Value::as_str).unwrap_or_default();
            let started = if seen.started == Some(true) { "started" } else { "not started" };
            let ready = if seen.ready { "ready" } else { "not ready" };
            format!("; {name} {started}, {ready}, {} restarts", seen.restarts)
        })
        .collect();
    format!(": {phase}{}", containers.concat())
}

/// The state of a pod, according to its object.
pub(super) fn revision_in_words(object: &Value) -> String {
    let leaving = object.get("metadata").is_some_and(|of| of.get("deletionTimestamp").is_some());
    let status = object.get("status").map(pod_in_words).unwrap_or_default();
    let state = status.trim_start_matches(": ");
    if leaving { format!("is terminating; {state}") } else { state.to_owned() }
}

fn witness_in_words(heard: &Heard) -> String {
    let what = match &heard.entry {
        Entry::Joined { .. } => "its record started".to_owned(),
        Entry::Left { how, .. } => format!("its connection closed ({how})"),
        Entry::Missing { lines, .. } => format!("{lines} of its lines never arrived"),
        Entry::Silent { .. } => "its record stopped".to_owned(),
        Entry::Resumed { silent_us, .. } => {
            format!("its record resumed after {}", seconds(i64::try_from(*silent_us).unwrap_or(i64::MAX)))
        }
        Entry::Nonsense { bytes, .. } => format!("{bytes} bytes did not form a valid witness line"),
        Entry::Line(line) => {
            format!("{} (attempt {}, line {})", fact_in_words(&line.fact), line.attempt, line.seq)
        }
    };
    format!("{}/{}: {what}", heard.pod, heard.container)
}

fn fact_in_words(fact: &Fact) -> String {
    match fact {
        Fact::Started(_) => "started".to_owned(),
        Fact::Accepted(accepted) => format!("{} connected to {}", accepted.peer, accepted.listener),
        Fact::Request(request) => match (&request.endpoint, &request.service) {
            (_, Some(service)) => format!("checked the health of `{service}`"),
            (Some(endpoint), None) => format!("{} of {endpoint}", request.method),
            (None, None) => format!("{} {}", request.method, request.target),
        },
        Fact::Answer(answer) => {
            let at = answer.endpoint.as_ref().map(|at| format!("{at} ")).unwrap_or_default();
            let broke = answer.error.as_ref().map(|error| format!(" ({error})")).unwrap_or_default();
            format!("{at}answered {}{broke}", answer.answer)
        }
        Fact::Closed(closed) => format!("connection closed, {}", kebab(&closed.how)),
        Fact::Exec(exec) => format!("{} started, will answer {}", exec.endpoint, exec.answer),
        Fact::ExecEnded(ended) => {
            ended.exit.map_or("command killed".to_owned(), |exit| format!("command exited with {exit}"))
        }
        Fact::Signal(signal) => format!("got {}", signal.signal),
        Fact::Tls(tls) => match &tls.error {
            Some(error) => format!("TLS handshake failed: {error}"),
            None => "TLS handshake done".to_owned(),
        },
        other => kebab(other),
    }
}

/// The name of a fact, as its line has it.
fn kebab(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
