//! A connection to a target, as both of its ends see it: what the plan does with it before anything is said, and the
//! handshake of TLS.

use probity_script::answer::{ConnectionAnswer, ConnectionSettings, ListenState, Then};
use probity_script::witness::{Accepted, Closed, Ending, TlsSeen};
use probity_script::{Certificate, ClientCertificate, Fact, Listener, Protocol};

use super::reply::Answer;
use crate::world::{At, LifeAt, MS, World};

/// What somebody wants from an address.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Who asks: an address.
    pub(crate) peer: String,
    /// Where to.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// How TLS is spoken; in the clear if absent.
    pub(crate) tls: Option<Tls>,
    /// What is asked; a bare connection if absent.
    pub(crate) request: Option<Request>,
    /// When the caller gives up.
    pub(crate) deadline: i64,
    /// How much of a body is read.
    pub(crate) limit: u64,
    /// A connection that is used again: the attempt, its number and how many requests it has carried.
    pub(crate) kept: Option<(u64, u64, u64)>,
    /// Whether the connection is kept afterwards.
    pub(crate) keep: bool,
    /// What else is peculiar to it.
    pub(crate) manner: Manner,
}

/// What only defective callers do: where they call from, and what they do with a bare connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// The pod inside of which it is called, whose loopback is then meant.
    pub(crate) inside: Option<usize>,
    /// So many bytes are sent over a bare connection.
    pub(crate) says: u64,
    /// So long a bare connection is kept, in microseconds.
    pub(crate) stays: i64,
}

/// How a caller speaks TLS.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    /// HTTP/2 is offered.
    pub(crate) http2: bool,
    /// Which certificates are refused.
    pub(crate) refuses: Vec<Certificate>,
    /// A certificate is shown.
    pub(crate) shows: bool,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The method.
    pub(crate) method: &'static str,
    /// The request target.
    pub(crate) target: String,
    /// The headers as they go over HTTP/1.1, Host first.
    pub(crate) headers: Vec<(String, String)>,
    /// The gRPC health service.
    pub(crate) service: Option<String>,
}

/// Where a connection ended up.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) life: LifeAt,
    pub(super) name: String,
    pub(super) listener: Listener,
    /// The address that was connected to, after any translation.
    pub(super) local: (String, u16),
}

/// A connection that may be spoken on.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) door: Door,
    pub(super) conn: u64,
    pub(super) nth: u64,
    pub(super) http2: bool,
    /// When it can be spoken on.
    pub(super) from: i64,
    /// When the request came, and the worker that it waited for since.
    pub(super) came: Option<i64>,
    pub(super) worker: Option<usize>,
}

/// Why nobody answers.
enum Shut {
    Refused,
    Silent,
}

