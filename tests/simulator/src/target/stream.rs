//! A body on the wire: how much of it comes when, and how it ends.

use crate::world::SECOND;

/// How a body goes over the wire.
pub(super) struct Stream {
    /// Bytes that are sent before the end or the cut; none for a body without end.
    pub(super) sent: Option<u64>,
    /// How many the head promises; none if the end tells.
    pub(super) promised: Option<u64>,
    pub(super) chunked: bool,
    pub(super) end: End,
    pub(super) drip: Option<(u64, i64)>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum End {
    Over,
    Stall,
    Close,
    Reset,
}

impl Stream {
    /// How long after the body's beginning so many bytes are under way.
    pub(super) fn after(&self, bytes: u64) -> i64 {
        match self.drip {
            Some((piece, pause)) if bytes > 0 => {
                i64::try_from((bytes - 1) / piece).unwrap_or(i64::MAX / SECOND) * pause
            }
            _ => 0,
        }
    }

    /// Why the answer breaks off, where the plan wants that.
    pub(super) fn broken_off(&self) -> Option<&'static str> {
        let short = self.promised.is_some_and(|promised| self.sent.is_some_and(|sent| sent < promised));
        match self.end {
            End::Reset => Some("the plan aborts the connection here"),
            End::Close if self.promised.is_some() || self.chunked => {
                Some("the plan closes the connection here")
            }
            End::Over if short => Some("the head promised more than the plan sends"),
            _ => None,
        }
    }

    /// When a reader of so many bytes at most has what it wants, counted from the body's beginning, or why it never will.
    pub(super) fn read(&self, limit: u64) -> (Option<i64>, Option<&'static str>) {
        let want = self.promised.map_or(limit, |promised| promised.min(limit));
        let sent = self.sent.unwrap_or(u64::MAX);
        if sent >= want && (want < u64::MAX || self.sent.is_some()) {
            return (Some(self.after(want.min(sent))), None);
        }
        let Some(sent) = self.sent else { return (None, None) };
        let at = Some(self.after(sent));
        match self.end {
            End::Stall => (None, None),
            End::Reset => (at, Some("read: connection reset by peer")),
            End::Close if self.chunked => (at, Some("unexpected EOF")),
            End::Over | End::Close if self.promised.is_some() => (at, Some("unexpected EOF")),
            End::Over | End::Close => (at, None),
        }
    }
}
