//! When the first probe of a container instance arrives: not before its initial delay, at most about one period after
//! that, and immediately for a readiness probe.
//!
//! A kubelet counts the delay in whole seconds from `startedAt`, which has a resolution of one second, so the lower
//! bound counts from `startedAt` and from the start of the process. The upper bound counts from the opening of the
//! port: before that, no probe is recorded.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::{CLOCKS_APART, WHOLE_SECOND};
use probity_model::timeline::{At, Attempt, ContainerLife, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::schedule::{countable, countable_of_all, distribution, open, started_at, watched};
use super::shown::judge_first;
use crate::reading::absence::{due, judge_absence};
use crate::reading::kinds::started_before;
use crate::reading::lost_signals::stopped_from;
use crate::reading::patches::may_stop_for_spec;

/// No probe arrives before its initial delay has passed, and one arrives within a period after that.
pub(super) fn is_honored(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in delayed(run) {
        judge_delay(clause, &life, seen);
    }
    judge_all_absent(run, clause, seen, |_| true);
}

/// Reports probes with a delay that never arrived, since they also missed the period after the delay.
fn judge_all_absent(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    such: impl Fn(&ProbedLife<'_, '_>) -> bool,
) {
    for life in run.lives().of_each(&ProbeKind::ALL) {
        if life.spec.initial_delay > 0 && such(&life) {
            judge_absence(clause, &life, seen);
        }
    }
}

/// Initial delays are also honored if the period is longer than the delay.
pub(super) fn with_larger_period(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in delayed(run).filter(|life| life.spec.period > life.spec.initial_delay) {
        judge_delay(clause, &life, seen);
    }
    judge_all_absent(run, clause, seen, |life| life.spec.period > life.spec.initial_delay);
}

/// Initial delays are also honored in each instance after the first. A kubelet that has not synced the container since
/// its restart still uses the previous instance, whose delay has passed. For readiness probes after a kill, this is a
/// known deviation until the next sync.
pub(super) fn in_each_life(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    judge_all_absent(run, clause, seen, |life| life.earlier_processes() > 0);
    for life in delayed(run).filter(|life| life.earlier_processes() > 0) {
        judge_delay(clause, &life, seen);
        let Some(straggler) = life.probes.first().filter(|probe| is_old(&life, probe)) else { continue };
        let Some(started) = started_at(&life) else { continue };
        let Some(after) = run.clocks.between(&started, &straggler.at) else { continue };
        if after.hi < life.spec.initial_delay {
            let (words, after) = (life.words(), seconds(after.hi));
            let finding =
                format!("{words} arrived {after} after the restart, before the API showed the new instance");
            let killed = life.before().is_some_and(|before| stopped_from(&before).is_some());
            match life.spec.kind {
                ProbeKind::Readiness if killed => seen.diverges(finding, [started.id, straggler.id]),
                _ if killed && may_stop_for_spec(run, life.pod, life.container) => {
                    seen.diverges(finding, [started.id, straggler.id]);
                }
                _ => seen.violated(finding, [started.id, straggler.id]),
            }
        }
    }
}

/// Whether the kubelet may have sent a probe based on the previous instance, which it can do only until its next sync
/// of the container.
fn is_old(life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let stalled = life.noise(&life.began, &probe.at);
    life.is_straggler(probe) && probe.at.at.lo <= life.known_from() + stalled
}

fn delayed<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = ProbedLife<'t, 'h>> {
    countable_of_all(run).into_iter().filter(|life| life.spec.initial_delay > 0)
}

fn judge_delay(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some(first) = life.probes.iter().find(|probe| !is_old(life, probe)) else { return };
    let (delay, words) = (life.spec.initial_delay, life.words());
    if let Some(started) = started_at(life) {
        let quantity = format!("from startedAt to the first arrival of {words}");
        let bound = Bound::at_least(delay - CLOCKS_APART, "initialDelaySeconds - 10 ms");
        seen.within(life.run, &life.pod.node, quantity, (&started, *first), bound);
    }
    // The start time in the API comes from the kubelet, and the process records a different one.
    let own = clause.tolerance_us("process");
    let quantity = format!("from the start of the process to the first arrival of {words}");
    let formula = format!("initialDelaySeconds - {}", seconds(own));
    life.within(seen, quantity, (&life.began, *first), Bound::at_least(delay - own, formula));
    if let Some(open) = ungated(life, first) {
        let most = delay + life.spec.period + clause.slack_us();
        let formula = format!("initialDelaySeconds + periodSeconds + {}", seconds(clause.slack_us()));
        judge_most(life, (&open, first), Bound::at_most(most, formula), seen);
    }
    judge_first(clause, life, seen);
}

/// The time from which all probes were recorded and only their schedule delayed them; `None` if something else may have
/// delayed them.
fn ungated(life: &ProbedLife<'_, '_>, first: &Probe<'_>) -> Option<At> {
    let gated = life.spec.kind != ProbeKind::Startup && life.container.probe(ProbeKind::Startup).is_some();
    // A kubelet learns which containers run when it has finished its sync of the pod, and a postStart hook of any
    // container delays this.
    let hooked = life.pod.containers.iter().any(|container| container.lifecycle("postStart").is_some());
    let open = open(life).filter(|_| !gated && !hooked)?;
    // In a new pod, the start of the containers that begin together with this one delays the end of this sync as well.
    let others = started_before(life.pod, life.container).filter_map(|other| other.attempts.first());
    let last = others.map(|other| &other.began).max_by_key(|began| began.at.hi);
    let later = last.filter(|began| life.number == 0 && began.at.hi > open.at.hi);
    let open = later.cloned().unwrap_or(open);
    watched(life, &open, &first.at).then_some(open)
}

fn judge_most(life: &ProbedLife<'_, '_>, (open, first): (&At, &Probe<'_>), bound: Bound, seen: &mut Seen) {
    let quantity = format!("from the opening of the port to the first arrival of {}", life.words());
    life.within(seen, quantity, (open, first), bound);
}

/// With a startup probe, the delays of the other probes should count from the startup success. Kubelets nevertheless
/// count them from the start of the container.
pub(super) fn after_startup(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let startups = countable(run, ProbeKind::Startup);
    for kind in [ProbeKind::Liveness, ProbeKind::Readiness] {
        for life in countable(run, kind).iter().filter(|life| life.spec.initial_delay > 0) {
            if let Some(startup) = startups.iter().find(|startup| startup.is(life)) {
                judge_origin(clause, life, startup, seen);
            }
        }
    }
}

fn judge_origin(clause: &Clause, life: &ProbedLife<'_, '_>, startup: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (Some(passed), Some(first)) = (startup.first_success(), life.probes.first()) else { return };
    let (Some(started), delay) = (started_at(life), life.spec.initial_delay) else { return };
    let success = startup.result(passed).at();
    let clocks = &life.run.clocks;
    let spans = (clocks.between(&started, &success), clocks.between(&started, &first.at));
    let (Some(until_success), Some(until_first)) = spans else { return };
    // If startup is quick, both ways of counting give about the same result.
    let telling = until_success.lo > life.spec.period + clause.slack_us();
    if !telling || clocks.order(&first.at, &success) == Order::Before {
        return;
    }
    let waited = first.at.at.lo - success.at.hi;
    let events = || [started.id, passed.id, first.id].into_iter().chain(first.events());
    let words = life.words();
    let most = life.spec.period + clause.slack_us();
    let formula = format!("periodSeconds + {}", seconds(clause.slack_us()));
    if waited >= delay - WHOLE_SECOND {
        let bound = Bound::at_most(delay + most, format!("initialDelaySeconds + {formula}"));
        let quantity = format!("from the startup success to the first arrival of {words}");
        life.within(seen, quantity, (&At::new(passed.id, success), *first), bound);
    } else if until_first.hi >= delay {
        // If the delay counts from the start, the probe is due when both the delay has passed and the gate is open.
        let due = until_success.hi.max(delay);
        let late = until_first.lo - due - life.noise(&success, &first.at) > most;
        let (waited, total) = (seconds(waited), seconds(until_first.lo));
        let finding = format!("{words} arrived {waited} after the startup success, {total} after the start");
        if late {
            let finding = format!(
                "{finding}, more than {formula} late, whether the delay counts from the start or from the startup success"
            );
            seen.violated(finding, events());
        } else {
            seen.diverges(finding, events());
        }
    } else {
        let total = seconds(until_first.hi);
        let finding = format!("{words} arrived {total} after the start, before either delay was over");
        seen.violated(finding, events());
    }
}

/// Without a delay, the first liveness or startup probe comes at some time within one period.
pub(super) fn first_within_a_period(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let (mut phases, mut events) = (Vec::new(), Vec::new());
    let lives = || run.lives().of_each(&ProbeKind::STOPPING);
    for life in lives().only(|life| life.spec.initial_delay == 0) {
        judge_absence(clause, &life, seen);
    }
    for life in lives().countable().only(|life| life.spec.initial_delay == 0) {
        let Some(first) = life.probes.first().filter(|first| !passed_over(&life, first)) else { continue };
        let most = life.spec.period + clause.slack_us();
        let formula = format!("periodSeconds + {}", seconds(clause.slack_us()));
        let bound = Bound::at_most(most, formula);
        if let Some(open) = ungated(&life, first) {
            phases.push(first.at.at.lo - open.at.hi);
            events.extend([open.id, first.id]);
            judge_most(&life, (&open, first), bound, seen);
        } else if let Some(started) = after_success(&life, first) {
            let quantity = format!("from the startup success to the first arrival of {}", life.words());
            life.within(seen, quantity, (&started, first), bound);
        }
        judge_first(clause, &life, seen);
    }
    if let Some(measured) = distribution("from the opening of a port to the first probe", phases, events) {
        seen.note(measured);
    }
}

/// When the startup probe succeeded, if nothing but its own schedule delayed the first liveness probe after that. While
/// a kubelet stops another container of the pod, it does not learn that this container has started.
fn after_success(life: &ProbedLife<'_, '_>, first: &Probe<'_>) -> Option<At> {
    life.container.probe(ProbeKind::Startup).filter(|_| life.spec.kind == ProbeKind::Liveness)?;
    let started = due(life)?;
    // A missing line may have told of a signal.
    let signaled = |attempt: &Attempt<'_>| {
        !attempt.holes.is_empty() || attempt.lines.iter().any(|of| matches!(of.line.fact, Fact::Signal(_)))
    };
    let stops =
        |other: &ContainerLife<'_>| other.name != life.container.name && other.attempts.iter().any(signaled);
    let alone = !life.pod.containers.iter().any(stops);
    (alone && watched(life, &started, &first.at)).then_some(started)
}

/// Whether other probes arrived before the first startup probe. If so, the kubelet considered the instance started, and
/// the startup probe waits until the kubelet corrects this. The clauses of the gate judge this case.
pub(super) fn passed_over(life: &ProbedLife<'_, '_>, first: &Probe<'_>) -> bool {
    let before = |probe: &Probe<'_>| probe.at.at.hi < first.at.at.lo && !probe.can_be(ProbeKind::Startup);
    life.spec.kind == ProbeKind::Startup && life.attempt.probes.iter().any(before)
}

/// A readiness probe with a long period still arrives soon after the start, while the container is not ready.
pub(super) fn readiness_comes_early(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in countable(run, ProbeKind::Readiness) {
        if life.spec.initial_delay > 0 || life.spec.period < clause.tolerance_us("long-period") {
            continue;
        }
        let Some(first) = life.probes.first() else { continue };
        let open = ungated(&life, first);
        let since = open.as_ref().and_then(|open| run.clocks.between(open, &first.at));
        let late = since.is_none_or(|since| since.hi > clause.slack_us());
        // A probe that finds the port still closed leaves no record, and the next probe may come a whole period later.
        let refused = life.event("Unhealthy", "").is_some();
        let excused = refused && late && life.outcome(first) == ProbeOutcome::Success;
        if let Some(open) = open.filter(|_| !excused && life.before_deletion(&first.at)) {
            judge_most(&life, (&open, first), clause.in_time(), seen);
        }
    }
}
