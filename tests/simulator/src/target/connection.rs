//! A connection to a target, as both of its ends see it: what the plan does with the connection before any data is
//! exchanged, and the TLS handshake.

use probity_script::answer::{ListenState, Then};
use probity_script::wire::PlannedConnection;
use probity_script::witness::{Accepted, Closed, Ending, TlsSeen};
use probity_script::{ClientCertificate, Endpoint, Fact, Listener, Protocol, TlsVersion};

use crate::Defect;
use crate::call::{Call, CallResult};
use crate::pod::micros;
use crate::world::{At, LifeAt, MS, World};

/// The approximate number of bytes of a request.
const REQUEST: u64 = 150;
/// The approximate number of bytes of an answer.
const ANSWER: u64 = 200;

/// The listener that a connection reached.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) life: LifeAt,
    pub(super) name: String,
    pub(super) listener: Listener,
    /// The address that was connected to, after any translation.
    pub(super) local: (String, u16),
}

/// A connection that can be used for a request.
pub(super) struct Line {
    pub(super) door: Door,
    pub(super) conn: u64,
    pub(super) nth: u64,
    pub(super) http2: bool,
    /// The time from which the connection can be used.
    pub(super) from: i64,
    /// When the request arrived and began to wait for a worker.
    pub(super) came: Option<i64>,
    pub(super) worker: Option<usize>,
}

/// The end of a call: the time at which the caller knows the result, and the result.
type End = (i64, CallResult);

