//! The meaning of an answer for an HTTP client: a status that counts, a truncated body, or nothing at all.
//!
//! The witness reports the outcome of an answer, and the plan defines what it puts on the wire ([`probity_script::wire`]). If
//! both together leave room for doubt, for example because a pause is close to the probe's timeout, the answer is
//! [`ResponseSeen::Unknown`] and nothing is judged from it.

use probity_model::clause::micros;
use probity_model::mechanisms::{FAR_TOO_LATE, PROMPT};
use probity_script::answer::HttpAnswer;
use probity_script::wire::{
    BodyContent, BodyCut, BodyEnd, BodyLength, ConnectionEnd, HttpRequestFacts, HttpVersion, PlannedResponse,
    WireAction, compose_http,
};
use probity_script::witness::Answered;

/// The kubelet reads no more of a body than this: `maxRespBodyLength` of `pkg/probe/http` in Kubernetes.
pub(crate) const LIMIT: u64 = 10 * 1024;

/// The statuses that belong to no class of HTTP (RFC 9110, section 15).
const UNKNOWN_CLASS: std::ops::RangeInclusive<u16> = 600..=999;

/// The meaning of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResponseSeen {
    /// A status, and a body that can be read to its end or to the limit.
    Whole {
        status: u16,
        /// The length of the body; the largest number stands for an endless body. None if the plan is not known.
        bytes: Option<u64>,
    },
    /// A status, and a body of which neither the end nor the limit can be reached within the timeout.
    Short { status: u16 },
    /// Not HTTP: closed, aborted or garbage.
    Nothing,
    /// It cannot be determined.
    Unknown,
}

impl ResponseSeen {
    /// The status, if there is one.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Whole { status, .. } | Self::Short { status } => Some(*status),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// The meaning of a recorded answer.
    pub(crate) fn of(
        answer: &Answered,
        told: Option<&HttpAnswer>,
        hop: u64,
        http1: bool,
        timeout: i64,
    ) -> Self {
        let version = if http1 { HttpVersion::Http11 } else { HttpVersion::Http2 };
        let facts = HttpRequestFacts { version, hop, ..HttpRequestFacts::default() };
        let whole = answer.error.is_none();
        let composed = told.map(|told| compose_http(told, &facts));
        match composed.filter(|composed| composed.word == answer.answer) {
            // The plan is not known, or another answer was given instead.
            None => match (answer.answer.as_str(), answer.answer.parse()) {
                ("close" | "reset" | "garbage", _) if whole => Self::Nothing,
                (_, Ok(status)) if whole => Self::Whole { status, bytes: None },
                _ => Self::Unknown,
            },
            Some(composed) => match composed.action {
                WireAction::SendAndEnd { bytes, .. } if whole && !bytes.starts_with(b"HTTP/") => {
                    Self::Nothing
                }
                WireAction::SendAndEnd { bytes, end: ConnectionEnd::Close } if whole && http1 => {
                    beyond(&bytes).filter(|_| composed.delay.is_none()).unwrap_or(Self::Unknown)
                }
                WireAction::SendAndEnd { .. } | WireAction::Hang => Self::Unknown,
                WireAction::Respond(response) => {
                    said_by(&response, composed.delay.map_or(0, micros), whole, timeout)
                }
            },
        }
    }
}

/// The meaning of a response that was sent after a delay. `whole` says whether, according to the witness, it was
/// complete.
fn said_by(response: &PlannedResponse, delay: i64, whole: bool, timeout: i64) -> ResponseSeen {
    let status = response.status;
    let known = |bytes| if whole { ResponseSeen::Whole { status, bytes } } else { ResponseSeen::Unknown };
    let aborted = matches!(response.cut, Some((_, BodyCut::End(ConnectionEnd::Reset))));
    let unusual = response.version == HttpVersion::Http2 && !response.has_a_usual_end();
    if delay > PROMPT.of(timeout) || aborted || unusual || matches!(response.length, BodyLength::Headers(_)) {
        return ResponseSeen::Unknown;
    }
    let bytes = match &response.content {
        BodyContent::Report(_) => return known(None),
        content => content.size().unwrap_or(u64::MAX),
    };
    let read = response.read(LIMIT);
    let reaches_the_limit = response.sent().is_none_or(|sent| sent >= LIMIT);
    match pace(delay.saturating_add(micros(read.after)), timeout) {
        Pace::InTime if reaches_the_limit => ResponseSeen::Whole { status, bytes: Some(bytes) },
        Pace::InTime if read.end == BodyEnd::Complete => known(Some(bytes)),
        Pace::InTime | Pace::TooLate => ResponseSeen::Short { status },
        Pace::Unclear => ResponseSeen::Unknown,
    }
}

/// The meaning of a complete response with a status of 600 or above, which a plan can only send as raw bytes. The
/// head of any other response that is sent as raw bytes may change what its status means.
fn beyond(bytes: &[u8]) -> Option<ResponseSeen> {
    let (head, body) = std::str::from_utf8(bytes).ok()?.split_once("\r\n\r\n")?;
    let (first, lines) = head.split_once("\r\n")?;
    let status = first.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers: Option<Vec<_>> = lines.split("\r\n").map(|line| line.split_once(": ")).collect();
    let mut lengths = headers?.into_iter().filter(|(name, _)| *name == "Content-Length");
    let whole = lengths.next().is_some_and(|(_, length)| length.parse() == Ok(body.len()));
    let bytes = u64::try_from(body.len()).ok();
    (whole && lengths.next().is_none() && UNKNOWN_CLASS.contains(&status))
        .then_some(ResponseSeen::Whole { status, bytes })
}

enum Pace {
    InTime,
    TooLate,
    Unclear,
}

/// Whether something that takes this long comes within the timeout.
fn pace(takes: i64, timeout: i64) -> Pace {
    if takes <= PROMPT.of(timeout) {
        Pace::InTime
    } else if takes > FAR_TOO_LATE.of(timeout) {
        Pace::TooLate
    } else {
        Pace::Unclear
    }
}

#[cfg(test)]
mod tests;
