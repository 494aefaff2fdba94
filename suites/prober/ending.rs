//! The end of a pod: liveness and startup probes stop, and no probe restarts a container.

use probity_model::measure::{Bound, Measurement, seconds};
use probity_model::mechanisms::{OFF_BEAT, PERIODS_TO_COME};
use probity_model::timeline::{
    At, ContainerKind, Life, Line, PodLife, Probe, ProbeKind, ProbeOutcome, ProbedLife,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use super::TRIES;
use crate::reading::absence::broken_off;
use crate::reading::hooks::hook_run;
use crate::reading::termination::Exhausted;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.termination.liveness-startup-stop", judge: liveness_and_startup_stop },
    Judge { clause: "prober.termination.sidecar-liveness", judge: sidecars_are_not_restarted },
];

/// The liveness and startup probes of main containers stop when their pod is deleted, and no container starts again.
fn liveness_and_startup_stop(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let main = run.lives().undisturbed().only(|life| life.container.kind == ContainerKind::Main);
    for life in main.of_each(&ProbeKind::STOPPING) {
        let Some(stop) = stopped_by_deletion(&life) else { continue };
        judge_silence(clause, &life, &stop, seen);
        if let Some(next) = life.lives_again().filter(|_| passed_until(&life, &stop)) {
            seen.violated("a container of a deleted pod was started again", [stop.id, next]);
        }
    }
}

/// Whether the kubelet itself ended a pod, as if it had been deleted.
fn is_over_by_the_kubelet(pod: &PodLife<'_>) -> bool {
    let reason = pod.over().and_then(|over| over.object["status"]["reason"].as_str());
    matches!(reason, Some("DeadlineExceeded" | "Evicted"))
}

/// When the kubelet began to stop a container whose pod was deleted, or had to end: at its preStop hook, or at the stop
/// signal.
fn stopped_by_deletion(life: &Life<'_, '_>) -> Option<At> {
    let deleted = life.pod.deleted.and(life.run.deletion(life.pod));
    if deleted.is_none() && !(is_over_by_the_kubelet(life.pod) && life.next().is_none()) {
        return None;
    }
    let hook = life.container.lifecycle("preStop").and_then(|hook| hook_run(life, hook));
    let steps = [hook.map(|hook| hook.began), life.attempt.stop().map(At::of)].into_iter();
    steps.flatten().find(|step| deleted.as_ref().is_none_or(|deleted| life.run.before(deleted, step)))
}

/// Whether all probes of the container passed until it was stopped. A kill because of a failed probe just before the
/// deletion may still be followed by a restart.
fn passed_until(life: &Life<'_, '_>, stop: &At) -> bool {
    let passed = |life: ProbedLife<'_, '_>| {
        let mut before = life.probes.iter().filter(|probe| probe.at.at.lo <= stop.at.hi);
        before.all(|probe| life.outcome(probe) == ProbeOutcome::Success) && !may_have_timed_out(&life, stop)
    };
    ProbeKind::ALL.into_iter().filter_map(|kind| life.probed(kind)).all(passed)
}

/// Whether a probe may have timed out before its request arrived: its connection broke off, and the target or its node was
/// held up between this connection and the stop.
fn may_have_timed_out(life: &ProbedLife<'_, '_>, stop: &At) -> bool {
    broken_off(life).any(|of| {
        let noise = life.run.noise_between(&life.node, &At::new(of.id, of.at.clone()), stop);
        life.run.before(&of.at, stop) && (noise > 0 || life.run.stalled_at(&of.at) > 0)
    })
}

fn judge_silence(clause: &Clause, life: &ProbedLife<'_, '_>, stop: &At, seen: &mut Seen) {
    let probes = || life.attempt.probes_of(life.spec.kind);
    let Some(last) = probes().filter(|probe| probe.at.at.hi <= stop.at.lo).last() else { return };
    // A probe that ended in an error, such as a truncated body, is retried, each time until its timeout.
    let retries = if life.outcome(last) == ProbeOutcome::Unclear { TRIES - 1 } else { 0 };
    let slack = clause.slack_us() + retries * life.spec.timeout;
    let from_there = |probe: &&Probe<'_>| life.peer(probe) == life.peer(last);
    let maybe_after = |probe: &&Probe<'_>| probe.at.at.hi > stop.at.hi && from_there(probe);
    let maybe_after: Vec<&Probe<'_>> = probes().filter(maybe_after).collect();
    let gone_on = sent_after(life, stop.at.hi + slack, last, &maybe_after);
    if gone_on.len() >= clause.tolerance_times("in-turn") {
        let finding = format!(
            "{} {} probes arrived more than {} after the beginning of the stop, about a period apart",
            gone_on.len(),
            life.spec.kind.word(),
            seconds(slack)
        );
        seen.violated(finding, [stop.id].into_iter().chain(gone_on));
        return;
    }
    if let Some(late) = maybe_after.iter().rfind(|probe| probe.at.at.lo > stop.at.hi) {
        let quantity = format!("from the beginning of the stop to the last {} probe", life.spec.kind.word());
        life.within(seen, quantity, (stop, *late), Bound::at_most(slack, seconds(slack)));
        return;
    }
    let goes_on = life.spec.kind == ProbeKind::Liveness && Exhausted::of(life.clone()).is_none();
    let heard = life.holes.is_empty() && life.pod.sees(&life.container.name, life.spec);
    let silence = PERIODS_TO_COME.of(life.spec.period) + slack;
    let end = life.last_line().filter(|line| line.at.at.lo - stop.at.hi > silence);
    if let Some(end) = end.filter(|_| goes_on && heard) {
        seen.fine([last.id, stop.id, end.id]);
    }
}

