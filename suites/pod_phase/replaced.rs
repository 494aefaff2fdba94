//! What follows the deletion of a pod: its controller creates a replacement, and without a controller no new pod
//! appears.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::measure::Fit;
use probity_model::timeline::{At, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

/// The kind of controller that replaces a pod as soon as its deletion is requested.
const REPLACING: &str = "ReplicaSet";

/// The owner that controls a pod.
fn controller<'h>(pod: &PodLife<'h>) -> Option<&'h Value> {
    let owners = pod.revisions.first()?.object.get("metadata")?.get("ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// The request that deleted a pod: its event, and the time at which it began.
fn request<'h>(run: &Timeline<'h>, pod: &PodLife<'h>) -> Option<At> {
    let (id, deed) = run.deeds.iter().find(|(id, _)| pod.deleted == Some(*id))?;
    matches!(deed.did, Did::Deleted { .. }).then(|| At::new(*id, Stamp::harness(deed.began_us)))
}

/// Whether a workload was changed. If so, a different number of pods may be wanted, or different pods.
fn workloads_changed(run: &Timeline<'_>) -> bool {
    run.deeds.iter().any(|(_, deed)| match &deed.did {
        Did::Scaled { .. } => true,
        Did::Patched { kind, .. } => kind != "Pod",
        _ => false,
    })
}

/// A controller replaces a deleted pod, and a pod without a controller is not created again.
pub(super) fn by_controllers_alone(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let Some(asked) = request(run, pod) else { continue };
        match controller(pod) {
            Some(owner) if owner["kind"] == REPLACING && !workloads_changed(run) => {
                judge_replacement(run, clause, (pod, &asked), owner, seen);
            }
            None if pod.created.is_some() => judge_absence(run, clause, pod, seen),
            _ => {}
        }
    }
}

fn judge_replacement(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, asked): (&PodLife<'_>, &At),
    owner: &Value,
    seen: &mut Seen,
) {
    let same = |other: &&PodLife<'_>| controller(other).is_some_and(|of| of["uid"] == owner["uid"]);
    let others = run.pods.iter().filter(|other| other.uid != pod.uid).filter(same);
    // The first revision of the replacement may arrive before the answer to the request.
    let mut firsts = others.filter_map(|other| other.revisions.first());
    let next = firsts.find(|first| !run.before(&first.at, asked));
    if let Some(next) = next {
        let quantity = format!("from the request to delete {} to the creation of its replacement", pod.name);
        if seen.within(run, &pod.node, quantity, (asked, next), clause.in_time()) == Some(Fit::Met) {
            seen.facet("pod", "controlled");
        }
        return;
    }
    let Some(end) = run.end_event() else { return };
    if run.misses(&pod.node, (asked, &end), clause.in_time()) {
        let finding = format!("{} was deleted, but its {REPLACING} did not create another pod", pod.name);
        seen.violated(finding, [asked.id, end.id]);
    }
}

/// After the removal of a pod without a controller, no pod appears that the harness did not create.
fn judge_absence(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(gone) = pod.revisions.iter().find(|shown| shown.gone) else { return };
    let foreign = |other: &&PodLife<'_>| {
        other.name == pod.name
            && other.uid != pod.uid
            && other.created.is_none()
            && controller(other).is_none()
    };
    let strange = run.pods.iter().filter(foreign).filter_map(|other| other.revisions.first());
    if let Some(first) = strange.into_iter().find(|first| first.id > gone.id) {
        let finding = format!("{} has no controller; it was deleted, and created again", pod.key);
        seen.violated(finding, [gone.id, first.id]);
        return;
    }
    let (until, span) = created_again(run, pod, gone.id)
        .or_else(|| run.end_event())
        .map_or((gone.id, None), |until| (until.id, run.clocks.between(&gone.at, &until)));
    if span.is_some_and(|span| span.lo > clause.tolerance_us("watched")) {
        seen.fine([gone.id, until]);
        seen.facet("pod", "bare");
    }
}

/// When the harness created a pod with the same name again.
fn created_again(run: &Timeline<'_>, pod: &PodLife<'_>, gone: EventId) -> Option<At> {
    run.deeds.iter().filter(|(id, _)| *id > gone).find_map(|(id, deed)| match &deed.did {
        Did::Created { kind, name, .. } if kind == "Pod" && *name == pod.name => {
            Some(At::new(*id, Stamp::harness(deed.began_us)))
        }
        _ => None,
    })
}
