//! Pods that are being deleted on a node that is down: they stay until an administrator marks the node with the
//! out-of-service taint, and then the pod garbage collector removes them.

use probity_model::history::{Did, brings_back};
use probity_model::measure::Fit;
use probity_model::timeline::{At, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};

/// The key of the out-of-service taint: Kubernetes documentation, Non-graceful node shutdown.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// A node that was shut down or disconnected, and then got the out-of-service taint.
struct Outage<'r> {
    node: &'r str,
    /// The event of the verb that shut down or disconnected the node.
    away: EventId,
    /// When the node got the taint.
    tainted: At,
}

fn outages<'r>(run: &'r Timeline<'_>) -> Vec<Outage<'r>> {
    let of_taint = |(id, began_us, node): (EventId, i64, &'r str)| {
        let away = run.deeds.iter().rfind(|(other, deed)| match &deed.did {
            Did::NodeVerb { node: of, verb, exit: Some(0), .. } => {
                *other < id && of == node && brings_back(verb).is_some()
            }
            _ => false,
        })?;
        let tainted = At::new(id, Stamp::harness(began_us));
        Some(Outage { node, away: away.0, tainted })
    };
    let taints = run.deeds.iter().filter_map(|(id, deed)| match &deed.did {
        Did::Tainted { node, key, .. } if key == OUT_OF_SERVICE => Some((*id, deed.began_us, node.as_str())),
        _ => None,
    });
    taints.filter_map(of_taint).collect()
}

impl Outage<'_> {
    /// The revision that shows a pod as not ready because its node is down.
    fn noticed<'t, 'h>(&self, pod: &'t PodLife<'h>) -> Option<&'t Revision<'h>> {
        let unready = |shown: &&Revision<'_>| shown.is("Ready") == Some(false) && !shown.gone;
        pod.revisions.iter().filter(|shown| shown.id > self.away).find(unready)
    }
}

/// Pods that are being deleted on a node that is down are removed once the node has the taint, and not before.
pub(super) fn collected_once_tainted(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for outage in &outages(run) {
        for pod in run.pods.iter().filter(|pod| pod.node == outage.node) {
            let Some(noticed) = outage.noticed(pod) else { continue };
            let Some(going) = pod.revisions.iter().find(|shown| shown.terminating()) else { continue };
            let doomed = if going.id > noticed.id { going } else { noticed };
            let gone = pod.revisions.iter().find(|shown| shown.gone && shown.at.at.lo <= run.ended_us);
            if doomed.id < outage.tainted.id {
                judge_before(run, clause, (outage, pod, doomed), gone, seen);
            }
            if gone.is_none_or(|gone| gone.id > outage.tainted.id) {
                let from = if doomed.id > outage.tainted.id {
                    At::new(doomed.id, doomed.at.clone())
                } else {
                    outage.tainted.clone()
                };
                judge_after(run, clause, (pod, &from), gone, seen);
            }
        }
    }
}

/// Before the node has the taint, the pod stays, because its containers may still be running.
fn judge_before<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (outage, pod, doomed): (&Outage<'_>, &PodLife<'h>, &Revision<'h>),
    gone: Option<&Revision<'h>>,
    seen: &mut Seen,
) {
    match gone {
        Some(gone) if gone.id < outage.tainted.id => {
            let finding = format!("{} was removed from a node that is down and has no taint", pod.key);
            seen.violated(finding, [doomed.id, gone.id]);
        }
        _ if run.at_least(&doomed.at, &outage.tainted) > clause.tolerance_us("watched") => {
            seen.fine([doomed.id, outage.tainted.id]);
            seen.facet("taint", "absent");
        }
        _ => {}
    }
}

/// Once the node has the taint, the collector removes the pod, and marks it as Failed unless it is already in a
/// terminal phase.
fn judge_after<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (pod, from): (&PodLife<'h>, &At),
    gone: Option<&Revision<'h>>,
    seen: &mut Seen,
) {
    let Some(gone) = gone else {
        let Some(end) = run.end_event() else { return };
        if run.misses("", (from, &end), clause.in_time()) {
            let finding = format!(
                "{} is being deleted on a node that is out of service, but it was not removed",
                pod.key
            );
            seen.violated(finding, [from.id, end.id]);
        }
        return;
    };
    let quantity = format!("from the taint of a node that is down to the removal of {}", pod.key);
    let fit = seen.within(run, "", quantity, (from, gone), clause.in_time());
    let over = matches!(gone.phase(), "Failed" | "Succeeded");
    let finding = || {
        format!(
            "{} was removed from a node that is out of service while its phase was {}",
            pod.key,
            gone.phase()
        )
    };
    seen.check(over, finding, [from.id, gone.id]);
    if over && fit == Some(Fit::Met) {
        seen.facet("taint", "present");
    }
}
