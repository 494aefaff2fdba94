//! What follows when a probe reaches its failure threshold: the stop signal, and then the action of the restart policy.
//!
//! A stop signal has many causes, usually a deletion, so nothing here starts from the signal. If something else may
//! have ended an instance, the judges ignore it.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{
    DOUBTFUL, FIRST_BACK_OFF, LONGEST_BACK_OFF, NEAR, TO_SETTLE, TO_START, TO_START_AGAIN, UNDER_WAY, YOUNG,
};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Happened, Life, Line, PodLife, Probe, ProbeKind, ProbeOutcome,
    ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::kubelet_restarts::restart_of_kubelet;
use super::lost_signals::stopped_from;
use super::patches::may_stop_for_spec;

/// The exit status of a process that SIGKILL ended: 128 and the number of the signal, as in the Kubernetes documentation,
/// Pod Lifecycle.
pub(crate) const KILLED: i64 = 128 + 9;

/// An instance in which a probe failed `failureThreshold` times in a row.
pub(crate) struct Exhausted<'t, 'h> {
    /// The life.
    pub(crate) life: ProbedLife<'t, 'h>,
    /// The failures.
    pub(crate) failures: Vec<&'t Probe<'h>>,
    /// The last failure, and when the kubelet had its result.
    pub(crate) at: At,
}

/// What happened to an instance whose probe reached its failure threshold.
pub(crate) enum Stop<'t, 'h> {
    /// The stop signal came.
    Came(&'t Line<'h>),
    /// It did not come, although the instance was watched for long enough. This is the last line of the instance.
    Missing(&'t Line<'h>),
    /// The instance ended without a stop signal and did not exit by itself.
    Abrupt(&'t At),
    /// Lines that could have shown it are missing.
    Unheard,
    /// Something else ended the instance, or the case ended first.
    Moot,
}

/// Every instance in which a probe of this kind reached its failure threshold.
pub(crate) fn exhausted<'t, 'h>(run: &'t Timeline<'h>, kind: ProbeKind) -> Vec<Exhausted<'t, 'h>> {
    // A restarted kubelet starts a new count.
    run.lives().of(kind).undisturbed().into_iter().filter_map(Exhausted::of).collect()
}

impl<'t, 'h> Exhausted<'t, 'h> {
    /// The first run of certain failures in an instance that is as long as the probe's threshold.
    pub(crate) fn of(life: ProbedLife<'t, 'h>) -> Option<Self> {
        let wanted = usize::try_from(life.spec.failures).ok()?;
        let failed = |probe: &&Probe<'h>| {
            probe.is(life.spec.kind)
                && life.attempt.result(probe, life.spec).outcome() == ProbeOutcome::Failure
        };
        let runs = life.probes.chunk_by(|a, b| failed(a) && failed(b));
        let mut long = runs.filter(|run| run.first().is_some_and(failed) && run.len() >= wanted);
        let failures = long.next()?.get(..wanted)?.to_vec();
        let last = *failures.last()?;
        let at = At::new(last.id, life.result(last).at());
        Some(Self { life, failures, at })
    }

    /// The events of the failures.
    pub(crate) fn events(&self) -> Vec<EventId> {
        self.failures.iter().flat_map(|probe| probe.events()).collect()
    }

    /// Whether all of these probes failed because there was no answer in time.
    pub(crate) fn by_timeouts(&self) -> bool {
        self.failures.iter().all(|probe| self.life.result(probe).timed_out())
    }

    /// How long after the last failure the stop signal may come: the clause's slack, plus everything that comes before
    /// the signal.
    pub(crate) fn allowance(&self, clause: &Clause) -> (i64, String) {
        let slack = clause.slack_us();
        match self.waited_for() {
            Some((span, what)) => {
                (span + slack, format!("{} for {what} + {}", seconds(span), seconds(slack)))
            }
            None => (slack, seconds(slack)),
        }
    }

