//! `activeDeadlineSeconds`: it counts from `status.startTime`, and covers initialization and everything after it.

use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::{Bound, Fit, Interval, seconds, whole_seconds};
use probity_model::mechanisms::{LEAST_GRACE, NEAR, WHOLE_SECOND};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, ContainerSeen, Life, Line, PodLife, ProbeKind, Revision, State,
};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::alive::accuse_living;
use crate::reading::ends::{alive_until, heard_kill, may_be_unrecorded};
use crate::reading::hooks::judge_hook_before_stop;
use crate::reading::inits::{initializing, inits};
use crate::reading::kills::judge_graceful_stop;
use crate::reading::mains::{is_recorded, lives_of, mains};
use crate::reading::patches::restarts_for_update;
use crate::reading::statuses::{EXCEEDED, NEVER_PULLED, NO_IMAGE, is_explained};
use crate::reading::termination::Exhausted;

/// A pod with a deadline, and the time from which the deadline counts.
struct Limited<'t, 'h> {
    pod: &'t PodLife<'h>,
    /// `startTime`, with the revision that shows it.
    start: At,
    /// The deadline in microseconds.
    span: i64,
    /// How long after `startTime` an update set this deadline; zero if the pod was created with it.
    set_after: i64,
}

fn limited<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Limited<'t, 'h>> {
    let undeleted =
        |pod: &&PodLife<'_>| pod.deleted.is_none() && !pod.revisions.iter().any(Revision::terminating);
    run.pods.iter().filter(move |pod| !run.node_was_touched() && undeleted(pod)).filter_map(|pod| {
        let deadline = |shown: &Revision<'_>| shown.object["spec"]["activeDeadlineSeconds"].as_i64();
        let kept = deadline(pod.last()?)?;
        let (shown, second) = pod.revisions.iter().find_map(|shown| Some((shown, shown.start_second()?)))?;
        // The kubelet itself counts from the second that `startTime` shows.
        let stamp =
            Stamp { clock: Clock::Wall(pod.node.clone()), at: Interval::point(whole_seconds(second)) };
        run.clocks.on_harness(&stamp)?;
        // A later deadline counts from `startTime`, too.
        let set = pod.revisions.iter().rev().take_while(|shown| deadline(shown) == Some(kept)).last()?;
        let set_after = if deadline(pod.revisions.first()?) == Some(kept) {
            0
        } else {
            run.clocks.between(&stamp, &set.at)?.hi.max(0)
        };
        let start = At::new(shown.id, stamp);
        let span = whole_seconds(kept);
        // A pod that had terminated before its deadline was set could not obey it.
        let heeds = pod.over().is_none_or(|over| over.at.at.lo > set.at.at.lo);
        // A kubelet ignores changes to a mirror pod.
        let mirrored = set_after > 0 && !pod.mirrors.is_empty();
        (heeds && !mirrored).then_some(Limited { pod, start, span, set_after })
    })
}

impl Limited<'_, '_> {
    fn in_time(&self, clause: &Clause) -> Bound {
        self.in_time_of_stop(clause, 0)
    }

    /// The bound for an effect of the deadline, if a container that is stopped at the deadline may take this long to
    /// end.
    fn in_time_of_stop(&self, clause: &Clause, takes: i64) -> Bound {
        let what =
            if self.due() == self.span { "activeDeadlineSeconds" } else { "the update of the deadline" };
        let late = clause.slack_us() + takes;
        let words = format!("{what} + {}", seconds(late));
        Bound::at_most(self.due() + late, words).and_at_least(self.span, "activeDeadlineSeconds")
    }

    /// The time from `startTime` until the deadline has both been set and passed.
    fn due(&self) -> i64 {
        self.span.max(self.set_after)
    }

    /// The pod ends with the reason `DeadlineExceeded`, and not before its containers.
    fn judge_over(&self, run: &Timeline<'_>, over: &Revision<'_>, seen: &mut Seen) -> bool {
        let otherwise = self.pod.reason().is_some_and(|reason| reason != EXCEEDED);
        if otherwise && run.before(&over.at, &self.start.later(self.span)) {
            return false;
        }
        self.judge_reason(over, seen) && !accuse_living(run, self.pod, over, seen)
    }

