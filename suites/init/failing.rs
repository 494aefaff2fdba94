//! Init containers that fail: whether they are restarted, and what becomes of their pods.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::WHOLE_SECOND;
use probity_model::timeline::{At, ContainerKind, Life, Line, PodLife, ProbeKind, Revision, State};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::alive::accuse_living;
use crate::reading::ends::{End, heard_kill, may_be_unrecorded};
use crate::reading::hooks::judge_hook_before_stop;
use crate::reading::inits::{inits, plain_pods, success};
use crate::reading::kills::judge_kill_within;
use crate::reading::mains::{last_sidecars, lives_of};
use crate::reading::patches::restarts_for_update;
use crate::reading::start_errors::judge_start_error;
use crate::reading::termination::judge_restart;

/// Instances of init containers that exited by themselves with a nonzero status.
fn failures<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Life<'t, 'h>, &'t Line<'h>)> {
    let of_pod = move |pod: &'t PodLife<'h>| inits(pod).flat_map(move |init| lives_of(run, pod, init));
    let lives = plain_pods(run).flat_map(of_pod).filter(|life| life.is_complete());
    lives.filter_map(|life| {
        let (line, code) = life.attempt.exited_by_itself()?;
        (code != 0 && life.before_deletion(&line.at)).then_some((life, line))
    })
}

/// A failed init container runs again until it succeeds; then the next container starts.
pub(super) fn until_success(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (life, line) in failures(run).filter(|(life, _)| life.policy() != "Never") {
        judge_restart(&life, line, seen);
        // A deletion may end the pod while the container waits to be restarted.
        let over = life.pod.over().filter(|over| life.before_deletion(&over.at));
        if let Some(over) = over.filter(|_| life.lives_again().is_none()) {
            let finding = format!("{} failed, and the pod became {}", life.name(), over.phase());
            seen.violated(finding, [line.id, over.id]);
        }
        if let Some(next) = proceeds(&life) {
            seen.fine([line.id, next]);
            seen.facet("then", "proceeds");
        }
    }
}

/// The start of the next container, after an init container has succeeded.
fn proceeds(life: &Life<'_, '_>) -> Option<EventId> {
    success(life.container)?;
    let at = life.pod.containers.iter().position(|of| of.name == life.container.name)?;
    Some(life.pod.containers.get(at + 1)?.attempts.first()?.began.id)
}

/// With restartPolicy Never, the failure of an init container makes the pod Failed, and no other container starts.
pub(super) fn fails_its_pod(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, line) in failures(run).filter(|(life, _)| life.policy() == "Never") {
        let pod = life.pod;
        if let Some(again) = life.lives_again() {
            seen.violated(
                format!("{} failed with restartPolicy Never, but was started again", life.name()),
                [line.id, again],
            );
        }
        let later = pod.containers.iter().skip_while(|of| of.name != life.container.name).skip(1);
        let began = later.clone().find_map(|of| Some((of, of.attempts.first()?)));
        if let Some((of, began)) = began {
            let finding =
                format!("{} failed with restartPolicy Never, but {} was started", life.name(), of.name);
            seen.violated(finding, [line.id, began.began.id]);
            continue;
        }
        match pod.over() {
            Some(over) if accuse_living(run, pod, over, seen) => {}
            Some(over) if over.phase() == "Failed" => {
                judge_waiting(&life, over, seen);
                judge_sidecars(clause, &life, line, seen);
                judge_order(&life, line, seen);
                judge_time(clause, &life, (line, over), seen);
            }
            Some(over) => {
                let finding = format!(
                    "{} failed with restartPolicy Never, but the pod is {}",
                    life.name(),
                    over.phase()
                );
                seen.violated(finding, [line.id, over.id]);
            }
            None if life.watched_for(&line.at, latest(clause, pod)) => {
                let late = seconds(latest(clause, pod));
                let phase = pod.last().map_or("", Revision::phase);
                let finding = format!(
                    "{} failed with restartPolicy Never, but the pod is still {phase} after {late}",
                    life.name()
                );
                seen.violated(finding, run.to_the_end([line.id]));
            }
            None => {}
        }
    }
}

/// The time at which an init container had failed and all sidecars that were running had ended.
fn sidecars_over(init: &Life<'_, '_>, failed: &Line<'_>) -> At {
    let ends = last_sidecars(init.run, init.pod).filter_map(|life| End::of(&life)?.latest);
    ends.fold(At::of(failed), |last, end| if init.run.before(&last, &end) { end } else { last })
}

/// The longest time from the failure of an init container until its pod becomes Failed. If there are sidecars, it
/// includes their grace period.
fn latest(clause: &Clause, pod: &PodLife<'_>) -> i64 {
    let helped = pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar);
    clause.slack_us() + if helped { pod.grace() } else { 0 }
}