    /// What may come before the stop signal, and the longest time that this takes. The container's own hook may come
    /// first, and so may the end of another container, because the worker of a pod ends the containers one after the
    /// other.
    fn waited_for(&self) -> Option<(i64, &'static str)> {
        let grace = self.life.grace();
        let hook = self.life.container.lifecycle("preStop").map(|hook| {
            let sleep = hook.get("sleep").and_then(|sleep| sleep.get("seconds")?.as_i64());
            (sleep.map_or(grace, |sleep| whole_seconds(sleep).min(grace)), "the preStop hook")
        });
        let others = self.life.pod.containers.iter().filter(|other| other.name != self.life.container.name);
        let other = others.filter_map(|other| self.kept_by(other)).max();
        let other = other.filter(|span| *span > 0).map(|span| (span, "another container of the pod"));
        match (hook, other) {
            (Some((hook, _)), Some((other, _))) => {
                Some((hook + other, "the preStop hook and another container"))
            }
            (one, other) => one.or(other),
        }
    }

    /// For how long after the last failure the worker of the pod may have been busy with another container: with the
    /// postStart hook of that container or, if that container was being stopped at that time, until it terminated.
    fn kept_by(&self, other: &ContainerLife<'_>) -> Option<i64> {
        let (pod, run) = (self.life.pod, self.life.run);
        let lethal = ProbeKind::STOPPING.iter().any(|kind| other.probe(*kind).is_some());
        if other.lifecycle("postStart").is_some() || (lethal && other.attempts.is_empty()) {
            return Some(pod.grace());
        }
        let own = self.life.stop().map(At::of);
        let until = |attempt: &Attempt<'_>| {
            let stop = stopped_from(&Life { run, pod, container: other, attempt })?;
            let first = own.as_ref().is_none_or(|own| run.clocks.order(&stop, own) != Order::After);
            let end = attempt.ended.as_ref().map_or_else(|| run.end(), |ended| ended.stamp.clone());
            let span = run.clocks.between(&self.at, &end)?;
            first.then_some(span.hi)
        };
        other.attempts.iter().filter_map(until).max()
    }

    /// What happened to the instance.
    pub(crate) fn stop(&self, clause: &Clause) -> Stop<'t, 'h> {
        let (life, attempt) = (&self.life, self.life.attempt);
        let allowed = self.allowance(clause).0 + self.unsettled();
        if let Some(stop) = attempt.stop() {
            let lawful = stop.at.at.lo >= self.at.at.lo && life.before_deletion(&stop.at);
            return if lawful { Stop::Came(stop) } else { Stop::Moot };
        }
        if !attempt.holes.is_empty() {
            return Stop::Unheard;
        }
        if attempt.exited_by_itself().is_some() || !life.before_deletion(&self.at) {
            return Stop::Moot;
        }
        match (&attempt.ended, attempt.last_line()) {
            (Some(ended), _) if life.before_deletion(ended) => Stop::Abrupt(ended),
            (None, Some(last)) if life.watched_for(&self.at, allowed) => Stop::Missing(last),
            _ => Stop::Moot,
        }
    }

    /// The stop signal, if it came and nothing else explains it.
    pub(crate) fn stopped(&self, clause: &Clause) -> Option<&'t Line<'h>> {
        match self.stop(clause) {
            Stop::Came(stop) => Some(stop),
            _ => None,
        }
    }

    /// How much later a stop signal may come to an instance that has only just begun, on a stalled node. The kubelet
    /// finishes the start, and has a list of containers that shows the instance, only after the process has started and got
    /// its first probe. A stall delays both steps, so its length is added one more time than usual.
    pub(crate) fn unsettled(&self) -> i64 {
        let began = &self.life.began;
        let young = self.life.number > 0 && self.at.at.lo - began.at.hi < YOUNG;
        if young { self.life.noise(began, &self.at.later(YOUNG)).min(TO_SETTLE) } else { 0 }
    }

    /// Judges that the stop signal came in time, and returns it.
    pub(crate) fn judge_stop(&self, clause: &Clause, seen: &mut Seen) -> Option<&'t Line<'h>> {
        let (allowed, formula) = self.allowance(clause);
        let count = self.failures.len();
        if let Some(more) = self.one_too_many() {
            let finding =
                format!("the threshold is {count} failures in a row, but the kubelet waited for one more");
            seen.violated(finding, self.events().into_iter().chain([more]));
        }
        match self.stop(clause) {
            Stop::Came(stop) => {
                let quantity = format!("from the last of {count} failures in a row to the stop signal");
                let bound = match self.unsettled() {
                    0 => Bound::at_most(allowed, formula),
                    late => Bound::at_most(
                        allowed + late,
                        format!("{formula} + {} for a restart under load", seconds(late)),
                    ),
                };
                if self.life.within(seen, quantity, (&self.at, stop), bound) == Some(Fit::Met) {
                    seen.fine(self.events().into_iter().chain([stop.id]));
                }
                return Some(stop);
            }
            Stop::Missing(line) => {
                let allowed = seconds(allowed);
                let finding =
                    format!("{count} failures in a row, but no stop signal within {allowed} of the last");
                seen.violated(finding, self.events().into_iter().chain([line.id]));
            }
            Stop::Unheard => {
                let why = "the record is incomplete where the stop signal may have been";
                seen.doubt(Doubt::WitnessMissing, why, [self.at.id]);
            }
            Stop::Abrupt(_) | Stop::Moot => {}
        }
        None
    }

    /// A probe that came although the failures before it had reached the threshold. A restarted kubelet starts a new
    /// count, and a stalled one may have accepted an answer that the target considered too late.
    fn one_too_many(&self) -> Option<EventId> {
        let (life, first, last) = (&self.life, *self.failures.first()?, *self.failures.last()?);
        // A kubelet that replaces a container attributes the first failures of the new instance to the old one.
        let old = life.number > 0 && first.at.at.lo < life.known_from();
        if old && may_stop_for_spec(life.run, life.pod, life.container) {
            return None;
        }
        let stop = life.stop().map_or(i64::MAX, |stop| stop.at.at.lo);
        let more = life
            .probes_of(life.spec.kind)
            .filter(|probe| probe.at.at.lo > self.at.at.hi + NEAR && probe.at.at.hi < stop)
            .find(|probe| life.peer(probe) == life.peer(last))?;
        let calm = life.noise(&last.at, &more.at) <= DOUBTFUL.of(life.spec.timeout);
        (calm && life.before_deletion(&more.at) && !life.run.node_was_touched()).then_some(more.id)
    }
}