    /// The reason and the message say why the pod has ended.
    fn judge_reason(&self, over: &Revision<'_>, seen: &mut Seen) -> bool {
        let reason = over.object["status"]["reason"].as_str().unwrap_or("none");
        let right = over.phase() == "Failed" && reason == EXCEEDED;
        if !right {
            let finding = format!(
                "{} exceeded its deadline, but is {} with the reason {reason}",
                self.pod.key,
                over.phase()
            );
            seen.violated(finding, [self.start.id, over.id]);
        } else if !is_explained(over) {
            let finding = format!("{} exceeded its deadline, but its status has no message", self.pod.key);
            seen.violated(finding, [self.start.id, over.id]);
        }
        right
    }

    /// A container that was running at the deadline is stopped in time, and has its grace period. Returns whether the
    /// container was stopped at all.
    fn judge_stop(&self, clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) -> bool {
        match (life.stop(), &life.ended) {
            // The kubelet stopped it because of its probe, and the pod waited for the restart at its deadline.
            (Some(_), _) if is_killed_by_probe(life) => {}
            (Some(stop), _) if life.run.before(&stop.at, &self.start.later(self.span)) && may_stop(life) => {}
            (Some(stop), _) => {
                let quantity = format!("from startTime to the stop signal of {}", life.name());
                life.within(seen, quantity, (&self.start, stop), self.in_time(clause));
                judge_graceful_stop(clause.tolerance_us("kill"), life, self.start.id, stop, seen);
            }
            (None, Some(ended)) => self.judge_kill(life, ended, seen),
            (None, None) => return false,
        }
        true
    }

    /// Reports a container that was running at the deadline and was killed after it without a stop signal, unless the container may
    /// have run out of memory.
    fn judge_kill(&self, life: &Life<'_, '_>, ended: &At, seen: &mut Seen) {
        let due = self.start.later(self.due());
        let ran = life.run.before(&life.began, &due) && life.run.before(&due, ended);
        if ran && !life.container.has_memory_limit() && !may_be_unrecorded(life, ended) {
            let finding = format!("{} was killed at its deadline without a stop signal", life.name());
            seen.violated(finding, [self.start.id, ended.id]);
        }
    }

    /// A pod also ends at its deadline if no main container is running then, because each of them waits for its restart
    /// or for its image.
    fn judge_waiting(&self, run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
        let pod = self.pod;
        if !mains(pod).all(|main| waits_for_good(run, pod, main)) {
            return;
        }
        match pod.over() {
            Some(over) if self.judge_over(run, over, seen) => {
                let quantity =
                    format!("from startTime to the terminal phase of {}, whose containers wait", pod.key);
                let helpers = pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
                let helped = helpers.chain(&pod.ephemeral).next().is_some();
                let bound = self.in_time_of_stop(clause, if helped { pod.grace() } else { 0 });
                if seen.within(run, &pod.node, quantity, (&self.start, over), bound) == Some(Fit::Met) {
                    seen.facet("main", "waiting");
                }
            }
            Some(_) => {}
            None => self.judge_unended(run, clause, seen),
        }
    }

    /// A sidecar that was running at the deadline is not killed without a stop signal.
    fn judge_sidecars(&self, run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
        let due = self.start.later(self.due());
        let sidecars = self.pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
        let sidecars = sidecars.filter(|of| !of.has_memory_limit());
        let last: Vec<_> = sidecars.filter_map(|of| lives_of(run, self.pod, of).next_back()).collect();
        self.judge_order(run, &last, seen);
        for life in last {
            let killed = heard_kill(&life).filter(|ended| life.is_numbered() && run.before(&due, ended));
            match (life.stop(), killed) {
                (None, Some(ended)) => self.judge_kill(&life, &ended, seen),
                (Some(stop), killed) if run.before(&due, &stop.at) => {
                    self.judge_hook(run, &life, stop, seen);
                    self.judge_turn(run, clause, &life, (stop, killed.as_ref()), seen);
                }
                _ => {}
            }
        }
    }

