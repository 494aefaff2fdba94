//! Requests and their answers, as both ends see them: when the head is there, how the body comes, and who gives up.

use probity_script::answer::{Body, Framing, Hops, HttpAnswer, HttpReply, Redirect, Report};
use probity_script::witness::{Answered, Ending};
use probity_script::{Endpoint, Fact, Protocol, witness};

use super::connection::{Call, Line, Request};
use super::stream::{End, Stream};
use super::workers::Place;
use crate::pod::micros;
use crate::world::{MS, SECOND, World};

/// The query by which a chain of redirects counts its hops.
const HOP: &str = "probity-hop";
/// What a system's buffers take of an answer that nobody reads.
const BUFFERS: u64 = 400 << 10;
/// What goes over a connection in a second if somebody reads it all.
const ENDLESS: u64 = 256 << 20;
/// The largest piece of a body.
const PIECE: u64 = 16 << 10;
/// How long a dependency may take if the plan does not say.
const DEPENDENCY_PATIENCE: i64 = 5 * SECOND;

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Nobody listens.
    Refused,
    /// The caller's time was up before there was any answer.
    TimedOut { connected: bool },
    /// The connection ended, or what came was no answer.
    Broken(String),
    /// A bare connection was made.
    Connected,
    /// A bare connection was made, and closed at once by who took it.
    Parted,
    /// An answer came.
    Head(Box<Head>),
    /// A gRPC health check came back: whether it serves, and what is said of it.
    Health(bool, String),
}

/// An HTTP answer, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    /// Why the body could not be read to its end or to the limit.
    pub(crate) cut: Option<String>,
    /// The host that an identity report names.
    pub(crate) answered_by: Option<String>,
    /// The connection, if it is kept.
    pub(crate) kept: Option<(u64, u64, u64)>,
}

