//! Whether a port is open.

use serde::{Deserialize, Serialize};

/// The state of a listening port. It depends on time, attempt and events; nothing else is known before a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ListenState {
    /// The port is bound and connections are taken.
    #[default]
    Open,
    /// The port is not bound: a connect is refused.
    Closed,
    /// The port is bound but its queue is full and not emptied: a connection attempt gets no answer at all.
    Full,
}

impl ListenState {
    /// The word for it in plans and witness lines.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Full => "full",
        }
    }
}
