//! Pods on a node that gets a taint: those that do not tolerate the taint are evicted, at once or later, and a
//! condition shows the reason. If the taint is removed in time, they stay.

use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, Seen, Stamp, Timeline};
use serde_json::Value;

use crate::reading::targets;

/// The reason of the condition: Kubernetes documentation, Disruptions.
const REASON: &str = "DeletionByTaintManager";
/// The taint effect that evicts pods: Kubernetes documentation, Taints and Tolerations.
const NO_EXECUTE: &str = "NoExecute";

/// A taint that the harness gave to a node.
struct Taint<'r> {
    at: At,
    node: &'r str,
    key: &'r str,
    value: &'r str,
    /// When a step removed it, if one did.
    removed: Option<At>,
}

/// How long a pod tolerates a taint.
enum Tolerated {
    Not,
    For(i64),
    Forever,
}

/// The taints with the effect `NoExecute`, for nodes that got only one taint.
fn taints<'r>(run: &'r Timeline<'_>) -> Vec<Taint<'r>> {
    let all = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Tainted { node, key, value, effect } if effect == NO_EXECUTE => {
            let removes = |did: &Did| {
                matches!(did, Did::Untainted { node: on, key: of, effect } if (on, of) == (node, key) && effect == NO_EXECUTE)
            };
            let removed = run.deeds.iter().find(|(other, deed)| other > id && removes(&deed.did));
            let removed = removed.map(|(id, _)| run.deed_at(*id));
            Some(Taint { at: At::new(*id, Stamp::harness(deed.began_us)), node, key, value, removed })
        }
        _ => None,
    });
    let all: Vec<Taint<'r>> = all.collect();
    let count = |node: &str| all.iter().filter(|taint| taint.node == node).count();
    let single: Vec<bool> = all.iter().map(|taint| count(taint.node) == 1).collect();
    all.into_iter().zip(single).filter_map(|(taint, single)| single.then_some(taint)).collect()
}

impl Taint<'_> {
    /// Whether a toleration of a pod matches the taint: Kubernetes documentation, Taints and Tolerations.
    fn is_matched_by(&self, toleration: &Value) -> bool {
        let text = |field: &str| toleration.get(field).and_then(Value::as_str).unwrap_or_default();
        let exists = text("operator") == "Exists";
        let key = text("key") == self.key || (text("key").is_empty() && exists);
        let effect = text("effect").is_empty() || text("effect") == NO_EXECUTE;
        key && effect && (exists || text("value") == self.value)
    }

    fn tolerated_by(&self, pod: &PodLife<'_>) -> Tolerated {
        let spec = pod.revisions.first().map(|first| &first.object["spec"]["tolerations"]);
        let list = spec.and_then(Value::as_array).into_iter().flatten();
        let mut matching = list.filter(|toleration| self.is_matched_by(toleration)).peekable();
        if matching.peek().is_none() {
            return Tolerated::Not;
        }
        let shortest = matching.filter_map(|toleration| toleration.get("tolerationSeconds")?.as_i64()).min();
        shortest.map_or(Tolerated::Forever, |seconds| Tolerated::For(whole_seconds(seconds.max(0))))
    }

    /// The pods that ran on the node when it got the taint, and that nobody else deleted.
    fn pods<'t, 'h>(&self, run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
        run.pods.iter().filter(|pod| {
            pod.node == self.node && pod.was_running_before(self.at.id) && pod.deleted.is_none()
        })
    }

    /// The pods that were bound to the node while it had the taint, and that nobody else deleted, each with the
    /// revision that shows it as bound.
    fn newcomers<'t, 'h>(
        &self,
        run: &'t Timeline<'h>,
    ) -> impl Iterator<Item = (&'t PodLife<'h>, &'t Revision<'h>)> {
        let there = |id| id > self.at.id && self.removed.as_ref().is_none_or(|removed| id < removed.id);
        run.pods.iter().filter(|pod| pod.node == self.node && pod.deleted.is_none()).filter_map(move |pod| {
            let bound = pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string())?;
            there(bound.id).then_some((pod, bound))
        })
    }

    /// Whether a pod was deleted while the node certainly had the taint.
    fn was_there(&self, run: &Timeline<'_>, going: Option<&Revision<'_>>) -> bool {
        let before =
            |going: &Revision<'_>| self.removed.as_ref().is_none_or(|removed| run.before(&going.at, removed));
        going.is_some_and(before)
    }

    /// Whether the taint was removed before an instant, which is this long after another: certainly, certainly not, or
    /// `None` if it is unclear.
    fn removed_before(&self, run: &Timeline<'_>, from: &Stamp, span: i64, slack: i64) -> Option<bool> {
        let Some(removed) = &self.removed else { return Some(false) };
        let passed = run.clocks.between(from, removed)?;
        match () {
            () if passed.hi + slack < span => Some(true),
            () if passed.lo > span + slack => Some(false),
            () => None,
        }
    }
}