    /// The preStop hook of a sidecar that nothing else stops runs before the stop signal. After the end of the grace period, the
    /// kubelet no longer waits for the hook.
    fn judge_hook(&self, run: &Timeline<'_>, life: &Life<'_, '_>, stop: &Line<'_>, seen: &mut Seen) {
        let (due, grace) = (self.start.later(self.due()), self.pod.grace());
        let in_time = run.clocks.between(&due, &stop.at).is_some_and(|span| span.hi < grace - NEAR);
        let lethal = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
        if in_time && !lethal && !restarts_for_update(run, self.pod, life.container) {
            judge_hook_before_stop(life, self.start.id, stop, seen);
        }
    }

    /// Sidecars that nothing else stops are stopped one after the other, and the last one first, unless the grace period ends
    /// first.
    fn judge_order(&self, run: &Timeline<'_>, sidecars: &[Life<'_, '_>], seen: &mut Seen) {
        let (due, grace) = (self.start.later(self.due()), self.pod.grace());
        let ends_otherwise = |life: &Life<'_, '_>| {
            let lethal = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
            lethal || restarts_for_update(run, self.pod, life.container)
        };
        for (first, second) in sidecars.iter().zip(sidecars.iter().skip(1)) {
            let (Some(stop), Some(exit)) = (first.stop(), second.exiting()) else { continue };
            let in_time = run.before(&due, &stop.at)
                && run.clocks.between(&due, &stop.at).is_some_and(|span| span.hi < grace - NEAR);
            let numbered = first.is_numbered() && second.is_numbered();
            if in_time && numbered && !ends_otherwise(first) && run.before(&stop.at, &exit.at) {
                let finding = format!(
                    "at the deadline, {} received its stop signal before {} had terminated",
                    first.name(),
                    second.name()
                );
                seen.violated(finding, [self.start.id, stop.id, exit.id]);
            }
        }
    }

    /// A sidecar that nothing else stops gets its stop signal after the main containers that were running at the deadline,
    /// unless the grace period ends first. It is killed when the grace period ends.
    fn judge_turn(
        &self,
        run: &Timeline<'_>,
        clause: &Clause,
        life: &Life<'_, '_>,
        (stop, killed): (&Line<'_>, Option<&At>),
        seen: &mut Seen,
    ) {
        let (due, grace) = (self.start.later(self.due()), self.pod.grace());
        let last = mains(self.pod).filter_map(|main| lives_of(run, self.pod, main).next_back());
        let after = |stop: &Line<'_>| run.before(&due, &stop.at);
        let told: Vec<_> =
            last.filter(|main| main.holes.is_empty() && main.stop().is_some_and(after)).collect();
        let lethal = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
        if told.is_empty() || lethal || restarts_for_update(run, self.pod, life.container) {
            return;
        }
        let in_time = run.clocks.between(&due, &stop.at).is_some_and(|span| span.hi < grace - NEAR);
        let still = |main: &Life<'_, '_>| Some((main.name(), alive_until(main)?));
        let still = told.iter().filter_map(still).find(|(_, until)| run.before(&stop.at, until));
        if let Some((name, until)) = still.filter(|_| in_time) {
            let finding = format!(
                "at the deadline, {} received its stop signal before {name} had terminated",
                life.name()
            );
            seen.violated(finding, [self.start.id, stop.id, until.id]);
        }
        if let Some(ended) = killed {
            let words = format!("activeDeadlineSeconds + the grace period - {}", seconds(NEAR));
            let quantity = format!("from startTime to the kill of {}", life.name());
            let bound = Bound::at_least(self.due() + grace - NEAR, words);
            life.within(seen, quantity, (&self.start, ended), bound);
            judge_shared_grace(clause, &told, (life, ended), seen);
        }
    }

    /// How long the pod may take to end after its last main container has ended: only then do sidecars stop.
    fn in_time_of_sidecars(&self, clause: &Clause) -> Bound {
        if !self.pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar) {
            return clause.in_time();
        }
        let (slack, grace) = (clause.slack_us(), self.pod.grace());
        Bound::at_most(grace + slack, format!("the grace period of the sidecars + {}", seconds(slack)))
    }

