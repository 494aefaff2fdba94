//! Whether a port is open.

use serde::{Deserialize, Serialize};

/// The state of a listening port. It can depend only on time, attempt and events, because nothing else is known before
/// a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ListenState {
    /// The port is bound, and connections are accepted.
    #[default]
    Open,
    /// The port is not bound, so connections are refused.
    Closed,
    /// The port is bound, but its queue stays full. A connection attempt gets no answer.
    Full,
}

impl ListenState {
    /// The word for the state in plans and witness lines.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Full => "full",
        }
    }
}
