//! Damages to conditions, which then contradict the rest of the status or have a wrong form.

use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{EventId, History, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated("a status lacks the condition PodScheduled", &["pod.condition.set-of-five"], |run| {
        lacks(run, "PodScheduled")
    }),
    violated("a status lacks the condition of the network", &["ptsc.present"], |run| {
        lacks(run, "PodReadyToStartContainers")
    }),
    violated("the reason of a condition is a sentence", &["pod.condition.fields"], |run| {
        let shown = find(run, |_, shown| shown.is("Ready") == Some(false))?;
        set(run, shown, "Ready", "reason", json!("its containers are not ready"))
    }),
    violated("a condition does not say since when it holds", &["pod.condition.fields"], |run| {
        let shown = find(run, |_, shown| shown.is("Ready") == Some(true))?;
        set(run, shown, "Ready", "lastTransitionTime", Value::Null)
    }),
    violated("a condition changed long before it is shown", &["pod.condition.transition-time"], |run| {
        let shown = turn(run, true)?;
        set(run, shown, "Ready", "lastTransitionTime", json!("2025-01-01T00:00:00Z"))
    }),
    violated("the time of PodScheduled moves with a status", &["pod.condition.transition-time"], |run| {
        let shown =
            find(run, |pod, shown| by_kubelet(shown) && pod.last().is_some_and(|last| last.id == shown.id))?;
        set(run, shown, "PodScheduled", "lastTransitionTime", json!("2025-01-01T00:00:00Z"))
    }),
    violated("a pod on a node is not scheduled", &["pod.condition.podscheduled"], |run| {
        let shown = find(run, |_, shown| by_kubelet(shown))?;
        set(run, shown, "PodScheduled", "status", json!("False"))
    }),
    violated("nobody says which container is not ready", &["pod.condition.containersready"], |run| {
        let waits = |shown: &Revision<'_>| {
            let reason = shown.condition("ContainersReady").and_then(|of| of.get("reason")?.as_str());
            by_kubelet(shown) && reason == Some("ContainersNotReady")
        };
        let shown = find(run, |pod, shown| waits(shown) && pod.spec.get("activeDeadlineSeconds").is_none())?;
        set(run, shown, "ContainersReady", "message", json!("some are not ready"))
    }),
    violated(
        "a pod is initialized before its sidecar has started",
        &["pod.condition.initialized"],
        initialized_early,
    ),
    violated("a pod that is over is still ready", &["pod.condition.terminal-not-ready"], |run| {
        let shown =
            find(run, |_, shown| by_kubelet(shown) && matches!(shown.phase(), "Succeeded" | "Failed"))?;
        set(run, shown, "Ready", "status", json!("True"))
    }),
    violated("a container runs in a pod without a network", &["ptsc.true-after-sandbox"], |run| {
        let runs = |pod: &PodLife<'_>, shown: &Revision<'_>| {
            let mut all = pod.containers.iter().filter_map(|of| shown.container(&of.name));
            by_kubelet(shown) && !shown.terminating() && all.any(|status| status.is_running())
        };
        let shown = find(run, |pod, shown| shown.phase() == "Running" && runs(pod, shown))?;
        set(run, shown, "PodReadyToStartContainers", "status", json!("False"))
    }),
];

/// Whether a kubelet wrote the status.
fn by_kubelet(shown: &Revision<'_>) -> bool {
    shown.start_second().is_some() && !shown.gone
}

/// The first revision that meets a condition, of a pod that nothing but its containers ends.
fn find(run: &Timeline<'_>, is: impl Fn(&PodLife<'_>, &Revision<'_>) -> bool) -> Option<EventId> {
    if run.node_was_touched() {
        return None;
    }
    let mut plain = run.pods.iter().filter(|pod| !pod.was_ended_from_outside());
    plain.find_map(|pod| pod.revisions.iter().find(|shown| is(pod, shown)).map(|shown| shown.id))
}

/// The first revision in which Ready turned to a status.
fn turn(run: &Timeline<'_>, to: bool) -> Option<EventId> {
    run.pods.iter().find_map(|pod| {
        let mut changes = pod.changes_of_condition("Ready").skip(1);
        changes.find(|(_, ready)| *ready == to).map(|(shown, _)| shown.id)
    })
}

fn set(
    run: &Timeline<'_>,
    id: EventId,
    kind: &'static str,
    field: &'static str,
    value: Value,
) -> Option<History> {
    Copy::of(run).object(id, |object| change(object, kind, field, value)).done()
}

fn change(object: &mut Value, kind: &str, field: &str, value: Value) {
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(found) = conditions.into_iter().flatten().find(|condition| condition["type"] == kind) {
        found[field] = value;
    }
}

fn lacks(run: &Timeline<'_>, kind: &'static str) -> Option<History> {
    let shown = find(run, |_, shown| by_kubelet(shown) && shown.condition(kind).is_some())?;
    let remove = |object: &mut Value| {
        if let Some(all) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            all.retain(|condition| condition["type"] != kind);
        }
    };
    Copy::of(run).object(shown, remove).done()
}

fn initialized_early(run: &Timeline<'_>) -> Option<History> {
    let early = |pod: &PodLife<'_>, shown: &Revision<'_>| {
        let of = |kind| pod.containers.iter().filter(move |of| of.kind == kind);
        let waits = of(ContainerKind::Main)
            .all(|of| shown.container(&of.name).is_some_and(|status| status.id.is_empty()));
        let started = |name: &str| shown.container(name).and_then(|status| status.started) == Some(true);
        let late = of(ContainerKind::Sidecar).any(|of| !started(&of.name));
        let plain = !pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
        by_kubelet(shown) && plain && waits && late && shown.is("Initialized") == Some(false)
    };
    set(run, find(run, early)?, "Initialized", "status", json!("True"))
}
