//! Events in words, for people who ask what a verdict rests on.

use probity_model::clocks::{Clocks, Stamp};
use probity_model::history::{Change, Did, Happening, Heard, Sighting};
use probity_model::{EventId, History};
use probity_script::witness::{Entry, Fact};
use serde_json::Value;

/// So many events are told; the rest is counted.
const TOLD: usize = 4;

/// Tells the events of one history.
pub(crate) struct Narrator<'h> {
    history: &'h History,
    clocks: Clocks,
}

impl<'h> Narrator<'h> {
    /// For this history.
    pub(crate) fn of(history: &'h History) -> Self {
        Self { history, clocks: Clocks::of(history) }
    }

    /// Several events in one line, the first few of them.
    pub(crate) fn tell(&self, events: &[EventId]) -> String {
        let told: Vec<String> = events.iter().take(TOLD).map(|id| self.one(*id)).collect();
        match events.len().saturating_sub(TOLD) {
            0 => told.join("; "),
            more => format!("{}; and {more} more", told.join("; ")),
        }
    }

    /// One event: its number, its time since the run's zero, who saw it, and what.
    pub(crate) fn one(&self, id: EventId) -> String {
        let Some(event) = self.history.get(id) else { return format!("{id} (not in this history)") };
        let (us, words) = match &event.what {
            Happening::Witness(heard) => (self.seen_us(heard).unwrap_or(event.us), witness(heard)),
            Happening::Deed(deed) => (deed.began_us, format!("harness {}", did(&deed.did))),
            Happening::Sighting(sighting) => (event.us, sighted(sighting)),
            Happening::Gap(gap) => (gap.from_us, format!("gap: {}", gap.why)),
            Happening::Noise(noise) => {
                (event.us, format!("held up for {}", seconds(noise.to_us - noise.from_us)))
            }
            Happening::Reading(reading) => (event.us, format!("clock of {} read", reading.node)),
        };
        format!("{id} +{} {words}", seconds(us))
    }

    /// When the target saw something, on the run's clock, if the clocks tell.
    fn seen_us(&self, heard: &Heard) -> Option<i64> {
        let Entry::Line(line) = &heard.entry else { return None };
        let stamp = Stamp::node(&heard.node, i64::try_from(line.mono_us).ok()?);
        let at = self.clocks.on_harness(&stamp)?;
        Some(at.lo.midpoint(at.hi))
    }
}

fn seconds(us: i64) -> String {
    probity_model::measure::seconds(us)
}

fn witness(heard: &Heard) -> String {
    let who = format!("{}/{}", heard.pod, heard.container);
    let what = match &heard.entry {
        Entry::Line(line) => {
            format!("{} (attempt {}, line {})", fact(&line.fact), line.attempt, line.seq)
        }
        Entry::Joined { hello, .. } => format!("process of attempt {} reached the recorder", hello.attempt),
        Entry::Left { how, .. } => format!("connection to the recorder {how}"),
        Entry::Missing { lines, .. } => format!("{lines} lines are missing"),
        Entry::Silent { .. } => "fell silent".to_owned(),
        Entry::Resumed { silent_us, .. } => {
            format!("was heard again after {}", seconds(i64::try_from(*silent_us).unwrap_or(i64::MAX)))
        }
        Entry::Nonsense { bytes, .. } => format!("{bytes} bytes that are no line"),
    };
    format!("target {who}: {what}")
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Started(_) => "started".to_owned(),
        Fact::Accepted(accepted) => format!("connection to {} from {}", accepted.listener, accepted.peer),
        Fact::Request(request) => {
            let at = request.endpoint.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
            let target = request.service.as_deref().unwrap_or(&request.target);
            format!("{} {target}{at}, probe {}", request.method, request.probe)
        }
        Fact::Answer(answer) => {
            let at = answer.endpoint.as_ref().map(|at| format!(" of {at}")).unwrap_or_default();
            let broken =
                answer.error.as_ref().map(|error| format!(", broken off: {error}")).unwrap_or_default();
            format!("answer{at}: {}{broken}", answer.answer)
        }
        Fact::Exec(exec) => format!("{}, probe {}: {}", exec.endpoint, exec.probe, exec.answer),
        Fact::ExecEnded(ended) => match ended.exit {
            Some(exit) => format!("command {} ended with {exit}", ended.exec),
            None => format!("command {} was cut off", ended.exec),
        },
        Fact::Signal(signal) => match &signal.child {
            Some(child) => format!("{} to child {child}", signal.signal),
            None => format!("{}: {}", signal.signal, signal.answer),
        },
        Fact::Exiting(exiting) => format!("exits with {} ({})", exiting.code, exiting.why),
        other => word(other),
    }
}

/// The word by which a witness line names a fact.
fn word(fact: &Fact) -> String {
    let value = serde_json::to_value(fact).unwrap_or_default();
    value.as_object().and_then(|map| map.keys().next().cloned()).unwrap_or_default()
}

fn did(did: &Did) -> String {
    match did {
        Did::Created { kind, name, .. } => format!("created {kind} {name}"),
        Did::Tried(tried) => format!("tried {}: {} {}", tried.name, tried.code, tried.message),
        Did::Patched { kind, name, .. } => format!("patched {kind} {name}"),
        Did::Deleted { kind, name, .. } => format!("deleted {kind} {name}"),
        Did::Evicted { pod } => format!("evicted {pod}"),
        Did::Changed { pod, container, .. } => format!("changed the plan of {pod}/{container}"),
        Did::Called { pod, container, call } => format!("called {call} of {pod}/{container}"),
        Did::Executed { pod, container, command, .. } => {
            format!("ran {} in {pod}/{container}", command.join(" "))
        }
        Did::Scaled { kind, name, replicas } => format!("scaled {kind} {name} to {replicas}"),
        Did::NodeVerb { node, verb, .. } => format!("{verb} on {node}"),
        Did::Waited { what, came: true } => format!("waited for {what}"),
        Did::Waited { what, came: false } => format!("waited in vain for {what}"),
        Did::Failed { what, why } => format!("could not {what}: {why}"),
        Did::Over { why } => format!("ended the case: {why}"),
    }
}

fn sighted(sighting: &Sighting) -> String {
    let change = match sighting.change {
        Change::Added => "added",
        Change::Modified => "modified",
        Change::Deleted => "deleted",
    };
    let more = match sighting.kind.as_str() {
        "Pod" => pod(&sighting.object),
        "Event" => {
            let text = |field: &str| sighting.object[field].as_str().unwrap_or_default();
            format!(": {}: {}", text("reason"), text("message").chars().take(120).collect::<String>())
        }
        _ => String::new(),
    };
    format!("API {change} {} {}{more}", sighting.kind, sighting.name)
}

/// What of a pod's status changes in a case.
fn pod(object: &Value) -> String {
    let status = &object["status"];
    let phase = status["phase"].as_str().unwrap_or("no phase");
    let containers = ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|list| status[*list].as_array())
        .flatten()
        .map(|container| {
            let state = container["state"].as_object().and_then(|state| state.keys().next().cloned());
            let ready = if container["ready"] == true { "ready" } else { "not ready" };
            format!(
                ", {} {} {ready}, {} restarts",
                container["name"].as_str().unwrap_or_default(),
                state.unwrap_or_default(),
                container["restartCount"]
            )
        });
    format!(": {phase}{}", containers.collect::<String>())
}
