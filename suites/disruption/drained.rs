//! `kubectl drain`: it evicts the pods of a node, retries evictions that a budget refuses, and ends when all pods are gone
//! or at its timeout.

use probity_model::history::{Did, Printed};
use probity_model::measure::seconds;
use probity_model::mechanisms::LATE_SIGHT;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::account::{Budget, budgets};
use crate::reading::targets;

/// The reason in the condition of evicted pods: Kubernetes documentation, Disruptions.
const EVICTED: &str = "EvictionByEvictionAPI";
/// Part of the message that kubectl prints when it is going to retry an eviction.
const RETRIES: &str = "will retry";

/// One `kubectl drain` of a node.
pub(super) struct Drain<'r> {
    pub(super) id: EventId,
    node: &'r str,
    began: i64,
    ended: i64,
    timeout: i64,
    exit: i32,
    output: &'r [Printed],
}

/// The drains of the run that ended by themselves.
pub(super) fn drains<'r>(run: &'r Timeline<'_>) -> Vec<Drain<'r>> {
    let all = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Drained { node, timeout, exit: Some(exit), output } => Some(Drain {
            id: *id,
            node,
            began: deed.began_us,
            ended: run.heard(*id).at.hi,
            timeout: probity_model::measure::whole_seconds(i64::try_from(*timeout).unwrap_or(i64::MAX)),
            exit: *exit,
            output,
        }),
        _ => None,
    });
    all.collect()
}

impl Drain<'_> {
    /// The pods that were on the node when the drain began.
    pub(super) fn pods<'t, 'h>(&self, run: &'t Timeline<'h>) -> Vec<&'t PodLife<'h>> {
        let on_node = |pod: &&PodLife<'_>| {
            let before = pod.revisions.iter().rfind(|shown| shown.at.at.lo <= self.began);
            let over = |shown: &Revision<'_>| matches!(shown.phase(), "Succeeded" | "Failed");
            pod.node == self.node
                && pod.deleted.is_none()
                && before.is_some_and(|shown| !shown.terminating() && !shown.gone && !over(shown))
        };
        run.pods.iter().filter(on_node).collect()
    }

    /// The times at which kubectl reported that it would retry the eviction of a pod.
    pub(super) fn refusals(&self, pod: &PodLife<'_>) -> Vec<i64> {
        let quoted = format!("\"{}\"", pod.name);
        let of_pod = |of: &&Printed| of.line.contains(RETRIES) && of.line.contains(&quoted);
        self.output.iter().filter(of_pod).map(|of| of.us).collect()
    }

    /// The revision that shows that a pod began to terminate during the drain.
    pub(super) fn going<'t, 'h>(&self, pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
        let during =
            |shown: &&Revision<'_>| shown.at.at.hi >= self.began && shown.at.at.lo <= self.ended + LATE_SIGHT;
        targets::going(pod).filter(during)
    }

    pub(super) fn succeeded(&self) -> bool {
        self.exit == 0
    }

    /// Whether a pod was gone when the drain ended.
    fn was_gone(&self, pod: &PodLife<'_>) -> bool {
        pod.revisions.iter().any(|shown| shown.gone && shown.at.at.lo <= self.ended + LATE_SIGHT)
    }
}

/// A drain evicts pods, retries refused evictions, and ends in time.
pub(super) fn evicts_and_retries(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for drain in &drains(run) {
        let pods = drain.pods(run);
        for pod in &pods {
            judge_pod(drain, pod, seen);
        }
        if pods.is_empty() {
            continue;
        }
        let lasted = drain.ended - drain.began;
        let late = lasted > drain.timeout + clause.slack_us();
        let early = !drain.succeeded() && lasted < drain.timeout - clause.tolerance_us("early");
        let finding = || {
            let word = if drain.succeeded() { "finished" } else { "gave up" };
            format!("the drain {word} after {} with a timeout of {}", seconds(lasted), seconds(drain.timeout))
        };
        seen.check(!late && !early, finding, [drain.id]);
        let refused_to_the_end = |pod: &&&PodLife<'_>| {
            drain.going(pod).is_none() && drain.refusals(pod).len() >= clause_times(clause)
        };
        if !drain.succeeded() && !late && !early && pods.iter().any(|pod| refused_to_the_end(&pod)) {
            seen.facet("refused", "until-the-timeout");
        }
    }
}

fn clause_times(clause: &Clause) -> usize {
    clause.tolerance_times("tries")
}

