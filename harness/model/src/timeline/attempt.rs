//! One life of a container, as its target saw it.

use probity_script::WitnessLine;
use probity_script::witness::{
    Accepted, Answered, Closed, Ending, ExecEnded, ExecSeen, Fact, Request, SignalSeen, TlsSeen,
};

use super::{At, Completion, ProbeKind};
use crate::stamp::{EventId, Stamp};

/// One life of a container.
pub struct Attempt<'h> {
    /// The random name of this run of the process.
    pub boot: &'h str,
    /// The number of the life, counted from 0 in the same way as the API counts restarts.
    pub number: u64,
    /// How many starts of the container had failed in the runtime before this life. The API counts them, but the target does
    /// not, because no process ran.
    pub failed_starts: u64,
    /// The node whose clock its stamps use.
    pub node: String,
    /// When `main` started, with the event of the first line.
    pub began: At,
    /// All its lines in the order of their numbers.
    pub lines: Vec<Line<'h>>,
    /// Its connections, in the order of their acceptance.
    pub connections: Vec<Connection<'h>>,
    /// Its requests (HTTP and gRPC), in the order of their arrival.
    pub requests: Vec<Asked<'h>>,
    /// Its commands.
    pub commands: Vec<Executed<'h>>,
    /// The probes, in the order of arrival.
    pub probes: Vec<Probe<'h>>,
    /// The end of the connection to the recorder, and the time at which this end was received. The process itself
    /// exited between its last line and that time.
    pub ended: Option<At>,
    /// Numbers of lines that are missing: first and how many.
    pub holes: Vec<(u64, u64)>,
}

/// A line of the witness.
pub struct Line<'h> {
    /// Its event.
    pub id: EventId,
    /// Its time on the node's clock.
    pub at: Stamp,
    /// The line.
    pub line: &'h WitnessLine,
}

/// A connection.
pub struct Connection<'h> {
    /// The event of its acceptance.
    pub id: EventId,
    /// When it was accepted.
    pub at: Stamp,
    /// The acceptance.
    pub accepted: &'h Accepted,
    /// The TLS handshake.
    pub tls: Option<(EventId, &'h TlsSeen)>,
    /// Its end.
    pub closed: Option<Completion<'h, Closed>>,
    /// The number of requests on it.
    pub requests: usize,
}

impl Connection<'_> {
    /// The port that was connected to.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.accepted.local.rsplit_once(':').and_then(|(_, port)| port.parse().ok())
    }

    /// The address that was connected to, without its port. An IPv4 address is always written as IPv4, even if the
    /// socket shows it as IPv6.
    #[must_use]
    pub fn address(&self) -> &str {
        address(&self.accepted.local)
    }

    /// The address of the peer, without the port.
    #[must_use]
    pub fn peer_address(&self) -> &str {
        address(&self.accepted.peer)
    }

    /// Whether the peer reset the connection.
    #[must_use]
    pub fn reset_by_peer(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.how == Ending::PeerReset)
    }
}

fn address(with_port: &str) -> &str {
    let host = with_port.rsplit_once(':').map_or(with_port, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.strip_prefix("::ffff:").unwrap_or(host)
}

/// A request.
pub struct Asked<'h> {
    /// The event of its arrival.
    pub id: EventId,
    /// When it arrived.
    pub at: Stamp,
    /// The request.
    pub request: &'h Request,
    /// The place of its connection in [`Attempt::connections`].
    pub connection: Option<usize>,
    /// The answer, and when the answer was complete.
    pub answer: Option<Completion<'h, Answered>>,
}

impl Asked<'_> {
    /// The status of its answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().and_then(|answer| answer.answer.parse().ok())
    }

    /// Whether it used HTTP/1, where a connection can be closed or interrupted for one request.
    #[must_use]
    pub fn is_http1(&self) -> bool {
        self.request.protocol.starts_with("HTTP/1")
    }

    /// The values of a header, in order. Names are case-insensitive.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let same = move |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.request.headers.iter().filter(same).map(|(_, value)| value.as_str())
    }

    /// Whether one of the project's own clients sent the request.
    #[must_use]
    pub fn from_our_client(&self) -> bool {
        self.header("user-agent").any(|agent| agent.starts_with("agnhost-rs"))
    }

    /// Whether its user agent is the user agent of a kubelet's prober.
    #[must_use]
    pub fn from_prober(&self) -> bool {
        self.header("user-agent").any(|agent| agent.starts_with("kube-probe/"))
    }

    /// Whether it followed a redirect: it is a later hop of a chain, or it has a `Referer` header.
    #[must_use]
    pub fn followed(&self) -> bool {
        self.request.hop.is_some_and(|hop| hop > 0) || self.header("referer").next().is_some()
    }

    /// The events of its arrival and its answer.
    #[must_use]
    pub fn events(&self) -> Vec<EventId> {
        [Some(self.id), self.answer.as_ref().map(|answer| answer.at.id)].into_iter().flatten().collect()
    }
}

