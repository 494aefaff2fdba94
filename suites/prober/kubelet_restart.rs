//! A kubelet restart: the containers that were running before the restart keep running, and the status shows them as
//! before.

use probity_model::clocks::Stamp;
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, ContainerSeen, Life, PodLife, Probe, ProbeKind, ProbeOutcome,
    ProbedLife, Revision, State,
};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use probity_script::witness::Fact;

use super::outlived::{Outlived, outlived};
use crate::reading::kubelet_restarts::{Restart, only_kubelets_restarted, restarts};
use crate::reading::mains::lives_of;
use crate::reading::memory::killed_for_memory;
use crate::reading::patches::may_stop_for_spec;
use crate::reading::ports::unserved;

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "prober.kubelet-restart.status-kept", judge: status_is_kept }];

/// A container that was running and ready before its kubelet restarted is still shown as running and ready afterwards,
/// as long as its probes succeed.
fn status_is_kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for restart in &restarts(run, seen) {
        for of in outlived(run, restart) {
            if !may_stop_for_spec(run, of.pod, of.container) {
                Kept { of, clause }.judge(seen);
            }
        }
        inits_keep_running(run, restart, seen);
    }
}

/// An init container that was running when its kubelet restarted keeps running, and is not started a second time.
fn inits_keep_running(run: &Timeline<'_>, restart: &Restart<'_>, seen: &mut Seen) {
    let alone = |pod: &PodLife<'_>, of: &ContainerLife<'_>| {
        let ends = pod.was_ended_from_outside() || pod.restarts_as_one() || may_stop_for_spec(run, pod, of);
        of.kind == ContainerKind::Init && pod.node == restart.node && !ends
    };
    for (pod, init) in run.containers().filter(|(pod, of)| alone(pod, of) && only_kubelets_restarted(run)) {
        for life in lives_of(run, pod, init).filter(|life| was_running(life, restart)) {
            if let Some((exit, _)) = life.exited_by_itself() {
                seen.fine([restart.began.id, exit.id]);
            } else if let Some(again) = life.next().filter(|_| killed_for_memory(&life).is_none())
                // Otherwise, it may have ended by itself, without a record.
                && (life.stop().is_some() || life.ended.as_ref().is_none_or(|ended| run.before(&again.began, ended)))
                && run.before(&restart.began, &again.began)
                && run.before_deletion(pod, &again.began)
            {
                let finding = format!("{} was started again because the kubelet restarted", life.name());
                seen.violated(finding, [life.began.id, restart.began.id, again.began.id]);
            }
        }
    }
}

/// Whether an instance with a complete record began before its kubelet restarted, and had not ended by then.
fn was_running(life: &Life<'_, '_>, restart: &Restart<'_>) -> bool {
    let run = life.run;
    let ended = life.ended.as_ref().is_some_and(|ended| !run.before(&restart.began, ended));
    life.is_complete() && run.before(&life.began, &restart.began) && !ended
}

/// A container whose kubelet restarted.
struct Kept<'t, 'h> {
    of: Outlived<'t, 'h>,
    clause: &'t Clause,
}

