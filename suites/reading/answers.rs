//! The probes of any mechanism with their answers, in an order that shows their effects.
//!
//! A probe that was answered in time has a meaning; a probe whose connection the kubelet may have closed has none. If a
//! port changed its state, or a connection arrived that may be a truncated probe, a *break* is inserted between the
//! probes: no conclusion is drawn across a break.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::timeline::{At, Connection, Handler, Probe, ProbeAnswer, ProbeKind, ProbedLife, Through};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::arrivals::from_a_pod;
use super::commands;
use super::http::exchange::{self, Exchange};
use super::http::exchanges::Exchanges;
use super::http::reaction::{CountsAs, Reaction};

/// The probes of one kind in one life of a container, with their answers.
pub(crate) struct Answers<'t, 'h> {
    pub(crate) course: Exchanges<'t, 'h>,
    /// The answers that are certain, by the event of the probe's arrival.
    certain: BTreeMap<EventId, ProbeAnswer<'h>>,
    breaks: BTreeSet<EventId>,
}

/// The HTTP probes.
pub(crate) fn of_http<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let whole = exchange::exchanges(run).into_iter().filter(|course| course.holes.is_empty());
    whole.map(|course| Answers::with(course, BTreeMap::new())).collect()
}

/// The probes of all mechanisms except HTTP. Probes that can be mistaken for others of their container are left out.
pub(crate) fn of_others<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let readable = |life: &ProbedLife<'_, '_>| {
        let handler = &life.spec.handler;
        !matches!(handler, Handler::Http { .. }) && handler.host().is_none() && life.is_unmistaken()
    };
    let lives = run.lives().of_each(&ProbeKind::ALL).whole().only(readable);
    lives.into_iter().map(Answers::of).collect()
}

impl<'t, 'h> Answers<'t, 'h> {
    fn of(life: ProbedLife<'t, 'h>) -> Self {
        let from_the_kubelet = |probe: &Probe<'_>| {
            let bare = matches!(probe.through, Through::Connection(_));
            let connection = life.connection_of(probe).filter(|_| bare);
            !connection.is_some_and(|connection| from_a_pod(life.run, connection))
        };
        let known = life.known_from();
        let probes = life.probes.iter().filter(|probe| probe.at.at.lo >= known && from_the_kubelet(probe));
        let (mut exchanges, mut certain) = (Vec::new(), BTreeMap::new());
        for probe in probes {
            let result = life.attempt.result(probe, life.spec);
            certain.extend(result.answer().map(|answer| (probe.id, answer)));
            exchanges.push(Exchange {
                id: probe.id,
                at: probe.at.clone(),
                done: Some(result.at()),
                late: false,
                hops: Vec::new(),
                events: probe.events(),
            });
        }
        Self::with(Exchanges { life, exchanges }, certain)
    }

    /// Adds the breaks to a course.
    fn with(mut course: Exchanges<'t, 'h>, certain: BTreeMap<EventId, ProbeAnswer<'h>>) -> Self {
        let at = breaks(&course);
        let breaks = at.iter().map(|at| at.id).collect();
        course.exchanges.extend(at.into_iter().map(|At { id, stamp }| Exchange {
            id,
            at: stamp,
            done: None,
            late: true,
            hops: Vec::new(),
            events: vec![id],
        }));
        course.exchanges.sort_by_key(|exchange| (exchange.at.at.lo, exchange.id));
        Self { course, certain, breaks }
    }

    /// The answer to a probe of a mechanism other than HTTP.
    pub(crate) fn answer(&self, exchange: &Exchange<'_, '_>) -> Option<ProbeAnswer<'h>> {
        self.certain.get(&exchange.id).copied()
    }

    /// The status with which a command exited in time, and whether the command leaves a child behind, if that is known.
    pub(crate) fn exit(&self, exchange: &Exchange<'_, '_>) -> Option<(u8, Option<bool>)> {
        let ProbeAnswer::Exited(status) = self.answer(exchange)? else { return None };
        Some((status, self.leaves_child(exchange.id)))
    }

    /// Whether the plan lets a command leave a child behind; none if the plan was changed in the meantime.
    fn leaves_child(&self, command: EventId) -> Option<bool> {
        let command = self.course.commands.iter().find(|of| of.id == command)?;
        let plan = self.course.container.plan().filter(|_| !self.course.was_changed())?;
        Some(commands::settings(&plan, command)?.fork.is_some())
    }

    /// Judges each run of probes with the same meaning. `means` returns the meaning of a probe and the reason for it.
    pub(crate) fn judge(
        &self,
        clause: &Clause,
        seen: &mut Seen,
        means: impl Fn(&Exchange<'t, 'h>) -> Option<(CountsAs, String)>,
    ) {
        let reaction = Reaction::new(self.course.run, clause, &self.course);
        for ((promise, words), range) in self.course.runs(means) {
            // A break is not a probe: it shows neither that the container was left alone nor that it was probed again.
            let misread = match self.course.spec.kind {
                ProbeKind::Liveness => promise == CountsAs::Failure,
                ProbeKind::Startup => promise == CountsAs::Success,
                ProbeKind::Readiness => false,
            };
            let next = self.course.exchanges.get(range.end);
            if !(misread && next.is_some_and(|next| self.breaks.contains(&next.id))) {
                reaction.decide(&range, promise, &words, seen);
            }
        }
    }
}

/// Events other than probes that can have changed the answers to probes.
fn breaks(course: &Exchanges<'_, '_>) -> Vec<At> {
    let Some(port) = course.spec.handler.port() else { return Vec::new() };
    let Some(first) = course.exchanges.first().map(|exchange| exchange.at.at.lo) else { return Vec::new() };
    // A closed port no longer has an address, only the name of its listener.
    let plan = course.container.plan().unwrap_or_default();
    let has_name = |name: &String| plan.listeners.get(name).is_some_and(|listener| listener.port == port);
    let has_port =
        |address: &str| address.rsplit_once(':').is_some_and(|(_, number)| number.parse() == Ok(port));
    let switched = course.lines.iter().filter_map(|line| match &line.line.fact {
        Fact::Listening(seen) if has_name(&seen.listener) || has_port(&seen.address) => Some(At::of(line)),
        _ => None,
    });
    let probes: BTreeSet<EventId> =
        course.exchanges.iter().flat_map(|exchange| exchange.events.iter().copied()).collect();
    let cut_short = |connection: &&Connection<'_>| {
        let odd = connection.requests == 0 && connection.accepted.answer != "serve";
        odd && connection.port() == Some(port) && !probes.contains(&connection.id)
    };
    let cut_short = course.connections.iter().filter(cut_short).map(At::of);
    switched.chain(cut_short).filter(|at| at.at.lo > first).collect()
}
