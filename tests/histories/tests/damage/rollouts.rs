//! What a Deployment reports about its update.

use probity_model::history::{Happening, Sighting};
use probity_model::{EventId, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::{Damage, violated};

const STALLED: &str = "ProgressDeadlineExceeded";
const BY: &[&str] = &["scenario.rollout.blocked-by-unready", "scenario.rollout.blocked-by-crashloop"];

pub(crate) const ALL: &[Damage] = &[
    violated("no old replica is available while a rollout stalls", BY, |run| {
        let last = *stalled(run).last()?;
        Copy::of(run).object(last, |object| object["status"]["availableReplicas"] = json!(0)).done()
    }),
    violated("a rollout that stalls comes to its end", BY, |run| {
        let last = *stalled(run).last()?;
        let ended =
            |object: &mut Value| object["status"]["updatedReplicas"] = object["spec"]["replicas"].clone();
        let pods = run.history.events().filter(|(_, event)| is(&event.what, "Pod")).map(|(id, _)| id);
        let leaving =
            |object: &mut Value| object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        pods.fold(Copy::of(run).object(last, ended), |copy, id| copy.object(id, leaving)).done()
    }),
];

fn is(what: &Happening, kind: &str) -> bool {
    matches!(what, Happening::Sighting(Sighting { kind: of, .. }) if of == kind)
}

/// All revisions of Deployments.
pub(crate) fn deployments(run: &Timeline<'_>) -> Vec<EventId> {
    run.history.events().filter(|(_, event)| is(&event.what, "Deployment")).map(|(id, _)| id).collect()
}

/// The object in a revision.
pub(crate) fn object<'h>(run: &Timeline<'h>, id: EventId) -> Option<&'h Value> {
    match &run.history.get(id)?.what {
        Happening::Sighting(sighting) => Some(&sighting.object),
        _ => None,
    }
}

/// The revisions in which a Deployment reports that its rollout stalls.
fn stalled(run: &Timeline<'_>) -> Vec<EventId> {
    let says = |what: &Happening| match what {
        Happening::Sighting(sighting) => sighting.object["status"].to_string().contains(STALLED),
        _ => false,
    };
    let all = run.history.events().filter(|(_, event)| is(&event.what, "Deployment") && says(&event.what));
    all.map(|(id, _)| id).collect()
}
