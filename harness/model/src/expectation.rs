//! Expectations: the closed vocabulary for reproductions that no clause covers yet.
//!
//! Each expectation is judged on every pod of its case separately, over all containers of the pod and the whole case.
//! `only` limits it to a pod, container or attempt, or to the time since a step. There are no expressions and there
//! will be none: if you need more, write a clause and a judge.

use probity_script::{Endpoint, Span};
use serde::{Deserialize, Serialize};

/// Something that should be true of each pod of the case separately. Events in one pod are never compared with events
/// in another, and all containers of the pod count together unless `only` names one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Expectation {
    /// It does not occur.
    Never(Occurrence),
    /// The occurrence happens this many times in each pod.
    Times {
        /// What.
        of: Occurrence,
        /// The minimum number of times.
        #[serde(default)]
        least: u64,
        /// The maximum number of times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// Each `later` has an `earlier` before it, in any attempt of the container.
    Before {
        /// What comes first.
        earlier: Occurrence,
        /// What comes after it.
        later: Occurrence,
    },
    /// The next `of` after each `after` comes within `span`, and must be a separate change. Two `after` may share the
    /// same `of`. A state that existed before the `after`, or that came in the same revision, does not count.
    Within {
        /// What follows.
        of: Occurrence,
        /// What it follows.
        after: Occurrence,
        /// The maximum time between the two occurrences.
        span: Span,
    },
    /// The state lasts from its first occurrence on: `ready` without a later `unready`.
    Always(Occurrence),
}

/// Something that can occur in a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Occurrence {
    /// A probe arrives at this endpoint.
    ProbeOf(Endpoint),
    /// A probe of this endpoint is answered with a success, as a kubelet counts it.
    SuccessOf(Endpoint),
    /// A probe of this endpoint is answered with a failure, as a kubelet counts it.
    FailureOf(Endpoint),
    /// A container is restarted: its restart count grows.
    Restart,
    /// A container's status shows it as started: its startup probe has succeeded, or it has no startup probe and runs.
    Started,
    /// A container's status shows it as terminated.
    Ended,
    /// The pod becomes ready; with `only: { container: … }`, that container becomes ready.
    Ready,
    /// The pod was ready and is no longer ready; with `only: { container: … }`, the same for that container.
    Unready,
    /// A container receives this signal.
    Signal(String),
    /// An event with this reason is recorded for the pod.
    Event(String),
    /// An event with this reason, and with this text in its message, is recorded for the pod.
    EventSaying {
        /// Its reason.
        reason: String,
        /// A part of its message.
        says: String,
    },
    /// The pod reaches this phase.
    Phase(String),
    /// Only the occurrences in a pod, a container or an attempt, or the occurrences after a step.
    Only(Box<Only>),
}

/// A limited set of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Only {
    /// What occurs.
    pub what: Occurrence,
    /// The key of the pod, or of the workload whose pods are meant. The whole expectation is judged on this pod alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The attempt of the container, counted from 0 as Kubernetes counts restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// After this was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// Something that the case did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The first step of this kind.
    Step(DoneBy),
    /// The step that sets this mark.
    Mark(String),
}

/// A kind of step that does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DoneBy {
    /// `change`
    Change,
    /// `reset`
    Reset,
    /// `delete`
    Delete,
    /// `evict`
    Evict,
    /// `patch` or `update`
    Patch,
    /// `scale`
    Scale,
    /// `exec`
    Exec,
    /// `node`
    Node,
}

impl Expectation {
    /// Checks that the expectation can be decided.
    ///
    /// # Errors
    ///
    /// If it requires that an event without a duration lasts, or if it requires an impossible number.
    pub fn check(&self) -> Result<(), String> {
        self.occurrences().try_for_each(Occurrence::check)?;
        match self {
            Self::Always(of) if !of.lasts() => {
                let why = "`always` needs a state: ready, unready, phase, success-of or failure-of";
                Err(format!("{why}; this is an event, for which you can use `never` and `times`"))
            }
            Self::Before { earlier: one, later: other } | Self::Within { of: one, after: other, .. }
                if one.pod().zip(other.pod()).is_some_and(|(one, other)| one != other) =>
            {
                Err("events in different pods cannot be compared".to_owned())
            }
            Self::Times { least, most: Some(most), .. } if least > most => {
                Err(format!("at least {least} and at most {most} contradict each other"))
            }
            Self::Times { least: 0, most: None, .. } => Err("`times` needs `least` or `most`".to_owned()),
            _ => Ok(()),
        }
    }

    /// The occurrences in the expectation.
    pub fn occurrences(&self) -> impl Iterator<Item = &Occurrence> {
        let (first, second) = match self {
            Self::Never(of) | Self::Always(of) | Self::Times { of, .. } => (of, None),
            Self::Before { earlier, later } => (earlier, Some(later)),
            Self::Within { of, after, .. } => (of, Some(after)),
        };
        std::iter::once(first).chain(second)
    }

    /// The key of the only pod on which the expectation is judged, if it names a pod.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        self.occurrences().find_map(Occurrence::pod)
    }
}

impl Occurrence {
    /// The key of the pod that the occurrence names.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        if let Self::Only(only) = self { only.pod.as_deref() } else { None }
    }

    /// What occurs, without the limits.
    #[must_use]
    pub fn what(&self) -> &Self {
        if let Self::Only(only) = self { &only.what } else { self }
    }

    /// Checks that the limits of the occurrence apply to what occurs.
    fn check(&self) -> Result<(), String> {
        let Self::Only(only) = self else { return Ok(()) };
        let Only { what, pod, container, attempt, since } = only.as_ref();
        if pod.is_none() && container.is_none() && attempt.is_none() && since.is_none() {
            return Err("`only` needs a `pod`, a `container`, an `attempt` or a `since`".to_owned());
        }
        let of_pod = match what {
            Self::Only(_) => {
                return Err("`only` must not be nested: write both limits in one `only`".to_owned());
            }
            Self::Phase(_) => container.is_some() || attempt.is_some(),
            Self::Event(_) | Self::EventSaying { .. } => attempt.is_some(),
            Self::Ready | Self::Unready => attempt.is_some() && container.is_none(),
            _ => false,
        };
        if of_pod {
            return Err("a phase, an event and the pod's readiness have no attempt: omit `attempt`, or name the `container`"
                .to_owned());
        }
        Ok(())
    }

    /// Whether the occurrence starts a state, which another event ends.
    #[must_use]
    pub fn lasts(&self) -> bool {
        match self {
            Self::SuccessOf(_) | Self::FailureOf(_) | Self::Ready | Self::Unready | Self::Phase(_) => true,
            Self::Only(only) => only.what.lasts(),
            Self::ProbeOf(_)
            | Self::Restart
            | Self::Started
            | Self::Ended
            | Self::Signal(_)
            | Self::Event(_)
            | Self::EventSaying { .. } => false,
        }
    }
}
