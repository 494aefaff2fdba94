//! A restart of the kubelet: containers that ran before it are left as they were, in what they do and in what is shown.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::timeline::{
    ContainerKind, ContainerLife, ContainerSeen, PodLife, ProbeKind, Revision, State,
};
use probity_model::{Clause, EventId, Judge, Seen, Timeline};

use crate::reading::tolerance::{Outcome, outcome};

pub(super) const JUDGES: &[Judge] =
    &[Judge { clause: "prober.kubelet-restart.status-kept", judge: status_is_kept }];

/// A container that is younger may be taken for a new one.
const OLD: i64 = 10_000_000;
/// So long it must be watched afterwards.
const AFTER: i64 = 10_000_000;

/// What ran and was ready before a restart of its kubelet is shown so afterwards, as long as its probes succeed.
fn status_is_kept(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, exit: Some(0) } = &deed.did else { continue };
        if verb != "restart-kubelet" {
            continue;
        }
        let from = Stamp::harness(deed.began_us);
        for (pod, container) in run.containers().filter(|(pod, _)| pod.node == *node) {
            if container.kind == ContainerKind::Init || !run.before_deletion(pod, &from) {
                continue;
            }
            if let Some((revision, was)) = stood(run, pod, &container.name, &from) {
                seen.applies();
                judge_container(run, (*id, &from), (pod, container), (revision, &was), seen);
            }
        }
    }
}

/// The last revision before the restart, if it showed a container that was ready and old enough.
fn stood<'t, 'h>(
    run: &Timeline<'_>,
    pod: &'t PodLife<'h>,
    container: &str,
    from: &Stamp,
) -> Option<(&'t Revision<'h>, ContainerSeen<'h>)> {
    let before = |revision: &&Revision<'_>| run.clocks.order(&revision.at, from) == Order::Before;
    let last = pod.revisions.iter().take_while(before).last()?;
    let was = last.container(container)?;
    let State::Running { started: Some(second) } = was.state else { return None };
    let age = run.clocks.between(&Stamp::wall_second(&pod.node, second), from)?;
    (was.ready && was.started == Some(true) && age.lo > OLD).then_some((last, was))
}

fn judge_container(
    run: &Timeline<'_>,
    (deed, from): (EventId, &Stamp),
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    (before, was): (&Revision<'_>, &ContainerSeen<'_>),
    seen: &mut Seen,
) {
    let end = trouble(run, container, from);
    for revision in &pod.revisions {
        let after = run.clocks.order(from, &revision.at) == Order::Before
            && end.as_ref().is_none_or(|end| run.clocks.order(&revision.at, end) == Order::Before)
            && run.before_deletion(pod, &revision.at);
        let Some(now) = revision.container(&container.name).filter(|_| after && !revision.gone) else {
            continue;
        };
        let what = if now.restarts != was.restarts || now.id != was.id {
            "started again"
        } else if now.started != Some(true) {
            "shown as not started"
        } else if !now.ready {
            "shown as not ready"
        } else {
            continue;
        };
        let finding =
            format!("the container {} was {what} because its kubelet was restarted", container.name);
        seen.violated(finding, [before.id, deed, revision.id]);
        return;
    }
    let until = end.unwrap_or_else(|| Stamp::harness(run.ended_us));
    let watched = run.clocks.between(from, &until).is_some_and(|span| span.lo > AFTER);
    if watched && run.before_deletion(pod, &from.later(AFTER)) {
        let lives = container.attempts.iter().filter_map(|attempt| attempt.last_line());
        let lines =
            lives.filter(|line| run.clocks.order(from, &line.at) == Order::Before).map(|line| line.id);
        seen.fine([before.id, deed].into_iter().chain(lines));
    }
}

/// The first sign after an instant that the container itself is not as it was: an answer that is no success, or an end
/// that it came to by itself.
fn trouble(run: &Timeline<'_>, container: &ContainerLife<'_>, from: &Stamp) -> Option<Stamp> {
    let mut signs = Vec::new();
    for attempt in &container.attempts {
        for kind in ProbeKind::ALL {
            let Some(spec) = container.probe(kind) else { continue };
            let bad = attempt
                .probes
                .iter()
                .filter(|probe| probe.can_be(kind) && outcome(attempt, spec, probe) != Outcome::Success);
            signs.extend(bad.map(|probe| probe.at.clone()));
        }
        // A stop without a reason is what must not come, and no trouble of the container's own.
        let own = attempt.exited_by_itself().map(|(line, _)| &line.at);
        signs.extend(own.cloned());
    }
    let after = signs.into_iter().filter(|at| run.clocks.order(from, at) == Order::Before);
    after.min_by_key(|at| run.clocks.on_harness(at).map_or(i64::MAX, |at| at.lo))
}
