//! Probes that were due but never arrived.
//!
//! A missing probe leaves no record, so the evidence is a container instance that waited for it: its port was open,
//! nothing delayed the probe, its process left records until the end, and nothing that could have been the probe
//! arrived. Anything that may have hidden or delayed a probe disables this reading.

use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{FIRST_TURNS, PERIODS_TO_COME, UNDER_WAY, UNKNOWN_LIFE};
use probity_model::timeline::{
    At, Connection, ContainerLife, ContainerSeen, Handler, PodLife, Probe, ProbeKind, ProbeOutcome,
    ProbedLife, Revision,
};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use probity_script::witness::Fact;

use super::kinds::{sleeps, started_before};
use super::lost_signals::may_have_been_stopping;
use super::unvisited::opened;

/// Reports a violation if a probe was due in an instance and none of its kind ever arrived.
pub(crate) fn judge_absence(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some(due) = due(life).filter(|_| life.probes.is_empty() && would_be_seen(life)) else { return };
    if may_have_been_stopping(life) {
        return;
    }
    let (spec, slack) = (life.spec, clause.slack_us());
    let most = spec.initial_delay + FIRST_TURNS.of(spec.period) + UNKNOWN_LIFE + slack;
    let formula = format!("initialDelaySeconds + 2 × periodSeconds + {}", seconds(UNKNOWN_LIFE + slack));
    accuse(life, &due, ("never arrived, although it was due", Bound::at_most(most, formula)), seen);
}

/// Reports a violation if the probes of an instance stopped long before it ended, without a cause.
pub(crate) fn judge_end(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (Some(last), Some(due)) = (life.probes.last(), due(life).filter(|_| would_be_seen(life))) else {
        return;
    };
    let spent = life.stretches().last().is_none_or(|(outcome, of)| match (life.spec.kind, outcome) {
        // A container that has started gets no more startup probes, and one that failed too many times is about to be
        // killed.
        (ProbeKind::Startup, outcome) if *outcome != ProbeOutcome::Failure => true,
        (ProbeKind::Readiness, _) | (_, ProbeOutcome::Success) => false,
        (_, ProbeOutcome::Unclear) => true,
        (..) => i64::try_from(of.len()).is_ok_and(|count| count >= life.spec.failures),
    });
    if spent {
        return;
    }
    let most = PERIODS_TO_COME.of(life.pace()) + UNKNOWN_LIFE + clause.slack_us();
    let formula = format!("2 × periodSeconds + {}", seconds(UNKNOWN_LIFE + clause.slack_us()));
    accuse(
        life,
        &later(life.run, due, At::of(last)),
        ("stopped arriving", Bound::at_most(most, formula)),
        seen,
    );
}

fn accuse(life: &ProbedLife<'_, '_>, from: &At, (what, bound): (&str, Bound), seen: &mut Seen) {
    let Some(until) = until(life) else { return };
    let allowed = bound.upper.as_ref().map_or(0, |limit| limit.value);
    let plain = || life.run.measure(String::new(), &life.node, from, &until, bound.clone());
    let measured = Some(()).filter(|()| life.watched_for(from, allowed)).and_then(|()| plain());
    let missed = |measured: &Measurement| measured.fit() == Fit::Missed;
    let measured =
        measured.filter(missed).or_else(|| beside_others(life, from, &until, &bound)).filter(missed);
    if let Some(measured) = measured {
        let finding = format!("{} {what}: {}", life.words(), silence(&measured));
        let last = life.last_line().map(|line| line.id);
        seen.violated(
            finding,
            [Some(life.began.id), Some(from.id), last, Some(until.id)].into_iter().flatten(),
        );
    }
}

/// The silence of a probe beside the other probes of the pod that are sent in the same way. A busy node delays all of
/// them alike, so it cannot explain a longer silence than theirs. The silence begins when the kubelet has shown the
/// instance as running and, unless the startup probe itself is missing, as started: the kubelet knows this since then.
fn beside_others(life: &ProbedLife<'_, '_>, from: &At, until: &At, bound: &Bound) -> Option<Measurement> {
    let started = |seen: &ContainerSeen<'_>| {
        life.spec.kind == ProbeKind::Startup || seen.started.is_none_or(|started| started)
    };
    let known = life.revisions().find(|(_, seen)| seen.is_running() && started(seen));
    let shown = known.map(|(revision, _)| At::of(revision))?;
    let from = later(life.run, from.clone(), shown);
    let watched = At::new(until.id, life.run.watched_until(life.pod, &from));
    let until = if life.run.at_least(&watched, until) > 0 { watched } else { until.clone() };
    let runs_command = |life: &ProbedLife<'_, '_>| matches!(life.spec.handler, Handler::Exec { .. });
    let is_other = |other: &ProbedLife<'_, '_>| {
        let same = other.container.name == life.container.name && other.spec.kind == life.spec.kind;
        other.pod.uid == life.pod.uid && !same && runs_command(other) == runs_command(life)
    };
    let lives = life.run.lives().of_each(&ProbeKind::ALL).countable();
    let others = lives.into_iter().filter(is_other);
    let longest = others.filter_map(|other| longest_silence(&other, &from, &until)).min()?;
    let mut measured = life.run.measure(String::new(), &life.node, &from, &until, bound.clone())?;
    measured.noise = measured.noise.min(longest);
    Some(measured)
}