/// Pods that do not tolerate a taint are evicted and have the condition; the others stay.
pub(super) fn untolerated_pods_go(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for taint in &taints(run) {
        for pod in taint.pods(run) {
            let going = targets::going(pod).filter(|going| going.at.at.lo <= run.ended_us);
            match (taint.tolerated_by(pod), going) {
                (Tolerated::Forever, Some(going)) => {
                    let finding = format!("{} tolerates the taint of its node, but it was deleted", pod.key);
                    seen.violated(finding, [taint.at.id, going.id]);
                }
                (Tolerated::Forever, None) => {
                    if run.watched_for(pod, &taint.at, clause.tolerance_us("watched")) {
                        seen.fine(run.to_the_end([taint.at.id]));
                        seen.facet("toleration", "unlimited");
                    }
                }
                (Tolerated::Not, going) => judge(run, clause, (taint, pod, 0), going, seen),
                (Tolerated::For(span), going) if taint.was_there(run, going) => {
                    judge(run, clause, (taint, pod, span), going, seen);
                }
                (Tolerated::For(span), going) => {
                    match taint.removed_before(run, &taint.at, span, clause.slack_us()) {
                        Some(true) => judge_relieved(run, clause, (taint, pod, span), going, seen),
                        Some(false) => judge(run, clause, (taint, pod, span), going, seen),
                        None => {}
                    }
                }
            }
        }
        for (pod, bound) in taint.newcomers(run) {
            judge_newcomer(run, clause, (taint, pod, bound), seen);
        }
    }
}

/// A pod whose taint was removed before the pod's tolerationSeconds had passed must stay.
fn judge_relieved(
    run: &Timeline<'_>,
    clause: &Clause,
    (taint, pod, span): (&Taint<'_>, &PodLife<'_>, i64),
    going: Option<&Revision<'_>>,
    seen: &mut Seen,
) {
    let removed = taint.removed.iter().map(|removed| removed.id);
    if let Some(going) = going {
        let finding = format!(
            "{} was deleted, although the taint was removed before its tolerationSeconds had passed",
            pod.key
        );
        seen.violated(finding, [taint.at.id, going.id].into_iter().chain(removed));
    } else if run.watched_for(pod, &taint.at, span + clause.slack_us()) {
        seen.fine(run.to_the_end([taint.at.id].into_iter().chain(removed)));
        seen.facet("toleration", "taint-removed");
    }
}

/// A pod that came to the node after the taint, and that tolerates it for a limited time, must be evicted as well.
fn judge_newcomer<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (taint, pod, bound): (&Taint<'_>, &PodLife<'h>, &Revision<'h>),
    seen: &mut Seen,
) {
    let Tolerated::For(span) = taint.tolerated_by(pod) else { return };
    let going = targets::going(pod).filter(|going| going.at.at.lo <= run.ended_us);
    let removed = taint.removed_before(run, &bound.at, span, clause.slack_us());
    if !taint.was_there(run, going) && removed != Some(false) {
        return;
    }
    let most =
        Bound::at_most(span + clause.slack_us(), format!("{} tolerated + the clause's slack", seconds(span)));
    let Some(going) = going else {
        let Some(end) = run.end_event() else { return };
        if run.misses("", (bound, &end), most) {
            let finding = format!(
                "{} was bound to the node after the taint and tolerates it for a limited time, but it was not deleted",
                pod.key
            );
            seen.violated(finding, [taint.at.id, bound.id, end.id]);
        }
        return;
    };
    let quantity = format!("from the binding of {} to its deletion", pod.key);
    if seen.within(run, "", quantity, (bound, going), most) == Some(Fit::Met) {
        seen.facet("toleration", "bound-later");
    }
}

/// Judges a pod that tolerates the taint for a limited time, or not at all.
fn judge<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (taint, pod, span): (&Taint<'_>, &PodLife<'h>, i64),
    going: Option<&Revision<'h>>,
    seen: &mut Seen,
) {
    let slack = clause.slack_us();
    let bound = Bound::at_most(span + slack, format!("{} tolerated + the clause's slack", seconds(span)))
        .and_at_least(span, format!("{} tolerated", seconds(span)));
    let Some(going) = going else {
        let Some(end) = run.end_event() else { return };
        if run.misses("", (&taint.at, &end), bound) && run.at_least(&taint.at, &end) > span {
            let finding =
                format!("{} does not tolerate the taint of its node, but it was not deleted", pod.key);
            seen.violated(finding, [taint.at.id, end.id]);
        }
        return;
    };
    let quantity = format!("from the taint to the deletion of {}", pod.key);
    let fit = seen.within(run, "", quantity, (&taint.at, going), bound);
    let finding = || {
        format!("the taint of its node caused the deletion of {}, but {}", pod.key, targets::in_words(going))
    };
    let explained = targets::says(going, REASON);
    seen.check(explained, finding, [taint.at.id, going.id]);
    if explained && fit == Some(Fit::Met) {
        seen.facet("toleration", if span > 0 { "limited" } else { "none" });
    }
}
