//! A response on its way to the caller: when either side closes the connection, and what the target records.

use probity_script::wire::{BodyContent, BodyCut, BodyEnd, ConnectionEnd, PlannedResponse};
use probity_script::witness::Ending;

use super::request::{Answering, HEAD};
use crate::Defect;
use crate::call::{Call, CallResult, ReceivedResponse, cut_short};
use crate::pod::micros;
use crate::world::{MS, World};

/// The number of bytes of an unread answer that a system's buffers hold.
const BUFFERS: u64 = 400 << 10;
/// The number of bytes that a connection carries in a second if the peer reads all of them.
const ENDLESS: u64 = 256 << 20;
/// The number of unread bytes of a body above which the client's system aborts the connection.
const UNREAD: u64 = 10_240;

impl World<'_> {
    /// Sends a response to the caller, as far as the caller reads it.
    pub(super) fn deliver(
        &mut self,
        call: &Call,
        answering: &Answering,
        word: &str,
        from: i64,
        response: &PlannedResponse,
    ) -> (i64, CallResult) {
        let line = &answering.line;
        let location = response.header("location").map(str::to_owned);
        let follows = matches!(response.status, 301..=303 | 307 | 308) && location.is_some();
        let reads = if follows { 0 } else { call.limit };
        let read = response.read(reads);
        let had = (read.end != BodyEnd::Silence).then(|| from + micros(read.after));
        let drips = response.drip.is_some_and(|drip| from + micros(drip.every) <= call.deadline);
        let patient = drips && self.has(Defect::TimeoutRestartsWithBytes);
        let had = had.filter(|had| patient || *had <= call.deadline);
        let cut = cut_short(read.end, had.is_some());
        let leaves = had.unwrap_or(call.deadline) + MS / 4;
        let (at, error, how) = leave(response, from, reads, leaves);
        let taken = if reads == u64::MAX { ENDLESS } else { BUFFERS };
        let written = HEAD + response.sent().unwrap_or(u64::MAX).min(taken);
        self.answered(answering, word, at.max(from), written, error);
        let kept = (call.keep && error.is_none() && cut.is_none()).then_some((
            line.door.life.attempt,
            line.conn,
            line.nth,
        ));
        if kept.is_none() {
            self.end(line, at.max(leaves) + MS / 2, how, None);
        }
        let body = match &response.content {
            BodyContent::Text(text) => text.clone(),
            content => "a".repeat(content.size().map_or(8, |size| size.min(8) as usize)),
        };
        let (status, cut) = (response.status, cut.map(str::to_owned));
        let head = response.headers.iter().map(String::len).sum();
        let cookie = response.header("set-cookie").map(str::to_owned);
        let received = ReceivedResponse { status, location, cookie, head, body, cut, kept };
        (leaves, CallResult::Response(Box::new(received)))
    }
}

/// When the target is done with a response that it sends from a given time on, why it stopped early, and how the
/// connection ends, if the caller reads this much and then leaves.
fn leave(
    response: &PlannedResponse,
    from: i64,
    reads: u64,
    leaves: i64,
) -> (i64, Option<&'static str>, Ending) {
    let sent = response.sent().unwrap_or(u64::MAX);
    let unread = sent > reads.max(UNREAD);
    let stuck = unread && sent > BUFFERS;
    let cut = response.cut.map(|(_, cut)| cut);
    let whole = response.sent().filter(|_| !stuck && cut != Some(BodyCut::Stall));
    let whole = whole.map(|sent| from + micros(response.sent_after(sent))).filter(|whole| *whole <= leaves);
    match whole {
        Some(whole) => {
            let how = match cut {
                Some(BodyCut::End(ConnectionEnd::Reset)) => Ending::WeReset,
                _ if unread => Ending::PeerReset,
                _ => Ending::WeClosed,
            };
            (whole, response.breaks_off(), how)
        }
        None if stuck || response.sent().is_none() => {
            (leaves, Some("Connection reset by peer (os error 104)"), Ending::PeerReset)
        }
        None if unread => (leaves, Some("the peer gave up"), Ending::PeerReset),
        None => (leaves, Some("the peer gave up"), Ending::PeerClosed),
    }
}
