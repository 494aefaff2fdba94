//! Whether the condition of a wait is met. This depends only on the history so far.

#[cfg(test)]
mod tests;
mod workload_pods;

use std::collections::BTreeSet;

use probity_model::history::{Change, EventId, Happening, Heard, History, Sighting};
use probity_model::timeline::{ContainerSeen, State};
use probity_script::Endpoint;
use probity_script::witness::{Entry, Fact};
use serde_json::Value;

use crate::case::{Case, ONLY};
use crate::manifest::{object_name, pod_name};
use crate::wait_conditions::{
    AskedCondition, DumpedCondition, EventCondition, PodCondition, ServingCondition, Wait,
};
use workload_pods::WorkloadPods;

/// Whether all conditions of a wait hold. Counting starts at `since`. A condition about a state must hold for the
/// latest state.
#[must_use]
pub fn met(wait: &Wait, case: &Case, history: &History, since: EventId) -> bool {
    let key = wait.workload.as_deref().or(wait.pod.as_deref()).unwrap_or(ONLY);
    let first = case.plans(key).and_then(|plans| plans.keys().next()).map_or("", String::as_str);
    let container = wait.container.as_deref().unwrap_or(first);
    let holds = |pod: &str| of_pod(wait, case, &View { history, since, pod, container });
    let Some(workload) = wait.workload.as_ref().and_then(|key| case.workloads.get(key)) else {
        return holds(&pod_name(case, key));
    };
    let found = WorkloadPods::of(case, key, workload, history);
    let pods = found.pods(wait);
    let of_pods = match wait.all {
        _ if !wait.is_of_pods() => true,
        Some(true) => !pods.is_empty() && pods.iter().all(|pod| holds(pod)),
        _ => pods.iter().any(|pod| holds(pod)),
    };
    of_pods && found.stands(wait)
}

/// The names of a workload's pods that exist, according to the history.
#[must_use]
pub fn pods_of<'h>(case: &'h Case, key: &'h str, history: &'h History) -> Vec<&'h str> {
    let workload = case.workloads.get(key);
    workload.map(|of| WorkloadPods::of(case, key, of, history).pods(&Wait::default())).unwrap_or_default()
}

/// The oldest pod of a workload that is not being deleted, according to the history.
#[must_use]
pub fn oldest_of<'h>(case: &'h Case, key: &'h str, history: &'h History) -> Option<&'h str> {
    let goes = |pod: &str| {
        let view = View { history, since: EventId(0), pod, container: "" };
        let metadata = view.last_sighting().and_then(|sighting| sighting.object.get("metadata"));
        metadata.is_some_and(|metadata| metadata.get("deletionTimestamp").is_some())
    };
    pods_of(case, key, history).into_iter().find(|pod| !goes(pod))
}

/// Whether this pod meets all conditions.
fn of_pod(wait: &Wait, case: &Case, view: &View<'_>) -> bool {
    wait.asked.as_ref().is_none_or(|asked| view.asked(asked))
        && wait.signal.as_ref().is_none_or(|signal| view.signaled(signal))
        && wait.dumped.as_ref().is_none_or(|dumped| view.dumped(dumped))
        && wait.event.as_ref().is_none_or(|event| view.recorded(event))
        && wait.ready.is_none_or(|ready| view.ready() == Some(ready))
        && wait.started.is_none_or(|started| view.seen(|seen| seen.started == Some(started)))
        && wait.restarts.is_none_or(|restarts| view.seen(|seen| seen.restarts >= restarts))
        && wait.running.is_none_or(|running| {
            view.seen(|seen| match seen.state {
                State::Running { .. } => running,
                State::Terminated { .. } => !running,
                State::Waiting { .. } => !running && seen.restarts > 0,
                State::Unknown => false,
            })
        })
        && wait.phase.as_ref().is_none_or(|phase| view.status("phase").and_then(Value::as_str) == Some(phase))
        && wait.condition.as_ref().is_none_or(|condition| view.conditioned(condition))
        && wait.waiting.as_ref().is_none_or(|wanted| {
            view.seen(|seen| matches!(seen.state, State::Waiting { reason } if reason == wanted))
        })
        && wait.gone.is_none_or(|gone| view.gone() == gone)
        && wait.serving.as_ref().is_none_or(|serving| view.serving(case, serving))
}

struct View<'a> {
    history: &'a History,
    since: EventId,
    pod: &'a str,
    container: &'a str,
}

