//! What an answer says to whoever reads it as HTTP: a status that counts, a body that breaks off, or nothing at all.
//!
//! The witness tells what became of an answer, the plan what was meant. Where both together leave room for doubt, for
//! example because a pause comes near to the probe's timeout, the answer is [`Said::Unknown`] and nobody is judged by it.

use probity_model::clause::micros;
use probity_model::mechanisms::{FAR_TOO_LATE, PROMPT};
use probity_script::answer::{Body, Framing, Hops, HttpAnswer, HttpReply, Redirect};
use probity_script::witness::Answered;

/// No more of a body is read (`maxRespBodyLength` of `pkg/probe/http`).
pub(crate) const LIMIT: u64 = 10 * 1024;

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// A status, and a body that can be read to its end or to the limit.
    Whole {
        status: u16,
        /// How long the body is; endless is the largest number, none if the plan is not known.
        bytes: Option<u64>,
    },
    /// A status, and a body of which neither the end nor the limit can be reached within the timeout.
    Short { status: u16 },
    /// Nothing that is HTTP: closed, aborted or garbage.
    Nothing,
    /// It cannot be told.
    Unknown,
}

impl Said {
    /// The status, if one was said.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Whole { status, .. } | Self::Short { status } => Some(*status),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// What an answer said.
    pub(crate) fn of(
        answer: &Answered,
        told: Option<&HttpAnswer>,
        hop: u64,
        http1: bool,
        timeout: i64,
    ) -> Self {
        let reply = match told {
            Some(HttpAnswer::Reply(reply)) => Some(&**reply),
            _ => None,
        };
        let whole = answer.error.is_none();
        match (answer.answer.as_str(), reply.and_then(|reply| reply.raw.as_deref())) {
            ("close" | "reset" | "garbage", _) if whole => Self::Nothing,
            ("raw", Some(raw)) if whole && !raw.starts_with("HTTP/") => Self::Nothing,
            (status, None) => match status.parse() {
                Ok(status) => {
                    let reply = reply.filter(|reply| composed(reply, hop) == status);
                    response(status, reply, hop, whole, http1, timeout)
                }
                Err(_) => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

/// The part of a redirect chain that this hop still is.
pub(crate) fn chain(reply: &HttpReply, hop: u64) -> Option<&Redirect> {
    reply.redirect.as_ref().filter(|redirect| match redirect.hops {
        Hops::Count(hops) => hop < hops,
        Hops::Endless => true,
    })
}

fn composed(reply: &HttpReply, hop: u64) -> u16 {
    chain(reply, hop).map_or(reply.status, |redirect| redirect.status).code()
}

fn response(
    status: u16,
    reply: Option<&HttpReply>,
    hop: u64,
    whole: bool,
    http1: bool,
    timeout: i64,
) -> Said {
    let known = |bytes| if whole { Said::Whole { status, bytes } } else { Said::Unknown };
    let Some(reply) = reply else { return known(None) };
    if reply.delay.is_some_and(|delay| micros(delay) > PROMPT.of(timeout)) {
        return Said::Unknown;
    }
    if chain(reply, hop).is_some() || !reply.status.has_body() {
        return known(Some(0));
    }
    if reply.headers.iter().any(|line| line.is("content-length") || line.is("transfer-encoding")) {
        return Said::Unknown;
    }
    let Some(bytes) = length(reply) else { return known(None) };
    let cut = [reply.stall_after, reply.close_after, reply.reset_after].into_iter().flatten().next();
    let unusual = cut.is_some() || reply.framing.is_some();
    if reply.reset_after.is_some() || (!http1 && unusual) {
        return Said::Unknown;
    }
    let sent = bytes.min(cut.map_or(u64::MAX, |cut| cut.0));
    let needed = needed(reply, bytes).min(LIMIT);
    match pace(reply, sent.min(needed), timeout) {
        Pace::InTime if sent >= LIMIT => Said::Whole { status, bytes: Some(bytes) },
        Pace::InTime if sent >= needed => known(Some(bytes)),
        Pace::InTime | Pace::TooLate => Said::Short { status },
        Pace::Unclear => Said::Unknown,
    }
}

/// How long the body is that was meant; none for a report, whose length is not in the plan.
fn length(reply: &HttpReply) -> Option<u64> {
    match &reply.body {
        None => Some(2),
        Some(Body::Text(text)) => Some(text.len() as u64),
        Some(Body::Bytes(size)) => Some(size.0),
        Some(Body::Endless) => Some(u64::MAX),
        Some(Body::Report(_)) => None,
    }
}

/// How much has to come before a reader knows the end: without a length he needs the end itself, which a cut takes away.
fn needed(reply: &HttpReply, bytes: u64) -> u64 {
    let cut = reply.stall_after.is_some() || reply.close_after.is_some();
    match &reply.framing {
        Some(Framing::Claim(claim)) => claim.content_length.0,
        Some(Framing::Close) if reply.stall_after.is_none() => 0,
        Some(Framing::Close | Framing::Chunked) if cut => u64::MAX,
        None if cut && bytes == u64::MAX => u64::MAX,
        _ => bytes,
    }
}

enum Pace {
    InTime,
    TooLate,
    Unclear,
}

/// Whether so much of the body comes within the timeout.
fn pace(reply: &HttpReply, bytes: u64, timeout: i64) -> Pace {
    let before = [reply.delay, reply.body_delay].into_iter().flatten().map(micros).sum::<i64>();
    let drip = reply.drip.map_or(0, |drip| {
        let pauses = bytes.saturating_sub(1) / drip.bytes.0.max(1);
        i64::try_from(pauses).unwrap_or(i64::MAX).saturating_mul(micros(drip.every))
    });
    let takes = before.saturating_add(drip);
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
