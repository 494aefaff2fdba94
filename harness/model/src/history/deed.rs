//! What the harness did.

use probity_script::Endpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that the harness did. The event's own time is when it was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deed {
    /// When it began, on the harness's clock.
    pub began_us: i64,
    /// What was done.
    pub did: Did,
}

/// What can be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// An object was created; the manifest is as it was sent.
    Created {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// What was sent.
        manifest: Value,
    },
    /// The API server was asked, by a dry run, what it makes of a manifest.
    Tried(Tried),
    /// An object was patched.
    Patched {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// The patch, and the subresource it went to.
        patch: Value,
        /// The subresource; none if empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        subresource: String,
    },
    /// The API server was asked to delete an object.
    Deleted {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// The grace period that was asked for, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace: Option<u64>,
    },
    /// A pod was evicted.
    Evicted {
        /// The pod.
        pod: String,
    },
    /// A target's plan was changed over its control port. The instant is on its node's clock.
    Changed {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// The endpoints with a new script.
        endpoints: Vec<Endpoint>,
        /// The instant from which the change is in force, on the node's monotonic clock.
        mono_us: u64,
    },
    /// A control call other than a change: `reset`, or a mark's name.
    Called {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// What was called.
        call: String,
    },
    /// A command was run in a container.
    Executed {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// The command.
        command: Vec<String>,
        /// Its exit status, if it ran.
        exit: Option<i32>,
    },
    /// A workload was scaled.
    Scaled {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// How many are wanted.
        replicas: u32,
    },
    /// A verb was done to a node by the user's command.
    NodeVerb {
        /// The node.
        node: String,
        /// The verb, such as `restart-kubelet`.
        verb: String,
        /// The command's exit status.
        exit: Option<i32>,
    },
    /// A kubelet was asked what it has counted of the case's probes. It counted between the deed's beginning and its
    /// end. What it no longer counts is not in the list.
    Measured {
        /// The node.
        node: String,
        /// Its counters of the case's pods; empty if it has none.
        probes: Vec<ProbeCount>,
    },
    /// A wait of the case ended.
    Waited {
        /// What was waited for, in words.
        what: String,
        /// Whether it came.
        came: bool,
    },
    /// A step could not be done.
    Failed {
        /// The step, in words.
        what: String,
        /// Why.
        why: String,
    },
    /// The case's last step is done. What follows is clean-up, which no clause speaks of.
    Over {
        /// Why: `done`, `interrupted`, `out of time`.
        why: String,
    },
}

/// A counter `prober_probe_total` of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeCount {
    /// The pod.
    pub pod: String,
    /// The pod's UID.
    pub uid: String,
    /// The container.
    pub container: String,
    /// The kind of probe as the kubelet writes it: `Readiness`.
    pub probe: String,
    /// `successful`, `failed` or `unknown`.
    pub result: String,
    /// How many there were since the kubelet began to count.
    pub count: u64,
}

/// What the API server made of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// The trial's name in the case.
    pub name: String,
    /// What was sent.
    pub manifest: Value,
    /// The status code of the answer.
    pub code: u16,
    /// The reason and message of a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The object as it would be stored, defaults included; null if refused.
    #[serde(default)]
    pub stored: Value,
}