/// How long the worker of a pod may have been busy with stopping the pod's other containers: the worker stops them one
/// after the other. Only containers that were stopped after this time of their node count.
pub(crate) fn time_of_ends(run: &Timeline<'_>, pod: &PodLife<'_>, of: &str, since: i64) -> i64 {
    let others = pod.containers.iter().filter(|other| other.name != of);
    let span = |other: &ContainerLife<'_>, attempt: &Attempt<'_>| {
        let stop = stopped_from(&Life { run, pod, container: other, attempt })?;
        if stop.at.hi < since {
            return None;
        }
        // Its hook came before the stop signal.
        let hook = if other.lifecycle("preStop").is_some() { pod.grace() } else { 0 };
        let end = attempt.ended.as_ref().map_or_else(|| run.end(), |ended| ended.stamp.clone());
        Some(hook.saturating_add(run.clocks.between(&stop, &end)?.hi))
    };
    let spans = others.flat_map(|other| other.attempts.iter().filter_map(move |of| span(other, of)));
    spans.fold(0, i64::saturating_add)
}

/// Judges that an instance that ended is followed by another instance.
pub(crate) fn judge_restart(life: &Life<'_, '_>, ended: &(impl Happened + ?Sized), seen: &mut Seen) {
    let (pod, number) = (life.pod, life.number);
    let (wait, words) = back_off(number);
    if let Some(again) = life.lives_again() {
        seen.fine([ended.id(), again]);
        seen.facet("policy", life.policy());
        if let Some(next) = life.next() {
            let quantity = format!("from the exit of instance {} to the start of the next", number + 1);
            // If the end itself was recorded, there is no grace period left to wait for.
            match life.attempt.exiting().map(At::of).or_else(|| life.ended.clone()) {
                Some(end) => {
                    let busy = busy_with_others(life, &end, &next.began);
                    let down = restart_of_kubelet(life, &end.stamp, wait);
                    let (wait, mut words) = or_after_kubelet((wait, words), down);
                    if busy > 0 {
                        words = format!("{words} + {} for other containers", seconds(busy));
                    }
                    life.within(seen, quantity, (&end, &next.began), Bound::at_most(wait + busy, words))
                }
                None => {
                    let down = restart_of_kubelet(life, ended.when(), pod.grace() + wait);
                    let whole = (pod.grace() + wait, format!("the grace period + {words}"));
                    let (wait, words) = or_after_kubelet(whole, down);
                    let bound = Bound::at_most(wait, words);
                    life.within(seen, quantity, (ended, &next.began), bound)
                }
            };
        }
        return;
    }
    let due = pod.grace() + back_off(number.max(1)).0;
    let allowed = due.max(restart_of_kubelet(life, ended.when(), due));
    let policy = life.policy();
    // Whether a container that waits for its back-off restarts depends on the exit status, which may be 0 even after a
    // kill.
    if policy == "OnFailure" && number > 0 {
        return;
    }
    match pod.over().filter(|over| life.before_deletion(&over.at)) {
        // A sidecar is not restarted once the work of the pod is done.
        Some(_) if pod.was_ended_from_outside() || life.container.kind != ContainerKind::Main => {}
        Some(over) => {
            let finding = format!("the pod became {} under the restart policy {policy}", over.phase());
            seen.violated(finding, [ended.id(), over.id]);
        }
        _ if life.watched_for(ended.when(), allowed) => {
            let finding = format!("no restart within {} under the restart policy {policy}", seconds(allowed));
            seen.violated(finding, [ended.id()]);
        }
        _ => {}
    }
}

