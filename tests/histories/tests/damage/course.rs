//! Places to damage: the probes of one kind in one instance of a container.

use probity_model::clocks::Stamp;
use probity_model::measure::Interval;
use probity_model::timeline::{
    Attempt, ContainerLife, Handler, PodLife, Probe, ProbeKind, ProbeSpec, Through,
};
use probity_model::{EventId, Timeline};
use probity_script::witness::Fact;

pub(crate) const SECOND: i64 = 1_000_000;

/// Noise may have delayed a probe if it occurred at most this long before the probe.
const BEFORE: i64 = 2 * SECOND;

/// A container instance with a complete record, and one of its probes.
pub(crate) struct Course<'t, 'h> {
    pub(crate) pod: &'t PodLife<'h>,
    pub(crate) container: &'t ContainerLife<'h>,
    pub(crate) attempt: &'t Attempt<'h>,
    pub(crate) spec: &'t ProbeSpec,
    pub(crate) probes: Vec<&'t Probe<'h>>,
}

/// All courses of a run.
pub(crate) fn courses<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Course<'t, 'h>> {
    run.probes().flat_map(|(pod, container, spec)| {
        let whole = container.attempts.iter().filter(|attempt| attempt.holes.is_empty());
        whole.map(move |attempt| {
            let probes = attempt.probes_of(spec.kind).collect();
            Course { pod, container, attempt, spec, probes }
        })
    })
}

/// All courses of a run with one kind of probe.
pub(crate) fn of_kind<'t, 'h>(
    run: &'t Timeline<'h>,
    kind: ProbeKind,
) -> impl Iterator<Item = Course<'t, 'h>> {
    courses(run).filter(move |course| course.spec.kind == kind)
}

impl<'t, 'h> Course<'t, 'h> {
    /// All events of a probe.
    pub(crate) fn exchange(&self, probe: &Probe<'_>) -> Vec<EventId> {
        match probe.through {
            Through::Request(at) => self.connection(self.attempt.requests[at].request.conn),
            Through::Connection(at) => self.connection(self.attempt.connections[at].accepted.conn),
            Through::Command(at) => {
                let exec = self.attempt.commands[at].seen.exec;
                self.lines(|fact| match fact {
                    Fact::Exec(of) => of.exec == exec,
                    Fact::ExecEnded(of) => of.exec == exec,
                    _ => false,
                })
            }
        }
    }

    /// All events of a connection.
    pub(crate) fn connection(&self, conn: u64) -> Vec<EventId> {
        self.lines(|fact| match fact {
            Fact::Accepted(of) => of.conn == conn,
            Fact::Tls(of) => of.conn == conn,
            Fact::Request(of) => of.conn == conn,
            Fact::Answer(of) => of.conn == conn,
            Fact::Closed(of) => of.conn == conn,
            _ => false,
        })
    }

    /// The lines of this instance with matching facts.
    pub(crate) fn lines(&self, which: impl Fn(&Fact) -> bool) -> Vec<EventId> {
        self.attempt.lines.iter().filter(|line| which(&line.line.fact)).map(|line| line.id).collect()
    }

