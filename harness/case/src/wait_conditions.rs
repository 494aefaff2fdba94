//! The conditions of a wait: a closed vocabulary about a pod, or about a workload and its pods.

use std::collections::BTreeMap;

use probity_script::{Endpoint, Span};
use serde::{Deserialize, Serialize};

use crate::names::one_of;
use crate::workload::{Workload, unknown};

/// The conditions of a wait: all of them must hold at the same time. Counting starts when the previous step completes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Wait {
    /// The pod's key.
    pub pod: Option<String>,
    /// The workload's key, instead of a pod's key. A condition of a pod must then hold for at least one existing pod of
    /// the workload.
    pub workload: Option<String>,
    /// The conditions must hold for all existing pods of the workload, and there must be at least one such pod.
    pub all: Option<bool>,
    /// Count only the pods that were created after the last update of the workload (true), or before it (false).
    pub new: Option<bool>,
    /// The container's name.
    pub container: Option<String>,
    /// The maximum time; 60 s by default.
    pub within: Option<Span>,
    /// An endpoint has received this many requests, connections or commands.
    pub asked: Option<AskedCondition>,
    /// The pod's Ready condition.
    pub ready: Option<bool>,
    /// The container's `started`.
    pub started: Option<bool>,
    /// At least this many restarts of the container.
    pub restarts: Option<u64>,
    /// The container runs (true), or has terminated and is not running now (false).
    pub running: Option<bool>,
    /// The pod's phase.
    pub phase: Option<String>,
    /// A condition of the pod's status.
    pub condition: Option<PodCondition>,
    /// The container is waiting, and its status has this reason.
    pub waiting: Option<String>,
    /// An event with this reason was recorded for the pod, this many times.
    pub event: Option<EventCondition>,
    /// The container saw this signal.
    pub signal: Option<String>,
    /// The container's newest dump shows this text in a file.
    pub dumped: Option<DumpedCondition>,
    /// The pod is gone from the API.
    pub gone: Option<bool>,
    /// The pod's entry in the EndpointSlices of a service.
    pub serving: Option<ServingCondition>,
    /// The workload's controller reports this many available pods.
    pub available: Option<u64>,
    /// The workload's controller reports this many pods of the newest template.
    pub updated: Option<u64>,
    /// The Job has this condition: `Complete` or `Failed`.
    pub finished: Option<String>,
    /// The workload's controller reports that the rollout has made no progress for `progressDeadlineSeconds`.
    pub stalled: Option<bool>,
}

/// The number of requests to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedCondition {
    /// The endpoint: `web:/ready`, `grpc:liveness`, `web@connections`, `exec live`.
    pub at: Endpoint,
    /// The number of requests, connections or commands.
    pub times: u64,
    /// Count only what this attempt of the container received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
}

/// How often an event was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventCondition {
    /// Its reason.
    pub reason: String,
    /// A part of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
}

/// A file of the container, as the container's newest dump shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DumpedCondition {
    /// The path of the file in the container, such as `/etc/podinfo/labels`.
    pub file: String,
    /// A part of its content.
    pub says: Option<String>,
    /// Whether the file must be missing from the dump. Set this instead of `says`.
    #[serde(default)]
    pub missing: bool,
}

/// A pod's entry in the EndpointSlices of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServingCondition {
    /// The service.
    pub service: String,
    /// Its `ready` condition.
    pub ready: bool,
}

/// The expected condition of a pod's status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PodCondition {
    /// Its type, such as `Ready`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status: `True`, `False` or `Unknown`, in quotes.
    pub status: String,
    /// Its reason. Any reason if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Wait {
    /// Checks that the workload exists, if the wait names a workload. Returns whether the wait names one.
    pub(super) fn check(&self, workloads: &BTreeMap<String, Workload>) -> Result<bool, String> {
        let Some(key) = &self.workload else {
            let words = [
                ("all", self.all.is_some()),
                ("new", self.new.is_some()),
                ("available", self.available.is_some()),
                ("updated", self.updated.is_some()),
                ("finished", self.finished.is_some()),
                ("stalled", self.stalled.is_some()),
            ];
            return match words.iter().find(|(_, said)| *said) {
                Some((word, _)) => {
                    Err(format!("`{word}` is a condition of a workload: name the workload with `workload`"))
                }
                None => Ok(false),
            };
        };
        if self.pod.is_some() {
            return Err("write either `pod` or `workload`".to_owned());
        }
        let found = workloads.get(key).ok_or_else(|| unknown(key, workloads))?;
        self.check_kind(key, found)?;
        match &self.container {
            Some(name) if !found.has_container(name) => {
                Err(format!("the template of workload `{key}` has no container `{name}`"))
            }
            _ => Ok(true),
        }
    }

    /// Checks that the controller of such a workload reports what this wait needs.
    fn check_kind(&self, key: &str, of: &Workload) -> Result<(), String> {
        let kind = of.kind();
        let unknown = match kind {
            "Job" => [("updated", self.updated.is_some()), ("stalled", self.stalled.is_some())],
            "DaemonSet" => [("finished", self.finished.is_some()), ("stalled", self.stalled.is_some())],
            _ => [("finished", self.finished.is_some()), ("", false)],
        };
        if let Some((word, _)) = unknown.iter().find(|(_, said)| *said) {
            return Err(format!("`{word}` can never be true for the {kind} `{key}`"));
        }
        match &self.finished {
            Some(kind) => {
                one_of("a condition of a finished Job", kind, &["Complete", "Failed"], &["wait", "finished"])
            }
            None => Ok(()),
        }
    }

    /// Whether the wait has a condition of pods, and not only conditions of the workload itself.
    pub(crate) fn is_of_pods(&self) -> bool {
        self.asked.is_some()
            || self.ready.is_some()
            || self.started.is_some()
            || self.restarts.is_some()
            || self.running.is_some()
            || self.phase.is_some()
            || self.condition.is_some()
            || self.waiting.is_some()
            || self.event.is_some()
            || self.signal.is_some()
            || self.dumped.is_some()
            || self.gone.is_some()
            || self.serving.is_some()
    }
}
