//! Events that are missing or say something else, and statuses that take one pod, container or instance for another.

use probity_model::timeline::{ContainerKind, KubeEvent, PodLife, ProbeKind, Revision, State};
use probity_model::{EventId, History, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated("an event is about a pod of another UID", &["report.event.object"], |run| {
        change(run, |_, event| event.reason == "Started", "/involvedObject/uid", json!("another"))
    }),
    violated("an event does not say who recorded it", &["report.event.source"], |run| {
        change(run, |_, event| event.reason == "Started", "/source", json!({}))
    }),
    violated("an event of a sidecar has the path of a main container", &["report.event.field-path"], |run| {
        let of_sidecar = |pod: &PodLife<'_>, event: &KubeEvent<'_>| {
            let container = event.container.and_then(|name| pod.container(name));
            event.reason == "Started" && container.is_some_and(|of| of.kind == ContainerKind::Sidecar)
        };
        let found = find(run, of_sidecar)?;
        let path = format!("spec.containers{{{}}}", found.container?);
        set(run, found.id, "/involvedObject/fieldPath", json!(path))
    }),
    violated("a failed probe is no reason for a warning", &["report.event.type"], |run| {
        change(run, |_, event| event.reason == "Unhealthy", "/type", json!("Normal"))
    }),
    violated("an event occurs again, and its count stays", &["report.event.count"], |run| {
        change(run, |_, event| event.count == 2, "/count", json!(1))
    }),
    violated("no failed probe is reported", &["report.event.unhealthy"], |run| without(run, "Unhealthy")),
    violated(
        "a failed probe is reported as one of another kind",
        &["report.event.unhealthy-names-probe"],
        |run| {
            let lacks = |pod: &PodLife<'_>, event: &KubeEvent<'_>| {
                let container = event.container.and_then(|name| pod.container(name));
                event.reason == "Unhealthy"
                    && container.is_some_and(|of| of.probe(ProbeKind::Startup).is_none())
            };
            change(run, lacks, "/message", json!("Startup probe failed: HTTP probe failed"))
        },
    ),
    violated("a kill by a probe is reported as any stop", &["report.event.killing-cause"], |run| {
        let by_probe = |event: &&KubeEvent<'_>| event.reason == "Killing" && event.message.contains("probe");
        let all: Vec<EventId> = events(run).filter(by_probe).map(|event| event.id).collect();
        all.first()?;
        let reworded = |copy: Copy, id: &EventId| {
            copy.object(*id, |object| object["message"] = json!("Stopping container"))
        };
        all.iter().fold(Copy::of(run), reworded).done()
    }),
    violated(
        "a container that exits is reported as stopped",
        &["report.event.killing-only-stopped"],
        |run| {
            let exited = |pod: &PodLife<'_>, event: &KubeEvent<'_>| {
                let container = event.container.and_then(|name| pod.container(name));
                let ends = container
                    .is_some_and(|of| of.attempts.iter().any(|life| life.exited_by_itself().is_some()));
                event.reason == "Pulled" && ends && run.deletion(pod).is_none()
            };
            change(run, exited, "/reason", json!("Killing"))
        },
    ),
    violated("no start is reported", &["report.event.started-each-time"], |run| without(run, "Started")),
    violated("no creation is reported", &["report.event.created-before-started"], |run| {
        without(run, "Created")
    }),
    violated("no back-off is reported", &["report.event.back-off"], |run| without(run, "BackOff")),
    violated("a hook fails that a container does not have", &["report.event.failed-hook"], |run| {
        change(run, |_, event| event.reason == "Unhealthy", "/reason", json!("FailedPostStartHook"))
    }),
    violated("the last instance of a container had another ID", &["report.status.container-id"], |run| {
        let restarted = |shown: &Revision<'_>, name: &str| {
            let status = shown.container(name)?;
            let ended = matches!(status.last, State::Terminated { .. });
            (status.is_running() && ended && status.restarts > 0).then_some(())
        };
        container(run, restarted, |status| {
            status["lastState"]["terminated"]["containerID"] = json!("containerd://another");
        })
    }),
    violated("a running container has no image ID", &["report.status.image"], |run| {
        container(
            run,
            |shown, name| shown.container(name)?.is_running().then_some(()),
            |status| {
                status["imageID"] = json!("");
            },
        )
    }),
    violated("a restart too many is counted", &["report.status.restart-count"], |run| {
        container(
            run,
            |shown, name| shown.container(name)?.is_running().then_some(()),
            |status| {
                status["restartCount"] = json!(status["restartCount"].as_u64().unwrap_or(0) + 7);
            },
        )
    }),
    violated("the list of a pod's addresses begins with another one", &["report.status.addresses"], |run| {
        let shown = status(run, |shown| shown.object.pointer("/status/podIPs/0/ip").is_some())?;
        set(run, shown, "/status/podIPs/0/ip", json!("10.9.9.9"))
    }),
    violated("the start time of a pod changes", &["report.status.start-time"], |run| {
        let last = run.pods.iter().find_map(|pod| {
            let mut by_kubelet =
                pod.revisions.iter().filter(|shown| shown.start_second().is_some() && !shown.gone);
            by_kubelet.next()?;
            by_kubelet.next_back()
        })?;
        set(run, last.id, "/status/startTime", json!("2025-01-01T00:00:00Z"))
    }),
    violated("a pod without resources is of another class", &["report.status.qos-class"], |run| {
        let shown = status(run, |shown| shown.start_second().is_some())?;
        set(run, shown, "/status/qosClass", json!("Guaranteed"))
    }),
    violated("a status is about a generation to come", &["report.status.observed-generation"], |run| {
        let shown = status(run, |shown| shown.object.pointer("/status/observedGeneration").is_some())?;
        set(run, shown, "/status/observedGeneration", json!(9))
    }),
];

