//! Decides which defects affect an event that a kubelet writes, and what is sent instead. A later change of an event
//! (its count) names only the event and repeats its message, so the result for each event is remembered by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::fault::{ApiFault, EventDoes, EventFault};
use crate::board::Board;
use crate::defect::{Fault, Target};

/// The results for events, by name: which events were never written, and how the others were changed.
#[derive(Clone, Default)]
pub(super) struct Fates(Arc<Mutex<HashMap<String, Vec<EventDoes>>>>);

impl Fates {
    /// Remembers the defects that struck an event.
    pub(super) fn add(&self, event: &Value, does: Vec<EventDoes>) {
        if let Some((namespace, name)) = super::learn::name_of(event) {
            let mut fates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            fates.insert(format!("{namespace}/{name}"), does);
        }
    }

    /// What happens to a later change of an event. `None` if the event was never written.
    #[must_use]
    pub(super) fn change(&self, namespace: &str, name: &str, mut change: Value) -> Option<Value> {
        let fates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for does in fates.get(&format!("{namespace}/{name}")).into_iter().flatten() {
            match does {
                EventDoes::Lost => return None,
                EventDoes::Reworded { from, to } => reword(&mut change, from, to),
                // Only the fields that the change contains are altered, because all others were written earlier.
                EventDoes::Alter(alter) => {
                    for (field, value) in &alter.set {
                        if let Some(old) = change.get_mut(field) {
                            old.clone_from(value);
                        }
                    }
                }
                EventDoes::Late { .. } | EventDoes::Doubled => {}
            }
        }
        Some(change)
    }
}

fn reword(event: &mut Value, from: &str, to: &str) {
    for field in ["message", "note"] {
        if let Some(message) = event.get(field).and_then(Value::as_str) {
            event[field] = message.replace(from, to).into();
        }
    }
}

/// The result for an event.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decision {
    /// The events that are sent.
    pub(super) events: Vec<Value>,
    /// How long the event is held back.
    pub(super) late: Duration,
    /// The effects of the defects that struck the event.
    pub(super) does: Vec<EventDoes>,
}

/// The object that an event is about: in the core API, and in `events.k8s.io`.
fn subject(event: &Value) -> Option<&Value> {
    event.get("involvedObject").or_else(|| event.get("regarding"))
}

/// The field of an event's message, which also has two names.
fn message_field(event: &Value) -> &'static str {
    if event.get("regarding").is_some() { "note" } else { "message" }
}

/// The pod that an event is about, with the container if it names one. `None` if the event is about something else.
#[must_use]
pub(super) fn target(board: &Board, event: &Value) -> Option<Target> {
    let subject = subject(event)?;
    let text = |name: &str| subject.get(name).and_then(Value::as_str);
    if text("kind") != Some("Pod") {
        return None;
    }
    let (namespace, pod) = (text("namespace")?, text("name")?);
    // `spec.containers{main}`, `spec.initContainers{first}`
    let container = text("fieldPath").and_then(|path| path.split_once('{')?.1.strip_suffix('}'));
    Some(match container {
        Some(container) => board.target_of_name(namespace, pod, container),
        None => Target::pod(namespace, pod),
    })
}

/// The effect of the active defects on an event.
#[must_use]
pub(super) fn decide(board: &Board, event: Value) -> Decision {
    let mut decision = Decision { events: vec![event], ..Decision::default() };
    let Some(target) = decision.events.first().and_then(|event| target(board, event)) else {
        return decision;
    };
    let does = {
        let event = &decision.events[0];
        let pick = |fault: &Fault| match fault {
            Fault::Api(ApiFault::Event(fault)) if is_meant(fault, event) => Some(fault.does.clone()),
            _ => None,
        };
        board.strikes(pick, &target)
    };
    for does in &does {
        obey(does.clone(), &mut decision);
    }
    Decision { does, ..decision }
}

fn is_meant(fault: &EventFault, event: &Value) -> bool {
    let message = event.get(message_field(event)).and_then(Value::as_str).unwrap_or_default();
    fault.reason.as_ref().is_none_or(|reason| event.get("reason").is_some_and(|given| given == reason))
        && fault.message.as_ref().is_none_or(|part| message.contains(part.as_str()))
}

fn obey(does: EventDoes, decision: &mut Decision) {
    match does {
        EventDoes::Lost => decision.events.clear(),
        EventDoes::Late { by } => decision.late = decision.late.max(by.0),
        EventDoes::Doubled => {
            let again: Vec<Value> = decision.events.iter().cloned().map(renamed).collect();
            decision.events.extend(again);
        }
        EventDoes::Alter(change) => {
            for event in &mut decision.events {
                change.apply(event);
            }
        }
        EventDoes::Reworded { from, to } => {
            decision.events.iter_mut().for_each(|event| reword(event, &from, &to));
        }
    }
}