/// The network probes that were certainly sent after an instant, however busy their node was: each came half a period or
/// more after the previous one, and the target was not stalled. (A stalled target accepts in one burst what was sent
/// before. So the time at which it accepted a connection counts, not the time at which the connection may have been made.) A
/// probe that ends in an error is retried, and the runtime may start a command long after the kubelet
/// requested it.
fn sent_after(
    life: &ProbedLife<'_, '_>,
    instant: i64,
    last: &Probe<'_>,
    after: &[&Probe<'_>],
) -> Vec<EventId> {
    let clear = |probe: &Probe<'_>| {
        let result = life.attempt.result(probe, life.spec);
        [result.outcome(), result.surely()].iter().any(|outcome| *outcome != ProbeOutcome::Unclear)
    };
    let by_network = life.spec.handler.port().is_some();
    if !by_network || !clear(last) || !after.iter().all(|probe| clear(probe)) {
        return Vec::new();
    }
    let in_turn = |before: &Probe<'_>, this: &Probe<'_>| {
        this.at.at.hi - before.at.at.hi >= OFF_BEAT.of(life.spec.period) && life.run.stalled_at(&this.at) == 0
    };
    let before = std::iter::once(last).chain(after.iter().copied());
    let sent = before.zip(after).filter(|(before, this)| in_turn(before, this) && this.at.at.hi > instant);
    sent.map(|(_, this)| this.id).collect()
}

/// Whether the failures of a sidecar had reached their threshold before the first status that shows the deletion.
fn may_be_killed_before(life: &ProbedLife<'_, '_>) -> bool {
    let shown = life.pod.revisions.iter().find(|shown| shown.terminating());
    let spent = Exhausted::of(life.clone());
    spent.zip(shown).is_some_and(|(spent, shown)| !life.run.before(&shown.at, &spent.at))
}

/// No sidecar is started again after the deletion of its pod, whatever the result of its liveness probe.
fn sidecars_are_not_restarted(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let sidecars = run.lives().undisturbed().only(|life| life.container.kind == ContainerKind::Sidecar);
    for life in sidecars.of(ProbeKind::Liveness) {
        let Some((deed, deleted)) = life.pod.deleted.zip(run.deletion(life.pod)) else { continue };
        // If an instance ended before the deletion or soon after it, the next one may already have been starting.
        let lasted = |line: &&Line<'_>| {
            let span = run.clocks.between(&deleted, &line.at);
            span.is_some_and(|span| span.lo > PERIODS_TO_COME.of(life.spec.period))
        };
        let last = life.last_line().filter(|_| run.before(&life.began, &deleted));
        let Some(last) = last.filter(lasted) else { continue };
        let name = &life.container.name;
        let after = life.probes_of(ProbeKind::Liveness).filter(|probe| run.before(&deleted, &probe.at));
        let after: Vec<EventId> = after.map(|probe| probe.id).collect();
        let quantity = format!("liveness probes of the sidecar {name} after the deletion of its pod");
        let events = [deed].into_iter().chain(after.iter().copied()).collect();
        seen.note(Measurement::count(quantity, after.len(), Bound::default(), events));
        match life.lives_again() {
            // The kubelet may have decided to restart the sidecar before it heard of the deletion.
            Some(next) if may_be_killed_before(&life) => {
                let why = format!(
                    "{name} restarted because of its probe, perhaps before the kubelet saw the deletion"
                );
                seen.doubt(Doubt::Ambiguous, why, [deed, next]);
            }
            Some(next) => {
                let finding = format!("the sidecar {name} was started again in a deleted pod");
                seen.violated(finding, [deed, next]);
            }
            None => seen.fine([deed, last.id]),
        }
    }
}
