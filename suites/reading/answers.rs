//! What came as a probe of any mechanism, and what its answer was, in an order that what followed can be read from.
//!
//! A probe that was answered in time says something; one that may have been given up says nothing. Where a port changed
//! its state, or a connection came that can be a probe cut short, a *break* is put between the probes: nothing is concluded
//! across it.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::mechanisms::{NEAR, UNKNOWN_LIFE};
use probity_model::timeline::{
    Asked, Attempt, ContainerLife, Executed, Handler, Life, Probe, ProbeKind, ProbeSpec, ProbedLife, Through,
};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use probity_script::Endpoint;
use probity_script::answer::{ExecAnswer, ExecSettings};
use probity_script::witness::Fact;

use crate::reading::http::exchange::{self, Exchange};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// What a probe was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A command ended by itself, well within the timeout.
    Exited {
        /// Its status.
        status: u8,
        /// Whether it leaves a child behind; none if that is not known.
        leaves_child: Option<bool>,
    },
    /// Nothing came within the timeout.
    TooLate,
    /// A connection was accepted, and this was done with it.
    Opened(String),
    /// A health check was answered so.
    Health(String),
}

/// The probes of one kind in one life of a container, with their answers.
pub(crate) struct Answers<'t, 'h> {
    pub(crate) course: Exchanges<'t, 'h>,
    /// The answers that are certain, by the event of the probe's arrival.
    told: BTreeMap<EventId, Answer>,
    breaks: BTreeSet<EventId>,
}

impl<'t, 'h> Answers<'t, 'h> {
    /// Adds the breaks to a course.
    fn with(mut course: Exchanges<'t, 'h>, told: BTreeMap<EventId, Answer>) -> Self {
        let breaks = add_breaks(&mut course);
        Self { course, told, breaks }
    }

    /// The answer to a probe.
    pub(crate) fn told(&self, exchange: &Exchange<'_, '_>) -> Option<&Answer> {
        self.told.get(&exchange.id)
    }

    /// Judges each run of probes that promise the same: `means` tells what, and the words for it.
    pub(crate) fn judge(
        &self,
        run: &Timeline<'h>,
        clause: &Clause,
        seen: &mut Seen,
        means: impl Fn(&Exchange<'t, 'h>) -> Option<(bool, String)>,
    ) {
        let jury = Reaction::new(run, clause, &self.course);
        for ((success, words), range) in self.course.runs(means) {
            seen.applies();
            let next = self.course.exchanges.get(range.end).map(|exchange| exchange.id);
            let broken = next.is_some_and(|id| self.breaks.contains(&id));
            let promise = if success { CountsAs::Success } else { CountsAs::Failure };
            // What stands at a break is no probe: that it came after all says neither that the container was spared nor
            // that it was asked again.
            let misread = match self.course.spec.kind {
                ProbeKind::Liveness => !success,
                ProbeKind::Startup => success,
                ProbeKind::Readiness => false,
            };
            if !(broken && misread) {
                jury.decide(&range, promise, &words, seen);
            }
        }
    }
}

/// The HTTP probes.
pub(crate) fn of_http<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let whole = exchange::exchanges(run).into_iter().filter(|course| course.attempt.holes.is_empty());
    whole.map(|course| Answers::with(course, BTreeMap::new())).collect()
}

/// The probes by any mechanism but HTTP. Those that cannot be told from others of their container are left out.
pub(crate) fn of_others<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let mut all = Vec::new();
    for (pod, container, spec) in run.probes() {
        if matches!(spec.handler, Handler::Http { .. }) || spec.handler.host().is_some() {
            continue;
        }
        for attempt in container.attempts.iter().filter(|attempt| attempt.holes.is_empty()) {
            let life = Life { run, pod, container, attempt };
            all.extend(life.probed(spec.kind).filter(ProbedLife::is_unmistaken).map(answers));
        }
    }
    all
}

fn answers<'t, 'h>(life: ProbedLife<'t, 'h>) -> Answers<'t, 'h> {
    let (container, attempt, spec) = (life.container, life.attempt, life.spec);
    let known = life.began.at.hi + if life.number == 0 { 0 } else { UNKNOWN_LIFE };
    let (mut exchanges, mut told) = (Vec::new(), BTreeMap::new());
    let mine = life.probes.iter().filter(|of| of.at.at.lo >= known && !from_inside(life.run, attempt, of));
    for of in mine {
        let answer = answer(container, attempt, spec, of);
        let late = of.at.later(spec.timeout);
        let done = match (&answer, &of.settled) {
            (Some(Answer::TooLate), _) | (None, None) => Some(late),
            (_, settled) => settled.as_ref().map(|settled| settled.stamp.clone()),
        };
        let events = of.events();
        exchanges.push(Exchange {
            id: of.id,
            at: of.at.clone(),
            done,
            late: false,
            hops: Vec::new(),
            events,
        });
        told.extend(answer.map(|answer| (of.id, answer)));
    }
    Answers::with(Exchanges { life, exchanges }, told)
}

