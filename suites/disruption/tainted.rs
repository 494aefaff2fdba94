//! Pods on a node that gets a taint: those that do not tolerate the taint are evicted, at once or later, and a
//! condition shows the reason.

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
            Some(Taint { at: At::new(*id, Stamp::harness(deed.began_us)), node, key, value })
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
                (Tolerated::For(span), going) => judge(run, clause, (taint, pod, span), going, seen),
            }
        }
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
