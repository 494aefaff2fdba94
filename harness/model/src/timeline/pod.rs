//! A pod's life as the API server showed it.

use probity_script::Plan;
use serde_json::Value;

use super::attempt::Attempt;
use super::kube::KubeEvent;
use super::spec::{ContainerKind, ProbeKind, ProbeSpec, bounded};
use crate::measure::SECOND;
use crate::stamp::{EventId, MOST_COUNTED, Stamp};

/// A pod: one UID.
pub struct PodLife<'h> {
    /// Its key in the case; its name if the case did not create it.
    pub key: String,
    /// Its name.
    pub name: String,
    /// The pod's UID; empty until the API server showed the pod.
    pub uid: String,
    /// The node to which the pod was bound; empty before that.
    pub node: String,
    /// The action that created it, with the manifest as sent.
    pub created: Option<(EventId, &'h Value)>,
    /// Its spec: as the API server first showed it, or as sent.
    pub spec: &'h Value,
    /// Its revisions, in the order of arrival.
    pub revisions: Vec<Revision<'h>>,
    /// Its containers: init containers first, as in the spec.
    pub containers: Vec<ContainerLife<'h>>,
    /// The ephemeral containers that were added to it. They are not in `containers`, because they have no probes, do
    /// not restart, and affect no condition.
    pub ephemeral: Vec<ContainerLife<'h>>,
    /// The events recorded for it.
    pub events: Vec<KubeEvent<'h>>,
    /// The harness's request to delete or evict the pod.
    pub deleted: Option<EventId>,
    /// Whether the pod is a static pod, which a kubelet runs from a manifest on its node.
    pub is_static: bool,
    /// The mirror pods of a static pod.
    pub mirrors: Vec<Mirror<'h>>,
}

/// What the API server showed of a static pod: one UID.
pub struct Mirror<'h> {
    /// Its UID.
    pub uid: String,
    /// The harness's request to delete the mirror pod.
    pub deleted: Option<EventId>,
    /// All its revisions.
    pub revisions: Vec<Revision<'h>>,
}

impl<'h> PodLife<'h> {
    /// The pod's address, once it has one.
    #[must_use]
    pub fn ip(&self) -> Option<&'h str> {
        self.revisions.iter().find_map(|revision| revision.object.get("status")?.get("podIP")?.as_str())
    }

    /// `restartPolicy`
    #[must_use]
    pub fn restart_policy(&self) -> &str {
        self.spec.get("restartPolicy").and_then(Value::as_str).unwrap_or("Always")
    }

    /// The termination grace period in microseconds.
    #[must_use]
    pub fn grace(&self) -> i64 {
        let written = self.spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
        written.map_or(30, bounded) * SECOND
    }

    /// The container with this name.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&ContainerLife<'h>> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// The revisions at which a container's status changed, each with the status. The first status is included.
    pub fn changes_of(&self, container: &str) -> impl Iterator<Item = (&Revision<'h>, ContainerSeen<'h>)> {
        let mut last: Option<ContainerSeen<'h>> = None;
        let container = container.to_owned();
        self.revisions.iter().filter_map(move |revision| {
            let now = revision.container(&container)?;
            (last.as_ref() != Some(&now)).then(|| {
                last = Some(now.clone());
                (revision, now)
            })
        })
    }

    /// The revisions at which the status of a condition changed, each with whether it is `True`. The first status is
    /// included.
    pub fn changes_of_condition(&self, kind: &str) -> impl Iterator<Item = (&Revision<'h>, bool)> {
        let mut last = None;
        let kind = kind.to_owned();
        self.revisions.iter().filter_map(move |revision| {
            let now = revision.condition(&kind)?.get("status")?.as_str()? == "True";
            (last != Some(now)).then(|| {
                last = Some(now);
                (revision, now)
            })
        })
    }

    /// The last restart count of a container, and the revision that showed it.
    #[must_use]
    pub fn restarts(&self, container: &str) -> Option<(EventId, u64)> {
        self.revisions
            .iter()
            .rev()
            .find_map(|revision| Some((revision.id, revision.container(container)?.restarts)))
    }

    /// Whether the last revision before an event showed the pod as running, and not as being deleted.
    #[must_use]
    pub fn was_running_before(&self, event: EventId) -> bool {
        let before = self.revisions.iter().rfind(|shown| shown.id < event);
        before.is_some_and(|shown| shown.phase() == "Running" && !shown.terminating())
    }

    /// The last revision.
    #[must_use]
    pub fn last(&self) -> Option<&Revision<'h>> {
        self.revisions.last()
    }
}

/// A revision of a pod.
#[derive(Clone)]
pub struct Revision<'h> {
    /// Its event.
    pub id: EventId,
    /// When the revision arrived, on the harness's clock. The change itself happened no later.
    pub at: Stamp,
    /// The object.
    pub object: &'h Value,
    /// Whether the watch reported the pod as deleted.
    pub gone: bool,
}

impl<'h> Revision<'h> {
    /// The pod's phase.
    #[must_use]
    pub fn phase(&self) -> &'h str {
        self.status("phase").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the pod is being deleted.
    #[must_use]
    pub fn terminating(&self) -> bool {
        self.object.get("metadata").is_some_and(|metadata| metadata.get("deletionTimestamp").is_some())
    }