/// Whether a connection came from a pod: somebody's client, no kubelet.
fn from_inside(run: &Timeline<'_>, attempt: &Attempt<'_>, probe: &Probe<'_>) -> bool {
    let Through::Connection(at) = probe.through else { return false };
    let peer = attempt.connections.get(at).map(probity_model::timeline::Connection::peer_address);
    peer.is_some_and(|peer| {
        run.pods.iter().any(|pod| pod.ip() == Some(peer) && !super::arrivals::on_node_network(pod))
    })
}

fn answer(
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    spec: &ProbeSpec,
    probe: &Probe<'_>,
) -> Option<Answer> {
    let gone_on = |until: i64| attempt.last_line().is_some_and(|line| line.at.at.lo > until);
    let took = probe.settled.as_ref().map(|settled| settled.at.hi - probe.at.at.lo);
    let late = match took {
        Some(took) => took > spec.timeout + NEAR,
        None => gone_on(probe.at.at.hi + spec.timeout + NEAR),
    };
    let in_time = took.is_some_and(|took| took.saturating_mul(2) <= spec.timeout);
    match probe.through {
        Through::Connection(at) => Some(Answer::Opened(attempt.connections.get(at)?.accepted.answer.clone())),
        Through::Command(at) => {
            let command = attempt.commands.get(at)?;
            match command.ended.as_ref().map(|ended| (&ended.at, ended.exit)) {
                Some((_, Some(status))) if in_time => {
                    let leaves_child = settings(container, attempt, command).map(|told| told.fork.is_some());
                    Some(Answer::Exited { status, leaves_child })
                }
                Some((end, None)) if !late => {
                    let cut = took.is_some_and(|took| took.saturating_mul(2) > spec.timeout);
                    let killed = attempt.stop_signal().is_some_and(|(_, at)| at.at.lo <= end.at.hi);
                    (cut && !killed && gone_on(end.at.hi)).then_some(Answer::TooLate)
                }
                _ => late.then_some(Answer::TooLate),
            }
        }
        Through::Request(at) => {
            let asked = attempt.requests.get(at)?;
            match health(asked) {
                Some(word) if in_time => Some(Answer::Health(word)),
                _ => late.then_some(Answer::TooLate),
            }
        }
    }
}

/// How a health check was answered, if its answer got through as it was meant or was broken off on purpose.
fn health(asked: &Asked<'_>) -> Option<String> {
    let answer = asked.answer.as_ref()?;
    let word = answer.answer.as_str();
    let broken = matches!(word, "close" | "reset");
    (!matches!(word, "hang" | "half-frame" | "code 0" | "") && (broken || answer.error.is_none()))
        .then(|| word.to_owned())
}

/// What a command was told to do; none if its plan was changed meanwhile.
fn settings(
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    command: &Executed<'_>,
) -> Option<ExecSettings> {
    let Endpoint::Exec(name) = &command.seen.endpoint else { return None };
    let plan = container.plan().filter(|_| !attempt.was_changed())?;
    let answer: ExecAnswer = plan.exec.get(name)?.steps().get(command.seen.step)?.answer.clone();
    answer.settings()
}

/// Puts what is no probe but may have changed what probes meet between the probes of a course.
fn add_breaks(course: &mut Exchanges<'_, '_>) -> BTreeSet<EventId> {
    let Some(port) = course.spec.handler.port() else { return BTreeSet::new() };
    let Some(first) = course.exchanges.first().map(|exchange| exchange.at.at.lo) else {
        return BTreeSet::new();
    };
    let known: BTreeSet<EventId> =
        course.exchanges.iter().flat_map(|exchange| exchange.events.clone()).collect();
    // A port that closes has no address any more, only its listener's name.
    let plan = course.container.plan().unwrap_or_default();
    let listeners = plan.listeners.iter().filter(|(_, listener)| listener.port == port);
    let names: BTreeSet<&String> = listeners.map(|(name, _)| name).collect();
    let switched = course.attempt.lines.iter().filter_map(|line| match &line.line.fact {
        Fact::Listening(seen) if names.contains(&seen.listener) || at_port(&seen.address, port) => {
            Some((line.id, line.at.clone()))
        }
        _ => None,
    });
    let cut_short = course.attempt.connections.iter().filter_map(|connection| {
        let odd = connection.requests == 0 && connection.accepted.answer != "serve";
        let mine = connection.port() == Some(port) && !known.contains(&connection.id);
        (odd && mine).then(|| (connection.id, connection.at.clone()))
    });
    let breaks: Vec<(EventId, Stamp)> =
        switched.chain(cut_short).filter(|(_, at)| at.at.lo > first).collect();
    let ids = breaks.iter().map(|(id, _)| *id).collect();
    course.exchanges.extend(breaks.into_iter().map(|(id, at)| Exchange {
        id,
        at,
        done: None,
        late: true,
        hops: Vec::new(),
        events: vec![id],
    }));
    course.exchanges.sort_by_key(|exchange| (exchange.at.at.lo, exchange.id));
    ids
}

fn at_port(address: &str, port: u16) -> bool {
    address.rsplit_once(':').is_some_and(|(_, of)| of.parse() == Ok(port))
}