impl World<'_> {
    /// Sends the request of a call over a connection.
    pub(super) fn ask_for(&mut self, call: &Call, line: Line) -> (i64, Answer) {
        let Some(request) = call.request.as_ref() else { return (self.now, Answer::Connected) };
        match (line.door.listener.protocol, &request.service) {
            (Protocol::Tcp, _) => {
                self.end(&line.door, line.conn, call.deadline, Ending::PeerClosed, None);
                (call.deadline, Answer::TimedOut { connected: true })
            }
            (Protocol::Grpc, Some(service)) => self.ask_health(call, request, service, &line),
            (Protocol::Grpc, None) | (Protocol::Http, Some(_)) => {
                self.end(&line.door, line.conn, line.from + MS, Ending::WeClosed, None);
                (line.from + MS, Answer::Broken("malformed HTTP response".to_owned()))
            }
            (Protocol::Http, None) => self.ask_http(call, request, &line),
        }
    }

    pub(super) fn arrive(
        &mut self,
        request: &Request,
        line: &Line,
        endpoint: Option<Endpoint>,
        probe: u64,
        hop: u64,
    ) {
        let arrived = witness::Request {
            conn: line.conn,
            nth: line.nth,
            endpoint,
            probe,
            hop: (hop > 0).then_some(hop),
            method: request.method.to_owned(),
            target: request.target.clone(),
            protocol: if line.http2 { "HTTP/2" } else { "HTTP/1.1" }.to_owned(),
            headers: if line.http2 { as_http2(&request.headers) } else { request.headers.clone() },
            body: 0,
            first_byte_us: self.mono(),
            service: request.service.clone(),
        };
        self.note_at(line.from, line.door.life, Fact::Request(arrived));
    }

    fn ask_http(&mut self, call: &Call, request: &Request, line: &Line) -> (i64, Answer) {
        let path = request.target.split(['?', '#']).next().unwrap_or_default().to_owned();
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let hop = query.split('&').find_map(|pair| pair.strip_prefix(HOP)?.strip_prefix('='));
        let hop: u64 = hop.and_then(|hop| hop.parse().ok()).unwrap_or(0);
        let host = request
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, v)| v.clone());
        let paths = &line.door.listener.paths;
        let known = paths.get_key_value(&path).or_else(|| paths.get_key_value("*"));
        let Some((name, script)) = known else {
            self.arrive(request, line, None, 0, hop);
            let reply = sentence(404, "no such path in the plan\n");
            return self.reply(call, line, None, 0, &reply, &Setting { path, hop, host });
        };
        let endpoint = Endpoint::Of { listener: line.door.name.clone(), name: name.clone() };
        let word = endpoint.to_string();
        let life = line.door.life;
        let probe = match self.life_mut(life) {
            Some(of) if hop == 0 => of.count(&word),
            Some(of) => of.counts.get(&word).copied().unwrap_or(0),
            None => 0,
        };
        let choice = self.choose_at(line.from, life, script, &word, probe, host.as_deref());
        self.arrive(request, line, Some(endpoint.clone()), choice.probe, hop);
        if let Some(mark) = choice.mark {
            self.mark(life, &mark, &word);
        }
        let (end, index) = (Some(endpoint), choice.index);
        let waited;
        let line = match self.take_worker(line) {
            Place::Unbounded => line,
            Place::Worker(worker, from) => {
                waited = Line { came: Some(line.from), worker: Some(worker), from, ..line.clone() };
                &waited
            }
            Place::Full => {
                let reply = sentence(503, "all workers are busy and the queue is full\n");
                return self.reply(call, line, end, index, &reply, &Setting { path, hop, host });
            }
        };
        let at = line.from + MS / 4;
        match choice.answer {
            HttpAnswer::Hang => self.gives_up(call, line, end, index, "hang", 0),
            HttpAnswer::Close => self.breaks(line, end, index, "close", at, Ending::WeClosed, "EOF"),
            HttpAnswer::Reset => {
                self.breaks(line, end, index, "reset", at, Ending::WeReset, "read: connection reset by peer")
            }
            HttpAnswer::Garbage => {
                self.breaks(line, end, index, "garbage", at, Ending::WeClosed, "malformed HTTP response")
            }
            HttpAnswer::Reply(reply) => {
                self.reply(call, line, end, index, &reply, &Setting { path, hop, host })
            }
        }
    }

    /// The caller's time is up before the head came.
    pub(super) fn gives_up(
        &mut self,
        call: &Call,
        line: &Line,
        endpoint: Option<Endpoint>,
        step: usize,
        answer: &str,
        written: u64,
    ) -> (i64, Answer) {
        let error = Some("the peer gave up".to_owned());
        let at = call.deadline.max(line.from);
        self.answered(line, endpoint, step, answer, at, written, error);
        self.end(&line.door, line.conn, at + MS / 4, Ending::PeerClosed, None);
        (call.deadline, Answer::TimedOut { connected: true })
    }

    #[expect(clippy::too_many_arguments, reason = "one answer in full")]
    pub(super) fn breaks(
        &mut self,
        line: &Line,
        endpoint: Option<Endpoint>,
        step: usize,
        answer: &str,
        at: i64,
        how: Ending,
        why: &str,
    ) -> (i64, Answer) {
        self.answered(line, endpoint, step, answer, at, 0, None);
        self.end(&line.door, line.conn, at + MS / 4, how, None);
        (at + MS / 4, Answer::Broken(why.to_owned()))
    }

    #[expect(clippy::too_many_arguments, reason = "one answer in full")]
    pub(super) fn answered(
        &mut self,
        line: &Line,
        endpoint: Option<Endpoint>,
        step: usize,
        answer: &str,
        at: i64,
        written: u64,
        error: Option<String>,
    ) {
        self.release_worker(line, at);
        let took_us = u64::try_from(at - line.came.unwrap_or(line.from)).unwrap_or(0);
        let (conn, nth, answer) = (line.conn, line.nth, answer.to_owned());
        let fact = Answered { conn, nth, endpoint, step, answer, written, took_us, error };
        self.note_at(at, line.door.life, Fact::Answer(fact));
    }

    fn reply(
        &mut self,
        call: &Call,
        line: &Line,
        endpoint: Option<Endpoint>,
        step: usize,
        reply: &HttpReply,
        setting: &Setting,
    ) -> (i64, Answer) {
        let mut from = line.from + MS / 4;
        let mut missing = None;
        if let Some(depends) = &reply.depends_on {
            let patience = depends.timeout.map_or(DEPENDENCY_PATIENCE, micros);
            let by = endpoint.as_ref().map(ToString::to_string).unwrap_or_default();
            let (when, status) = self.fetch(line.door.life, &by, &depends.url, line.from + patience);
            from = when;
            if status.is_none_or(|status| status >= 400) {
                missing = Some(sentence(503, "the dependency does not answer\n"));
            }
        }
        let reply = missing.as_ref().unwrap_or(reply);
        let waited = from;
        let from = from + reply.delay.map_or(0, micros);
        if let Some(raw) = &reply.raw {
            if from > call.deadline {
                return self.gives_up(call, line, endpoint, step, "raw", 0);
            }
            self.answered(line, endpoint, step, "raw", from, raw.len() as u64, None);
            self.end(&line.door, line.conn, from + MS / 4, Ending::WeClosed, None);
            return (from + MS / 4, read_raw(raw, call.limit));
        }
        let redirect = reply.redirect.as_ref().filter(|redirect| match redirect.hops {
            Hops::Count(hops) => setting.hop < hops,
            Hops::Endless => true,
        });
        let (head, stream) = match redirect {
            Some(redirect) => self.hop(line, redirect, setting),
            None => self.head(line, reply, setting),
        };
        if matches!(reply.body, Some(Body::Report(Report::Dump))) && redirect.is_none() {
            self.dump(line.door.life, from);
        }
        let status = head.status.to_string();
        if waited > call.deadline && reply.delay.is_none() {
            // Who waited for a worker or another service is answered then, also if nobody reads that any more.
            self.answered(line, endpoint, step, &status, from, 120, None);
            self.end(&line.door, line.conn, from + MS / 4, Ending::WeClosed, None);
            return (call.deadline, Answer::TimedOut { connected: true });
        }
        if from > call.deadline {
            return self.gives_up(call, line, endpoint, step, &status, 0);
        }
        let from_body = from + reply.body_delay.map_or(0, micros);
        self.deliver(call, line, (endpoint, step, status), (from, from_body), head, &stream)
    }

    /// The body goes to the caller as far as he reads it.
    fn deliver(
        &mut self,
        call: &Call,
        line: &Line,
        (endpoint, step, status): (Option<Endpoint>, usize, String),
        (from_head, from): (i64, i64),
        mut head: Head,
        stream: &Stream,
    ) -> (i64, Answer) {
        let follows = (301..=303).contains(&head.status) || (307..=308).contains(&head.status);
        let reads = if follows && head.location.is_some() { 0 } else { call.limit };
        let (had, wrong) = stream.read(reads);
        let had = if reads == 0 || stream.promised == Some(0) {
            Some(from_head)
        } else {
            had.map(|had| from + had)
        };
        let done = had.filter(|had| *had <= call.deadline);
        head.cut = match done {
            None => Some(
                "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
                    .to_owned(),
            ),
            Some(_) => wrong.map(str::to_owned),
        };
        let leaves = done.unwrap_or(call.deadline) + MS / 4;
        let whole = stream.sent.map(|sent| from + stream.after(sent));
        let sent = stream.sent.unwrap_or(u64::MAX);
        let unread = sent > reads.max(2048) && sent > 10_240;
        let stuck = sent > BUFFERS && unread;
        let (at, error, how) = match whole {
            Some(whole) if !stuck && stream.end != End::Stall && whole <= leaves => {
                let how = match stream.end {
                    End::Reset => Ending::WeReset,
                    _ if unread => Ending::PeerReset,
                    _ => Ending::WeClosed,
                };
                (whole, stream.broken_off(), how)
            }
            None if stream.end == End::Over => {
                (leaves, Some("Connection reset by peer (os error 104)"), Ending::PeerReset)
            }
            _ if stuck => (leaves, Some("Connection reset by peer (os error 104)"), Ending::PeerReset),
            _ => (
                leaves,
                Some("the peer gave up"),
                if unread { Ending::PeerReset } else { Ending::PeerClosed },
            ),
        };
        let taken = if reads == u64::MAX { ENDLESS } else { BUFFERS };
        let written = 120 + sent.min(taken);
        self.answered(line, endpoint, step, &status, at.max(from_head), written, error.map(str::to_owned));
        if call.keep && error.is_none() && head.cut.is_none() {
            head.kept = Some((line.door.life.attempt, line.conn, line.nth));
        } else {
            self.end(&line.door, line.conn, at.max(leaves) + MS / 2, how, None);
        }
        (leaves, Answer::Head(Box::new(head)))
    }

    fn hop(&self, line: &Line, redirect: &Redirect, setting: &Setting) -> (Head, Stream) {
        let base = fill_in(&redirect.base, line, setting);
        let location = format!("{base}{}?{HOP}={}", setting.path, setting.hop + 1);
        let head = Head { status: redirect.status.code(), location: Some(location), ..Head::default() };
        (head, Stream { sent: Some(0), promised: Some(0), chunked: false, end: End::Over, drip: None })
    }

    fn head(&self, line: &Line, reply: &HttpReply, setting: &Setting) -> (Head, Stream) {
        let mut head = Head { status: reply.status.code(), ..Head::default() };
        let text = match &reply.body {
            _ if !reply.status.has_body() => Some(String::new()),
            None => Some("ok".to_owned()),
            Some(Body::Text(text)) => Some(text.clone()),
            Some(Body::Report(report)) => {
                let pod = &self.pods[line.door.life.at.pod];
                if *report == Report::Identity {
                    head.answered_by = Some(pod.name.clone());
                }
                Some(format!("{{\"host\":\"{}\"}}", pod.name))
            }
            Some(Body::Bytes(_) | Body::Endless) => None,
        };
        let size = match (&text, &reply.body) {
            (Some(text), _) => Some(text.len() as u64),
            (None, Some(Body::Bytes(size))) => Some(size.0),
            _ => None,
        };
        let cuts = [
            (reply.stall_after, End::Stall),
            (reply.close_after, End::Close),
            (reply.reset_after, End::Reset),
        ];
        let cut = cuts.into_iter().find_map(|(after, end)| Some((after?.0, end)));
        let sent = cut.map_or(size, |(after, _)| Some(size.map_or(after, |size| size.min(after))));
        let mut claim = None;
        for header in &reply.headers {
            let Some((name, value)) = header.parts() else { continue };
            let value = fill_in(value, line, setting);
            if name.eq_ignore_ascii_case("location") {
                head.location.get_or_insert(value);
            } else if name.eq_ignore_ascii_case("content-length") {
                claim = value.parse().ok();
            }
        }
        let (promised, chunked) = match (&reply.framing, size) {
            _ if !reply.status.has_body() => (Some(0), false),
            _ if claim.is_some() => (claim, false),
            (None | Some(Framing::ContentLength), Some(size)) => (Some(size), false),
            (None | Some(Framing::ContentLength), None) | (Some(Framing::Chunked), _) => (None, true),
            (Some(Framing::Close), _) => (None, false),
            (Some(Framing::Claim(claim)), _) => (Some(claim.content_length.0), false),
        };
        head.body = text.unwrap_or_else(|| "aaaaaaaa".to_owned());
        let drip = reply.drip.map(|drip| (drip.bytes.0.clamp(1, PIECE), micros(drip.every)));
        (head, Stream { sent, promised, chunked, end: cut.map_or(End::Over, |(_, end)| end), drip })
    }
}

