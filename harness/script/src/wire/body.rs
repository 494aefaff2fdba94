//! A planned body: what it consists of, how its end is announced, and how it is sent step by step.

use std::ops::Range;

use super::ConnectionEnd;
use crate::Span;
use crate::answer::Report;

/// The largest piece in which a body is sent.
pub const LARGEST_PIECE: u64 = 16 * 1024;

/// What a body consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyContent {
    /// This text.
    Text(String),
    /// This many bytes of filler.
    Filler(u64),
    /// Endless filler.
    Endless,
    /// A report about the target, to be replaced by its text before the body is sent.
    Report(Report),
}

impl BodyContent {
    /// The number of bytes. `None` for an endless body, and for a report whose text is not known yet.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Text(text) => Some(text.len() as u64),
            Self::Filler(bytes) => Some(*bytes),
            Self::Endless | Self::Report(_) => None,
        }
    }
}

/// How the head announces the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// With the correct `Content-Length`.
    True,
    /// With this `Content-Length`, which may be wrong.
    Claimed(u64),
    /// With the header lines of the plan, which may have a `Content-Length`. No other header line announces the end.
    Headers(Option<u64>),
    /// With chunks.
    Chunked,
    /// By the end of the connection.
    UntilClose,
    /// Not at all, because the status has no body.
    NoBody,
}

/// What happens when the plan cuts off a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCut {
    /// Nothing more is sent; the connection stays open.
    Stall,
    /// The connection ends.
    End(ConnectionEnd),
}

/// The steps in which a body is sent.
#[derive(Clone, Debug)]
pub struct BodyTurns {
    pub(super) sent: u64,
    pub(super) size: Option<u64>,
    pub(super) piece: u64,
    pub(super) pause: Option<Span>,
    pub(super) resting: bool,
    pub(super) cut: Option<(u64, BodyCut)>,
}

/// What to do next with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyTurn {
    /// Send these bytes of the content.
    Send(Range<u64>),
    /// Wait.
    Pause(Span),
    /// The body is complete.
    Complete,
    /// The body is cut off here.
    Cut(BodyCut),
}

impl BodyTurns {
    /// Whether the body is complete: nothing more is sent, and nothing is cut off.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.size == Some(self.sent) && self.cut.is_none()
    }

    /// The next step. The last step is repeated.
    pub fn take(&mut self) -> BodyTurn {
        let stop = last_byte(self.size, self.cut).unwrap_or(u64::MAX);
        if self.sent >= stop {
            return self.cut.map_or(BodyTurn::Complete, |(_, cut)| BodyTurn::Cut(cut));
        }
        if let (true, Some(pause)) = (self.resting, self.pause) {
            self.resting = false;
            return BodyTurn::Pause(pause);
        }
        let from = self.sent;
        self.sent = stop.min(from.saturating_add(self.piece));
        self.resting = true;
        BodyTurn::Send(from..self.sent)
    }
}

/// How many bytes of a body are sent. `None` if the body is endless.
pub(super) fn last_byte(size: Option<u64>, cut: Option<(u64, BodyCut)>) -> Option<u64> {
    let cut = cut.map(|(after, _)| after);
    size.into_iter().chain(cut).min()
}

/// What a client receives of a body if it reads up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyReading {
    /// How long after the head the last byte that the client receives is sent.
    pub after: Span,
    /// What follows.
    pub end: BodyEnd,
}

/// What follows the last byte that a client receives of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// The client has the whole body, or as much as it wants.
    Complete,
    /// Nothing: the client waits.
    Silence,
    /// The end of the connection, too early (FIN).
    TooShort,
    /// An abort (RST).
    Aborted,
}
