//! Rules that restart all containers of a pod.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::clocks::{Order, Stamp};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife, ProbeKind, Revision,
};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::policy::exits;
use crate::reading::mains::{lives_of, mains};
use crate::reading::rules::{knows, restarts_all, rules};

/// An exit in a container with a rule that restarts all containers.
pub(super) struct Exit<'t, 'h> {
    pub(super) life: Life<'t, 'h>,
    pub(super) line: &'t Line<'h>,
    /// Whether the first rule that applies to its exit status restarts all containers.
    pub(super) known: bool,
    /// How many such exits the pod had before.
    earlier: u64,
}

impl Exit<'_, '_> {
    fn is_known_to(&self, rule: &Value) -> bool {
        self.life.exited_by_itself().is_some_and(|(_, code)| knows(rule, code))
    }
}

/// For each pod, the exits that must restart all its containers, or, if there are none, the first exit that must not.
pub(super) fn telling_exits<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Exit<'t, 'h>> {
    let mut all: Vec<Exit<'_, '_>> = Vec::new();
    for (life, line, code) in exits(run) {
        let rules = rules(life.container);
        if !rules.iter().any(restarts_all) || run.node_was_touched() {
            continue;
        }
        let known = rules.iter().find(|rule| knows(rule, code)).is_some_and(restarts_all);
        all.push(Exit { life, line, known, earlier: 0 });
    }
    let known: BTreeSet<&str> =
        all.iter().filter(|exit| exit.known).map(|exit| exit.life.pod.uid.as_str()).collect();
    let mut first = BTreeSet::new();
    all.retain(|exit| {
        let uid = exit.life.pod.uid.as_str();
        exit.known || (!known.contains(uid) && !lacks_lines(run, exit.life.pod) && first.insert(uid))
    });
    all.sort_by_key(|exit| exit.line.id);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for exit in all.iter_mut().filter(|exit| exit.known) {
        let count = counts.entry(exit.life.pod.uid.as_str()).or_default();
        exit.earlier = *count;
        *count += 1;
    }
    all
}

/// Whether the record of an exit that restarts all containers of a pod may be missing.
pub(super) fn lacks_lines(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    let mut asking = pod.containers.iter().filter(|of| rules(of).iter().any(restarts_all));
    asking.any(|of| lives_of(run, pod, of).any(|life| !life.holes.is_empty()))
}

/// The instances of a container that began after an exit.
fn after<'t, 'h>(
    run: &Timeline<'_>,
    of: &'t ContainerLife<'h>,
    exit: &Exit<'_, '_>,
) -> impl Iterator<Item = &'t Attempt<'h>> {
    let is_after = |attempt: &&Attempt<'_>| run.clocks.order(&exit.line.at, &attempt.began) == Order::Before;
    of.attempts.iter().filter(is_after)
}

/// The instance with which a container restarted because of an exit. On a slow node, an instance that was already starting
/// may begin after the exit. So this prefers an instance before which there were more processes than exits, and
/// otherwise takes the first later instance.
pub(super) fn again<'t, 'h>(
    run: &Timeline<'_>,
    of: &'t ContainerLife<'h>,
    exit: &Exit<'_, '_>,
) -> Option<&'t Attempt<'h>> {
    let restarted = after(run, of, exit).find(|attempt| attempt.earlier_processes() > exit.earlier);
    restarted.or_else(|| after(run, of, exit).next())
}

/// An exit to which such a rule applies restarts all containers: the init containers run again, in order, and then the
/// other containers start.
pub(super) fn all_containers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let exits = telling_exits(run);
    for exit in &exits {
        if !exit.known {
            judge_others(run, clause, exit, seen);
            continue;
        }
        judge_second_round(run, exit, &exits, seen);
        if judge_course(run, clause, exit, seen) {
            seen.facet("status", "known");
            seen.facet("by", exit.life.container.kind.word());
        }
    }
}

/// Whether all containers restarted in order.
fn judge_course(run: &Timeline<'_>, clause: &Clause, exit: &Exit<'_, '_>, seen: &mut Seen) -> bool {
    let Exit { life, line, .. } = exit;
    // The exit of the previous init container, or the first line of the sidecar.
    let (mut since, mut after_sidecar) = (At::of(*line), false);
    for of in life.pod.containers.iter().filter(|of| !of.attempts.is_empty()) {
        let Some(next) = again(run, of, exit) else {
            let mut mains = mains(life.pod).filter_map(|main| again(run, main, exit));
            // The next container does not start before its init container has succeeded.
            let overtaken = mains.next().filter(|_| of.kind == ContainerKind::Init).map(|main| main.began.id);
            let late = run.watched_for(life.pod, &since.stamp, clause.slack_us());
            if let Some(shown) = overtaken.or_else(|| run.last_event().filter(|_| late)) {
                let finding = format!(
                    "{} exited with a status that restarts all containers, but {} did not restart",
                    life.name(),
                    of.name
                );
                seen.violated(finding, [line.id, shown]);
            }
            return false;
        };
        let late = run.noise_between(&life.pod.node, &next.began, &since);
        let early = if after_sidecar { clause.tolerance_us("first-instruction") + late } else { 0 };
        if run.clocks.between(&next.began, &since).is_some_and(|span| span.lo > early) {
            let finding = format!(
                "{} restarted before an earlier container of its pod had completed or started",
                of.name
            );
            seen.violated(finding, [line.id, next.began.id, since.id]);
            return false;
        }
        seen.fine([line.id, next.began.id]);
        seen.facet("restarted", of.kind.word());
        if of.kind == ContainerKind::Init {
            let Some((done, 0)) = next.exited_by_itself() else { return false };
            (since, after_sidecar) = (At::of(done), false);
        } else if of.kind == ContainerKind::Sidecar {
            (since, after_sidecar) = (next.began.clone(), true);
        }
    }
    true
}

