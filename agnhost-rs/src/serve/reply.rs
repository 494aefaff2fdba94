//! From the plan's words to what goes on the wire: the head of a reply and the turns of its body. Pure.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use probity_script::answer::{Body, Framing, Hops, HttpReply, Redirect};

use super::report;
use super::site::HOP;

/// The size of the pieces in which a large body is sent.
const PIECE: u64 = 16 * 1024;

/// The filler of bodies that only have a size.
static FILLER: [u8; PIECE as usize] = [b'a'; PIECE as usize];

/// What a reply depends on besides the plan.
pub(super) struct Setting<'a> {
    pub(super) path: &'a str,
    pub(super) hop: u64,
    pub(super) ip: IpAddr,
    pub(super) port: u16,
    pub(super) host: &'a str,
    pub(super) report: &'a dyn Fn(probity_script::answer::Report) -> String,
}

/// A reply, ready to be sent.
#[derive(Debug)]
pub(super) struct Composed {
    pub(super) status: u16,
    /// Header lines without the framing.
    pub(super) headers: Vec<String>,
    pub(super) framing: Length,
    pub(super) body: Source,
    pub(super) delay: Option<Duration>,
    pub(super) body_delay: Option<Duration>,
}

/// How the end of the body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// By this many bytes, truly.
    Exact(u64),
    /// By this many bytes, so it is said.
    Claimed(u64),
    /// By chunks.
    Chunked,
    /// By the end of the connection.
    UntilClose,
    /// There is no body and no word about it.
    Nothing,
}

/// A body that comes in turns.
#[derive(Debug)]
pub(super) struct Source {
    text: Option<Bytes>,
    left: Option<u64>,
    piece: u64,
    pause: Option<Duration>,
    resting: bool,
    cut: Option<(u64, Cut)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Stall,
    Close,
    Reset,
}

/// What to do next with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send this.
    Send(Bytes),
    /// Wait so long.
    Rest(Duration),
    /// The body is complete.
    End,
    /// Send nothing more, for ever.
    Stall,
    /// Close the connection in good order.
    Close,
    /// Abort the connection.
    Reset,
}

impl Source {
    fn new(reply: &HttpReply, body: Content) -> Self {
        let (text, left) = match body {
            Content::Text(text) => (Some(Bytes::from(text)), None),
            Content::Filler(bytes) => (None, Some(bytes)),
            Content::Endless => (None, None),
        };
        let left = text.as_ref().map_or(left, |text| Some(text.len() as u64));
        let cut = |after: Option<probity_script::Size>, cut| after.map(|size| (size.0, cut));
        Self {
            text,
            left,
            piece: reply.drip.map_or(PIECE, |drip| drip.bytes.0.clamp(1, PIECE)),
            pause: reply.drip.map(|drip| drip.every.0),
            resting: false,
            cut: cut(reply.stall_after, Cut::Stall)
                .or(cut(reply.close_after, Cut::Close))
                .or(cut(reply.reset_after, Cut::Reset)),
        }
    }

    /// Whether everything has been sent that will be, and the end is a good one.
    pub(super) fn is_over(&self) -> bool {
        self.left == Some(0) && self.cut.is_none()
    }

    /// The next turn. After `End` and the cuts it repeats itself.
    pub(super) fn next(&mut self) -> Turn {
        match self.cut {
            Some((0, Cut::Stall)) => return Turn::Stall,
            Some((0, Cut::Close)) => return Turn::Close,
            Some((0, Cut::Reset)) => return Turn::Reset,
            _ => {}
        }
        if self.left == Some(0) {
            return match self.cut {
                Some((_, Cut::Stall)) => Turn::Stall,
                Some((_, Cut::Reset)) => Turn::Reset,
                Some((_, Cut::Close)) => Turn::Close,
                None => Turn::End,
            };
        }
        if let (true, Some(pause)) = (self.resting, self.pause) {
            self.resting = false;
            return Turn::Rest(pause);
        }
        let most =
            self.left.unwrap_or(u64::MAX).min(self.piece).min(self.cut.map_or(u64::MAX, |(after, _)| after));
        self.left = self.left.map(|left| left - most);
        self.cut = self.cut.map(|(after, cut)| (after - most, cut));
        self.resting = true;
        let piece = match &mut self.text {
            Some(text) => text.split_to(most as usize),
            None => Bytes::from_static(&FILLER[..most as usize]),
        };
        Turn::Send(piece)
    }
}

