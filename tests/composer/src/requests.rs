//! Connections and requests, each with its answer and its end.

use probity_model::EventId;
use probity_script::witness::{Accepted, Answered, Closed, Ending, Fact, Request};

use crate::{Composer, mono, us};

/// The gRPC method of a health check.
const CHECK: &str = "/grpc.health.v1.Health/Check";

/// What [`Composer::http`] records about an HTTP request.
#[derive(Clone, Debug)]
pub struct Told {
    /// The listener's name.
    pub listener: String,
    /// The port of the connection.
    pub port: u16,
    /// The request target.
    pub target: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The step of the endpoint's script that answers.
    pub step: usize,
    /// The answer in short: a status or a word.
    pub answer: String,
    /// Why the answer was cut off.
    pub error: Option<String>,
    /// The time from the connection until the target reads the request, in seconds.
    pub unread: f64,
    /// The time from the arrival to the end of the answer, in seconds.
    pub took: f64,
    /// How the connection ended.
    pub ending: Ending,
    /// Bytes of the answer.
    pub written: u64,
    /// The protocol.
    pub protocol: String,
    /// Who connected.
    pub peer: String,
    /// The hop of a redirect chain.
    pub hop: Option<u64>,
    /// What the target does with the connection, in short.
    pub connection: String,
    /// The address of the connection.
    pub local: String,
}

impl Told {
    /// The request that a conforming kubelet sends to a path on port 8080, and the answer.
    #[must_use]
    pub fn get(target: &str, answer: impl ToString) -> Self {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            listener: "web".to_owned(),
            port: 8080,
            target: target.to_owned(),
            headers: vec![
                header("Host", "10.0.0.7:8080"),
                header("User-Agent", "kube-probe/1.36"),
                header("Accept", "*/*"),
                header("Connection", "close"),
            ],
            step: 0,
            answer: answer.to_string(),
            error: None,
            unread: 0.0,
            took: 0.001,
            ending: Ending::WeClosed,
            written: 100,
            protocol: "HTTP/1.1".to_owned(),
            peer: String::new(),
            hop: None,
            connection: "serve".to_owned(),
            local: "10.0.0.7".to_owned(),
        }
    }
}

impl Composer {
    /// A connection without a request.
    pub fn connection(&mut self, at: f64, listener: &str, port: u16) -> EventId {
        let told = Told { listener: listener.to_owned(), port, ..Told::get("", "") };
        let (conn, id) = self.accept(at, &told);
        self.close(at + 0.001, conn, &told, 0);
        id
    }

    /// A bare connection, as a TCP probe opens it: no data is sent, and the connection ends in the given way after the
    /// given time. Returns the event of the connection.
    pub fn tcp(&mut self, at: f64, told: &Told) -> EventId {
        let (conn, id) = self.accept(at, told);
        let lived_us = u64::try_from(us(told.took)).unwrap_or_default();
        let closed = Closed { conn, how: told.ending, received: 0, sent: 0, lived_us, error: None };
        self.fact(at + told.took, Fact::Closed(closed));
        id
    }

    /// A gRPC health check as a conforming kubelet sends it to port 9090, and its answer as the target records it
    /// (`status 1`, `not-found`). Returns the event of the request.
    pub fn grpc(&mut self, at: f64, service: &str, answer: &str) -> EventId {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![
            header(":authority", "10.0.0.7:9090"),
            header("content-type", "application/grpc"),
            header("user-agent", "kube-probe/1.36 grpc-go/1.79.3"),
            header("te", "trailers"),
            header("grpc-timeout", "998m"),
        ];
        self.call(at, service, &Told { headers, answer: answer.to_owned(), ..Told::get(CHECK, "") })
    }

    /// A health check with these headers and this answer, on its own connection to port 9090.
    pub fn call(&mut self, at: f64, service: &str, told: &Told) -> EventId {
        let told =
            Told { listener: "grpc".to_owned(), port: 9090, ending: Ending::PeerClosed, ..told.clone() };
        let (conn, _) = self.accept(at, &told);
        let endpoint = format!("grpc:{service}").parse().ok();
        let id = self.fact(
            at,
            Fact::Request(Request {
                conn,
                nth: 1,
                endpoint: endpoint.clone(),
                probe: 1,
                hop: None,
                method: "POST".to_owned(),
                target: told.target.clone(),
                protocol: "HTTP/2".to_owned(),
                headers: told.headers.clone(),
                body: 0,
                first_byte_us: mono(at),
                service: Some(service.to_owned()),
            }),
        );
        let took_us = u64::try_from(us(told.took)).unwrap_or_default();
        let (answer, error) = (told.answer.clone(), told.error.clone());
        let answered = Answered {
            conn,
            nth: 1,
            endpoint,
            step: told.step,
            answer,
            written: 7,
            took_us,
            last_send_us: None,
            error,
        };
        self.fact(at + told.took, Fact::Answer(answered));
        self.close(at + told.took + 0.0005, conn, &told, told.written);
        id
    }

    /// A request with its answer and its connection. Returns the event of the request.
    pub fn http(&mut self, at: f64, told: &Told) -> EventId {
        let (conn, _) = self.accept(at, told);
        let at = at + told.unread;
        let endpoint =
            format!("{}:{}", told.listener, told.target.split('?').next().unwrap_or_default()).parse().ok();
        let id = self.fact(
            at,
            Fact::Request(Request {
                conn,
                nth: 1,
                endpoint: endpoint.clone(),
                probe: 1,
                hop: told.hop,
                method: "GET".to_owned(),
                target: told.target.clone(),
                protocol: told.protocol.clone(),
                headers: told.headers.clone(),
                body: 0,
                first_byte_us: mono(at),
                service: None,
            }),
        );
        let took_us = u64::try_from(us(told.took)).unwrap_or_default();
        self.fact(
            at + told.took,
            Fact::Answer(Answered {
                conn,
                nth: 1,
                endpoint,
                step: told.step,
                answer: told.answer.clone(),
                written: told.written,
                took_us,
                last_send_us: None,
                error: told.error.clone(),
            }),
        );
        self.close(at + told.took + 0.0005, conn, told, told.written);
        id
    }

    /// A plain probe of a path: arrival and answer.
    pub fn probe(&mut self, at: f64, path: &str, status: u16) -> EventId {
        self.http(at, &Told::get(path, status))
    }

    fn accept(&mut self, at: f64, told: &Told) -> (u64, EventId) {
        let key = self.key();
        let boot = self.boots.entry(key).or_default();
        let conn = boot.conn;
        boot.conn += 1;
        let peer =
            if told.peer.is_empty() { format!("10.0.0.1:{}", 40_000 + conn) } else { told.peer.clone() };
        let accepted = Accepted {
            conn,
            listener: told.listener.clone(),
            peer,
            local: format!("{}:{}", told.local, told.port),
            step: 0,
            answer: told.connection.clone(),
        };
        (conn, self.fact(at, Fact::Accepted(accepted)))
    }

    fn close(&mut self, at: f64, conn: u64, told: &Told, sent: u64) {
        let closed = Closed { conn, how: told.ending, received: 100, sent, lived_us: 1000, error: None };
        self.fact(at, Fact::Closed(closed));
    }
}
