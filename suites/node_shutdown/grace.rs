//! How long the containers of a node that shuts down have to stop.

use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{ContainerKind, Life};
use probity_model::{Clause, Seen, Timeline};

use super::order::sidecars_wait;
use crate::reading::critical::is_critical;
use crate::reading::kills::judge_kill_within;
use crate::reading::node_shutdowns::{NodeShutdown, node_shutdowns};

/// Every container gets its stop signal, and then has the grace period of its pod or the time that the kubelet has for pods of
/// this kind, whichever is shorter. Sidecars get their signals last.
pub(super) fn within_both_limits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shutdown in node_shutdowns(run, seen) {
        for pod in &shutdown.pods {
            for life in shutdown.lives(run, pod) {
                judge(run, clause, (&shutdown, &life), seen);
            }
        }
        sidecars_wait(run, &shutdown, seen);
    }
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (shutdown, life): (&NodeShutdown<'_, '_>, &Life<'_, '_>),
    seen: &mut Seen,
) {
    let (pod, critical) = (life.pod, is_critical(life.pod));
    let grace = shutdown.grace(pod);
    // The main containers can use up the whole grace period before a sidecar gets its signal.
    let sidecar = life.container.kind == ContainerKind::Sidecar;
    let turn = if sidecar { grace } else { 0 };
    let wait = turn + if critical { shutdown.for_regular } else { 0 };
    let words = match (critical, sidecar) {
        (_, true) => format!("{} for other containers + the slack", seconds(wait)),
        (true, false) => format!("{} for other pods + the slack", seconds(wait)),
        (false, false) => "the slack".to_owned(),
    };
    let most = wait + clause.slack_us();
    let bound = Bound::at_most(most, words);
    let Some(stop) = life.stop() else {
        let until = shutdown.cancelled.as_ref().map(|of| of.at.clone()).or_else(|| run.end_event());
        let lives_on = life.lives_on() && life.watched_for(&shutdown.at.stamp, most);
        if let Some(until) = until.filter(|_| lives_on)
            && run.misses(shutdown.node, (&shutdown.at, &until), bound)
        {
            let finding = format!("the node shuts down, but {} got no stop signal", life.name());
            seen.violated(finding, [shutdown.at.id, until.id]);
        }
        return;
    };
    let quantity = format!("from the announcement of the shutdown to the stop signal of {}", life.name());
    seen.within(run, shutdown.node, quantity, (&shutdown.at, stop), bound);
    // A sidecar has only the rest of the grace period.
    if !sidecar && judge_kill_within(clause.tolerance_us("kill"), life, stop, grace, seen) {
        seen.facet("pod", if critical { "critical" } else { "regular" });
        seen.facet("limit", if grace == pod.grace() { "own" } else { "configured" });
    }
}