/// What a reply depends on besides the plan.
struct Setting {
    path: String,
    hop: u64,
    host: Option<String>,
}

fn fill_in(text: &str, line: &Line, setting: &Setting) -> String {
    text.replace("{ip}", &line.door.local.0)
        .replace("{port}", &line.door.local.1.to_string())
        .replace("{host}", setting.host.as_deref().unwrap_or_default())
}

fn sentence(status: u64, text: &str) -> HttpReply {
    HttpReply {
        status: status.try_into().unwrap_or_default(),
        body: Some(Body::Text(text.to_owned())),
        ..HttpReply::default()
    }
}

/// The headers of HTTP/1.1 as HTTP/2 has them.
fn as_http2(headers: &[(String, String)]) -> Vec<(String, String)> {
    let host = headers.iter().filter(|(name, _)| name == "Host");
    let pseudo = host.map(|(_, value)| (":authority".to_owned(), value.clone()));
    let plain = headers.iter().filter(|(name, _)| name != "Host" && name != "Connection");
    pseudo.chain(plain.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))).collect()
}

/// What a client makes of bytes that were sent as they are.
fn read_raw(raw: &str, limit: u64) -> Answer {
    let malformed = || Answer::Broken("malformed HTTP response".to_owned());
    let Some((head, body)) = raw.split_once("\r\n\r\n") else { return malformed() };
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok());
    let Some(status) = status else { return malformed() };
    let mut found = Head { status, body: body.to_owned(), ..Head::default() };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return malformed() };
        if name.eq_ignore_ascii_case("location") {
            found.location = Some(value.trim().to_owned());
        } else if name.eq_ignore_ascii_case("content-length")
            && value.trim().parse().is_ok_and(|promised: u64| promised.min(limit) > body.len() as u64)
        {
            found.cut = Some("unexpected EOF".to_owned());
        }
    }
    Answer::Head(Box::new(found))
}