/// The pod becomes Failed soon after its last container has ended, and sidecars do not delay this change by more than
/// their grace period.
fn judge_time(
    clause: &Clause,
    init: &Life<'_, '_>,
    (failed, over): (&Line<'_>, &Revision<'_>),
    seen: &mut Seen,
) {
    let most = latest(clause, init.pod);
    if most > clause.slack_us() {
        let quantity = format!("from the failure of {} to the phase Failed", init.name());
        let bound = Bound::at_most(most, "slack + the grace period of its sidecars");
        init.within(seen, quantity, (failed, over), bound);
    }
    let quantity = format!("from the last container exit in {} to the phase Failed", init.pod.key);
    init.within(seen, quantity, (&sidecars_over(init, failed), over), clause.in_time());
}

/// If a pod fails during initialization, its main containers are shown as waiting, with no restarts.
fn judge_waiting(life: &Life<'_, '_>, over: &Revision<'_>, seen: &mut Seen) {
    for main in life.pod.containers.iter().filter(|of| of.kind == ContainerKind::Main) {
        let Some(status) = over.container(&main.name) else { continue };
        if status.restarts > 0 || !matches!(status.state, State::Waiting { .. }) {
            let finding =
                format!("{} was never started, but the status does not show it as waiting", main.name);
            seen.violated(finding, [life.began.id, over.id]);
        }
    }
}

/// The sidecars of a pod that fails during initialization are stopped like other containers: with a signal, after their hook,
/// and with the grace period.
fn judge_sidecars(clause: &Clause, init: &Life<'_, '_>, failed: &Line<'_>, seen: &mut Seen) {
    let (run, pod) = (init.run, init.pod);
    let alone = pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar).count() == 1;
    for life in last_sidecars(run, pod).filter(|life| life.is_complete()) {
        let killed = heard_kill(&life).filter(|_| !life.container.has_memory_limit());
        if killed.as_ref().is_some_and(|at| !run.before(&failed.at, at) || !life.before_deletion(at)) {
            continue;
        }
        match (life.stop(), killed) {
            (Some(stop), _) if run.before(&failed.at, &stop.at) && life.before_deletion(&stop.at) => {
                let lethal = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
                let plain = alone && !lethal && life.container.lifecycle("preStop").is_none();
                if judge_hook_before_stop(&life, failed.id, stop, seen) {
                    seen.facet("sidecar", "hooked");
                } else if plain
                    && judge_kill_within(clause.tolerance_us("kill"), &life, stop, pod.grace(), seen)
                {
                    seen.facet("sidecar", "killed");
                }
            }
            (None, Some(killed)) if !may_be_unrecorded(&life, &killed) => {
                let finding = format!("{} was killed without a stop signal when its pod failed", life.name());
                seen.violated(finding, [failed.id, killed.id]);
            }
            _ => {}
        }
    }
}

/// The sidecars of a pod that fails during initialization are stopped one after the other, the last one first, as long as the
/// grace period lasts. A sidecar that something else may stop is not judged.
fn judge_order(init: &Life<'_, '_>, failed: &Line<'_>, seen: &mut Seen) {
    let (run, pod) = (init.run, init.pod);
    let sidecars: Vec<_> = last_sidecars(run, pod).collect();
    for (first, second) in sidecars.iter().zip(sidecars.iter().skip(1)) {
        let (Some(stop), Some(exit)) = (first.stop(), second.exiting()) else { continue };
        let lethal = ProbeKind::STOPPING.iter().any(|kind| first.container.probe(*kind).is_some());
        let ends_otherwise = lethal || restarts_for_update(run, pod, first.container);
        let numbered = first.is_numbered() && second.is_numbered();
        let ran = run.before(&second.began, &failed.at) && run.before(&failed.at, &exit.at);
        let since = run.clocks.between(&failed.at, &stop.at);
        let in_time = since.is_some_and(|since| since.lo > 0 && since.hi < pod.grace() - WHOLE_SECOND);
        let judged = numbered && ran && in_time && !ends_otherwise && first.before_deletion(&stop.at);
        if judged && run.before(&stop.at, &exit.at) {
            let finding = format!(
                "{} failed, and {} received its stop signal before {} had terminated",
                init.name(),
                first.name(),
                second.name()
            );
            seen.violated(finding, [failed.id, stop.id, exit.id]);
        }
    }
}

/// An init container that cannot start is retried or makes its pod fail, depending on the restart policy.
pub(super) fn start_error(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in plain_pods(run) {
        for init in inits(pod).filter(|init| init.attempts.is_empty()) {
            if let Some(policy) = judge_start_error(run, clause.slack_us(), (pod, init), seen) {
                seen.facet("policy", policy);
            }
        }
    }
}
