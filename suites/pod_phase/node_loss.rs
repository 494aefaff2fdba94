//! The pods on a node that the cluster has lost: what the API shows of them, and what happens to them.
//!
//! The harness disconnects or stops the node with a verb. A loss counts only if its effect was seen: the API shows a
//! pod on the node as not ready, and from then on the node's targets leave no records until the node is back.

use probity_model::history::{Did, Happening, brings_back};
use probity_model::measure::{Bound, seconds, whole_seconds};
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

/// The taint of a node that is unreachable.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// How many seconds a pod tolerates this taint by default: Kubernetes documentation, Taints and Tolerations.
const TOLERATED: i64 = 300;

/// A period in which a node was cut off.
struct Loss<'r> {
    node: &'r str,
    /// When the node was cut off.
    at: At,
    /// When the node began to come back; `None` if it did not.
    back: Option<At>,
}

/// Every time a node was cut off during the run.
fn losses<'r>(run: &'r Timeline<'_>) -> Vec<Loss<'r>> {
    let verbs = || {
        run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
            Did::NodeVerb { node, verb, exit: Some(0), .. } => Some((*id, deed.began_us, node, verb)),
            _ => None,
        })
    };
    let of_verb = |(id, _, node, verb): (EventId, i64, &'r String, &'r String)| {
        let undoes = brings_back(verb)?;
        let mut later =
            verbs().filter(|(later, _, other, verb)| *later > id && *other == node && *verb == undoes);
        let back = later.next().map(|(id, began_us, ..)| At::new(id, Stamp::harness(began_us)));
        Some(Loss { node, at: At::new(id, run.heard(id)), back })
    };
    verbs().filter_map(of_verb).collect()
}

impl Loss<'_> {
    /// Whether the node was cut off when a revision arrived.
    fn lasts(&self, run: &Timeline<'_>, shown: &Revision<'_>) -> bool {
        shown.id > self.at.id && self.back.as_ref().is_none_or(|back| run.before(&shown.at, back))
    }

    /// The end of the loss, or of the case.
    fn end(&self, run: &Timeline<'_>) -> Option<At> {
        self.back.clone().or_else(|| run.end_event())
    }

    /// The pods that were running on the node when it was cut off.
    fn pods<'t, 'h>(&self, run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
        run.pods.iter().filter(|pod| pod.node == self.node && pod.was_running_before(self.at.id))
    }

    /// The revision that shows a pod as not ready, if the node's targets left no records from then until the node was
    /// back.
    fn noticed<'t, 'h>(&self, run: &Timeline<'h>, pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
        let unready = |shown: &&Revision<'_>| shown.is("Ready") == Some(false) && self.lasts(run, shown);
        let noticed = pod.revisions.iter().find(unready)?;
        let until = self.back.as_ref().map_or(run.ended_us, |back| back.at.lo);
        let heard = run.history.events().any(|(id, event)| {
            let of_node = matches!(&event.what, Happening::Witness(heard) if heard.node == self.node);
            of_node && id > noticed.id && event.us < until
        });
        (!heard).then_some(noticed)
    }

    /// The revisions of a pod from `noticed` until the node is back.
    fn shown<'t, 'h>(
        &self,
        run: &Timeline<'h>,
        pod: &'t PodLife<'h>,
        noticed: &Revision<'h>,
    ) -> Vec<&'t Revision<'h>> {
        let since = pod.revisions.iter().filter(|shown| shown.id >= noticed.id && !shown.gone);
        since.filter(|shown| self.lasts(run, shown)).collect()
    }
}

/// The phase of a pod whose state cannot be obtained is Unknown.
pub(super) fn is_unknown(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_phase(run, "Unknown", seen);
}

/// The phase of the pods on a lost node is Failed.
pub(super) fn has_failed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_phase(run, "Failed", seen);
}

fn judge_phase(run: &Timeline<'_>, promised: &str, seen: &mut Seen) {
    for loss in &losses(run) {
        for pod in loss.pods(run) {
            let Some(noticed) = loss.noticed(run, pod) else { continue };
            let shown = loss.shown(run, pod, noticed);
            let other = |shown: &&&Revision<'_>| !["Running", "Unknown", "Failed"].contains(&shown.phase());
            if let Some(wrong) = shown.iter().find(other) {
                let phase = wrong.phase();
                let finding =
                    format!("the node of {} was lost, and the phase of the pod became {phase}", pod.key);
                seen.violated(finding, [loss.at.id, wrong.id]);
            } else if let Some(right) = shown.iter().find(|shown| shown.phase() == promised) {
                seen.fine([loss.at.id, right.id]);
            } else if let Some(last) = shown.last() {
                let phase = last.phase();
                let finding = format!(
                    "the node of {} was lost, but the phase of the pod is still {phase}, not {promised}",
                    pod.key
                );
                seen.diverges(finding, [loss.at.id, noticed.id, last.id]);
            }
        }
    }
}

