//! Damages to the end of pods: kills, signals, removals and endpoints come too early, too late, or in the wrong order.

use probity_model::history::{Did, Happening};
use probity_model::timeline::{ContainerKind, Life, PodLife};
use probity_model::{EventId, History, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::course::SECOND;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a deleted pod is killed two seconds before its grace period is over",
        &["termination.kill-after-grace", "termination.default-grace-30", "termination.grace-override"],
        |run| {
            let life = going(run).into_iter().find(|life| {
                let main = life.container.kind == ContainerKind::Main
                    && life.container.spec.get("lifecycle").is_none();
                main && life.pod.grace() > 3 * SECOND && life.exiting().is_none() && life.ended.is_some()
            })?;
            Copy::of(run).moved([life.ended.as_ref()?.id], -2 * SECOND).done()
        },
    ),
    violated(
        "the stop signal of a deleted pod comes six seconds late",
        &["termination.starts-promptly"],
        |run| {
            let life = going(run).into_iter().find(|life| {
                life.container.kind == ContainerKind::Main
                    && lasts(life, 8)
                    && life.container.spec.get("lifecycle").is_none()
            })?;
            Copy::of(run).moved([life.stop()?.id], 6 * SECOND).done()
        },
    ),
    violated(
        "the deadline of a deletion is the time of the request",
        &["termination.deadline-recorded"],
        |run| {
            let pod = deleted(run).find(|pod| pod.grace() > 3 * SECOND)?;
            let shown = pod.revisions.iter().find(|revision| revision.terminating() && !revision.gone)?;
            let change = |object: &mut Value| {
                object["metadata"]["deletionTimestamp"] = object["metadata"]["creationTimestamp"].clone();
            };
            Copy::of(run).object(shown.id, change).done()
        },
    ),
    violated(
        "a deleted pod is removed four seconds before its process ends",
        &["termination.final-delete-zero"],
        |run| {
            let pod = going(run).into_iter().find(|life| lasts(life, 4))?.pod;
            let gone = pod.revisions.iter().find(|revision| revision.gone)?;
            Copy::of(run).moved([gone.id], -4 * SECOND).done()
        },
    ),
    violated(
        "the endpoint of a deleted pod is removed at once",
        &["termination.endpoint-kept-terminating"],
        |run| slices(run, |slice| slice["endpoints"] = json!([])),
    ),
    violated("the endpoint of a deleted pod stays ready", &["termination.endpoint-ready-false"], |run| {
        slices(run, |slice| set(slice, "ready", true))
    }),
    violated(
        "the endpoint of a deleted pod serves no more",
        &["termination.endpoint-serving-is-readiness"],
        |run| slices(run, |slice| set(slice, "serving", false)),
    ),
    violated(
        "a main container ends three seconds after its sidecar is told to stop",
        &["termination.sidecar.after-main"],
        |run| {
            let sidecar =
                going(run).into_iter().find(|life| life.container.kind == ContainerKind::Sidecar)?;
            let stop = sidecar.stop()?;
            let main = going(run).into_iter().find(|life| {
                std::ptr::eq(life.pod, sidecar.pod) && life.container.kind == ContainerKind::Main
            })?;
            let exit = main.exiting().filter(|exit| exit.at.at.hi <= stop.at.at.lo)?;
            let ids = [Some(exit.id), main.ended.as_ref().map(|ended| ended.id)];
            Copy::of(run).moved(ids.into_iter().flatten(), 3 * SECOND).done()
        },
    ),
];

/// The pods that a step of the case deleted with a grace period.
fn deleted<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    let asked = |pod: &&PodLife<'_>| {
        run.deeds.iter().any(|(id, deed)| {
            Some(*id) == pod.deleted && matches!(deed.did, Did::Deleted { grace: None, .. })
        })
    };
    run.pods.iter().filter(asked).filter(|_| !run.node_was_touched())
}

/// The instances in such pods that got their stop signal because of the deletion.
fn going<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Life<'t, 'h>> {
    let told = |life: &Life<'_, '_>| {
        life.holes.is_empty() && life.stop().is_some_and(|stop| !life.before_deletion(&stop.at))
    };
    let names: Vec<&str> = deleted(run).map(|pod| pod.name.as_str()).collect();
    let lives = run.lives().into_iter().filter(|life| names.contains(&life.pod.name.as_str()));
    lives.filter(told).collect()
}

/// Whether an instance kept running for this many seconds after its stop signal.
fn lasts(life: &Life<'_, '_>, seconds: i64) -> bool {
    let last = life.stop().zip(life.last_line());
    last.is_some_and(|(stop, last)| last.at.at.lo - stop.at.at.hi > seconds * SECOND)
}

/// Changes all slices from the deletion of a pod on.
fn slices(run: &Timeline<'_>, change: fn(&mut Value)) -> Option<History> {
    let life = going(run).into_iter().find(|life| lasts(life, 6))?;
    let deed = life.pod.deleted?;
    let ready = |object: &Value| object["endpoints"][0]["conditions"]["ready"] == true;
    let shown = |(id, event): (EventId, &probity_model::history::Event)| match &event.what {
        Happening::Sighting(sighting) if sighting.kind == "EndpointSlice" => {
            Some((id, ready(&sighting.object)))
        }
        _ => None,
    };
    let all: Vec<(EventId, bool)> = run.history.events().filter_map(shown).collect();
    let before = all.iter().rfind(|(id, _)| *id < deed).is_some_and(|(_, ready)| *ready);
    let after: Vec<EventId> = all.iter().map(|(id, _)| *id).filter(|id| *id > deed).collect();
    (before && !after.is_empty())
        .then(|| after.into_iter().fold(Copy::of(run), |copy, id| copy.object(id, change)).done())?
}

fn set(slice: &mut Value, condition: &str, to: bool) {
    for endpoint in slice["endpoints"].as_array_mut().into_iter().flatten() {
        endpoint["conditions"][condition] = json!(to);
    }
}
