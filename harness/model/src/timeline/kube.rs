//! Other objects: recorded events, Services and their endpoints.

use serde_json::Value;

use crate::stamp::{EventId, MOST_COUNTED, Stamp};

/// An event that Kubernetes recorded for a pod. Events are aggregated and rate-limited, so their absence proves little,
/// and their number proves nothing.
pub struct KubeEvent<'h> {
    /// The event in the history.
    pub id: EventId,
    /// When it arrived.
    pub at: Stamp,
    /// `reason`
    pub reason: &'h str,
    /// `message`
    pub message: &'h str,
    /// `type`: `Normal` or `Warning`
    pub kind: &'h str,
    /// `count`
    pub count: u64,
    /// The container that it is about, from `involvedObject.fieldPath`.
    pub container: Option<&'h str>,
    /// The object.
    pub object: &'h Value,
}

/// The start of the message of an event that stands for many similar events.
const COMBINED: &str = "(combined from similar events)";

impl<'h> KubeEvent<'h> {
    /// A text at a path of the object, such as `/involvedObject/uid`; `None` if it is absent or empty.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&'h str> {
        self.object.pointer(path)?.as_str().filter(|text| !text.is_empty())
    }

    /// One of its times, `firstTimestamp` or `lastTimestamp`, in seconds since 1970.
    #[must_use]
    pub fn second(&self, field: &str) -> Option<i64> {
        self.object.get(field)?.as_str()?.parse::<jiff::Timestamp>().ok().map(|at| at.as_second())
    }

    /// Whether the event is about a container with this name, and has this reason. An event that stands for many events
    /// may be about several containers, so it does not count.
    #[must_use]
    pub fn is_of(&self, container: &str, reason: &str) -> bool {
        self.container == Some(container) && self.reason == reason && !self.is_combined()
    }

    /// Whether the event stands for many events that differ only in their messages. Its reason and its type apply to
    /// all these events. All its other fields come from one of these events.
    #[must_use]
    pub fn is_combined(&self) -> bool {
        self.message.starts_with(COMBINED)
    }

    pub(super) fn of(id: EventId, at: Stamp, object: &'h Value) -> Self {
        let text = |field| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let path = object.get("involvedObject").and_then(|of| of.get("fieldPath")).and_then(Value::as_str);
        Self {
            id,
            at,
            reason: text("reason"),
            message: text("message"),
            kind: text("type"),
            count: object.get("count").and_then(Value::as_u64).unwrap_or(1).min(MOST_COUNTED),
            container: path.and_then(|path| path.split_once('{')?.1.strip_suffix('}')),
            object,
        }
    }
}

/// A service.
pub struct ServiceSeen<'h> {
    /// Its name.
    pub name: &'h str,
    /// The service itself, if it was sighted.
    pub object: Option<&'h Value>,
    /// Its EndpointSlices, every revision.
    pub slices: Vec<SliceSeen<'h>>,
    /// Its legacy Endpoints object, every revision that was watched.
    pub endpoints: Vec<(EventId, Stamp, &'h Value)>,
}

/// A revision of an EndpointSlice.
pub struct SliceSeen<'h> {
    /// The event in the history.
    pub id: EventId,
    /// When it arrived.
    pub at: Stamp,
    /// The slice's name.
    pub name: &'h str,
    /// The endpoints; empty if the slice was deleted.
    pub endpoints: Vec<EndpointSeen<'h>>,
}

impl<'h> SliceSeen<'h> {
    /// The endpoint of a pod.
    #[must_use]
    pub fn of_pod(&self, pod: &str) -> Option<&EndpointSeen<'h>> {
        self.endpoints.iter().find(|endpoint| endpoint.pod == pod)
    }

    pub(super) fn of(id: EventId, at: Stamp, object: &'h Value, gone: bool) -> Self {
        let endpoints = object.get("endpoints").and_then(Value::as_array).into_iter().flatten();
        let name =
            object.get("metadata").and_then(|of| of.get("name")).and_then(Value::as_str).unwrap_or_default();
        let endpoints = if gone { Vec::new() } else { endpoints.map(EndpointSeen::of).collect() };
        Self { id, at, name, endpoints }
    }
}

/// An endpoint of a slice.
pub struct EndpointSeen<'h> {
    /// Its first address.
    pub address: &'h str,
    /// The pod that it stands for.
    pub pod: &'h str,
    /// `conditions.ready`
    pub ready: Option<bool>,
    /// `conditions.serving`
    pub serving: Option<bool>,
    /// `conditions.terminating`
    pub terminating: Option<bool>,
}

impl<'h> EndpointSeen<'h> {
    fn of(endpoint: &'h Value) -> Self {
        let condition = |name: &str| endpoint.get("conditions")?.get(name)?.as_bool();
        let address = endpoint.get("addresses").and_then(|all| all.get(0)).and_then(Value::as_str);
        let pod = endpoint.get("targetRef").and_then(|of| of.get("name")).and_then(Value::as_str);
        Self {
            address: address.unwrap_or_default(),
            pod: pod.unwrap_or_default(),
            ready: condition("ready"),
            serving: condition("serving"),
            terminating: condition("terminating"),
        }
    }
}