    /// A time in its metadata, such as `deletionTimestamp`, in seconds on the API server's clock.
    #[must_use]
    pub fn second_of(&self, field: &str) -> Option<i64> {
        let at = self.object.get("metadata")?.get(field)?.as_str()?;
        at.parse::<jiff::Timestamp>().ok().map(|at| at.as_second())
    }

    /// The grace period of its deletion in seconds.
    #[must_use]
    pub fn deletion_grace(&self) -> Option<i64> {
        self.object.get("metadata")?.get("deletionGracePeriodSeconds")?.as_i64().map(bounded)
    }

    /// A condition.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&'h Value> {
        let conditions = self.status("conditions")?.as_array()?;
        conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
    }

    /// Whether a condition is `True`.
    #[must_use]
    pub fn is(&self, condition: &str) -> Option<bool> {
        Some(self.condition(condition)?.get("status")?.as_str()? == "True")
    }

    /// The time of a condition's last transition, in seconds on the clock of the component that wrote it.
    #[must_use]
    pub fn turned(&self, condition: &str) -> Option<i64> {
        let at = self.condition(condition)?.get("lastTransitionTime")?.as_str()?;
        at.parse::<jiff::Timestamp>().ok().map(|at| at.as_second())
    }

    /// `startTime` in seconds: when the kubelet acknowledged the pod.
    #[must_use]
    pub fn start_second(&self) -> Option<i64> {
        let at = self.status("startTime")?.as_str()?;
        at.parse::<jiff::Timestamp>().ok().map(|at| at.as_second())
    }

    /// A container's status, from whichever list contains it.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<ContainerSeen<'h>> {
        ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"]
            .iter()
            .filter_map(|list| self.status(list)?.as_array())
            .flatten()
            .find(|status| status.get("name").and_then(Value::as_str) == Some(name))
            .map(ContainerSeen::of)
    }

    fn status(&self, field: &str) -> Option<&'h Value> {
        self.object.get("status")?.get(field)
    }
}

/// A container's status.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerSeen<'h> {
    /// `ready`
    pub ready: bool,
    /// `started`
    pub started: Option<bool>,
    /// `restartCount`
    pub restarts: u64,
    /// `containerID`
    pub id: &'h str,
    /// `stopSignal`
    pub stop_signal: Option<&'h str>,
    /// `state`
    pub state: State<'h>,
    /// `lastState`
    pub last: State<'h>,
}

/// A container's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State<'h> {
    /// The status does not contain a state.
    Unknown,
    /// It waits.
    Waiting {
        /// For what.
        reason: &'h str,
    },
    /// It runs.
    Running {
        /// The time of the start, in seconds since 1970.
        started: Option<i64>,
    },
    /// It ended.
    Terminated {
        /// With which status.
        code: i64,
        /// Why.
        reason: &'h str,
        /// When it had started.
        started: Option<i64>,
        /// When it ended.
        finished: Option<i64>,
    },
}

impl<'h> ContainerSeen<'h> {
    /// Whether the container runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Reads the status of a container.
    #[must_use]
    pub fn of(status: &'h Value) -> Self {
        let text = |field| status.get(field).and_then(Value::as_str).unwrap_or_default();
        Self {
            ready: status.get("ready").and_then(Value::as_bool).unwrap_or(false),
            started: status.get("started").and_then(Value::as_bool),
            restarts: status.get("restartCount").and_then(Value::as_u64).unwrap_or(0).min(MOST_COUNTED),
            id: text("containerID"),
            stop_signal: status.get("stopSignal").and_then(Value::as_str),
            state: State::of(status.get("state")),
            last: State::of(status.get("lastState")),
        }
    }
}

impl<'h> State<'h> {
    fn of(state: Option<&'h Value>) -> Self {
        let Some(state) = state else { return Self::Unknown };
        let second = |of: &Value, field: &str| -> Option<i64> {
            of.get(field)?.as_str()?.parse::<jiff::Timestamp>().ok().map(|at| at.as_second())
        };
        let text = |of: &'h Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default();
        if let Some(waiting) = state.get("waiting") {
            return Self::Waiting { reason: text(waiting, "reason") };
        }
        if let Some(running) = state.get("running") {
            return Self::Running { started: second(running, "startedAt") };
        }
        let Some(ended) = state.get("terminated") else { return Self::Unknown };
        Self::Terminated {
            code: ended.get("exitCode").and_then(Value::as_i64).unwrap_or_default(),
            reason: text(ended, "reason"),
            started: second(ended, "startedAt"),
            finished: second(ended, "finishedAt"),
        }
    }
}

/// A container of a pod, with all its lives.
pub struct ContainerLife<'h> {
    /// Its name.
    pub name: String,
    /// The list that contains it.
    pub kind: ContainerKind,
    /// Its spec.
    pub spec: &'h Value,
    /// Its probes.
    pub probes: Vec<ProbeSpec>,
    /// The instances that the container's target recorded. Empty for a container that is not a target.
    pub attempts: Vec<Attempt<'h>>,
}

impl ContainerLife<'_> {
    /// The configuration of its target; `None` for a container that is not a target.
    #[must_use]
    pub fn plan(&self) -> Option<Plan> {
        let env = self.spec.get("env")?.as_array()?;
        let plan =
            env.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some("AGNHOST_PLAN"))?;
        serde_json::from_str(plan.get("value")?.as_str()?).ok()
    }

    /// The probe of this kind.
    #[must_use]
    pub fn probe(&self, kind: ProbeKind) -> Option<&ProbeSpec> {
        self.probes.iter().find(|probe| probe.kind == kind)
    }
}