/// One exit restarts each container once: the new instance of a main container without probes is not stopped before
/// another such exit.
fn judge_second_round(run: &Timeline<'_>, exit: &Exit<'_, '_>, all: &[Exit<'_, '_>], seen: &mut Seen) {
    let Exit { life, line, .. } = exit;
    let probed = |of: &ContainerLife<'_>| !of.probes.is_empty();
    for of in mains(life.pod).filter(|of| !probed(of) && life.only_probes_stop_it()) {
        let Some(next) = again(run, of, exit).filter(|next| next.earlier_processes() > exit.earlier) else {
            continue;
        };
        let Some(stop) = next.stop().filter(|stop| life.before_deletion(&stop.at)) else { continue };
        let other = all.iter().any(|other| {
            other.line.id != line.id
                && other.life.pod.uid == life.pod.uid
                && run.clocks.order(&other.line.at, &stop.at) != Order::After
        });
        let over = life.pod.over().is_some_and(|over| run.before(&over.at, &stop.at));
        if !other && !over {
            let finding = format!("{} was stopped again after it had restarted with all others", of.name);
            seen.violated(finding, [line.id, next.began.id, stop.id]);
        }
    }
}

/// An exit to which no rule applies, or an earlier rule with another action, restarts no other container.
fn judge_others(run: &Timeline<'_>, clause: &Clause, exit: &Exit<'_, '_>, seen: &mut Seen) {
    let Exit { life, line, .. } = exit;
    let others = life.pod.containers.iter().filter(|of| of.name != life.container.name);
    // Another container may have ended by itself, because of its own probe, or because it needed too much memory.
    let own = |of: &ContainerLife<'_>| {
        of.has_memory_limit() || ProbeKind::STOPPING.iter().any(|kind| of.probe(*kind).is_some())
    };
    let by_itself = |of: &ContainerLife<'_>| {
        let ends = |attempt: &Attempt<'_>| {
            attempt.exited_by_itself().is_some_and(|(_, code)| of.stays() || code != 0)
        };
        own(of) || of.attempts.iter().any(ends)
    };
    let mut others = others.filter(|of| !by_itself(of));
    if let Some(next) = others.find_map(|of| again(run, of, exit).filter(|next| next.earlier_processes() > 0))
    {
        let finding = format!(
            "no rule restarts all containers after this exit of {}, but others restarted",
            life.name()
        );
        seen.violated(finding, [line.id, next.began.id]);
    } else if life.watched_for(&line.at, clause.slack_us()) {
        seen.fine(run.to_the_end([line.id]));
        let ranked = rules(life.container).iter().any(|rule| exit.is_known_to(rule));
        seen.facet("status", if ranked { "known to an earlier rule" } else { "unknown" });
    }
}

/// The restart of all containers leaves the pod, its address and its volumes as they are.
pub(super) fn in_place(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for exit in telling_exits(run).iter().filter(|exit| exit.known) {
        let Exit { life, line, .. } = exit;
        let next = after(run, life.container, exit).next();
        let Some(next) = next.filter(|next| next.is_numbered()) else { continue };
        let events = [line.id, next.began.id];
        if next.earlier_processes() == life.earlier_processes() + 1 {
            seen.fine(events);
            seen.facet("kept", "volume");
        } else {
            let finding =
                format!("{} restarted, but its volume has a different count of its instances", life.name());
            seen.violated(finding, events);
        }
        judge_address(run, (life.pod, line), events, seen);
    }
}

fn judge_address(
    run: &Timeline<'_>,
    (pod, line): (&PodLife<'_>, &Line<'_>),
    [exit, next]: [EventId; 2],
    seen: &mut Seen,
) {
    let is_before = |at: &Stamp| run.clocks.order(at, &line.at) == Order::Before;
    let shown = || pod.revisions.iter().filter(|shown| !shown.gone);
    let old = shown().rfind(|shown| is_before(&shown.at));
    let new = shown().find(|shown| shown.id > next);
    let (Some(old), Some(new)) = (old, new) else { return };
    for path in ["/status/podIP", "/spec/nodeName", "/metadata/uid"] {
        let text = |shown: &Revision<'_>| shown.object.pointer(path)?.as_str().map(str::to_owned);
        // The first status with an address may come only after the exit.
        if text(old).zip(text(new)).is_some_and(|(old, new)| old != new) {
            let finding = format!("{path} of {} changed when all containers restarted", pod.key);
            seen.violated(finding, [old.id, exit, new.id]);
            return;
        }
    }
    seen.fine([old.id, exit, new.id]);
    seen.facet("kept", "address");
}