impl World<'_> {
    /// Calls an address: when the caller knows, and what.
    pub(crate) fn call(&mut self, call: &Call) -> (i64, Answer) {
        let door = match self.dial(call) {
            Ok(door) => door,
            Err(Shut::Refused) => return (self.now + MS / 2, Answer::Refused),
            Err(Shut::Silent) => return (call.deadline, Answer::TimedOut { connected: false }),
        };
        match self.connect(call, door) {
            Err(end) => end,
            Ok(line) => {
                let life = line.door.life;
                let answer = self.ask_for(call, line);
                self.reached = Some(life);
                answer
            }
        }
    }

    /// Finds who listens at an address. On the loopback interface a pod finds itself, and the kubelet what is on the host.
    fn dial(&mut self, call: &Call) -> Result<Door, Shut> {
        let (host, port) = (call.host.as_str(), call.port);
        let (host, port) = match self.routed(host, port) {
            None => (host.to_owned(), port),
            Some(None) => return Err(Shut::Refused),
            Some(Some(place)) => place,
        };
        let loopback = host == "127.0.0.1" || host == "localhost";
        let mut shut = Shut::Silent;
        for pod in 0..self.pods.len() {
            let of = &self.pods[pod];
            let caller = of.ip == call.peer || (of.on_host && call.peer.starts_with("127."));
            let own = call.manner.inside.map_or(caller, |own| own == pod);
            let here = if loopback { own } else { of.ip == host };
            if !here || of.gone || of.containers.iter().all(|container| container.starts == 0) {
                continue;
            }
            shut = Shut::Refused;
            for container in 0..self.pods[pod].containers.len() {
                let at = At { pod, container };
                let Some(life) = self.pods[pod].containers[container].life.as_ref() else { continue };
                let life_at = LifeAt { at, attempt: life.attempt };
                let found = life.plan.listeners.iter().find(|(_, listener)| {
                    listener.port == port
                        && listener.bind.is_none_or(|bind| {
                            bind.is_unspecified()
                                || bind.to_string() == host
                                || (loopback && bind.is_loopback())
                        })
                });
                let Some((name, listener)) = found.map(|(name, listener)| (name.clone(), listener.clone()))
                else {
                    continue;
                };
                match self.door(life_at, &name) {
                    ListenState::Open => {
                        return Ok(Door { life: life_at, name, listener, local: (host, port) });
                    }
                    ListenState::Full => return Err(Shut::Silent),
                    ListenState::Closed => {}
                }
            }
        }
        Err(shut)
    }

    /// Takes a connection as far as its plan and TLS let it come.
    fn connect(&mut self, call: &Call, door: Door) -> Result<Line, (i64, Answer)> {
        self.reached = Some(door.life);
        let kept = call.kept.filter(|(attempt, ..)| *attempt == door.life.attempt);
        if let Some((_, conn, nth)) = kept {
            let http2 =
                call.tls.as_ref().is_some_and(|tls| tls.http2) || door.listener.protocol == Protocol::Grpc;
            return Ok(Line { door, conn, nth: nth + 1, http2, from: self.now, came: None, worker: None });
        }
        let endpoint = format!("{}@connections", door.name);
        let (conn, probe) = match self.life_mut(door.life) {
            None => return Err((self.now, Answer::Refused)),
            Some(life) => {
                life.conn += 1;
                (life.conn - 1, life.count(&endpoint))
            }
        };
        let choice = self.choose(door.life, &door.listener.connections, &endpoint, probe, None);
        let port = 32_768 + self.between(0, 28_000);
        let accepted = Accepted {
            conn,
            listener: door.name.clone(),
            peer: format!(
                "{}:{port}",
                if door.local.0.starts_with("127.") { "127.0.0.1" } else { &call.peer }
            ),
            local: format!("{}:{}", door.local.0, door.local.1),
            step: choice.index,
            answer: choice.answer.word().unwrap_or("with settings").to_owned(),
        };
        self.note(door.life, Fact::Accepted(accepted));
        if let Some(mark) = choice.mark {
            self.mark(door.life, &mark, &endpoint);
        }
        let from = self.treat(call, &door, conn, choice.answer)?;
        let line = Line { door, conn, nth: 1, http2: false, from, came: None, worker: None };
        if call.request.is_none() { Ok(line) } else { self.shake_hands(call, line) }
    }

    /// What the plan does with the connection before it is spoken on.
    fn treat(
        &mut self,
        call: &Call,
        door: &Door,
        conn: u64,
        answer: ConnectionAnswer,
    ) -> Result<i64, (i64, Answer)> {
        let garbage = answer == ConnectionAnswer::Garbage;
        let settings = settings(answer);
        let from = self.now + settings.delay.map_or(0, crate::pod::micros);
        let soon = MS / 2;
        if call.request.is_none() {
            // A connect succeeds whatever is done with the connection afterwards.
            let at = self.now + soon;
            let (ending, answer, stays) = match settings.then {
                Then::Close if settings.delay.is_none() => (Ending::WeClosed, Answer::Parted, 0),
                Then::Reset if settings.delay.is_none() => (Ending::WeReset, Answer::Connected, 0),
                _ => (Ending::PeerClosed, Answer::Connected, call.manner.stays),
            };
            self.end_of(door, conn, at + stays, ending, (call.manner.says, None));
            return Err((at, answer));
        }
        let mut end = |ending, when: i64, answer: Answer| {
            self.end_of(door, conn, when, ending, (150, None));
            Err((when, answer))
        };
        if from > call.deadline {
            return end(Ending::PeerClosed, call.deadline, Answer::TimedOut { connected: true });
        }
        if garbage || settings.send.is_some() || settings.then == Then::Echo {
            return end(
                Ending::PeerClosed,
                from + soon,
                Answer::Broken("malformed HTTP response".to_owned()),
            );
        }
        let until = settings.close_after.map(|after| from + crate::pod::micros(after));
        match settings.then {
            Then::Hold => match until.filter(|until| *until < call.deadline) {
                Some(until) => end(Ending::WeClosed, until, Answer::Broken("EOF".to_owned())),
                None => end(Ending::PeerClosed, call.deadline, Answer::TimedOut { connected: true }),
            },
            Then::Close => end(Ending::WeClosed, from + soon, Answer::Broken("EOF".to_owned())),
            Then::Reset => {
                let why = "read: connection reset by peer".to_owned();
                end(Ending::WeReset, from + soon, Answer::Broken(why))
            }
            Then::Serve | Then::Echo => Ok(from),
        }
    }

    /// The handshake of TLS, or what comes of its absence.
    fn shake_hands(&mut self, call: &Call, mut line: Line) -> Result<Line, (i64, Answer)> {
        let at = line.from + MS;
        let (life, conn) = (line.door.life, line.conn);
        let seen = |error: Option<&str>| TlsSeen {
            conn,
            version: error.is_none().then(|| "TLSv1_3".to_owned()),
            alpn: None,
            server_name: None,
            client_certificate: false,
            error: error.map(str::to_owned),
        };
        let broken = |why: &str| Err((at + MS, Answer::Broken(why.to_owned())));
        match (&line.door.listener.tls, &call.tls) {
            (None, None) => {
                line.http2 = line.door.listener.protocol == Protocol::Grpc;
                return Ok(line);
            }
            (None, Some(_)) => {
                let why = "refused with 400 Bad Request: no HTTP".to_owned();
                self.end(&line.door, conn, at, Ending::WeClosed, Some(why));
                return broken("http: server gave HTTP response to HTTPS client");
            }
            (Some(_), None) => {
                self.note_at(
                    at,
                    life,
                    Fact::Tls(seen(Some("received corrupt message of type InvalidContentType"))),
                );
                self.end(&line.door, conn, at, Ending::WeClosed, None);
                return broken("malformed HTTP response \"\\x15\\x03\\x03\\x00\\x02\\x02F\"");
            }
            (Some(server), Some(client)) => {
                if client.refuses.contains(&server.certificate) {
                    self.note_at(at, life, Fact::Tls(seen(Some("received fatal alert: BadCertificate"))));
                    self.end(&line.door, conn, at, Ending::PeerClosed, None);
                    return broken("tls: failed to verify certificate: x509: certificate is not valid");
                }
                if server.client_certificate == ClientCertificate::Required && !client.shows {
                    self.note_at(at, life, Fact::Tls(seen(Some("peer sent no certificates"))));
                    self.end(&line.door, conn, at, Ending::WeClosed, None);
                    return broken("remote error: tls: certificate required");
                }
                let usual = match line.door.listener.protocol {
                    Protocol::Grpc => vec!["h2".to_owned()],
                    _ => vec!["h2".to_owned(), "http/1.1".to_owned()],
                };
                let offered = server.alpn.clone().unwrap_or(usual);
                let taken =
                    offered.into_iter().find(|name| name == "http/1.1" || (name == "h2" && client.http2));
                line.http2 = taken.as_deref() == Some("h2");
                let asked = server.client_certificate != ClientCertificate::None;
                let tls = TlsSeen { alpn: taken, client_certificate: asked && client.shows, ..seen(None) };
                self.note_at(at, life, Fact::Tls(tls));
            }
        }
        line.from = at;
        Ok(line)
    }

    /// Writes down how a connection ends.
    pub(super) fn end(&mut self, door: &Door, conn: u64, when: i64, how: Ending, error: Option<String>) {
        self.end_of(door, conn, when, how, (150, error));
    }

    /// Writes down how a connection ends on which so many bytes came.
    fn end_of(
        &mut self,
        door: &Door,
        conn: u64,
        when: i64,
        how: Ending,
        (received, error): (u64, Option<String>),
    ) {
        let lived_us = u64::try_from(when - self.now).unwrap_or(0);
        let closed = Closed { conn, how, received, sent: 200, lived_us, error };
        self.note_at(when, door.life, Fact::Closed(closed));
    }
}

/// The settings that a word stands for.
fn settings(answer: ConnectionAnswer) -> ConnectionSettings {
    let then = match answer {
        ConnectionAnswer::With(settings) => return settings,
        ConnectionAnswer::Serve => Then::Serve,
        ConnectionAnswer::Hold => Then::Hold,
        ConnectionAnswer::Close | ConnectionAnswer::Garbage => Then::Close,
        ConnectionAnswer::Reset => Then::Reset,
        ConnectionAnswer::Echo => Then::Echo,
    };
    ConnectionSettings { then, ..ConnectionSettings::default() }
}
