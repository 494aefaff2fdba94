//! Requests at the target: the answer that is due, and the records of the target.

use std::net::Ipv4Addr;

use probity_script::answer::Report;
use probity_script::wire::{
    BodyContent, ComposedAnswer, ConnectionEnd, HttpRequestFacts, HttpVersion, WireAction, all_workers_busy,
    compose_health, compose_http, dependency_missing, hop_of, no_such_path, path_of,
};
use probity_script::witness::{Answered, Ending};
use probity_script::{Endpoint, Fact, Protocol, Script, witness};
use serde_json::json;

use super::connection::Line;
use crate::Defect;
use crate::call::{Call, CallResult, Request};
use crate::pod::micros;
use crate::world::{LifeAt, MS, SECOND, World};

/// The number of bytes of a head, which the simulated target does not write out.
pub(super) const HEAD: u64 = 120;

/// An answer that is in progress.
pub(super) struct Answering {
    pub(super) line: Line,
    endpoint: Option<Endpoint>,
    step: usize,
}

impl World<'_> {
    /// Sends the request of a call over a connection.
    pub(super) fn ask_for(&mut self, call: &Call, line: Line) -> (i64, CallResult) {
        let Some(request) = call.request.as_ref() else { return (self.now, CallResult::Connected) };
        match (line.door.listener.protocol, &request.service) {
            (Protocol::Tcp, _) => {
                self.end(&line, call.deadline, Ending::PeerClosed, None);
                (call.deadline, CallResult::TimedOut { connected: true })
            }
            (Protocol::Grpc, Some(service)) => self.ask_health(call, request, service, line),
            (Protocol::Grpc, None) | (Protocol::Http, Some(_)) => {
                let at = line.from + MS;
                self.end(&line, at, Ending::WeClosed, None);
                (at, CallResult::malformed())
            }
            (Protocol::Http, None) => self.ask_http(call, request, line),
        }
    }

    fn ask_health(&mut self, call: &Call, request: &Request, service: &str, line: Line) -> (i64, CallResult) {
        let listener = line.door.listener.clone();
        let call = &self.with_timeout_anew(call, line.from);
        let (answering, answer) = self.arrive(request, line, listener.service(service), 0, None);
        let ready = answering.line.from + MS / 2;
        match self.send_answer(call, &answering, compose_health(answer.as_ref()), ready) {
            Err(end) => end,
            Ok((at, word, reply)) => {
                self.answered(&answering, &word, at, 7, None);
                if !call.keep {
                    let late = answering.line.conn % 3 == 2 && self.has(Defect::GrpcConnectionsClosedLate);
                    let stays = if late { 4 * SECOND } else { 0 };
                    self.end(&answering.line, at + MS + stays, Ending::PeerClosed, None);
                }
                (at + MS, CallResult::Health(reply))
            }
        }
    }

    fn ask_http(&mut self, call: &Call, request: &Request, line: Line) -> (i64, CallResult) {
        let request = &self.as_addressed(request, line.http2.then_some(&line.door.local));
        let (path, hop) = (path_of(&request.target), hop_of(&request.target));
        let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = host.map(|(_, host)| host.as_str());
        let (listener, life) = (line.door.listener.clone(), line.door.life);
        let (mut answering, planned) = self.arrive(request, line, listener.path(path), hop, host);
        let mut answer = match planned {
            None => no_such_path(),
            Some(answer) if self.take_worker(&mut answering.line) => answer,
            Some(_) => all_workers_busy(),
        };
        let mut ready = answering.line.from + MS / 4;
        if let Some(depends) = answer.depends_on() {
            let by = answering.endpoint.as_ref().map(ToString::to_string).unwrap_or_default();
            let deadline = answering.line.from + micros(depends.patience());
            let outcome;
            (ready, outcome) = self.fetch(life, &by, &depends.url, deadline);
            answer = dependency_missing(outcome.as_ref().copied().map_err(String::as_str)).unwrap_or(answer);
        }
        let (ip, port) = &answering.line.door.local;
        let facts = HttpRequestFacts {
            version: if answering.line.http2 { HttpVersion::Http2 } else { HttpVersion::Http11 },
            path,
            hop,
            host: host.unwrap_or_default(),
            ip: ip.parse().unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: *port,
        };
        let mut composed = compose_http(&answer, &facts);
        if let WireAction::Respond(response) = &mut composed.action
            && let BodyContent::Report(report) = response.content
        {
            response.content = BodyContent::Text(self.report(life, report, ready));
        }
        match self.send_answer(call, &answering, composed, ready) {
            Err(end) => end,
            Ok((from, word, response)) => self.deliver(call, &answering, &word, from, &response),
        }
    }

    /// The target's report about itself, as far as the simulator needs it.
    fn report(&mut self, life: LifeAt, report: Report, at: i64) -> String {
        if report == Report::Dump {
            self.dump(life, at);
        }
        match report {
            Report::Counters => json!({}).to_string(),
            Report::Identity | Report::Dump => json!({ "host": self.pods[life.at.pod].name }).to_string(),
        }
    }

    /// Records a request and selects its answer; `None` if the plan has none.
    fn arrive<A: Clone>(
        &mut self,
        request: &Request,
        line: Line,
        known: Option<(&String, &Script<A>)>,
        hop: u64,
        host: Option<&str>,
    ) -> (Answering, Option<A>) {
        let life = line.door.life;
        let choice = known.map(|(name, script)| {
            let endpoint = Endpoint::Of { listener: line.door.name.clone(), name: name.clone() };
            let probe = self.life_mut(life).map_or(0, |of| match hop {
                0 => of.count(&endpoint),
                _ => of.counts.get(&endpoint).copied().unwrap_or(0),
            });
            let choice = self.choose(line.from, life, (&endpoint, script), probe, host);
            (endpoint, choice)
        });
        let arrived = witness::Request {
            conn: line.conn,
            nth: line.nth,
            endpoint: choice.as_ref().map(|(endpoint, _)| endpoint.clone()),
            probe: choice.as_ref().map_or(0, |(_, choice)| choice.probe),
            hop: (hop > 0).then_some(hop),
            method: request.method.to_owned(),
            target: request.target.clone(),
            protocol: if line.http2 { HttpVersion::Http2 } else { HttpVersion::Http11 }.word().to_owned(),
            headers: if line.http2 { self.as_http2(&request.headers) } else { request.headers.clone() },
            body: 0,
            first_byte_us: self.mono(),
            service: request.service.clone(),
        };
        self.note_at(line.from, life, Fact::Request(arrived));
        let Some((endpoint, choice)) = choice else {
            return (Answering { line, endpoint: None, step: 0 }, None);
        };
        if let Some(mark) = choice.mark {
            self.mark(life, &mark, &endpoint.to_string());
        }
        (Answering { line, endpoint: Some(endpoint), step: choice.step }, Some(choice.answer))
    }

    /// Sends an answer that is ready at a given time, up to its response. Returns when the response is sent, its word,
    /// and the response itself. If the answer ends before a response, the result is the end of the call.
    fn send_answer<R>(
        &mut self,
        call: &Call,
        answering: &Answering,
        composed: ComposedAnswer<R>,
        ready: i64,
    ) -> Result<(i64, String, R), (i64, CallResult)> {
        let ComposedAnswer { word, delay, action } = composed;
        let from = ready + delay.map_or(0, micros);
        let late = from > call.deadline;
        if matches!(action, WireAction::Hang) || (late && delay.is_some()) {
            let at = call.deadline.max(answering.line.from);
            self.answered(answering, &word, at, 0, Some("the peer gave up"));
            self.end(&answering.line, at + MS / 4, Ending::PeerClosed, None);
            return Err((call.deadline, CallResult::TimedOut { connected: true }));
        }
        let (written, how, received) = match action {
            WireAction::Respond(response) if !late => return Ok((from, word, response)),
            // A request that waited for a worker or another service is answered then, even if nobody reads the answer
            // any longer.
            WireAction::Respond(_) | WireAction::Hang => (HEAD, Ending::WeClosed, CallResult::Connected),
            WireAction::SendAndEnd { bytes, end } => {
                let how = match end {
                    ConnectionEnd::Close => Ending::WeClosed,
                    ConnectionEnd::Reset => Ending::WeReset,
                };
                (bytes.len() as u64, how, CallResult::of_bytes(&bytes, end, call.limit))
            }
        };
        self.answered(answering, &word, from, written, None);
        self.end(&answering.line, from + MS / 4, how, None);
        Err(match late {
            true => (call.deadline, CallResult::TimedOut { connected: true }),
            false => (from + MS / 4, received),
        })
    }

    /// Records how a request was answered, and releases its worker.
    pub(super) fn answered(
        &mut self,
        answering: &Answering,
        word: &str,
        at: i64,
        written: u64,
        error: Option<&str>,
    ) {
        let Answering { line, endpoint, step } = answering;
        self.release_worker(line, at);
        let fact = Answered {
            conn: line.conn,
            nth: line.nth,
            endpoint: endpoint.clone(),
            step: *step,
            answer: word.to_owned(),
            written,
            took_us: u64::try_from(at - line.came.unwrap_or(line.from)).unwrap_or(0),
            last_send_us: None,
            error: error.map(str::to_owned),
        };
        self.note_at(at, line.door.life, Fact::Answer(fact));
    }

    /// The headers of HTTP/1.1 in the form that they have in HTTP/2.
    fn as_http2(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let host = headers.iter().filter(|(name, _)| name == "Host");
        let pseudo = host.map(|(_, value)| (":authority".to_owned(), value.clone()));
        let plain = headers.iter().filter(|(name, _)| name != "Host" && name != "Connection");
        let plain = plain.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let more = self.has(Defect::Http2SendsAcceptEncoding);
        let more = more.then(|| ("accept-encoding".to_owned(), "gzip".to_owned()));
        pseudo.chain(plain).chain(more).collect()
    }
}