    /// All events of several probes.
    pub(crate) fn exchanges(&self, probes: &[&Probe<'_>]) -> Vec<EventId> {
        probes.iter().flat_map(|probe| self.exchange(probe)).collect()
    }

    /// The time from one probe to another.
    pub(crate) fn gap(&self, one: &Probe<'_>, next: &Probe<'_>) -> i64 {
        next.at.at.lo - one.at.at.lo
    }

    /// How long something was stalled from shortly before one probe until another.
    pub(crate) fn noise(&self, run: &Timeline<'_>, one: &Probe<'_>, next: &Probe<'_>) -> i64 {
        let from = one.at.at.minus(Interval::point(BEFORE));
        let from = Stamp { clock: one.at.clock.clone(), at: from };
        run.noise_between(&self.attempt.node, &from, &next.at)
    }

    /// This number of consecutive probes that arrived in time and passed, with the least noise.
    pub(crate) fn steady(&self, run: &Timeline<'_>, count: usize) -> Option<(i64, &[&'t Probe<'h>])> {
        let timely = |pair: &[&Probe<'_>]| {
            (self.gap(pair[0], pair[1]) - self.spec.period).abs() < self.spec.period / 5
        };
        let passed = |window: &[&Probe<'_>]| window.iter().all(|probe| probe.passed == Some(true));
        let fine = |window: &&[&Probe<'_>]| passed(window) && window.windows(2).all(timely);
        let noise = |window: &[&Probe<'_>]| self.noise(run, window[0], window[count - 1]);
        let windows = self.probes.windows(count).filter(fine);
        windows.map(|window| (noise(window), window)).min_by_key(|(noise, _)| *noise)
    }

    /// Whether the probe uses HTTP/1 without TLS, and nothing else uses its port.
    pub(crate) fn is_http(&self) -> bool {
        matches!(&self.spec.handler, Handler::Http { scheme, host: None, .. } if scheme == "HTTP")
    }

    /// Whether the probe waits for the startup probe of its container.
    pub(crate) fn is_gated(&self) -> bool {
        self.spec.kind != ProbeKind::Startup && self.container.probe(ProbeKind::Startup).is_some()
    }

    /// The time at which the probe's port was opened; `None` if the probe runs a command.
    pub(crate) fn opened(&self) -> Option<i64> {
        let port = format!(":{}", self.spec.handler.port()?);
        let opened = self.attempt.lines.iter().find(|line| match &line.line.fact {
            Fact::Listening(of) => of.state == "open" && of.address.ends_with(&port),
            _ => false,
        });
        opened.map(|line| line.at.at.lo)
    }

    /// Whether the probe's port stayed open, and every connection to it had a request.
    pub(crate) fn always_open(&self) -> bool {
        let shut = |fact: &Fact| matches!(fact, Fact::Listening(of) if of.state != "open");
        let port = self.spec.handler.port();
        let bare = self.attempt.connections.iter().any(|of| of.port() == port && of.requests == 0);
        let tcp = matches!(self.spec.handler, Handler::Tcp { .. });
        port.is_some() && self.lines(shut).is_empty() && (tcp || !bare)
    }

    /// Whether each attempt of the probe was answered at once.
    pub(crate) fn is_quick(&self) -> bool {
        let took = |probe: &&Probe<'_>| probe.settled.as_ref().map(|settled| settled.at.lo - probe.at.at.lo);
        self.probes.iter().all(|probe| took(probe).is_some_and(|took| took < self.spec.period / 2))
    }

    /// Whether the instance kept running for this long after an instant on its node's clock, and nothing was done to
    /// its pod during that time.
    pub(crate) fn goes_on(&self, run: &Timeline<'_>, from: i64, long: i64) -> bool {
        let lives = self.attempt.last_line().is_some_and(|last| last.at.at.lo > from + long);
        let stopped = self.attempt.stop().is_some_and(|stop| stop.at.at.lo < from + long);
        let after = Stamp::node(&self.attempt.node, from + long);
        lives && !stopped && run.before_deletion(self.pod, &after)
    }

    /// Whether it runs a command.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self.spec.handler, Handler::Exec { .. })
    }

    /// The answer to a probe that the kubelet gave up: the event, and the time from the probe's arrival to it.
    pub(crate) fn given_up(&self, probe: &Probe<'_>) -> Option<(EventId, i64)> {
        let answer = self.attempt.request(probe)?.answer.as_ref()?;
        let gave_up = answer.error.as_ref().is_some_and(|error| error.contains("gave up"));
        // If a part of the answer had arrived, the kubelet has already counted the probe, or never will.
        (gave_up && answer.written == 0).then(|| (answer.at.id, answer.at.at.lo - probe.at.at.lo))
    }

    /// The probes before an instant on the same node's clock.
    pub(crate) fn before(&self, at: &Stamp) -> impl DoubleEndedIterator<Item = &'t Probe<'h>> {
        let at = at.at.lo;
        self.probes.iter().copied().filter(move |probe| probe.at.at.hi < at)
    }

    /// The probes after an instant on the same node's clock.
    pub(crate) fn after(&self, at: &Stamp) -> impl DoubleEndedIterator<Item = &'t Probe<'h>> {
        let at = at.at.hi;
        self.probes.iter().copied().filter(move |probe| probe.at.at.lo > at)
    }
}
