//! The answers of a gRPC health service.

use serde::{Deserialize, Serialize};

use crate::Span;
use crate::words::word_or_settings;

/// The answer to a health check of one service.
#[derive(Clone, Debug, PartialEq)]
pub enum GrpcAnswer {
    /// Status SERVING.
    Serving,
    /// Status NOT_SERVING.
    NotServing,
    /// Status UNKNOWN.
    Unknown,
    /// Status SERVICE_UNKNOWN.
    ServiceUnknown,
    /// The call fails with NOT_FOUND, as for a service that was never registered.
    NotFound,
    /// The call fails with UNIMPLEMENTED, as on a server without the health protocol.
    Unimplemented,
    /// The call is never answered.
    Hang,
    /// The connection is closed gracefully (FIN) instead of an answer.
    Close,
    /// The connection is aborted (RST) instead of an answer.
    Reset,
    /// Half a frame is sent instead of an answer, then the connection is closed.
    HalfFrame,
    /// As the settings say.
    With(GrpcSettings),
}

/// The settings of a health answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GrpcSettings {
    /// The number of the serving status. 0 to 3 have names (unknown, serving, not serving, service unknown). Other
    /// numbers are deliberately out of range.
    pub status: ServingStatus,
    /// The call fails with this gRPC status code instead of answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// The message that goes with `code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Pause before the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
}

/// The number of a serving status on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ServingStatus(pub i32);

impl Default for ServingStatus {
    fn default() -> Self {
        Self(1)
    }
}

impl GrpcAnswer {
    /// The number of the serving status that a list or a watch of services reports.
    #[must_use]
    pub fn status(&self) -> i32 {
        match self {
            Self::With(settings) => settings.status.0,
            Self::Unknown => 0,
            Self::NotServing => 2,
            Self::ServiceUnknown => 3,
            _ => ServingStatus::default().0,
        }
    }
}

word_or_settings!(
    GrpcAnswer,
    "a health answer: serving, not-serving, unknown, service-unknown, not-found, unimplemented, hang, close, reset, half-frame, a status number, or settings such as { status: 1, delay: 2s }",
    { "serving" => Serving, "not-serving" => NotServing, "unknown" => Unknown, "service-unknown" => ServiceUnknown,
      "not-found" => NotFound, "unimplemented" => Unimplemented, "hang" => Hang, "close" => Close, "reset" => Reset,
      "half-frame" => HalfFrame },
    or ["a status number", "settings such as { status: 1, delay: 2s }"],
    settings With(GrpcSettings),
    numbers Some((0, 2_147_483_647)),
    number |status| i32::try_from(status)
        .map(|status| GrpcSettings { status: ServingStatus(status), ..GrpcSettings::default() })
        .map_err(|_| format!("a serving status must be a 32-bit number, not {status}"))
);
