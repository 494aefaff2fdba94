//! When a sidecar starts, and which containers wait for it.

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::mechanisms::NEAR;
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Life, PodLife, ProbeKind, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::inits::{plain_pods, start_of_sidecar, success};
use crate::reading::mains::is_recorded;

/// A sidecar, its first instance, and when the sidecar counted as started.
struct Started<'t, 'h> {
    pod: &'t PodLife<'h>,
    /// Its place among the containers.
    place: usize,
    first: &'t Attempt<'h>,
    /// When it counted as started; `None` if its startup probe never succeeded.
    at: Option<At>,
}

fn sidecars<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Started<'t, 'h>> {
    plain_pods(run).flat_map(|pod| {
        let kind = |(_, of): &(usize, &ContainerLife<'_>)| of.kind == ContainerKind::Sidecar;
        pod.containers.iter().enumerate().filter(kind).filter_map(move |(place, container)| {
            let first = container.attempts.first()?;
            if first.number != 0 || !first.is_complete() {
                return None;
            }
            Some(Started { pod, place, first, at: start_of_sidecar(container) })
        })
    })
}

impl<'t, 'h> Started<'t, 'h> {
    fn container(&self) -> &'t ContainerLife<'h> {
        &self.pod.containers[self.place]
    }

    fn name(&self) -> String {
        format!("{}/{}", self.pod.key, self.container().name)
    }

    fn is_gated(&self) -> bool {
        self.container().probe(ProbeKind::Startup).is_some()
    }

    /// The containers that start directly after the sidecar: the next init container, or all main containers.
    fn next(&self) -> Vec<&'t ContainerLife<'h>> {
        let later = &self.pod.containers[self.place + 1..];
        match later.first() {
            Some(next) if next.kind != ContainerKind::Main => vec![next],
            _ => later.iter().collect(),
        }
    }

    /// The next container starts soon after the sidecar has started.
    fn judge_next(
        &self,
        run: &Timeline<'_>,
        clause: &Clause,
        next: &ContainerLife<'_>,
        seen: &mut Seen,
    ) -> bool {
        let names = format!("{} to that of {}", self.name(), next.name);
        match (next.attempts.first().filter(|first| first.number == 0 && first.is_numbered()), &self.at) {
            (Some(began), Some(started)) => {
                if run.clocks.order(started, &began.began) == Order::After {
                    let finding =
                        format!("{} started before the sidecar {} had started", next.name, self.name());
                    let sidecar = (self.pod, self.container());
                    judge_inverted(run, clause, sidecar, (started, &began.began), finding, seen);
                    return false;
                }
                let quantity = format!("from the start of {names}");
                seen.within(run, &self.pod.node, quantity, (started, &began.began), clause.in_time())
                    == Some(Fit::Met)
            }
            (Some(began), None) => {
                if is_recorded(self.container()) {
                    let finding =
                        format!("{} started although the sidecar {} had not", next.name, self.name());
                    seen.violated(finding, [self.first.began.id, began.began.id]);
                }
                false
            }
            (None, Some(started)) if next.plan().is_some() && next.attempts.is_empty() => {
                if run.watched_for(self.pod, started, clause.slack_us()) {
                    let finding =
                        format!("the sidecar {} had started, but {} never did", self.name(), next.name);
                    seen.violated(finding, run.to_the_end([started.id]));
                }
                false
            }
            _ => false,
        }
    }
}

/// Judges a container that recorded its start before an earlier sidecar had started. After the runtime reports a
/// container as running, the container's process may still wait for a CPU, but not twice in a case without a stall of
/// the node, and not for a long time. If the sidecar has a startup probe, no later container may begin before that
/// probe has succeeded.
pub(super) fn judge_inverted(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, sidecar): (&PodLife<'_>, &ContainerLife<'_>),
    (started, next): (&At, &At),
    finding: String,
    seen: &mut Seen,
) {
    let most = clause.tolerance_us("first-instruction") + run.noise_between(&pod.node, next, started);
    let gated = sidecar.probe(ProbeKind::Startup).is_some();
    let close = run.clocks.between(next, started).is_some_and(|span| span.lo <= most);
    if close && !gated && inverted(run) <= 1 {
        let why = format!("{finding}, but only by a moment: the process may have been waiting for a CPU");
        seen.doubt(Doubt::TooClose, why, [started.id, next.id]);
    } else {
        seen.violated(finding, [started.id, next.id]);
    }
}

