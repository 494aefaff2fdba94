//! Controllers do not count a terminating pod: they create its replacement while it is still running.

use probity_model::history::Did;
use probity_model::measure::Fit;
use probity_model::timeline::{At, ContainerKind, Life, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::ends::alive_until;

/// The pods that were created from the template of a Deployment.
fn pods_of<'t, 'h>(run: &'t Timeline<'h>, deployment: &str) -> Vec<&'t PodLife<'h>> {
    let prefix = format!("{deployment}-");
    run.pods.iter().filter(|pod| pod.created.is_none() && pod.name.starts_with(&prefix)).collect()
}

/// A pod that was terminating before an action of the harness, and when its main container terminated.
fn still_runs(run: &Timeline<'_>, pod: &PodLife<'_>, deed: EventId) -> Option<At> {
    let shown = pod.revisions.iter().find(|revision| revision.terminating() && !revision.gone)?;
    let container = pod.containers.iter().find(|container| container.kind == ContainerKind::Main)?;
    let attempt = container.attempts.last().filter(|attempt| attempt.holes.is_empty())?;
    let until = alive_until(&Life { run, pod, container, attempt })?;
    (shown.id < deed).then_some(until)
}

/// A Deployment that needs another pod while one of its pods is terminating gets it immediately.
pub(super) fn replaces_what_goes(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        let Did::Scaled { kind, name, .. } = &deed.did else { continue };
        let pods = pods_of(run, name);
        let going = pods.iter().filter_map(|pod| still_runs(run, pod, *id)).min_by_key(|until| until.at.lo);
        let Some(until) = going.filter(|_| kind == "Deployment") else { continue };
        let asked = run.deed_at(*id);
        // The watch may show the pod before the API server's answer to the request has been read.
        let mut first = pods.iter().filter_map(|pod| pod.revisions.first());
        let made = first.find(|first| !run.before(&first.at, &asked));
        if let Some(made) = made.filter(|made| run.before(&made.at, &until)) {
            let quantity = format!("from the change of the replicas of {name} to the next pod");
            let node = pods.first().map_or("", |pod| pod.node.as_str());
            if seen.within(run, node, quantity, (&asked, made), clause.in_time()) == Some(Fit::Met) {
                seen.fine([made.id, until.id]);
            }
            continue;
        }
        if run.misses("", (&asked, &until), clause.in_time()) {
            let finding = format!(
                "{name} needed another pod, but none was created while a terminating one was still running"
            );
            seen.violated(finding, [asked.id, until.id]);
        }
    }
}
