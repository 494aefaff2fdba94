//! Expectations: the closed vocabulary of a reproduction that no clause covers yet.
//!
//! There are no expressions and there will be none: who needs more writes a clause and a judge.

use probity_script::{Endpoint, Span};
use serde::{Deserialize, Serialize};

/// Something that should be so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Expectation {
    /// It does not occur.
    Never(Occurrence),
    /// It occurs so often.
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
    /// Each `later` has an `earlier` before it.
    Before {
        /// What comes first.
        earlier: Occurrence,
        /// What comes then.
        later: Occurrence,
    },
    /// Each `after` is followed by an `of` within `span`.
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
    /// A container is restarted.
    Restart,
    /// The pod becomes ready.
    Ready,
    /// The pod, having been ready, is no longer.
    Unready,
    /// A container sees this signal.
    Signal(String),
    /// An event of this reason is recorded for a pod.
    Event(String),
    /// A pod reaches this phase.
    Phase(String),
}

impl Expectation {
    /// Checks that it can be told whether it is so.
    ///
    /// # Errors
    ///
    /// If it asks that a mere moment lasts, or for a number that can't be.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Always(of) if !of.lasts() => {
                let why = "`always` is for what lasts: ready, unready, phase, success-of or failure-of";
                Err(format!("{why}; this is a moment, for which there are `never` and `times`"))
            }
            Self::Times { least, most: Some(most), .. } if least > most => {
                Err(format!("at least {least} and at most {most} cannot be at once"))
            }
            Self::Times { least: 0, most: None, .. } => Err("`times` needs `least` or `most`".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Occurrence {
    /// Whether it begins a state, which something else ends.
    #[must_use]
    pub fn lasts(&self) -> bool {
        match self {
            Self::SuccessOf(_) | Self::FailureOf(_) | Self::Ready | Self::Unready | Self::Phase(_) => true,
            Self::ProbeOf(_) | Self::Restart | Self::Signal(_) | Self::Event(_) => false,
        }
    }
}
