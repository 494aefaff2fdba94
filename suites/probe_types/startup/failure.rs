//! A container that never starts is killed because of its startup probe; a container that starts slowly is protected
//! from its liveness probe.

use probity_model::measure::seconds;
use probity_model::mechanisms::TO_BEGIN;
use probity_model::timeline::{ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::gate::opening;
use crate::reading::absence::judge_absence;
use crate::reading::termination::{Exhausted, Stop, exhausted, judge_no_restart, judge_restart};

/// If a startup probe reaches its failure threshold, the container is killed, and then the restart policy applies. It
/// is also a violation if startup probes are due but never arrive.
pub(super) fn failure_kills(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().of(ProbeKind::Startup) {
        judge_absence(clause, &life, seen);
    }
    for spent in exhausted(run, ProbeKind::Startup) {
        if let Some(stop) = spent.judge_stop(clause, seen)
            && spent.life.policy() != "Never"
        {
            judge_restart(&spent.life, stop, seen);
            seen.fine(spent.life.event("Killing", "failed startup probe"));
        }
    }
}

/// With the policy Never, a container that was killed because of its startup probe is not started again, and the pod
/// reaches a terminal phase.
pub(super) fn never_means_never(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = exhausted(run, ProbeKind::Startup).into_iter();
    for spent in all.filter(|spent| spent.life.policy() == "Never") {
        let Some(stop) = spent.stopped(clause) else { continue };
        judge_no_restart(&spent.life, stop, seen);
        if let Some(event) = spent.life.event("Killing", "will be restarted") {
            seen.violated("an event says that the container will be restarted", [stop.id, event]);
        }
    }
}

/// A container whose startup takes longer than its liveness probe tolerates survives only with a startup probe.
pub(super) fn startup_protects(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for liveness in run.lives().of(ProbeKind::Liveness) {
        match liveness.probed(ProbeKind::Startup) {
            Some(startup) => judge_protected(clause, &startup, &liveness, seen),
            None => judge_unprotected(clause, &liveness, seen),
        }
    }
}

/// With a startup probe, no stop signal arrives before startup succeeds, unless the startup probe itself reaches its
/// threshold.
fn judge_protected(
    clause: &Clause,
    startup: &ProbedLife<'_, '_>,
    liveness: &ProbedLife<'_, '_>,
    seen: &mut Seen,
) {
    let began = &startup.began;
    let started = opening(startup);
    let stop = startup.stopped_undeleted();
    if let Some(started) = &started
        && stop.is_none_or(|stop| stop.at.at.lo > started.at.at.hi)
    {
        let budget = liveness.spec.initial_delay + liveness.spec.failures * liveness.spec.period;
        let slow = started.at.at.lo - began.at.hi > budget;
        seen.fine([began.id, started.at.id].into_iter().filter(|_| slow));
        if slow {
            seen.facet("startup-probe", "with");
        }
        return;
    }
    let Some(stop) = stop else { return };
    let lived = stop.at.at.hi - began.at.lo;
    let patience = least_time(startup);
    // A series of startup failures may begin in the previous instance, so only the first instance is judged. The series
    // may also begin before the process starts.
    let late = startup.noise(&began.earlier(TO_BEGIN), &stop.at);
    let early = startup.number == 0 && lived + clause.slack_us() + late < patience;
    let hooked = startup.container.lifecycle("postStart").is_some();
    let own_doing = startup.only_probes_stop_it() && !hooked;
    if early && own_doing && startup.pod.sees(&startup.container.name, startup.spec) {
        let (lived, patience) = (seconds(lived), seconds(patience));
        let finding = format!(
            "a container was stopped {lived} after its start, although its startup probe tolerates {patience}"
        );
        seen.violated(finding, [began.id, stop.id]);
    }
}

/// The shortest time from the start of a container to the failure that reaches the threshold of its probe.
fn least_time(life: &ProbedLife<'_, '_>) -> i64 {
    life.spec.initial_delay + (life.spec.failures - 1) * life.spec.period
}

/// Without a startup probe, a container whose startup takes longer than its liveness probe tolerates gets a stop signal
/// before liveness ever succeeds.
fn judge_unprotected(clause: &Clause, liveness: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let may_have_passed =
        liveness.probes.iter().any(|probe| liveness.outcome(probe) != ProbeOutcome::Failure);
    if may_have_passed || !liveness.pod.sees(&liveness.container.name, liveness.spec) {
        return;
    }
    let Some(stop) = liveness.stop() else { return judge_survival(clause, liveness, seen) };
    let late = stop.at.at.lo - liveness.began.at.hi > least_time(liveness);
    if late && liveness.before_deletion(&stop.at) {
        seen.fine([liveness.began.id, stop.id]);
        seen.facet("startup-probe", "without");
    }
}

/// Judges a container that got no stop signal. This is a violation only if the target itself recorded enough liveness
/// failures.
fn judge_survival(clause: &Clause, liveness: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Some(spent) = Exhausted::of(liveness.clone()) else { return };
    if let Stop::Missing(line) = spent.stop(clause) {
        let allowed = seconds(spent.allowance(clause).0);
        let finding = format!(
            "liveness never succeeded, but the container was not stopped within {allowed} of the decisive failure"
        );
        seen.violated(finding, spent.events().into_iter().chain([line.id]));
    }
}