/// A command that was run.
pub struct Executed<'h> {
    /// The event of its beginning.
    pub id: EventId,
    /// When it began.
    pub at: Stamp,
    /// The command.
    pub seen: &'h ExecSeen,
    /// Its end.
    pub ended: Option<Completion<'h, ExecEnded>>,
}

/// A probe as it arrived.
pub struct Probe<'h> {
    /// The kinds of probe that it can have been: more than one if the spec has several probes of the same endpoint.
    pub kinds: Vec<ProbeKind>,
    /// The event of its arrival.
    pub id: EventId,
    /// When it arrived.
    pub at: Stamp,
    /// How the probe arrived: an index into the list that the variant names.
    pub through: Through,
    /// Whether the documentation counts its answer as a success, judging by the answer alone. `None` for redirects, for
    /// interrupted bodies, and while no answer is known.
    pub passed: Option<bool>,
    /// The event that decided the probe, with its time: the answer or, for a bare connection, the arrival.
    pub settled: Option<At>,
    /// The endpoint's name in the plan, if the plan has the endpoint.
    pub endpoint: Option<&'h probity_script::Endpoint>,
}

/// How a probe arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// As a request: [`Attempt::requests`].
    Request(usize),
    /// As a bare connection: [`Attempt::connections`].
    Connection(usize),
    /// As a command: [`Attempt::commands`].
    Command(usize),
}

impl Probe<'_> {
    /// Whether the record can only have been a probe of this kind.
    #[must_use]
    pub fn is(&self, kind: ProbeKind) -> bool {
        self.kinds == [kind]
    }

    /// Whether the record can have been a probe of this kind.
    #[must_use]
    pub fn can_be(&self, kind: ProbeKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The event of the probe's arrival, and the event that decided the probe.
    #[must_use]
    pub fn events(&self) -> Vec<EventId> {
        [Some(self.id), self.settled.as_ref().map(|settled| settled.id)].into_iter().flatten().collect()
    }
}

impl<'h> Attempt<'h> {
    /// How many processes of the container ran before this one. This is the number that the target knows, and by which its
    /// plan chooses answers.
    #[must_use]
    pub fn earlier_processes(&self) -> u64 {
        self.number.saturating_sub(self.failed_starts)
    }

    /// Whether its number is known and no line is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_numbered() && self.holes.is_empty()
    }

    /// The probes that can only have been of this kind.
    pub fn probes_of(&self, kind: ProbeKind) -> impl Iterator<Item = &Probe<'h>> {
        self.probes.iter().filter(move |probe| probe.is(kind))
    }

    /// The first probe of this kind that passed.
    #[must_use]
    pub fn first_success(&self, kind: ProbeKind) -> Option<&Probe<'h>> {
        self.probes_of(kind).find(|probe| probe.passed == Some(true))
    }

    /// The request behind a probe.
    #[must_use]
    pub fn request(&self, probe: &Probe<'_>) -> Option<&Asked<'h>> {
        match probe.through {
            Through::Request(at) => self.requests.get(at),
            _ => None,
        }
    }

    /// The connection behind a probe.
    #[must_use]
    pub fn connection_of(&self, probe: &Probe<'_>) -> Option<&Connection<'h>> {
        match probe.through {
            Through::Request(at) => self.connection(self.requests.get(at)?),
            Through::Connection(at) => self.connections.get(at),
            Through::Command(_) => None,
        }
    }

    /// The command behind a probe.
    #[must_use]
    pub fn command(&self, probe: &Probe<'_>) -> Option<&Executed<'h>> {
        match probe.through {
            Through::Command(at) => self.commands.get(at),
            _ => None,
        }
    }

    /// The connection behind a request.
    #[must_use]
    pub fn connection(&self, asked: &Asked<'_>) -> Option<&Connection<'h>> {
        self.connections.get(asked.connection?)
    }

    /// Its signals, without those of child processes.
    pub fn signals(&self) -> impl Iterator<Item = (EventId, &Stamp, &'h SignalSeen)> {
        self.lines.iter().filter_map(|line| match &line.line.fact {
            Fact::Signal(signal) if signal.child.is_none() => Some((line.id, &line.at, signal)),
            _ => None,
        })
    }

    /// The first stop signal: SIGTERM, or another signal that the process treats as a stop signal.
    #[must_use]
    pub fn stop(&self) -> Option<&Line<'h>> {
        self.lines.iter().find(|line| match &line.line.fact {
            Fact::Signal(signal) => signal.child.is_none() && signal.means_stop(),
            _ => false,
        })
    }

    /// The event and the time of the first stop signal.
    #[must_use]
    pub fn stop_signal(&self) -> Option<(EventId, &Stamp)> {
        self.stop().map(|line| (line.id, &line.at))
    }

    /// Its last line.
    #[must_use]
    pub fn last_line(&self) -> Option<&Line<'h>> {
        self.lines.last()
    }
}