enum Content {
    Text(String),
    Filler(u64),
    Endless,
}

/// Puts a reply together.
pub(super) fn compose(reply: &HttpReply, setting: &Setting<'_>) -> Composed {
    if let Some(redirect) = reply.redirect.as_ref().filter(|redirect| leads_on(redirect, setting.hop)) {
        return hop(redirect, setting, reply.delay.map(|span| span.0));
    }
    let (content, kind) = content(reply, setting);
    let framing = framing(reply, &content);
    let mut headers: Vec<String> = reply.headers.iter().map(|line| fill_in(line.text(), setting)).collect();
    if let Some(kind) = kind.filter(|_| !reply.headers.iter().any(|line| line.is("content-type"))) {
        headers.push(format!("Content-Type: {kind}"));
    }
    if let Some(extra) = reply.extra_headers {
        let value = "x".repeat(usize::try_from(extra.bytes.0).unwrap_or(0).min(1 << 20));
        headers.extend((0..extra.count).map(|n| format!("X-Extra-{n}: {value}")));
    }
    let framing = if reply.headers.iter().any(|l| l.is("content-length") || l.is("transfer-encoding")) {
        Length::UntilClose
    } else {
        framing
    };
    Composed {
        status: reply.status.code(),
        headers,
        framing,
        body: Source::new(reply, content),
        delay: reply.delay.map(|span| span.0),
        body_delay: reply.body_delay.map(|span| span.0),
    }
}

fn leads_on(redirect: &Redirect, hop: u64) -> bool {
    match redirect.hops {
        Hops::Count(hops) => hop < hops,
        Hops::Endless => true,
    }
}

fn hop(redirect: &Redirect, setting: &Setting<'_>, delay: Option<Duration>) -> Composed {
    let base = fill_in(&redirect.base, setting);
    let location = format!("Location: {base}{}?{HOP}={}", setting.path, setting.hop + 1);
    Composed {
        status: redirect.status.code(),
        headers: vec![location],
        framing: Length::Exact(0),
        body: Source::new(&HttpReply::default(), Content::Filler(0)),
        delay,
        body_delay: None,
    }
}

fn content(reply: &HttpReply, setting: &Setting<'_>) -> (Content, Option<&'static str>) {
    match &reply.body {
        _ if !reply.status.has_body() => (Content::Filler(0), None),
        None => (Content::Text("ok".to_owned()), Some("text/plain; charset=utf-8")),
        Some(Body::Text(text)) => (Content::Text(text.clone()), Some("text/plain; charset=utf-8")),
        Some(Body::Bytes(size)) => (Content::Filler(size.0), Some("application/octet-stream")),
        Some(Body::Endless) => (Content::Endless, Some("application/octet-stream")),
        Some(Body::Report(report)) => (Content::Text((setting.report)(*report)), Some("application/json")),
    }
}

fn framing(reply: &HttpReply, content: &Content) -> Length {
    let size = match content {
        Content::Text(text) => Some(text.len() as u64),
        Content::Filler(bytes) => Some(*bytes),
        Content::Endless => None,
    };
    match (&reply.framing, size) {
        _ if !reply.status.has_body() => Length::Nothing,
        (None | Some(Framing::ContentLength), Some(size)) => Length::Exact(size),
        (None | Some(Framing::ContentLength), None) | (Some(Framing::Chunked), _) => Length::Chunked,
        (Some(Framing::Close), _) => Length::UntilClose,
        (Some(Framing::Claim(claim)), _) => Length::Claimed(claim.content_length.0),
    }
}

/// Puts the connection's own address into a template.
fn fill_in(text: &str, setting: &Setting<'_>) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    text.replace("{ip}", &report::bracketed(setting.ip))
        .replace("{port}", &setting.port.to_string())
        .replace("{host}", setting.host)
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
