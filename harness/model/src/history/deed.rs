//! What the harness did.

use probity_script::Endpoint;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::node_verb::{CONFIGURE_KUBELET, NodeProof, NodeVerb};

/// The status code with which the API server refuses an eviction that a budget forbids, and with which API priority and
/// fairness refuses any request.
const TOO_MANY_REQUESTS: u16 = 429;
/// What the API server's message about an eviction that a budget forbids contains.
const OF_BUDGET: &str = "disruption budget";

/// Something that the harness did. The event's own time is the time at which the action was complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deed {
    /// When it began, on the harness's clock.
    pub began_us: i64,
    /// What was done.
    pub did: Did,
}

/// The kinds of actions.
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
    /// A manifest was submitted to the API server as a dry run.
    Tried(Tried),
    /// An object was patched.
    Patched {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// The patch.
        patch: Value,
        /// The subresource that was patched; empty if the object itself was patched.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        subresource: String,
    },
    /// The deletion of an object was requested.
    Deleted {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// The requested grace period, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace: Option<u64>,
    },
    /// The eviction of a pod was requested.
    Evicted {
        /// The pod.
        pod: String,
        /// Why the API server refused it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        /// The status code of the refusal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<u16>,
        /// The cause of the refusal in one word, such as `DisruptionBudget`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// A target's plan was changed over its control port. The instant is on its node's clock.
    Changed {
        /// The pod.
        pod: String,
        /// The container.
        container: String,
        /// The endpoints with a new script.
        endpoints: Vec<Endpoint>,
        /// The instant at which the change takes effect, on the node's monotonic clock.
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
        /// The command's exit status, if it ran.
        exit: Option<i32>,
    },
    /// A workload was scaled.
    Scaled {
        /// The object's kind.
        kind: String,
        /// Its name.
        name: String,
        /// The requested number of replicas.
        replicas: u32,
    },
    /// The user's command carried out a verb on a node.
    NodeVerb {
        /// The node.
        node: String,
        /// The verb, such as `restart-kubelet`.
        verb: String,
        /// The UID of the pod that the verb is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<String>,
        /// The object that the command received on its standard input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// The command's exit status.
        exit: Option<i32>,
        /// The JSON object that the command printed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// How the node showed the effect. An exit status of 0 alone is not proof.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<NodeProof>,
    },
    /// A node was tainted. The taint is removed when the case is over, unless a step removes it earlier.
    Tainted {
        /// The node.
        node: String,
        /// The key of the taint.
        key: String,
        /// Its value; empty if it has none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        value: String,
        /// Its effect.
        effect: String,
    },
    /// A taint that an earlier step had set was removed from a node.
    Untainted {
        /// The node.
        node: String,
        /// The key of the taint.
        key: String,
        /// Its effect.
        effect: String,
    },
    /// A node was cordoned. The cordon is lifted when the case is over.
    Cordoned {
        /// The node.
        node: String,
    },
    /// An extended resource was advertised for a node. It is removed when the case is over.
    Advertised {
        /// The node.
        node: String,
        /// The name of the resource.
        resource: String,
        /// How much of it the node has.
        amount: u32,
    },
    /// `kubectl drain` ran for a node, limited to the pods of the case.
    Drained {
        /// The node.
        node: String,
        /// The timeout of the drain, in seconds.
        timeout: u64,
        /// The exit status of kubectl; absent if it was killed.
        exit: Option<i32>,
        /// The lines that kubectl printed, each with its time of arrival on the harness's clock.
        output: Vec<Printed>,
    },
    /// The kubelet's counters for the case's probes were read, at some time between the start and the end of the deed.
    /// Counters that no longer exist are not in the list.
    Measured {
        /// The node.
        node: String,
        /// The kubelet's counters for the case's pods; empty if there are none.
        probes: Vec<ProbeCount>,
        /// The number of probe counters for all pods of the node; absent in older recordings.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_node: Option<u64>,
        /// The kubelet's histograms of how long the probes of the case's pods take: for each histogram, the name of its
        /// pod.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        durations: Vec<String>,
    },
    /// A wait of the case ended.
    Waited {
        /// What was waited for, in words.
        what: String,
        /// Whether the condition was met in time.
        came: bool,
    },
    /// A step could not be done.
    Failed {
        /// The step, in words.
        what: String,
        /// Why.
        why: String,
    },
    /// The case's last step is done. All later events belong to the cleanup, which no clause covers.
    Over {
        /// Why: `done`, `interrupted`, `out of time`.
        why: String,
    },
}

