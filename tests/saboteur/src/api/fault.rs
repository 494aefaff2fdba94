//! Faults between a kubelet and the API server: the vocabulary of defects. The modules next to this one implement
//! their effects.

use std::collections::BTreeMap;

use probity_script::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A fault in what the kubelet sends to the API server, or receives from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ApiFault {
    /// The statuses of pods that the kubelet writes.
    Status(StatusFault),
    /// The events that it writes.
    Event(EventFault),
    /// What the kubelet receives about pods: lists and watches.
    Heard(HeardFault),
    /// The kubelet's final removal of pods from the API.
    Delete(Fate),
    /// Any other request of the kubelet for an object of the namespace: leases, tokens.
    Other(OtherFault),
}

/// What happens to a status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StatusFault {
    /// Only statuses that meet all these conditions.
    #[serde(default, rename = "if", skip_serializing_if = "Condition::is_any")]
    pub only_if: Condition,
    /// What happens to them.
    pub does: StatusDoes,
}

/// What happens to a status that is struck. The kubelet considers each status as written, and reads back what it wrote.
/// A status that the API server rejects (for example with another `qosClass`) is never written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum StatusDoes {
    /// The status is written late, by `by` plus a random share of `spread`. Later statuses wait for it.
    Late {
        /// The minimum delay.
        by: Span,
        /// The maximum of a random additional delay.
        #[serde(default, skip_serializing_if = "is_none")]
        spread: Span,
    },
    /// Never written.
    Lost,
    /// The status is held until another status follows, for at most this time, and then both are written as one, so the
    /// earlier status is never seen. As long as other statuses follow in time, no status is written.
    Merged {
        /// The maximum time.
        within: Span,
    },
    /// The status is written after the next status, or after this time if no other status follows.
    Reordered {
        /// The maximum time.
        within: Span,
    },
    /// The status is written twice, the second time this long after the first.
    Doubled {
        /// The time between.
        after: Span,
    },
    /// Written with other values.
    Alter(Alter),
    /// The status is written with wrong values first, and with the right values after this time.
    Glitch {
        /// The other values.
        alter: Alter,
        /// How long the wrong values are seen.
        r#for: Span,
    },
    /// The first status of each pod is written, and no later one.
    Frozen,
}

/// What a status must contain to be struck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Condition {
    /// Some container of the scope has all these values, by path: `state/terminated/exitCode: 0`; `null` is absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub container: BTreeMap<String, Value>,
    /// The pod's status has all these values, by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub pod: BTreeMap<String, Value>,
    /// The condition of this type has this status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, String>,
}

impl Condition {
    /// Whether any status matches.
    #[must_use]
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

/// Other values in a status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Alter {
    /// In the containers of the scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Change>,
    /// In the pod's conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionChange>,
    /// In the pod's status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod: Vec<Change>,
}

/// A change of an object's fields. Fields are named by path: `state/running/startedAt`. A field whose parent is absent is
/// left alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Change {
    /// Only if all these fields have these values; `null` is absent.
    #[serde(rename = "if", skip_serializing_if = "BTreeMap::is_empty")]
    pub only_if: BTreeMap<String, Value>,
    /// Fields that get this value; they are created if they are absent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// Numbers that change by this amount, and never fall below zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub add: BTreeMap<String, i64>,
    /// Times that are moved by this many seconds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shift: BTreeMap<String, i64>,
    /// Fields that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// A change of one condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConditionChange {
    /// The condition's type.
    pub r#type: String,
    /// It is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
    /// What changes in the condition. If the status does not contain the condition, nothing changes.
    #[serde(default)]
    pub change: Change,
}

/// What happens to an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventFault {
    /// Only events of this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Only events whose message contains this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What happens to them.
    pub does: EventDoes,
}

/// What happens to an event that is struck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum EventDoes {
    /// Never written.
    Lost,
    /// Written late.
    Late {
        /// The delay.
        by: Span,
    },
    /// Written twice, under two names.
    Doubled,
    /// Written with other fields: `reason`, `message`, `type`, `involvedObject/fieldPath`.
    Alter(Change),
    /// A part of its message is replaced.
    Reworded {
        /// The text to replace.
        from: String,
        /// The replacement.
        to: String,
    },
}

/// A fault in what the kubelet receives about a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HeardFault {
    /// Only changes of these kinds; all by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// What happens to them.
    pub does: HeardDoes,
}

/// What happens to struck news of a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum HeardDoes {
    /// The kubelet receives the news late.
    Late {
        /// The delay.
        by: Span,
    },
    /// It never receives them.
    Never,
    /// The kubelet receives a pod with another specification, and runs this specification.
    Alter(PodAlter),
}

/// Other values in a pod. Fields are named by path, the items of lists by number: `env/0/value`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PodAlter {
    /// In the specifications of the containers of the scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Change>,
    /// In the pod: `spec/hostname`, `metadata/labels/app`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod: Vec<Change>,
}

/// A kind of news of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// It was created.
    Added,
    /// It was changed, and it is not being deleted.
    Modified,
    /// It is being deleted.
    Deleting,
    /// It was removed.
    Deleted,
}

/// Late or never.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Fate {
    /// The delay.
    Late {
        /// The delay.
        by: Span,
    },
    /// Never.
    Never,
}

/// A fault of other requests, or of what the controllers of the controller manager write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtherFault {
    /// Only requests of this method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only requests for this resource: `leases`, `serviceaccounts/token`, `endpointslices`.
    pub resource: String,
    /// What happens to them.
    pub does: OtherDoes,
}

/// What happens to another request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum OtherDoes {
    /// It is delayed.
    Late {
        /// The delay.
        by: Span,
    },
    /// It is answered with this status, and is not sent.
    Refused {
        /// The status.
        status: u16,
    },
    /// It is answered as if it had succeeded, and is not sent.
    Pretended,
    /// It is sent with another body.
    Alter(Change),
}

fn is_none(span: &Span) -> bool {
    span.0.is_zero()
}