    /// Reports a main container that began after the deadline, in a pod whose init containers did not all succeed by themselves.
    /// Returns whether any main container began.
    fn accuse_late_starts(&self, run: &Timeline<'_>, seen: &mut Seen) -> bool {
        let due = self.start.later(self.due());
        for main in mains(self.pod) {
            let first = main.attempts.first().filter(|first| first.is_complete());
            if let Some(first) = first.filter(|first| run.before(&due, &first.began)) {
                let finding = format!(
                    "{}/{} was started after the deadline, though its pod was not initialized",
                    self.pod.key, main.name
                );
                seen.violated(finding, [self.start.id, first.began.id]);
            }
        }
        mains(self.pod).any(|main| !main.attempts.is_empty())
    }

    fn judge_unended(&self, run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
        // What delays the kubelet before the deadline does not delay the deadline.
        if run.watched_for(self.pod, &self.start.later(self.due()), clause.slack_us()) {
            let phase = self.pod.last().map_or("", Revision::phase);
            let finding = format!("{} exceeded its deadline, but is still {phase}", self.pod.key);
            seen.violated(finding, run.to_the_end([self.start.id]));
        }
    }
}

/// The grace period begins for all containers at the same time, so the time for which a sidecar waits for its turn is part of
/// it. The kubelet rounds the waiting time down to whole seconds, and leaves each container at least two seconds.
fn judge_shared_grace(
    clause: &Clause,
    mains: &[Life<'_, '_>],
    (sidecar, killed): (&Life<'_, '_>, &At),
    seen: &mut Seen,
) {
    // If something else stops a main container just before, the grace period begins only when that container has ended.
    let otherwise =
        |main: &Life<'_, '_>| may_stop(main) || restarts_for_update(main.run, main.pod, main.container);
    if mains.iter().any(otherwise) {
        return;
    }
    let unhooked = mains.iter().filter(|main| main.container.lifecycle("preStop").is_none());
    let stops = unhooked.filter_map(|main| main.stop());
    let Some(first) = stops.min_by_key(|stop| stop.at.at.lo) else { return };
    // The time that its own hook took is rounded down separately.
    let hook = if sidecar.container.lifecycle("preStop").is_some() { WHOLE_SECOND } else { 0 };
    let late = LEAST_GRACE + hook + clause.tolerance_us("kill");
    let bound = Bound::at_most(sidecar.pod.grace() + late, format!("the grace period + {}", seconds(late)));
    let quantity = format!("from the first stop signal at the deadline to the kill of {}", sidecar.name());
    sidecar.within(seen, quantity, (first, killed), bound);
}

/// Whether something other than the deadline may have stopped an instance: a probe that failed unseen, its postStart hook,
/// or whatever ended its pod.
fn may_stop(life: &Life<'_, '_>) -> bool {
    let probed = ProbeKind::STOPPING.iter().any(|kind| life.container.probe(*kind).is_some());
    let otherwise = life.pod.reason().is_some_and(|reason| reason != EXCEEDED);
    probed || otherwise || life.container.lifecycle("postStart").is_some()
}

/// Whether a probe of an instance failed often enough to stop it.
fn is_killed_by_probe(life: &Life<'_, '_>) -> bool {
    let spent = |kind: &ProbeKind| life.probed(*kind).and_then(Exhausted::of).is_some();
    ProbeKind::STOPPING.iter().any(spent)
}

/// Whether a main container was last waiting for its image or for its restart after it had exited by itself.
fn waits_for_good(run: &Timeline<'_>, pod: &PodLife<'_>, main: &ContainerLife<'_>) -> bool {
    if restarts_for_update(run, pod, main) || main.spec.get("restartPolicyRules").is_some() {
        return false;
    }
    match lives_of(run, pod, main).next_back() {
        Some(last) => last.exited_by_itself().is_some_and(|(_, code)| {
            let back = pod.restarts_after(main, code.into());
            back && is_recorded(main) && last.stop().is_none() && last.lives_again().is_none()
        }),
        None => {
            let lacks = |reason: &str| NO_IMAGE.contains(&reason) || reason == NEVER_PULLED;
            let waits = |status: &ContainerSeen<'_>| matches!(status.state, State::Waiting { reason } if lacks(reason));
            let mut shown = pod.changes_of(&main.name).map(|(_, status)| status);
            let began =
                pod.changes_of(&main.name).any(|(_, status)| status.is_running() || status.restarts > 0);
            !began && shown.any(|status| waits(&status))
        }
    }
}