/// A line that a command printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Printed {
    /// When the line arrived, on the harness's clock.
    pub us: i64,
    /// The line.
    pub line: String,
}

impl Did {
    /// A verb that the user's command carried out on a node, without an input and without an output.
    #[must_use]
    pub fn verb(node: &str, verb: &str, exit: Option<i32>, proof: Option<NodeProof>) -> Self {
        let (node, verb) = (node.to_owned(), verb.to_owned());
        Self::NodeVerb { node, verb, uid: None, input: None, exit, output: None, proof }
    }

    /// Whether the harness acted on a node in a way that can affect what was already running there.
    #[must_use]
    pub fn acts_on_node(&self) -> bool {
        match self {
            Self::NodeVerb { verb, .. } => !NodeVerb::of(verb).harmless,
            Self::Tainted { .. } | Self::Untainted { .. } | Self::Cordoned { .. } | Self::Drained { .. } => {
                true
            }
            _ => false,
        }
    }

    /// Whether an API server that had too many requests refused an eviction without looking at it. It answers with the
    /// status code of an eviction that a budget forbids, but with no cause, and its message names no budget.
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        match self {
            Self::Evicted { refused: Some(why), code: Some(TOO_MANY_REQUESTS), cause: None, .. } => {
                !why.contains(OF_BUDGET)
            }
            _ => false,
        }
    }

    /// Whether the user's command reported that the kubelet rejected its configuration and is not running.
    #[must_use]
    pub fn kubelet_refused(&self) -> bool {
        let Self::NodeVerb { verb, output: Some(output), .. } = self else { return false };
        verb == CONFIGURE_KUBELET && output.get("running") == Some(&Value::Bool(false))
    }

    /// What is missing to prove the action, in words; `None` if nothing is missing.
    #[must_use]
    pub fn unproven(&self) -> Option<String> {
        let Self::NodeVerb { node, verb, exit, output, proof, .. } = self else { return None };
        let known = NodeVerb::of(verb);
        match exit {
            Some(0) if known.output && output.is_none() => {
                Some("the command exited with 0, but it did not print a JSON object".to_owned())
            }
            Some(0) if !known.restarts_kubelet || self.kubelet_refused() => None,
            Some(0) => match proof.as_ref().and_then(NodeProof::restarted) {
                Some(true) => None,
                Some(false) => {
                    Some(format!("the command exited with 0, but {node} shows no restart of its kubelet"))
                }
                None => Some(format!(
                    "the command exited with 0, but nothing shows whether the kubelet of {node} restarted: this needs permission to list events of nodes, or to get nodes/proxy"
                )),
            },
            Some(status) => Some(format!("the command exited with {status}")),
            None => Some("the command was killed by a signal".to_owned()),
        }
    }
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
    /// The number of probes since the kubelet began to count.
    pub count: u64,
}

/// The API server's response to a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// The dry run's name in the case.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_without_a_cause_and_without_a_budget_is_about_the_number_of_requests() {
        let is_throttled = |code: u16, cause: Option<&str>, why: &str| {
            let (pod, refused) = ("a".to_owned(), Some(why.to_owned()));
            let cause = cause.map(str::to_owned);
            Did::Evicted { pod, refused, code: Some(code), cause }.is_throttled()
        };
        let busy = "the API server answered 429: Too many requests, please try again later.";
        let budget = "429 TooManyRequests: Cannot evict pod as it would violate the pod's disruption budget.";
        assert!(is_throttled(429, None, busy));
        assert!(!is_throttled(429, Some("DisruptionBudget"), budget));
        assert!(!is_throttled(429, None, budget), "the API server forgot the cause");
        assert!(!is_throttled(429, Some("Another"), busy));
        assert!(!is_throttled(500, None, busy));
        let granted = Did::Evicted { pod: "a".to_owned(), refused: None, code: None, cause: None };
        assert!(!granted.is_throttled());
    }
}