impl World<'_> {
    /// Calls an address. Returns the time at which the caller knows the result, and the result.
    pub(crate) fn call(&mut self, call: &Call) -> End {
        match self.dial(call).and_then(|door| self.connect(call, door)) {
            Err(end) => end,
            Ok(line) => {
                let life = line.door.life;
                let end = self.ask_for(call, line);
                self.reached = Some(life);
                end
            }
        }
    }

    /// Finds the listener at an address. On the loopback interface, a pod reaches itself, and the kubelet reaches what
    /// runs on the host's network.
    fn dial(&mut self, call: &Call) -> Result<Door, End> {
        let refused = (self.now + MS / 2, CallResult::Refused);
        let silent = (call.deadline, CallResult::TimedOut { connected: false });
        let (host, port) = match self.routed(&call.host, call.port) {
            None => (call.host.clone(), call.port),
            Some(place) => place.ok_or_else(|| refused.clone())?,
        };
        let loopback = host == "127.0.0.1" || host == "localhost";
        if loopback && call.manner.inside.is_none() && self.has(Defect::LoopbackPerContainer) {
            return Err(refused);
        }
        let mut end = silent.clone();
        for (pod, of) in self.pods.iter().enumerate() {
            let caller = of.ip == call.peer || (of.on_host && call.peer.starts_with("127."));
            let own = call.manner.inside.map_or(caller, |own| own == pod);
            let here = if loopback { own } else { of.ip == host };
            if !here || of.gone || of.containers.iter().all(|container| container.starts == 0) {
                continue;
            }
            end = refused.clone();
            for (container, life) in of.containers.iter().enumerate() {
                let Some(life) = &life.life else { continue };
                let at = LifeAt { at: At { pod, container }, attempt: life.attempt };
                let mut listeners = life.plan.listeners.iter();
                let Some((name, listener)) = listeners.find(|(_, of)| listens(of, &host, port, loopback))
                else {
                    continue;
                };
                match self.door(at, name) {
                    ListenState::Open => {
                        let (name, listener) = (name.clone(), listener.clone());
                        return Ok(Door { life: at, name, listener, local: (host, port) });
                    }
                    ListenState::Full => return Err(silent),
                    ListenState::Closed => {}
                }
            }
        }
        Err(end)
    }

    /// Handles a connection as far as its plan and TLS allow.
    fn connect(&mut self, call: &Call, door: Door) -> Result<Line, End> {
        let (life, now) = (door.life, self.now);
        self.reached = Some(life);
        let line =
            |door, conn, nth, http2, from| Line { door, conn, nth, http2, from, came: None, worker: None };
        if let Some((_, conn, nth)) = call.kept.filter(|(attempt, ..)| *attempt == life.attempt) {
            let http2 =
                call.tls.as_ref().is_some_and(|tls| tls.http2) || door.listener.protocol == Protocol::Grpc;
            return Ok(line(door, conn, nth + 1, http2, now));
        }
        let endpoint = Endpoint::Connections(door.name.clone());
        let Some(of) = self.life_mut(life) else { return Err((now, CallResult::Refused)) };
        of.conn += 1;
        let (conn, probe) = (of.conn - 1, of.count(&endpoint));
        let choice = self.choose(now, life, (&endpoint, &door.listener.connections), probe, None);
        let planned = PlannedConnection::of(&choice.answer);
        let port = 32_768 + self.between(0, 28_000);
        let peer = if door.local.0.starts_with("127.") { "127.0.0.1" } else { &call.peer };
        let accepted = Accepted {
            conn,
            listener: door.name.clone(),
            peer: format!("{peer}:{port}"),
            local: format!("{}:{}", door.local.0, door.local.1),
            step: choice.step,
            answer: planned.word.to_owned(),
        };
        self.note(life, Fact::Accepted(accepted));
        if let Some(mark) = choice.mark {
            self.mark(life, &mark, &endpoint.to_string());
        }
        let line = line(door, conn, 1, false, now + planned.delay.map_or(0, micros));
        match self.treat(call, &line, &planned) {
            Some((how, received, end)) => {
                let stays = if how == Ending::PeerClosed { call.manner.stays } else { 0 };
                self.closed(&line, end.0 + stays, how, received, None);
                Err(end)
            }
            None => self.shake_hands(call, line),
        }
    }

    /// How a connection ends if the plan does not serve it, and how many bytes arrived on it.
    fn treat(&self, call: &Call, line: &Line, planned: &PlannedConnection) -> Option<(Ending, u64, End)> {
        let soon = MS / 2;
        if call.request.is_none() {
            // A connect succeeds, whatever happens to the connection afterwards.
            let at = self.now + soon;
            let (how, result) = match planned.then {
                Then::Close if planned.delay.is_none() => (Ending::WeClosed, CallResult::Parted),
                Then::Reset if planned.delay.is_none() => (Ending::WeReset, CallResult::Connected),
                _ if call.manner.resets => (Ending::PeerReset, CallResult::Connected),
                _ => (Ending::PeerClosed, CallResult::Connected),
            };
            return Some((how, call.manner.says, (at, result)));
        }
        let timed_out = (Ending::PeerClosed, call.deadline, CallResult::TimedOut { connected: true });
        let broken = |how, at, why: &str| (how, at, CallResult::Broken(why.to_owned()));
        let (at, until) = (line.from + soon, planned.close_after.map(|after| line.from + micros(after)));
        let (how, at, result) = match planned.then {
            _ if line.from > call.deadline => timed_out,
            _ if !planned.first.is_empty() => (Ending::PeerClosed, at, CallResult::malformed()),
            Then::Echo => (Ending::PeerClosed, at, CallResult::malformed()),
            Then::Serve => return None,
            Then::Hold => match until.filter(|until| *until < call.deadline) {
                Some(until) => broken(Ending::WeClosed, until, "EOF"),
                None => timed_out,
            },
            Then::Close => broken(Ending::WeClosed, at, "EOF"),
            Then::Reset => broken(Ending::WeReset, at, "read: connection reset by peer"),
        };
        Some((how, REQUEST, (at, result)))
    }

    /// The TLS handshake, or the result of its absence.
    fn shake_hands(&mut self, call: &Call, mut line: Line) -> Result<Line, End> {
        let (at, life, listener) = (line.from + MS, line.door.life, &line.door.listener);
        let mut seen = TlsSeen {
            conn: line.conn,
            version: None,
            alpn: None,
            server_name: None,
            client_certificate: false,
            error: None,
        };
        // The target's record of the handshake, how and why the connection ends, and the client's message.
        let (noted, how, why, said) = match (&listener.tls, &call.tls) {
            (None, None) => {
                line.http2 = listener.protocol == Protocol::Grpc;
                return Ok(line);
            }
            (None, Some(_)) => {
                let why = Some("refused with 400 Bad Request: no HTTP");
                (None, Ending::WeClosed, why, "http: server gave HTTP response to HTTPS client")
            }
            (Some(_), None) => {
                let noted = "received corrupt message of type InvalidContentType";
                let said = "malformed HTTP response \"\\x15\\x03\\x03\\x00\\x02\\x02F\"";
                (Some(noted), Ending::WeClosed, None, said)
            }
            (Some(server), Some(client)) if client.refuses.contains(&server.certificate) => {
                let said = "tls: failed to verify certificate: x509: certificate is not valid";
                (Some("received fatal alert: BadCertificate"), Ending::PeerClosed, None, said)
            }
            (Some(server), Some(_))
                if self.has(Defect::TlsNeeds13) && server.versions == [TlsVersion::V12] =>
            {
                let said = "remote error: tls: protocol version not supported";
                (Some("peer is incompatible: no common version"), Ending::WeClosed, None, said)
            }
            (Some(server), Some(client))
                if server.client_certificate == ClientCertificate::Required && !client.shows =>
            {
                let said = "remote error: tls: certificate required";
                (Some("peer sent no certificates"), Ending::WeClosed, None, said)
            }
            (Some(server), Some(client)) => {
                let offers = server.offers(listener.protocol).into_iter();
                seen.alpn = offers
                    .map(str::to_owned)
                    .find(|name| name == "http/1.1" || (name == "h2" && client.http2));
                seen.version = Some("TLSv1_3".to_owned());
                seen.client_certificate =
                    server.client_certificate != ClientCertificate::None && client.shows;
                line.http2 = seen.alpn.as_deref() == Some("h2");
                line.from = at;
                self.note_at(at, life, Fact::Tls(seen));
                return Ok(line);
            }
        };
        if noted.is_some() {
            seen.error = noted.map(str::to_owned);
            self.note_at(at, life, Fact::Tls(seen));
        }
        self.end(&line, at, how, why.map(str::to_owned));
        Err((at + MS, CallResult::Broken(said.to_owned())))
    }

    /// Records how a connection with a request ends.
    pub(super) fn end(&mut self, line: &Line, when: i64, how: Ending, error: Option<String>) {
        self.closed(line, when, how, REQUEST, error);
    }

    fn closed(&mut self, line: &Line, when: i64, how: Ending, received: u64, error: Option<String>) {
        let lived_us = u64::try_from(when - self.now).unwrap_or(0);
        let sent = if received == 0 { 0 } else { ANSWER };
        let closed = Closed { conn: line.conn, how, received, sent, lived_us, error };
        self.note_at(when, line.door.life, Fact::Closed(closed));
    }
}

/// Whether a listener accepts connections to an address.
fn listens(listener: &Listener, host: &str, port: u16, loopback: bool) -> bool {
    let bound = |bind: std::net::IpAddr| {
        bind.is_unspecified() || bind.to_string() == host || (loopback && bind.is_loopback())
    };
    listener.port == port && listener.bind.is_none_or(bound)
}
