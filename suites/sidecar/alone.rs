//! The probes of sidecars: that sidecars can have probes, which container a failure affects, and how the readiness of
//! sidecars counts.

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{
    At, ContainerKind, PodLife, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision, State,
};
use probity_model::{Clause, Seen, Stamp, Timeline};

use crate::reading::absence::judge_absence;
use crate::reading::causes::may_have_earned;
use crate::reading::inits::plain_pods;
use crate::reading::mains::{lives_of, mains};
use crate::reading::termination::exhausted;
use crate::refusals;

/// Sidecars with probes are accepted and probed, and a failed liveness probe stops only the sidecar.
pub(super) fn has_probes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for kind in ProbeKind::ALL {
        for life in
            run.lives().of(kind).undisturbed().only(|life| life.container.kind == ContainerKind::Sidecar)
        {
            judge_absence(clause, &life, seen);
            // A request that may belong to another probe is not evidence for either.
            if let Some(probe) = life.probes.iter().find(|probe| probe.is(kind)) {
                seen.fine([probe.id]);
            }
        }
    }
    for killed in exhausted(run, ProbeKind::Liveness) {
        let life = &killed.life;
        if life.container.kind != ContainerKind::Sidecar {
            continue;
        }
        let Some(stop) = killed.stopped(clause) else { continue };
        let until = life.next().map(|next| next.attempt.began.clone());
        let near = |at: &At| {
            let after = run.clocks.order(&killed.at, at) != Order::After;
            after && until.as_ref().is_some_and(|until| run.clocks.order(at, until) == Order::Before)
        };
        let others = life.pod.containers.iter().filter(|other| other.name != life.container.name);
        let ended = others.flat_map(|of| lives_of(run, life.pod, of)).find_map(|other| {
            // A container may also end by itself or run out of memory.
            let killed = other.exiting().is_none() && !other.container.has_memory_limit();
            let end = other.stop().map(At::of).or_else(|| other.ended.clone().filter(|_| killed))?;
            (near(&end) && !may_have_earned(&other, &end)).then_some(end)
        });
        match ended {
            Some(ended) => {
                let finding =
                    format!("{} failed its liveness probe, but another container was stopped", life.name());
                seen.violated(finding, [stop.id, ended.id]);
            }
            None if until.is_some() => {
                seen.fine([stop.id]);
                seen.facet("killed", "alone");
            }
            None => {}
        }
    }
}

/// If the main containers of a pod are ready, the pod is ready when its sidecars are ready.
pub(super) fn readiness_counts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let sidecars = run.lives().of(ProbeKind::Readiness).undisturbed().whole();
    let sidecars = sidecars.only(|life| {
        let alone = mains(life.pod).all(|main| main.spec.get("readinessProbe").is_none());
        let probed = life.pod.containers.iter().filter(|of| of.spec.get("readinessProbe").is_some()).count();
        life.container.kind == ContainerKind::Sidecar && life.number == 0 && alone && probed == 1
    });
    for life in sidecars {
        if !plain_pods(run).any(|pod| pod.uid == life.pod.uid) {
            continue;
        }
        let passed = |probe: &&&Probe<'_>| life.surely(probe) == ProbeOutcome::Success;
        let success = life.probes.iter().find(passed).and_then(|probe| probe.settled.clone());
        judge_before(&life, success.as_ref(), seen);
        if let Some(success) = success.filter(|_| life.spec.successes <= 1) {
            judge_after(clause, &life, &success, seen);
        }
    }
}

/// Whether all main containers of a revision run and are ready.
fn mains_ready(pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    mains(pod).all(|main| {
        shown.container(&main.name).is_some_and(|of| of.ready && matches!(of.state, State::Running { .. }))
    })
}

/// The pod is not ready until the readiness probe has succeeded.
fn judge_before(life: &ProbedLife<'_, '_>, success: Option<&At>, seen: &mut Seen) {
    let run = life.run;
    // If it is unclear whether a probe passed, this probe may have been the first success.
    let unclear =
        life.probes.iter().find(|probe| life.surely(probe) == ProbeOutcome::Unclear).map(|probe| &probe.at);
    let before = |shown: &&Revision<'_>| {
        let early = |at: &Stamp| run.clocks.order(&shown.at, at) == Order::Before;
        success.is_none_or(|at| early(at)) && unclear.is_none_or(early)
    };
    for shown in life.pod.revisions.iter().take_while(before).filter(|shown| mains_ready(life.pod, shown)) {
        let ready = shown.is("Ready");
        let finding =
            || format!("the readiness probe of {} had not succeeded, but the pod was ready", life.name());
        seen.check(ready != Some(true), finding, [life.began.id, shown.id]);
        if ready == Some(false) {
            seen.facet("ready", "False");
        }
    }
}

/// Once the readiness probe has succeeded, the pod is ready.
fn judge_after(clause: &Clause, life: &ProbedLife<'_, '_>, success: &At, seen: &mut Seen) {
    let run = life.run;
    let pod = life.pod;
    let all_run = pod.revisions.iter().find(|shown| mains_ready(pod, shown));
    let late = all_run.is_none_or(|shown| run.clocks.order(&shown.at, success) != Order::Before);
    if late {
        return;
    }
    let later = |shown: &&Revision<'_>| run.clocks.order(&shown.at, success) != Order::Before;
    match pod.revisions.iter().filter(later).find(|shown| shown.is("Ready") == Some(true)) {
        Some(shown) => {
            let quantity =
                format!("from the first success of the readiness probe of {} to Ready", life.name());
            if life.within(seen, quantity, (success, shown), clause.in_time()) == Some(Fit::Met) {
                seen.facet("ready", "True");
            }
        }
        None if life.lives_on() && life.watched_for(success, clause.slack_us()) => {
            let finding =
                format!("the readiness probe of {} succeeded, but its pod is not Ready", life.name());
            seen.violated(finding, run.to_the_end([success.id]));
        }
        None => {}
    }
}