impl<'t, 'h> Kept<'t, 'h> {
    /// When the restart began.
    fn restart(&self) -> &'t At {
        &self.of.restart.began
    }

    /// The last revision before the restart, if it showed a container that was running.
    fn shown_before(&self) -> Option<(&'t Revision<'h>, ContainerSeen<'h>)> {
        self.of.before().filter(|(_, was)| was.is_running())
    }

    /// Whether a container was ready, and had started so early that the restarted kubelet keeps its state.
    fn was_old(&self, was: &ContainerSeen<'_>) -> bool {
        let State::Running { started: Some(second) } = was.state else { return false };
        let began = Stamp::wall_second(&self.of.pod.node, second);
        let age = self.of.run.clocks.between(&began, self.restart());
        let old = age.is_some_and(|age| age.lo > self.clause.tolerance_us("age"));
        was.ready && was.started == Some(true) && old
    }

    fn judge(&self, seen: &mut Seen) {
        let Outlived { run, pod, container, .. } = self.of;
        let (restart, name) = (self.restart(), &container.name);
        let Some((before, was)) = self.shown_before() else { return };
        let of_life = || container.attempts.iter().filter(|attempt| attempt.number == was.restarts);
        // A container that ended just before the restart may not be shown as ended yet.
        let ended = of_life().filter_map(|attempt| attempt.end()).any(|end| !run.before(restart, &end.at));
        // The same applies to a container whose probe had reached its threshold, or was about to reach it.
        let condemned = of_life().any(|attempt| self.was_failing(attempt));
        if ended || condemned {
            return;
        }
        let trouble = self.trouble();
        let counts = |at: &Stamp| {
            let quiet = trouble.as_ref().is_none_or(|trouble| run.before(at, trouble));
            quiet && run.before(restart, at) && run.before_deletion(pod, at)
        };
        let shown = pod.revisions.iter().filter(|shown| !shown.gone && counts(&shown.at));
        let old = self.was_old(&was);
        if let Some(anew) = self.started_up_anew(was.restarts).filter(|_| old) {
            let finding = format!(
                "a startup probe of {name} came after the kubelet restart, although the container had already started"
            );
            let events = [before.id, restart.id, anew];
            match pod.is_static {
                true => seen.diverges(finding, events),
                false => seen.violated(finding, events),
            }
        }
        let counts = |what: &&str| old || *what == AGAIN;
        let mut changes =
            shown.filter_map(|shown| Some((changed(&was, &shown.container(name)?).filter(counts)?, shown)));
        if let Some((what, shown)) = changes.next() {
            let finding = format!("the container {name} was {what} because the kubelet restarted");
            let events = [before.id, restart.id, shown.id];
            let anew = pod.is_static && what != AGAIN;
            if anew || what == UNREADY && self.follows_the_pod(before, shown) {
                let why = if anew {
                    "which rewrote its whole status"
                } else {
                    "but its pod had not been ready before"
                };
                seen.diverges(format!("{finding}, {why}"), events);
                let is_worse = |what: &str| if anew { what == AGAIN } else { what != UNREADY };
                if let Some((what, shown)) = changes.find(|(what, _)| is_worse(what)) {
                    let finding = format!("the container {name} was {what} because the kubelet restarted");
                    seen.violated(finding, [before.id, restart.id, shown.id]);
                }
                self.judge_return(shown, was.restarts, seen);
            } else {
                seen.violated(finding, events);
            }
            return;
        }
        if !old {
            return;
        }
        let watch = self.clause.tolerance_us("watched");
        let until = trouble.unwrap_or_else(|| run.end());
        let watched = run.clocks.between(restart, &until).is_some_and(|span| span.lo > watch);
        if watched && run.before_deletion(pod, &restart.later(watch)) {
            let lines = container.attempts.iter().filter_map(|attempt| attempt.last_line());
            let lines = lines.filter(|line| run.before(restart, &line.at)).map(|line| line.id);
            seen.fine([before.id, restart.id].into_iter().chain(lines));
            self.name_probes(seen);
        }
    }

    /// A startup probe that came after the restart to the instance with this number.
    fn started_up_anew(&self, number: u64) -> Option<EventId> {
        let Outlived { run, container, .. } = self.of;
        let mut lives = container.attempts.iter().filter(|attempt| attempt.number == number);
        let anew = |probe: &&Probe<'_>| probe.is(ProbeKind::Startup) && run.before(self.restart(), &probe.at);
        lives.find_map(|attempt| Some(attempt.probes_of(ProbeKind::Startup).find(anew)?.id))
    }

    /// Notes which probes the container has, as facets.
    fn name_probes(&self, seen: &mut Seen) {
        let probes = &self.of.container.probes;
        for spec in probes {
            seen.facet("probes", spec.kind.word());
        }
        if probes.is_empty() {
            seen.facet("probes", "none");
        }
    }

    /// A container that is not ready only because its kubelet lost its state is ready again after its next success.
    fn judge_return(&self, unready: &Revision<'h>, number: u64, seen: &mut Seen) {
        let Outlived { run, pod, container, .. } = self.of;
        let Some(attempt) = container.attempts.iter().find(|attempt| attempt.number == number) else {
            return;
        };
        let life = self.of.instance(attempt).probed(ProbeKind::Readiness);
        let Some(life) = life.filter(|life| life.spec.successes == 1 && life.is_unmistaken()) else { return };
        let mut later = life.probes.iter().filter(|probe| run.before(&unready.at, &probe.at));
        let success = later.find(|probe| life.surely(probe) == ProbeOutcome::Success);
        let Some(success) = success.and_then(|probe| probe.settled.clone()) else { return };
        let (slack, clause) = (self.clause.slack_us(), self.clause);
        if let Some(shown) = life.first_shown(&success, |_, status| status.ready) {
            let quantity = format!("from the next readiness success of {} to ready=true", life.name());
            seen.within(run, &pod.node, quantity, (&success, shown), clause.in_time());
        } else if life.holes.is_empty() && life.watched_for(&success, slack) {
            let finding =
                format!("{} stayed not ready although its readiness probe had succeeded again", life.name());
            seen.violated(finding, [unready.id, success.id]);
        }
    }

    /// Whether a probe was failing when the kubelet was restarted, or the container was already being stopped.
    fn was_failing(&self, attempt: &'t Attempt<'h>) -> bool {
        let (run, restart) = (self.of.run, self.restart());
        let life = self.of.instance(attempt);
        let stopped = attempt.stop().is_some_and(|stop| !run.before(restart, &stop.at));
        let last = |probed: &ProbedLife<'t, 'h>| {
            let last = probed.probes.iter().rfind(|probe| !run.before(restart, &probe.at));
            last.map(|last| probed.outcome(last) == ProbeOutcome::Success)
        };
        let failing = ProbeKind::STOPPING
            .into_iter()
            .filter_map(|kind| life.probed(kind))
            .any(|probed| last(&probed) != Some(true));
        // The failure of a readiness probe was not in the status yet.
        let unready = life.probed(ProbeKind::Readiness).is_some_and(|probed| last(&probed) == Some(false));
        let ignored = unserved(attempt).any(|of| !run.before(restart, &of.at));
        stopped || failing || unready || ignored
    }

    /// Whether a container with a readiness probe lost its readiness in a pod that was not ready as a whole, before a new
    /// result of the probe can have been shown. The kubelet that was ended may still have sent a probe while it was being restarted.
    fn follows_the_pod(&self, before: &Revision<'_>, shown: &Revision<'_>) -> bool {
        let (run, container, kind) = (self.of.run, self.of.container, ProbeKind::Readiness);
        let after = |at: &Stamp| {
            let told = at.later(self.clause.slack_us());
            run.before(&self.of.restart.over, at) && run.before(&told, &shown.at)
        };
        let mut probes = container.attempts.iter().flat_map(|attempt| attempt.probes_of(kind));
        let asked = probes.any(|probe| after(&probe.at));
        container.probe(kind).is_some() && before.is("Ready") != Some(true) && !asked
    }

    /// The first sign after the restart that the container itself changed: an answer that is not a success, or an exit
    /// by itself. A stop without a reason is not such a sign, because it must not happen.
    fn trouble(&self) -> Option<Stamp> {
        let (run, restart) = (self.of.run, self.restart());
        let lives = self.of.container.attempts.iter().map(|attempt| self.of.instance(attempt));
        let signs = lives.flat_map(|life| {
            let probed = ProbeKind::ALL.into_iter().filter_map(move |kind| life.probed(kind));
            let bad = probed.flat_map(|life| {
                let failed = life.probes.iter().filter(|probe| life.outcome(probe) != ProbeOutcome::Success);
                failed.map(|probe| probe.at.clone()).collect::<Vec<_>>()
            });
            // Connections to a closed port leave no record.
            let shut = life.attempt.lines.iter().filter(|line| match &line.line.fact {
                Fact::Listening(of) => of.state != "open",
                _ => false,
            });
            let shut: Vec<Stamp> = shut.map(|line| line.at.clone()).collect();
            let ignored: Vec<Stamp> = unserved(life.attempt).map(|of| of.at.clone()).collect();
            let out_of_memory = killed_for_memory(&life).and(life.attempt.end()).map(|line| line.at.clone());
            bad.chain(shut)
                .chain(ignored)
                .chain(out_of_memory)
                .chain(life.attempt.exited_by_itself().map(|(line, _)| line.at.clone()))
        });
        let after = signs.filter(|at| run.before(restart, at));
        after.min_by_key(|at| run.clocks.on_harness(at).map_or(i64::MAX, |at| at.lo))
    }
}

/// The finding if a container is shown as another instance.
const AGAIN: &str = "started again";
/// The finding if a ready container is no longer shown as ready.
const UNREADY: &str = "shown as not ready";

/// The change in a container's status since before the restart.
fn changed(was: &ContainerSeen<'_>, now: &ContainerSeen<'_>) -> Option<&'static str> {
    if now.restarts != was.restarts || now.id != was.id {
        Some(AGAIN)
    } else if now.started != Some(true) {
        Some("shown as not started")
    } else if !now.ready {
        Some(UNREADY)
    } else {
        None
    }
}