/// The longest time without a probe of this kind between two instants, if several of them arrived.
fn longest_silence(life: &ProbedLife<'_, '_>, from: &At, until: &At) -> Option<i64> {
    let after = |at: &Stamp, other: &Stamp| life.run.at_least(at, other) > 0;
    let between = |probe: &&Probe<'_>| after(from, &probe.at) && after(&probe.at, until);
    let probes: Vec<At> = life.probes.iter().copied().filter(between).map(At::of).collect();
    let [_, _, _, ..] = probes.as_slice() else { return None };
    let marks: Vec<At> = [from.clone()].into_iter().chain(probes).chain([until.clone()]).collect();
    let silences = marks.windows(2).map(|pair| {
        let (one, next) = (pair.first()?, pair.last()?);
        life.run.clocks.between(one, next).map(|span| span.hi)
    });
    silences.collect::<Option<Vec<i64>>>()?.into_iter().max()
}

fn silence(measured: &Measurement) -> String {
    format!("nothing arrived for {}", measured.in_words())
}

/// Whether a probe of this kind must leave its own record in this instance.
fn would_be_seen(life: &ProbedLife<'_, '_>) -> bool {
    life.container.stays()
        && life.holes.is_empty()
        && !life.run.node_was_touched()
        && life.is_seen()
        && life.is_asked_alone()
        && broken_off(life).next().is_none()
        && starts_a_command(life)
}

/// The connections to the port of a probe that broke off before a request, each of which may have been the probe. (A TCP probe
/// sends no request.)
pub(crate) fn broken_off<'t, 'h>(life: &ProbedLife<'t, 'h>) -> impl Iterator<Item = &'t Connection<'h>> {
    let port = life.spec.handler.port().filter(|_| !matches!(life.spec.handler, Handler::Tcp { .. }));
    let attempt = life.attempt;
    attempt.connections.iter().filter(move |of| port.is_some() && of.port() == port && of.requests == 0)
}

/// Whether the command of a probe, if it has one, exists in the image: it is the target's own program, which answers
/// according to its plan.
fn starts_a_command(life: &ProbedLife<'_, '_>) -> bool {
    let Handler::Exec { command } = &life.spec.handler else { return true };
    let [program, word, name, ..] = command.as_slice() else { return false };
    let plan = life.container.plan();
    program == "/agnhost-rs" && word == "exec" && plan.is_some_and(|plan| plan.exec.contains_key(name))
}

/// The time from which nothing delayed the probe: its container and those that the kubelet may start before it handles
/// this probe had started, its port was open, and the startup probe had succeeded. `None` if a hook or something unknown may have delayed it.
pub(crate) fn due(life: &ProbedLife<'_, '_>) -> Option<At> {
    let hooked = life.pod.containers.iter().any(|container| container.lifecycle("postStart").is_some());
    let gate = life.container.probe(ProbeKind::Startup).filter(|_| life.spec.kind != ProbeKind::Startup);
    let open = match &life.spec.handler {
        Handler::Exec { .. } => life.began.clone(),
        handler => At::of(opened(life.attempt, handler.port()?)?),
    };
    let through = match gate {
        Some(_) => Some(life.attempt.first_success(ProbeKind::Startup)?.settled.clone()?),
        None => None,
    };
    let others =
        if life.number == 0 { Some(last_to_begin(life.run, life.pod, life.container)?) } else { None };
    if hooked || life.pod.had_deadline() {
        return None;
    }
    Some([through, others].into_iter().flatten().fold(open, |one, other| later(life.run, one, other)))
}

/// The later of two instants, as far as their clocks can be compared.
fn later(run: &Timeline<'_>, one: At, other: At) -> At {
    if run.at_least(&one, &other) > 0 { other } else { one }
}

/// The start of the last container that a kubelet may start before it syncs this one. `None` if the start of any of
/// these containers is not known.
pub(crate) fn last_to_begin(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
) -> Option<At> {
    last_start(run, pod, started_before(pod, container))
}

/// The last of the first starts of these containers. `None` if one of them is not known.
pub(crate) fn last_start<'t, 'h: 't>(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    of: impl Iterator<Item = &'t ContainerLife<'h>>,
) -> Option<At> {
    let began = |of: &ContainerLife<'_>| {
        let first = of.attempts.first().map(|first| first.began.clone());
        first.or_else(|| shown_running(pod, of))
    };
    let began: Option<Vec<At>> = of.map(began).collect();
    began?.into_iter().reduce(|one, other| later(run, one, other))
}

/// When a container that only sleeps was shown as running.
fn shown_running(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Option<At> {
    let runs = |shown: &&Revision<'_>| shown.container(&container.name).is_some_and(|seen| seen.is_running());
    pod.revisions.iter().filter(|_| sleeps(container)).find(runs).map(At::of)
}

/// The time until which the process could certainly be probed: its stop signal, its end, a change of its port, or the
/// end of the case minus the time that its lines need to arrive.
fn until(life: &ProbedLife<'_, '_>) -> Option<At> {
    let exiting = life.lines.iter().find(|line| matches!(line.line.fact, Fact::Exiting(_)));
    let own = [life.stop(), exiting].into_iter().flatten().map(At::of).min_by_key(|at| at.at.lo);
    let last = |before: i64| -> Option<EventId> {
        let mut events = life.run.history.events();
        events.rfind(|(_, event)| event.us <= before).map(|(id, _)| id)
    };
    let end = life.run.ended_us - UNDER_WAY;
    let over = || Some(At::new(last(end)?, probity_model::Stamp::harness(end)));
    own.or_else(|| life.ended.clone()).or_else(over)
}
