//! The grace period of a container that ignores its stop signal. It is the probe's, or else the pod's, and on deletion
//! always the pod's.

use std::cmp::Ordering;

use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, START_OF_A_COMMAND, WHOLE_SECOND};
use probity_model::timeline::{ContainerKind, Life, Line, PodLife, ProbeKind, ProbedLife};
use probity_model::{Clause, Seen, Stamp, Timeline};

use crate::reading::hooks::hook_run;
use crate::reading::mains::another_runs;
use crate::reading::termination::{exhausted, forced_end};

/// A liveness probe's own grace period replaces the pod's, whether it is shorter or longer.
pub(super) fn liveness_overrides(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_kills(run, clause, ProbeKind::Liveness, seen, own_grace);
}

/// A startup probe's own grace period replaces the pod's in the same way.
pub(super) fn startup_overrides(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for_kills(run, clause, ProbeKind::Startup, seen, own_grace);
}

/// The probe's own grace period, if it differs from the pod's.
fn own_grace(life: &ProbedLife<'_, '_>) -> Option<i64> {
    life.spec.grace.filter(|own| *own != life.pod.grace())
}

/// The pod's grace period applies to a probe without its own grace period.
pub(super) fn pods_own_counts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kind in ProbeKind::STOPPING {
        for_kills(run, clause, kind, seen, |life| life.spec.grace.is_none().then(|| life.pod.grace()));
    }
}

fn for_kills(
    run: &Timeline<'_>,
    clause: &Clause,
    kind: ProbeKind,
    seen: &mut Seen,
    grace: impl Fn(&ProbedLife<'_, '_>) -> Option<i64>,
) {
    for spent in exhausted(run, kind) {
        let (life, Some(grace)) = (&spent.life, grace(&spent.life)) else { continue };
        // If no container is left to run, the whole pod is stopped, and the pod's own grace period counts.
        if let Some(stop) = spent.stopped(clause)
            && (life.policy() != "Never" || another_runs(life, &stop.at))
            && let Some(ended) = &life.attempt.ended
            && life.before_deletion(ended)
            && let Some(left) = Left::after_hook(life, grace)
        {
            judge_end(clause, life, stop, left, seen);
        }
    }
}

/// The rest of a grace period that is left when the stop signal comes.
struct Left {
    grace: i64,
    least: i64,
    most: i64,
}

impl Left {
    /// Without a hook, the whole grace period is left. Otherwise, the kubelet subtracts the whole seconds that the
    /// preStop hook took. It may have started the hook's command before the target recorded it.
    fn after_hook(life: &Life<'_, '_>, grace: i64) -> Option<Self> {
        let Some(hook) = life.container.lifecycle("preStop") else {
            return Some(Self { grace, least: grace, most: grace.max(LEAST_GRACE) });
        };
        let run = hook_run(life, hook)?;
        let took = life.run.clocks.between(&run.began, run.ended.as_ref()?)?;
        Some(Self {
            grace,
            least: (grace - took.hi - START_OF_A_COMMAND).max(LEAST_GRACE),
            most: (grace - took.lo + WHOLE_SECOND).max(LEAST_GRACE),
        })
    }
}

fn is_hooked(life: &Life<'_, '_>) -> bool {
    life.container.spec.get("lifecycle").is_some()
}

/// A process that ignores the stop signal is killed when the rest of the grace period ends: not before, and not much
/// later.
fn judge_end(clause: &Clause, life: &Life<'_, '_>, stop: &Line<'_>, left: Left, seen: &mut Seen) {
    let Some(ended) = forced_end(life) else { return };
    let Left { grace, least, most } = left;
    let slack = seconds(clause.slack_us());
    let bound = Bound::at_most(
        most + clause.slack_us(),
        format!("the rest of the grace period, {} + {slack}", seconds(most)),
    )
    .and_at_least(
        least - NEAR,
        format!("the rest of the grace period, {} - {}", seconds(least), seconds(NEAR)),
    );
    let quantity = format!("from the stop signal to the kill of {}", life.name());
    let met = life.within(seen, quantity, (stop, ended), bound) == Some(Fit::Met);
    if met {
        seen.facet("grace", whose(life, grace));
    }
}

/// How a grace period compares with the pod's, as a facet; for an equal grace period, whether the pod sets it or it is
/// the default.
fn whose(life: &Life<'_, '_>, grace: i64) -> &'static str {
    let sent = life.pod.created.and_then(|(_, manifest)| manifest.get("spec"));
    let unsaid = sent.is_some_and(|spec| spec.get("terminationGracePeriodSeconds").is_none());
    match grace.cmp(&life.pod.grace()) {
        Ordering::Less => "shorter",
        Ordering::Greater => "longer",
        Ordering::Equal if unsaid => "default",
        Ordering::Equal => "of-the-pod",
    }
}

/// On deletion, the grace period of the pod or of the request applies, whatever a probe sets.
pub(super) fn deletion_has_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A restarted kubelet starts the termination again, with the whole grace period.
    if run.node_was_touched() {
        return;
    }
    for (pod, container, spec) in run.probes().filter(|(_, _, spec)| spec.grace.is_some()) {
        let Some((grace, began)) = deletion(run, pod) else { continue };
        let Some(attempt) = container.attempts.last() else { continue };
        let life = Life { run, pod, container, attempt };
        if is_hooked(&life) || !container.stays() || spec.grace == Some(grace) {
            continue;
        }
        let Some(stop) = life.stop().filter(|stop| !life.before_deletion(&stop.at)) else { continue };
        // A container that was already being killed keeps the grace period of that kill.
        let waited = run.clocks.between(&began, &stop.at).filter(|span| span.hi > 0);
        let Some(waited) = waited else { continue };
        // The grace period of a sidecar is already running while the sidecar waits for its turn.
        let least = match container.kind {
            ContainerKind::Sidecar => (grace - waited.hi - WHOLE_SECOND).max(LEAST_GRACE).min(grace),
            ContainerKind::Main | ContainerKind::Init | ContainerKind::Ephemeral => grace,
        };
        judge_end(clause, &life, stop, Left { grace, least, most: grace.max(LEAST_GRACE) }, seen);
    }
}

/// The harness's request to delete a pod: the effective grace period, and when it was sent.
fn deletion(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<(i64, Stamp)> {
    let (_, deed) = run.deeds.iter().find(|(id, _)| Some(*id) == pod.deleted)?;
    let Did::Deleted { grace, .. } = &deed.did else { return None };
    let asked = grace.and_then(|grace| i64::try_from(grace).ok()).map(whole_seconds);
    Some((asked.unwrap_or_else(|| pod.grace()), Stamp::harness(deed.began_us)))
}
