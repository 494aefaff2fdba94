//! The combined effects on one connection: several defects may strike it at the same time.

use std::net::SocketAddrV4;
use std::time::Duration;

use probity_script::Span;

use super::fault::{Does, GrpcChange, Instead, Judge, Outcome, Redirects, Request, TcpChange, Tls};

/// All that happens to one probe.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Effects {
    /// The pod never sees the probe, and the probe gets no answer.
    pub(super) drop: bool,
    /// It is refused.
    pub(super) refuse: bool,
    /// The delay of the probe.
    pub(super) delay: Duration,
    /// The probe is repeated this many times, each with this delay.
    pub(super) double: Option<(u32, Duration)>,
    /// Only one probe in this many reaches the pod. All other probes get this answer instead.
    pub(super) skip: Option<(u32, Instead)>,
    /// The pod is probed at a different pace.
    pub(super) pace: Option<Pace>,
    /// Another address.
    pub(super) address: Option<std::net::Ipv4Addr>,
    /// Another port.
    pub(super) port: Option<u16>,
    /// Other requests, one change after the other.
    pub(super) requests: Vec<Request>,
    /// Another handshake.
    pub(super) tls: Option<Tls>,
    /// Other rules for redirects.
    pub(super) redirects: Option<Redirects>,
    /// The number of bytes of the body that are read, and whether a shorter body is accepted.
    pub(super) body: Option<(u64, bool)>,
    /// One connection for all.
    pub(super) keep_alive: bool,
    /// How long the connection stays open.
    pub(super) linger: Option<Duration>,
    /// The delay of the answer.
    pub(super) late: Duration,
    /// The time after which the probe ends, and how it ends.
    pub(super) slow: Option<(Duration, Outcome)>,
    /// Other judgements.
    pub(super) judge: Judge,
    /// Other gRPC requests.
    pub(super) grpc: Option<GrpcChange>,
    /// Other TCP probes.
    pub(super) tcp: Vec<TcpChange>,
    /// The probe comes from inside the pod.
    pub(super) from_inside: bool,
}

/// A different pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// From one probe to the next.
    pub(super) period: Duration,
    /// The maximum additional value.
    pub(super) spread: Duration,
    /// The number of simultaneous probes.
    pub(super) burst: u32,
}

fn some_of(by: Span, spread: Span) -> Duration {
    by.0 + spread.0.mul_f64(fastrand::f64())
}

impl Effects {
    /// Combines everything that strikes a connection.
    #[must_use]
    pub(super) fn of(struck: &[Does]) -> Self {
        let mut effects = Self::default();
        struck.iter().for_each(|does| effects.add(does.clone()));
        effects
    }

    fn add(&mut self, does: Does) {
        match does {
            Does::Drop => self.drop = true,
            Does::Refuse => self.refuse = true,
            Does::Delay { by, spread } => self.delay += some_of(by, spread),
            Does::Double { times, after } => self.double = Some((times, after.0)),
            Does::Skip { pass, answer } => self.skip = Some((pass, answer)),
            Does::Pace { period, spread, burst } => {
                self.pace = Some(Pace { period: period.0, spread: spread.0, burst });
            }
            Does::Elsewhere { address, port } => {
                self.address = address.or(self.address);
                self.port = port.or(self.port);
            }
            Does::Request(request) => self.requests.push(request),
            Does::Tls(tls) => self.tls = Some(tls),
            Does::Redirects(redirects) => self.redirects = Some(redirects),
            Does::Body { read, lenient } => self.body = Some((read, lenient)),
            Does::KeepAlive => self.keep_alive = true,
            Does::Linger { r#for } => self.linger = Some(r#for.0),
            Does::Late { by, spread } => self.late += some_of(by, spread),
            Does::Slow { after, r#as } => self.slow = Some((after.0, r#as)),
            Does::Judge(judge) => {
                self.judge.statuses.extend(judge.statuses);
                self.judge.health.extend(judge.health);
                self.judge.errors.extend(judge.errors);
                self.judge.silence = judge.silence.or(self.judge.silence);
            }
            Does::Grpc(change) => self.grpc = Some(change),
            Does::Tcp(change) => self.tcp.push(change),
            Does::FromInside => self.from_inside = true,
        }
    }

    /// Whether there is no effect.
    #[must_use]
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Where the probe goes.
    #[must_use]
    pub(super) fn destination(&self, to: SocketAddrV4) -> SocketAddrV4 {
        SocketAddrV4::new(self.address.unwrap_or(*to.ip()), self.port.unwrap_or(to.port()))
    }

    /// Whether HTTP/1.1 must be used, because the effects are implemented only for it.
    #[must_use]
    pub(super) fn needs_http1(&self) -> bool {
        self.body.is_some()
            || self.redirects.is_some()
            || self.keep_alive
            || self.requests.iter().any(|request| request.scheme.is_some() || request.version.is_some())
    }
}

/// Whether the pod must not notice a connection until it is known that this effect does not strike it.
#[must_use]
pub(super) fn is_hidden(does: &Does) -> bool {
    matches!(
        does,
        Does::Drop
            | Does::Refuse
            | Does::Delay { .. }
            | Does::Skip { .. }
            | Does::Pace { .. }
            | Does::Elsewhere { .. }
            | Does::KeepAlive
            | Does::FromInside
    )
}