/// How long a pod tolerates that its node is unreachable, in seconds; `None` if it tolerates this forever.
fn tolerated(pod: &PodLife<'_>) -> Option<i64> {
    let spec = pod.revisions.first().map(|first| &first.object["spec"]["tolerations"]);
    let mut tolerations = spec.and_then(Value::as_array).into_iter().flatten();
    let of = tolerations.find(|one| one["key"] == UNREACHABLE && one["effect"] != "NoSchedule");
    of.map_or(Some(TOLERATED), |one| one["tolerationSeconds"].as_i64())
}

/// A pod on a lost node is shown as not ready, and is deleted once it no longer tolerates the loss.
pub(super) fn is_deleted(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A taint that the harness gave to the node deletes its pods earlier.
    let tainted = run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::Tainted { .. }));
    for loss in losses(run).iter().filter(|_| !tainted) {
        for pod in loss.pods(run).filter(|pod| pod.deleted.is_none()) {
            let Some(noticed) = loss.noticed(run, pod) else {
                judge_unnoticed(run, clause, (loss, pod), seen);
                continue;
            };
            let Some(tolerated) = tolerated(pod).map(whole_seconds) else { continue };
            // The loss may be shown late, but the toleration counts from the taint, which is earlier.
            let late = run.noise_between("", &loss.at, &noticed.at);
            let least = tolerated - clause.tolerance_us("rounding") - late;
            let most = tolerated + clause.slack_us();
            let bound =
                Bound::at_most(most, format!("{} tolerated + the clause's slack", seconds(tolerated)))
                    .and_at_least(least, format!("{} tolerated - rounding - noise", seconds(tolerated)));
            let goes = loss.shown(run, pod, noticed).into_iter().find(|shown| shown.terminating());
            if let Some(goes) = goes {
                let quantity = format!("from the status that shows the loss of {} to its deletion", pod.key);
                seen.within(run, "", quantity, (noticed, goes), bound);
            } else if let Some(end) = loss.end(run)
                && run.misses("", (noticed, &end), bound)
            {
                let finding = format!("{} is on a lost node, but nothing deleted it", pod.key);
                seen.violated(finding, [noticed.id, end.id]);
            }
        }
    }
}

/// Reports that nothing showed the loss of the node, although the node was cut off for long enough.
fn judge_unnoticed(
    run: &Timeline<'_>,
    clause: &Clause,
    (loss, pod): (&Loss<'_>, &PodLife<'_>),
    seen: &mut Seen,
) {
    let ready = pod.revisions.iter().rfind(|shown| loss.lasts(run, shown) || shown.id < loss.at.id);
    let Some((end, ready)) = loss.end(run).zip(ready.filter(|shown| shown.is("Ready") == Some(true))) else {
        return;
    };
    let bound = Bound::at_most(clause.tolerance_us("noticed"), "until the cluster notices");
    if run.misses("", (&loss.at, &end), bound) {
        let finding = format!("the node of {} was lost, but the pod is still shown as ready", pod.key);
        seen.violated(finding, [loss.at.id, ready.id, end.id]);
    }
}

/// A pod that was bound to a lost node does not start there.
pub(super) fn never_starts(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for loss in &losses(run) {
        let Some(noticed) = loss.pods(run).find_map(|pod| loss.noticed(run, pod)) else { continue };
        for pod in run.pods.iter().filter(|pod| pod.node == loss.node) {
            if pod.revisions.first().is_none_or(|first| first.id < noticed.id || !loss.lasts(run, first)) {
                continue;
            }
            let shown: Vec<_> = pod.revisions.iter().filter(|shown| loss.lasts(run, shown)).collect();
            let left = shown.iter().find(|shown| shown.phase() != "Pending");
            let goes = shown.iter().find(|shown| shown.terminating());
            let lived = pod.containers.iter().flat_map(|container| &container.attempts).next();
            let bound = shown.iter().find(|shown| !shown.object["spec"]["nodeName"].is_null());
            match (left, lived, goes, bound) {
                (Some(left), ..) => {
                    let finding =
                        format!("{} is on a lost node, but its phase became {}", pod.key, left.phase());
                    seen.violated(finding, [loss.at.id, left.id]);
                }
                (_, Some(lived), Some(goes), _) => {
                    let finding = format!("{} was deleted while its node was lost, but it started", pod.key);
                    seen.violated(finding, [goes.id, lived.began.id]);
                }
                (None, None, Some(goes), Some(bound)) => seen.fine([loss.at.id, bound.id, goes.id]),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