fn judge_pod(drain: &Drain<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(going) = drain.going(pod) else {
        let finding = || format!("the drain succeeded, but {} still exists", pod.name);
        seen.check(!drain.succeeded(), finding, [drain.id]);
        return;
    };
    let evicted = targets::says(going, EVICTED);
    let finding = || format!("{} was removed during a drain, but {}", pod.name, targets::in_words(going));
    seen.check(evicted, finding, [drain.id, going.id]);
    if drain.succeeded() && !drain.was_gone(pod) {
        let finding = format!("the drain succeeded, but {} still existed", pod.name);
        seen.violated(finding, [drain.id, going.id]);
    }
    match drain.refusals(pod).first() {
        Some(first) if evicted && *first < going.at.at.hi => seen.facet("refused", "and-evicted-later"),
        None if evicted => seen.facet("refused", "never"),
        _ => {}
    }
}

/// Whether the newest revision before an instant shows a pod as ready and not terminating.
fn is_available(pod: &PodLife<'_>, at: i64) -> bool {
    let shown = pod.revisions.iter().rfind(|shown| shown.at.at.lo <= at);
    shown.is_some_and(counts)
}

fn counts(shown: &Revision<'_>) -> bool {
    shown.is("Ready") == Some(true) && !shown.terminating() && !shown.gone
}

/// Whether a pod may have counted as available at some time in a period.
fn may_be_available(pod: &PodLife<'_>, from: i64, to: i64) -> bool {
    is_available(pod, from)
        || pod.revisions.iter().any(|shown| shown.at.at.lo > from && shown.at.at.lo <= to && counts(shown))
}

/// Nodes are drained one after another. No drain evicts more pods than a budget allows. A drain waits for replacement
/// pods, and is blocked if none become ready.
pub(super) fn one_node_after_another(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let drains = drains(run);
    for budget in budgets(run).iter().filter(|budget| budget.is_plain()) {
        let least = budget.spec["minAvailable"].as_u64().and_then(|least| usize::try_from(least).ok());
        let Some(least) = least else { continue };
        for drain in &drains {
            judge_drain(run, clause, (budget, least), drain, seen);
        }
    }
}

fn judge_drain(
    run: &Timeline<'_>,
    clause: &Clause,
    (budget, least): (&Budget<'_>, usize),
    drain: &Drain<'_>,
    seen: &mut Seen,
) {
    let members = budget.members(run);
    let settle = clause.tolerance_us("settle");
    let here: Vec<&PodLife<'_>> = drain.pods(run).into_iter().filter(|pod| budget.selects(pod)).collect();
    for pod in &here {
        let Some(going) = drain.going(pod) else { continue };
        let at = going.at.at.lo;
        let others = members.iter().filter(|other| other.uid != pod.uid);
        let most = others.filter(|other| may_be_available(other, at - settle, at + LATE_SIGHT)).count();
        let finding = || {
            format!(
                "{} was evicted by a drain although only {most} others were available and {least} are needed",
                pod.name
            )
        };
        seen.check(most >= least, finding, [budget.id(), going.id]);
        match drain.refusals(pod).first() {
            None => seen.facet("drain", "at-once"),
            Some(first) => {
                let became = |other: &&&PodLife<'_>| {
                    !is_available(other, *first - LATE_SIGHT)
                        && may_be_available(other, *first, at + LATE_SIGHT)
                };
                if most >= least && members.iter().any(|other| became(&other)) {
                    seen.facet("drain", "after-the-replacement");
                }
            }
        }
    }
    let left: Vec<_> = here.iter().filter(|pod| drain.going(pod).is_none()).collect();
    if drain.succeeded() || left.is_empty() {
        return;
    }
    let all_along = |pod: &&&PodLife<'_>| {
        let from = drain.ended - clause.tolerance_us("retried");
        is_available(pod, from)
            && !pod
                .revisions
                .iter()
                .any(|shown| shown.at.at.lo > from && shown.at.at.lo <= drain.ended && !counts(shown))
    };
    let certain = members.iter().filter(|pod| all_along(pod)).count();
    let finding =
        || format!("a drain was blocked although {certain} pods were available and {least} are needed");
    seen.check(certain <= least, finding, [budget.id(), drain.id]);
    let now = members.iter().filter(|pod| is_available(pod, drain.ended)).count();
    if now == least && left.iter().any(|pod| !drain.refusals(pod).is_empty()) {
        seen.facet("drain", "blocked");
    }
}
