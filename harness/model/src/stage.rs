//! The stages of a probe, from what is sent to what users of a Service notice.
//!
//! An error at one stage shows at all later ones: a probe to the wrong port fails, its failures are counted, the
//! container is restarted, and its endpoint is removed. Each clause stands at one station, so that a report can tell
//! the likely cause from what follows from it.

use serde::{Deserialize, Serialize};

/// Where a clause stands, in the order of cause and effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// What the API server accepts and fills in.
    Spec,
    /// What is sent, and where.
    Request,
    /// What an answer, or none, counts as.
    Result,
    /// When probes are sent.
    Pace,
    /// How many results it takes.
    Count,
    /// What the kubelet does to the container.
    Action,
    /// What the API shows of it.
    Status,
    /// What users of a Service, a rollout or a budget notice.
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