fn renamed(mut event: Value) -> Value {
    if let Some(name) = event.pointer("/metadata/name").and_then(Value::as_str) {
        event["metadata"]["name"] = format!("{name}-again").into();
    }
    event
}

/// The answer that the kubelet receives for an event that is not sent, or not sent yet: the event itself.
#[must_use]
pub(super) fn receipt(event: &Value, namespace: &str, name: &str) -> Value {
    let mut receipt = if event.is_object() { event.clone() } else { json!({}) };
    receipt["kind"] = "Event".into();
    if receipt.get("apiVersion").is_none() {
        receipt["apiVersion"] = "v1".into();
    }
    if receipt.pointer("/metadata/name").is_none() {
        receipt["metadata"] = json!({"name": name, "namespace": namespace});
    }
    receipt
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::{Fates, decide, receipt};
    use crate::api::fault::EventDoes;
    use crate::board::Board;

    fn event() -> Value {
        json!({
            "metadata": {"namespace": "run-1", "name": "probe.1"},
            "involvedObject": {"kind": "Pod", "namespace": "run-1", "name": "probe", "fieldPath": "spec.containers{main}"},
            "reason": "Unhealthy",
            "message": "Liveness probe failed: HTTP probe failed with statuscode: 500",
        })
    }

    fn board(on: &str, fault: &str) -> Board {
        let board = Board::default();
        match serde_saphyr::from_str(&format!(
            "{{ name: d, on: {on}, fault: {{ api: {{ event: {fault} }} }} }}"
        )) {
            Ok(defect) => board.put(defect),
            Err(error) => panic!("{error}"),
        }
        board
    }

    #[test]
    fn an_event_of_the_reason_and_container_is_lost() {
        let lost = "{ reason: Unhealthy, message: Liveness, does: lost }";
        assert_eq!(
            decide(&board("{ namespace: run-1, container: main }", lost), event()).events,
            [] as [Value; 0]
        );
        assert_eq!(decide(&board("{ namespace: run-1, container: other }", lost), event()).events, [event()]);
        let other = board("{ namespace: run-1 }", "{ reason: Killing, does: lost }");
        assert_eq!(decide(&other, event()).events, [event()]);
    }

    #[test]
    fn a_doubled_event_has_a_name_of_its_own() {
        let events = decide(&board("{ namespace: run-1 }", "{ does: doubled }"), event()).events;
        assert_eq!(events.len(), 2);
        assert_eq!(events[1]["metadata"]["name"], "probe.1-again");
    }

    #[test]
    fn reason_and_message_are_changed() {
        let board = board("{ namespace: run-1 }", "{ does: { reworded: { from: '500', to: '200' } } }");
        let words = "{ name: e, on: { namespace: run-1 }, fault: { api: { event: { does: { alter: { set: { reason: Fine } } } } } } }";
        match serde_saphyr::from_str(words) {
            Ok(defect) => board.put(defect),
            Err(error) => panic!("{error}"),
        }
        let events = decide(&board, event()).events;
        assert_eq!(events[0]["message"], "Liveness probe failed: HTTP probe failed with statuscode: 200");
        assert_eq!(events[0]["reason"], "Fine");
    }

    #[test]
    fn the_newer_events_have_other_names_for_the_same() {
        let event = json!({
            "metadata": {"namespace": "run-1", "name": "probe.1"},
            "regarding": {"kind": "Pod", "namespace": "run-1", "name": "probe"},
            "reason": "Killing", "note": "Stopping",
        });
        let board = board("{ namespace: run-1 }", "{ message: Stopping, does: { late: { by: 2s } } }");
        assert_eq!(decide(&board, event).late, Duration::from_secs(2));
    }

    #[test]
    fn a_later_change_of_an_event_has_the_same_fate() {
        let fates = Fates::default();
        let again = || json!({"count": 2, "message": "statuscode: 503"});
        let reworded = EventDoes::Reworded { from: "503".into(), to: "200".into() };
        fates.add(&event(), vec![reworded]);
        let changed = fates.change("run-1", "probe.1", again());
        assert_eq!(changed, Some(json!({"count": 2, "message": "statuscode: 200"})));
        assert_eq!(fates.change("run-1", "probe.2", again()), Some(again()));
        fates.add(&event(), vec![EventDoes::Lost]);
        assert_eq!(fates.change("run-1", "probe.1", again()), None);
    }

    #[test]
    fn a_receipt_names_the_event() {
        assert_eq!(receipt(&json!({"count": 2}), "n", "e")["metadata"]["name"], "e");
        assert_eq!(receipt(&event(), "n", "e")["metadata"]["name"], "probe.1");
    }
}