/// The API counts each restart once: the last instance is shown with the right restart count. Init containers of a pod that has
/// lost its sandbox may be counted from zero again.
pub(crate) fn judge_count(last: &Life<'_, '_>, seen: &mut Seen) {
    if !last.is_numbered()
        || last.run.lost_a_sandbox()
        || last.ended.is_some()
        || !last.watched_for(&last.began, TO_SETTLE)
    {
        return;
    }
    let Some(revision) = last.pod.revisions.iter().rfind(|revision| !revision.gone) else { return };
    let Some(status) = revision.container(&last.container.name).filter(|status| status.is_running()) else {
        return;
    };
    // The lines of an instance that the status has just begun to show may not have arrived before the case ended.
    let more = |shown: &&Revision<'_>| {
        shown.container(&last.container.name).is_some_and(|status| status.restarts > last.number)
    };
    let heard =
        last.pod.revisions.iter().find(more).is_none_or(|first| last.watched_for(&first.at, UNDER_WAY));
    if status.restarts != last.number && heard {
        seen.violated(miscounted(last, status.restarts), [last.began.id, revision.id]);
    }
}

/// The finding if the last instance of a container is shown with another restart count than its own number.
pub(crate) fn miscounted(last: &Life<'_, '_>, restarts: u64) -> String {
    format!("{} was started again {} times, but its restart count is {restarts}", last.name(), last.number)
}

/// How long after the end of an instance the next one may begin, and the formula of this time in words. The first
/// restart has no delay; the back-off begins with the second.
fn back_off(number: u64) -> (i64, String) {
    if number == 0 {
        return (TO_START_AGAIN, format!("{}, without back-off", seconds(TO_START_AGAIN)));
    }
    let doubled = u32::try_from(number - 1).map_or(i64::MAX, |number| 1 << number.min(10));
    let delay = FIRST_BACK_OFF.saturating_mul(doubled).min(LONGEST_BACK_OFF);
    (delay + TO_START, format!("{} of back-off + {}", seconds(delay), seconds(TO_START)))
}