/// How many sidecars of a history started after a later container had begun, if the stalls of the node do not explain
/// this.
fn inverted(run: &Timeline<'_>) -> usize {
    let late = |sidecar: &Started<'_, '_>| {
        let mut next = sidecar.next().into_iter().filter_map(|next| next.attempts.first());
        let Some(at) = &sidecar.at else { return false };
        next.any(|next| {
            let stalled = run.noise_between(&sidecar.pod.node, &next.began, at).max(0);
            run.clocks.between(&next.began, at).is_some_and(|span| span.lo > stalled)
        })
    };
    sidecars(run).filter(late).count()
}

/// A sidecar starts after the previous init containers have succeeded, and the next container does not wait for the end
/// of the sidecar.
pub(super) fn in_its_place(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for sidecar in sidecars(run) {
        let before =
            sidecar.pod.containers[..sidecar.place].iter().filter(|of| of.kind == ContainerKind::Init);
        for init in before.clone().filter(|of| is_recorded(of)) {
            let done = success(init).map(|(_, line)| line);
            let kept =
                done.is_some_and(|done| run.clocks.order(&done.at, &sidecar.first.began) == Order::Before);
            let events = [Some(sidecar.first.began.id), done.map(|done| done.id)];
            let finding =
                || format!("the sidecar {} started before {} had succeeded", sidecar.name(), init.name);
            seen.check(kept, finding, events.into_iter().flatten());
            if kept {
                seen.facet("before", "init");
            }
        }
        if before.clone().next().is_none() {
            seen.facet("before", "nothing");
        }
        for next in sidecar.next() {
            let fine = sidecar.judge_next(run, clause, next, seen);
            if fine && goes_on(run, &sidecar, next) {
                seen.facet("next", next.kind.word());
            }
        }
    }
}

/// Whether a sidecar left a record after the next container had started.
fn goes_on(run: &Timeline<'_>, sidecar: &Started<'_, '_>, next: &ContainerLife<'_>) -> bool {
    let Some(began) = next.attempts.first().map(|first| &first.began) else { return false };
    let (pod, container) = (sidecar.pod, sidecar.container());
    let life = Life { run, pod, container, attempt: sidecar.first };
    let last = life.last_line().is_some_and(|last| run.clocks.order(began, &last.at) == Order::Before);
    last || life.ended.is_none()
}

/// A startup probe decides when a sidecar has started; without a startup probe, it has started when it is running.
pub(super) fn when_started(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for sidecar in sidecars(run) {
        let gated = sidecar.is_gated();
        for next in sidecar.next() {
            if sidecar.judge_next(run, clause, next, seen) {
                seen.facet("gate", if gated { "startup-probe" } else { "none" });
            }
        }
        if gated {
            judge_initialized(run, &sidecar, seen);
        }
    }
}

/// Until the startup probe of a sidecar succeeds, its pod is not initialized and the sidecar is not shown as started.
fn judge_initialized(run: &Timeline<'_>, sidecar: &Started<'_, '_>, seen: &mut Seen) {
    let Some(started) = &sidecar.at else { return };
    // The target records a success only after the kubelet may have its result.
    let earliest = started.earlier(NEAR);
    let early = |shown: &&Revision<'_>| run.clocks.order(&shown.at, &earliest) == Order::Before;
    for shown in sidecar.pod.revisions.iter().take_while(early) {
        let status = shown.container(&sidecar.container().name);
        let said = match status {
            Some(status) if status.started == Some(true) => Some("the status shows the sidecar as started"),
            _ if shown.is("Initialized") == Some(true) => Some("the status shows the pod as initialized"),
            _ => None,
        };
        if let Some(said) = said {
            let finding = format!("the startup probe of {} had not succeeded, but {said}", sidecar.name());
            seen.violated(finding, [shown.id, started.id]);
        }
    }
}
