//! Which grace period counts when a container is killed that ignores its stop signal: the probe's own, else the pod's,
//! and at a deletion the pod's always.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{ContainerKind, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;

use super::course::{Course, SECOND};
use crate::reading::kill::{
    Life, Stop, all_spent, allowance, before_deletion, over, policy, stop_after, termination,
};
use crate::reading::kinds::work_is_done;

/// What a container is left in any case between the stop signal and its forced end.
const LEAST_GRACE: i64 = 2 * SECOND;
/// The exit status of a process that was killed by SIGKILL.
const KILLED: i64 = 137;

/// Whether only a probe of its own can have stopped this life of a container: nothing else was arranged or done.
pub(super) fn only_its_probe(run: &Timeline<'_>, course: &Course<'_, '_>) -> bool {
    let (pod, container) = (course.pod, course.container);
    let meddled = run.deeds.iter().any(|(_, deed)| {
        matches!(
            deed.did,
            Did::Patched { .. } | Did::NodeVerb { .. } | Did::Evicted { .. } | Did::Executed { .. }
        )
    });
    let other = ProbeKind::ALL.into_iter().any(|kind| {
        kind != course.spec.kind && kind != ProbeKind::Readiness && container.probe(kind).is_some()
    });
    let hooked = container.spec.get("lifecycle").is_some();
    let from_outside = over(pod).is_some_and(|(_, from_outside)| from_outside);
    let deadline = pod.spec.get("activeDeadlineSeconds").is_some();
    let lawful = course.attempt.stop_signal().is_none_or(|(_, at)| before_deletion(run, pod, at));
    let stays = container.kind != ContainerKind::Init && !work_is_done(pod, container);
    let plain = stays && policy(pod, container) != "Never";
    plain && lawful && !(meddled || other || hooked || from_outside || deadline)
}

/// A liveness probe's own grace period replaces the pod's, whether it is shorter or longer.
pub(super) fn liveness_overrides(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_kills(run, clause, ProbeKind::Liveness, seen, |pod, spec| {
        spec.grace.filter(|own| *own != pod.grace())
    });
}

/// So does a startup probe's.
pub(super) fn startup_overrides(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_kills(run, clause, ProbeKind::Startup, seen, |pod, spec| {
        spec.grace.filter(|own| *own != pod.grace())
    });
}

/// A probe without one leaves it to the pod.
pub(super) fn pods_own_counts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in [ProbeKind::Liveness, ProbeKind::Startup] {
        for_kills(run, clause, kind, seen, |pod, spec| spec.grace.is_none().then(|| pod.grace()));
    }
}

fn for_kills(
    run: &Timeline<'_>,
    clause: &Clause,
    kind: ProbeKind,
    seen: &mut Seen,
    grace: impl Fn(&PodLife<'_>, &ProbeSpec) -> Option<i64>,
) {
    for (life, spec, spent) in all_spent(run, kind) {
        let (pod, container, attempt) = life;
        let Some(grace) = grace(pod, spec) else { continue };
        let hooked = container.spec.get("lifecycle").is_some();
        // With nothing left to run, the whole pod is stopped, and then its own grace period counts.
        if hooked || policy(pod, container) == "Never" {
            continue;
        }
        let (allowed, _) = allowance(pod, container, clause);
        if let Stop::Came(id, at) = stop_after(run, pod, attempt, &spent.at, allowed)
            && let Some((_, ended)) = &attempt.ended
            && before_deletion(run, pod, ended)
        {
            judge_end(run, clause, life, (id, at), (grace, grace), seen);
        }
    }
}

/// A process that ignores the stop signal is killed when the grace period is over, which may have begun before the
/// signal: not before, and not much later.
fn judge_end(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'_, '_>,
    (stop_id, stop): (EventId, &Stamp),
    (least, most): (i64, i64),
    seen: &mut Seen,
) {
    let by_itself = attempt.lines.iter().any(|line| matches!(line.line.fact, Fact::Exiting(_)));
    let Some((ended_id, ended)) = &attempt.ended else { return };
    let told = termination(pod, &container.name, attempt.number);
    if by_itself || !attempt.holes.is_empty() || told.is_some_and(|(_, code)| code != KILLED) {
        return;
    }
    let slack = seconds(clause.slack_us());
    // The kubelet counts whole seconds, and the signal is seen later than it is sent.
    let bound = Bound::at_most(
        most + SECOND + clause.slack_us(),
        format!("the grace period of {} + 1 s + {slack}", seconds(most)),
    )
    .and_at_least(least - SECOND, format!("what is left of the grace period, {} - 1 s", seconds(least)));
    let ends = ((stop_id, stop), (*ended_id, ended));
    let quantity = format!("from the stop signal to the forced end of {}/{}", pod.key, container.name);
    if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

/// At a deletion the grace period is the pod's, or what the deletion asks for, whatever a probe says.
pub(super) fn deletion_has_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes().filter(|(_, _, spec)| spec.grace.is_some()) {
        let hooked = container.spec.get("lifecycle").is_some();
        let Some((_, grace, began)) = deletion(run, pod) else { continue };
        if hooked || container.kind == ContainerKind::Init || spec.grace == Some(grace) {
            continue;
        }
        seen.applies();
        let Some(attempt) = container.attempts.last() else { continue };
        let Some((id, stop)) = attempt.stop_signal() else { continue };
        // A container that was being killed already goes on by what it was told.
        let waited = run.clocks.between(&began, stop).filter(|span| span.hi > 0);
        let Some(waited) = waited.filter(|_| !before_deletion(run, pod, stop)) else { continue };
        // A sidecar waits for its turn while its grace period runs down.
        let least = match container.kind {
            ContainerKind::Sidecar => (grace - waited.hi).max(LEAST_GRACE).min(grace),
            ContainerKind::Main | ContainerKind::Init => grace,
        };
        judge_end(run, clause, (pod, container, attempt), (id, stop), (least, grace.max(LEAST_GRACE)), seen);
    }
}

/// The harness's request to delete a pod: its event, the grace period that then counts, and when it was sent.
fn deletion(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<(EventId, i64, Stamp)> {
    let (id, deed) = run.deeds.iter().find(|(id, _)| Some(*id) == pod.deleted)?;
    let Did::Deleted { grace, .. } = &deed.did else { return None };
    let asked = grace.and_then(|grace| i64::try_from(grace).ok()).map(|grace| grace * SECOND);
    Some((*id, asked.unwrap_or_else(|| pod.grace()), Stamp::harness(deed.began_us)))
}