/// The longer of two waits for the next instance: the back-off, or the wait for a restarted kubelet, which has forgotten the
/// back-off.
fn or_after_kubelet((wait, words): (i64, String), down: i64) -> (i64, String) {
    let back = down + TO_START_AGAIN;
    if down > 0 && back > wait {
        (back, format!("{} after the kubelet's restart", seconds(back)))
    } else {
        (wait, words)
    }
}

/// For how long after the end of an instance the worker of its pod was busy with other containers before it handled the
/// next instance. The worker ends containers one after the other, and waits for their hooks.
fn busy_with_others(life: &Life<'_, '_>, end: &At, next: &At) -> i64 {
    let run = life.run;
    if life.pod.containers.iter().any(|container| container.lifecycle("postStart").is_some()) {
        return TO_START;
    }
    let others = life.pod.containers.iter().filter(|other| other.name != life.container.name);
    let lives = others.flat_map(|container| {
        container.attempts.iter().map(move |attempt| Life { container, attempt, ..*life })
    });
    let until = |other: Life<'_, '_>| {
        let stop = stopped_from(&other).filter(|stop| run.clocks.order(stop, next) != Order::After)?;
        let over = other.ended.as_ref().unwrap_or(&stop);
        run.clocks.between(end, over).map(|span| span.hi.max(0))
    };
    lives.filter_map(until).max().unwrap_or(0)
}

/// Whether a failed probe may have told the kubelet that the container ended, before the runtime did. Unless the policy is
/// Never, the kubelet then restarts the container in the same sync, even after an exit with 0. There must have been time
/// for `failureThreshold` failures before the restart.
pub(crate) fn may_be_stopped_again(life: &Life<'_, '_>, exit: &Stamp) -> bool {
    let Some(next) = life.next() else { return false };
    let apart = life.run.clocks.between(exit, &next.began);
    ProbeKind::STOPPING.into_iter().any(|kind| {
        let spec = life.container.probe(kind);
        spec.zip(apart).is_some_and(|(spec, apart)| apart.hi >= spec.period * (spec.failures - 1))
    })
}

/// Judges that an instance that ended is the container's last, and that the pod ends if this was its only container.
pub(crate) fn judge_no_restart(life: &Life<'_, '_>, ended: &(impl Happened + ?Sized), seen: &mut Seen) {
    if let Some(next) = life.lives_again() {
        if life.policy() == "OnFailure" && may_be_stopped_again(life, ended.when()) {
            return;
        }
        let finding =
            format!("the container was started again although the restart policy is {}", life.policy());
        seen.violated(finding, [ended.id(), next]);
        return;
    }
    let (pod, at) = (life.pod, ended.id());
    let Some((revision, _)) = life.termination() else { return };
    let alone = pod.containers.len() == 1;
    match (alone, pod.over()) {
        (false, _) => seen.fine([at, revision.id]),
        (true, Some(over)) => {
            seen.fine([at, revision.id, over.id]);
            seen.facet("policy", life.policy());
        }
        (true, None) if life.watched_for(ended.when(), pod.grace() + FIRST_BACK_OFF) => {
            let finding =
                format!("the pod was still {} long after its only container terminated", revision.phase());
            seen.violated(finding, [at, revision.id]);
        }
        (true, None) => {}
    }
}

/// The end of a process that was killed, as far as is known, at the end of its grace period. None if it ended by
/// itself.
pub(crate) fn forced_end<'t>(life: &Life<'t, '_>) -> Option<&'t At> {
    let killed = life.termination().is_none_or(|(_, code)| code == KILLED);
    let told = life.attempt.exiting().is_some() || !life.attempt.holes.is_empty();
    life.attempt.ended.as_ref().filter(|_| killed && !told)
}