impl<'a> View<'a> {
    fn heard(&self) -> impl Iterator<Item = &'a Heard> {
        let (pod, container) = (self.pod, self.container);
        self.history.since(self.since).filter_map(move |(_, event)| match &event.what {
            Happening::Witness(heard) if heard.pod == pod && heard.container == container => Some(heard),
            _ => None,
        })
    }

    fn facts(&self) -> impl Iterator<Item = (u64, &'a Fact)> {
        self.heard().filter_map(|heard| match &heard.entry {
            Entry::Line(line) => Some((line.attempt, &line.fact)),
            _ => None,
        })
    }

    fn asked(&self, asked: &AskedCondition) -> bool {
        let counts = |fact: &Fact| match (fact, &asked.at) {
            (Fact::Request(request), at) => {
                request.endpoint.as_ref() == Some(at) && request.hop.is_none_or(|hop| hop == 0)
            }
            (Fact::Exec(exec), at) => exec.endpoint == *at,
            (Fact::Accepted(accepted), Endpoint::Connections(listener)) => accepted.listener == *listener,
            _ => false,
        };
        let of_attempt = |attempt: u64| asked.attempt.is_none_or(|wanted| wanted == attempt);
        let times = self.facts().filter(|(attempt, fact)| of_attempt(*attempt) && counts(fact)).count();
        u64::try_from(times).is_ok_and(|times| times >= asked.times)
    }

    fn signaled(&self, signal: &str) -> bool {
        self.facts().any(
            |(_, fact)| matches!(fact, Fact::Signal(seen) if seen.signal == signal && seen.child.is_none()),
        )
    }

    /// Whether the newest dump shows this text, or that the file is missing, even if the dump was made before the step
    /// began.
    fn dumped(&self, wanted: &DumpedCondition) -> bool {
        let all = View { since: EventId(0), ..*self };
        let dumps = all.facts().filter_map(|(_, fact)| match fact {
            Fact::Dump(dump) => Some(dump),
            _ => None,
        });
        let Some(dump) = dumps.last() else { return false };
        let found = dump.files.get(&wanted.file);
        match &wanted.says {
            Some(says) => found.is_some_and(|text| text.contains(says)),
            None => found.is_none(),
        }
    }

    fn recorded(&self, wanted: &EventCondition) -> bool {
        self.history.since(self.since).any(|(_, event)| {
            let Happening::Sighting(sighting) = &event.what else { return false };
            let text = |field: &str| sighting.object.get(field).and_then(Value::as_str).unwrap_or_default();
            let of =
                sighting.object.get("involvedObject").and_then(|of| of.get("name")).and_then(Value::as_str);
            sighting.kind == "Event"
                && of == Some(self.pod)
                && text("reason") == wanted.reason
                && wanted.says.as_ref().is_none_or(|says| text("message").contains(says.as_str()))
        })
    }

    fn last_sighting(&self) -> Option<&'a Sighting> {
        self.history.events().rev().find_map(|(_, event)| match &event.what {
            Happening::Sighting(sighting) if sighting.kind == "Pod" && sighting.name == self.pod => {
                Some(sighting)
            }
            _ => None,
        })
    }

    fn status(&self, field: &str) -> Option<&'a Value> {
        self.last_sighting()?.object.get("status")?.get(field)
    }

    fn condition(&self, kind: &str) -> Option<&'a Value> {
        self.status("conditions")?.as_array()?.iter().find(|condition| condition["type"] == kind)
    }

    fn ready(&self) -> Option<bool> {
        Some(self.condition("Ready")?["status"] == "True")
    }

    fn conditioned(&self, wanted: &PodCondition) -> bool {
        self.condition(&wanted.kind).is_some_and(|condition| {
            condition["status"] == wanted.status.as_str()
                && wanted.reason.as_ref().is_none_or(|reason| condition["reason"] == reason.as_str())
        })
    }

    fn seen(&self, holds: impl Fn(ContainerSeen<'a>) -> bool) -> bool {
        ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"]
            .iter()
            .filter_map(|list| self.status(list)?.as_array())
            .flatten()
            .find(|status| status["name"] == self.container)
            .is_some_and(|status| holds(ContainerSeen::of(status)))
    }

    fn gone(&self) -> bool {
        self.last_sighting().is_some_and(|sighting| sighting.change == Change::Deleted)
    }

    /// Whether the slices of the Service, as they are now, show this readiness of the pod. A pod that none of them lists is
    /// not ready.
    fn serving(&self, case: &Case, serving: &ServingCondition) -> bool {
        let service = object_name(case, &serving.service);
        let mut known = BTreeSet::new();
        let entry = self.history.events().rev().find_map(|(_, event)| {
            let Happening::Sighting(sighting) = &event.what else { return None };
            let labels = sighting.object.get("metadata")?.get("labels");
            let of =
                labels.and_then(|labels| labels.get("kubernetes.io/service-name")).and_then(Value::as_str);
            if sighting.kind != "EndpointSlice" || of != Some(service.as_str()) {
                return None;
            }
            // Only the newest revision of each slice counts.
            if !known.insert(&sighting.name) || sighting.change == Change::Deleted {
                return None;
            }
            let endpoints = sighting.object.get("endpoints")?.as_array()?;
            endpoints.iter().find(|endpoint| endpoint["targetRef"]["name"] == self.pod)
        });
        entry.map_or(!serving.ready, |entry| entry["conditions"]["ready"] == serving.ready)
    }
}