/// The events about all pods, in the order of the pods.
fn events<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t KubeEvent<'h>> {
    run.pods.iter().flat_map(|pod| &pod.events)
}

/// The first event of which something is so.
fn find<'t, 'h>(
    run: &'t Timeline<'h>,
    is: impl Fn(&PodLife<'h>, &KubeEvent<'h>) -> bool,
) -> Option<&'t KubeEvent<'h>> {
    if run.node_was_touched() {
        return None;
    }
    run.pods.iter().find_map(|pod| pod.events.iter().find(|event| is(pod, event)))
}

fn set(run: &Timeline<'_>, id: EventId, path: &str, value: Value) -> Option<History> {
    let write = |object: &mut Value| {
        if let Some(place) = object.pointer_mut(path) {
            *place = value;
        }
    };
    Copy::of(run).object(id, write).done()
}

/// Changes a field of the first event of which something is so.
fn change<'h>(
    run: &Timeline<'h>,
    is: impl Fn(&PodLife<'h>, &KubeEvent<'h>) -> bool,
    path: &str,
    value: Value,
) -> Option<History> {
    set(run, find(run, is)?.id, path, value)
}

/// Leaves out all events of a reason.
fn without(run: &Timeline<'_>, reason: &str) -> Option<History> {
    let all: Vec<EventId> =
        events(run).filter(|event| event.reason == reason).map(|event| event.id).collect();
    all.first().filter(|_| !run.node_was_touched())?;
    Copy::of(run).without(all).done()
}

/// The first status that a kubelet wrote of which something is so.
fn status(run: &Timeline<'_>, is: impl Fn(&Revision<'_>) -> bool) -> Option<EventId> {
    let mut plain = run.pods.iter().filter(|pod| !pod.was_ended_from_outside());
    plain.find_map(|pod| {
        let mut by_kubelet =
            pod.revisions.iter().filter(|shown| shown.start_second().is_some() && !shown.gone);
        by_kubelet.find(|shown| is(shown)).map(|shown| shown.id)
    })
}

/// Changes the first status of a container of which something is so.
fn container(
    run: &Timeline<'_>,
    is: impl Fn(&Revision<'_>, &str) -> Option<()>,
    write: impl FnOnce(&mut Value),
) -> Option<History> {
    if run.node_was_touched() {
        return None;
    }
    let (shown, name) = run.pods.iter().find_map(|pod| {
        let mut of = pod.revisions.iter().filter(|shown| shown.start_second().is_some() && !shown.gone);
        of.find_map(|shown| {
            let name = pod.containers.iter().find(|of| is(shown, &of.name).is_some())?;
            Some((shown.id, name.name.clone()))
        })
    })?;
    Copy::of(run).status(shown, &name, write).done()
}