/// A pod whose initialization never completes ends at its deadline.
pub(super) fn covers_init(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for of in limited(run) {
        let Some(phase) = initializing(run, of.pod).filter(|phase| phase.done.is_none()) else { continue };
        if of.accuse_late_starts(run, seen) || fails_by_itself(of.pod) {
            continue;
        }
        match of.pod.over() {
            Some(over) if of.judge_over(run, over, seen) => {
                let quantity =
                    format!("from startTime to the terminal phase of {}, which is initializing", of.pod.key);
                let takes = if running_inits(run, of.pod).next().is_some() { of.pod.grace() } else { 0 };
                let bound = of.in_time_of_stop(clause, takes);
                if seen.within(run, &of.pod.node, quantity, (&of.start, over), bound) == Some(Fit::Met) {
                    seen.fine([phase.began.id, over.id]);
                }
                judge_stop_of_init(run, clause, &of, seen);
            }
            Some(_) => {}
            None => of.judge_unended(run, clause, seen),
        }
    }
}

/// Whether a pod ends before its deadline because one of its init containers failed for good.
fn fails_by_itself(pod: &PodLife<'_>) -> bool {
    let failed = |life: &Attempt<'_>| match life.exited_by_itself() {
        Some((_, code)) => code != 0,
        None => life.ended.is_some() && life.stop().is_none(),
    };
    pod.restart_policy() == "Never" && inits(pod).any(|of| of.attempts.iter().any(failed))
}

/// The init container that was running at the deadline is stopped like any other container.
fn judge_stop_of_init(run: &Timeline<'_>, clause: &Clause, of: &Limited<'_, '_>, seen: &mut Seen) {
    for life in running_inits(run, of.pod).filter(|life| life.holes.is_empty()) {
        of.judge_stop(clause, &life, seen);
    }
}

/// The last instance of each init container, if it did not exit by itself.
fn running_inits<'t, 'h>(run: &'t Timeline<'h>, pod: &'t PodLife<'h>) -> impl Iterator<Item = Life<'t, 'h>> {
    let inits = pod.containers.iter().filter(|of| of.kind == ContainerKind::Init);
    let lives = inits.filter_map(move |init| lives_of(run, pod, init).next_back());
    lives.filter(|life| life.exited_by_itself().is_none())
}

/// A running pod is stopped at its deadline, and reaches a terminal phase when its containers have
/// terminated.
pub(super) fn ends_the_running(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for of in limited(run) {
        if initializing(run, of.pod).is_some_and(|phase| phase.done.is_none()) {
            continue;
        }
        // A container that gets a new image is stopped for another reason.
        let kept = mains(of.pod).filter(|main| !restarts_for_update(run, of.pod, main));
        of.judge_waiting(run, clause, seen);
        of.judge_sidecars(run, clause, seen);
        let lives: Vec<_> = kept.filter_map(|main| lives_of(run, of.pod, main).next_back()).collect();
        let ends_later = |life: &Life<'_, '_>, other: &Life<'_, '_>| match (&life.ended, &other.ended) {
            (Some(end), Some(later)) => run.before(end, later),
            _ => false,
        };
        for life in lives.iter().filter(|life| life.holes.is_empty() && life.exited_by_itself().is_none()) {
            if !of.judge_stop(clause, life, seen) {
                of.judge_unended(run, clause, seen);
            }
            // The pod ends when the last of its containers ends.
            let Some(ended) =
                life.ended.as_ref().filter(|_| !lives.iter().any(|other| ends_later(life, other)))
            else {
                continue;
            };
            match of.pod.over() {
                Some(over) if of.judge_over(run, over, seen) => {
                    let quantity = format!("from the exit of {} to the phase Failed", life.name());
                    life.within(seen, quantity, (ended, over), of.in_time_of_sidecars(clause));
                    seen.facet("main", "running");
                }
                Some(_) => {}
                None => of.judge_unended(run, clause, seen),
            }
        }
    }
}
