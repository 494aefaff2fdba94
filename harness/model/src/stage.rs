//! The stages of a probe, from the request to the effects on the users of a Service.
//!
//! An error at one stage is visible at all later stages: a probe to the wrong port fails, its failures are counted, the
//! container is restarted, and its endpoint is removed. Each clause has one stage, so a report can distinguish the
//! likely cause from its consequences.

use serde::{Deserialize, Serialize};

/// The stage of a clause, in the order of cause and effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// What the API server accepts, and its defaults.
    Spec,
    /// What is sent, and where.
    Request,
    /// How an answer, or a missing answer, is counted.
    Result,
    /// When probes are sent.
    Pace,
    /// How many results are needed.
    Count,
    /// What the kubelet does to the container.
    Action,
    /// What the API shows of the action.
    Status,
    /// The effect that users of a Service, a rollout or a disruption budget can notice.
    Traffic,
}

impl Stage {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Request => "request",
            Self::Result => "result",
            Self::Pace => "pace",
            Self::Count => "count",
            Self::Action => "action",
            Self::Status => "status",
            Self::Traffic => "traffic",
        }
    }
}
