//! Expectations: the closed vocabulary of a reproduction that no clause covers yet.
//!
//! Each is judged on every pod of its case apart, over all its containers and over the whole case: one that speaks of one
//! pod, container or attempt, or of the time since a step, says so with `only`. There are no expressions and there will
//! be none: who needs more writes a clause and a judge.

use probity_script::{Endpoint, Span};
use serde::{Deserialize, Serialize};

/// Something that should be so, of every pod of the case apart: what occurs in one pod is never compared with what occurs
/// in another, and all containers of the pod count together unless `only` names one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Expectation {
    /// It does not occur.
    Never(Occurrence),
    /// It occurs so often in each pod.
    Times {
        /// What.
        of: Occurrence,
        /// At least so often.
        #[serde(default)]
        least: u64,
        /// At most so often.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// Each `later` has an `earlier` before it, in whichever attempt of the container that was.
    Before {
        /// What comes first.
        earlier: Occurrence,
        /// What comes then.
        later: Occurrence,
    },
    /// Each `after` is followed by an `of` within `span`: by the next one, which must be a change of its own. Two `after`
    /// may be followed by the same `of`; what became so before, or in the same revision, does not count.
    Within {
        /// What follows.
        of: Occurrence,
        /// What it follows.
        after: Occurrence,
        /// At most so much later.
        span: Span,
    },
    /// From its first occurrence on it stays so: `ready` without an `unready`.
    Always(Occurrence),
}

/// Something that can occur in a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Occurrence {
    /// A probe arrives at this endpoint.
    ProbeOf(Endpoint),
    /// A probe of this endpoint is answered with what a kubelet takes for success.
    SuccessOf(Endpoint),
    /// A probe of this endpoint is answered with what a kubelet takes for failure.
    FailureOf(Endpoint),
    /// A container is restarted: its restart count grows.
    Restart,
    /// A container's status shows it as started: its startup probe has succeeded, or it has none and runs.
    Started,
    /// A container's status shows it as terminated.
    Ended,
    /// The pod becomes ready; with `only: { container: … }` that container does.
    Ready,
    /// The pod, having been ready, is no longer; with `only: { container: … }` that container is.
    Unready,
    /// A container sees this signal.
    Signal(String),
    /// An event of this reason is recorded for the pod.
    Event(String),
    /// An event of this reason with this in its message is recorded for the pod.
    EventSaying {
        /// Its reason.
        reason: String,
        /// A part of its message.
        says: String,
    },
    /// The pod reaches this phase.
    Phase(String),
    /// Only those that a pod, a container or an attempt had, or that came after a step.
    Only(Box<Only>),
}

/// An occurrence, of which only some count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Only {
    /// What occurs.
    pub what: Occurrence,
    /// The key of the pod, or of the workload whose pods are meant. The whole expectation is judged on it alone.
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
    /// Checks that it can be told whether it is so.
    ///
    /// # Errors
    ///
    /// If it asks that a mere moment lasts, or for a number that can't be.
    pub fn check(&self) -> Result<(), String> {
        self.occurrences().try_for_each(Occurrence::check)?;
        match self {
            Self::Always(of) if !of.lasts() => {
                let why = "`always` is for what lasts: ready, unready, phase, success-of or failure-of";
                Err(format!("{why}; this is a moment, for which there are `never` and `times`"))
            }
            Self::Before { earlier: one, later: other } | Self::Within { of: one, after: other, .. }
                if one.pod().zip(other.pod()).is_some_and(|(one, other)| one != other) =>
            {
                Err("what occurs in one pod cannot be compared with what occurs in another".to_owned())
            }
            Self::Times { least, most: Some(most), .. } if least > most => {
                Err(format!("at least {least} and at most {most} cannot be at once"))
            }
            Self::Times { least: 0, most: None, .. } => Err("`times` needs `least` or `most`".to_owned()),
            _ => Ok(()),
        }
    }

    /// What it speaks of.
    pub fn occurrences(&self) -> impl Iterator<Item = &Occurrence> {
        let (first, second) = match self {
            Self::Never(of) | Self::Always(of) | Self::Times { of, .. } => (of, None),
            Self::Before { earlier, later } => (earlier, Some(later)),
            Self::Within { of, after, .. } => (of, Some(after)),
        };
        std::iter::once(first).chain(second)
    }

    /// The key of the only pod that it is judged on, if it names one.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        self.occurrences().find_map(Occurrence::pod)
    }
}

impl Occurrence {
    /// The key of the pod that it names.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        if let Self::Only(only) = self { only.pod.as_deref() } else { None }
    }

    /// What occurs, without the limits.
    #[must_use]
    pub fn what(&self) -> &Self {
        if let Self::Only(only) = self { &only.what } else { self }
    }

    /// Checks that what limits it can be told of it.
    fn check(&self) -> Result<(), String> {
        let Self::Only(only) = self else { return Ok(()) };
        let Only { what, pod, container, attempt, since } = only.as_ref();
        if pod.is_none() && container.is_none() && attempt.is_none() && since.is_none() {
            return Err("`only` needs a `pod`, a `container`, an `attempt` or a `since`".to_owned());
        }
        let of_pod = match what {
            Self::Only(_) => {
                return Err("`only` cannot stand in another `only`: write both limits in one".to_owned());
            }
            Self::Phase(_) => container.is_some() || attempt.is_some(),
            Self::Event(_) | Self::EventSaying { .. } => attempt.is_some(),
            Self::Ready | Self::Unready => attempt.is_some() && container.is_none(),
            _ => false,
        };
        if of_pod {
            return Err("a phase is one of the pod, an event has no attempt, and the pod's readiness has none either: \
                        leave `attempt` out, or say which `container` is meant"
                .to_owned());
        }
        Ok(())
    }

    /// Whether it begins a state, which something else ends.
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
