//! Events that are missing or wrong, and statuses that mistake one pod, container or instance for another.

use probity_model::timeline::{
    ContainerKind, ContainerLife, KubeEvent, PodLife, ProbeKind, ProbeOutcome, Revision, State,
};
use probity_model::{EventId, History, Stamp, Timeline};
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
    violated("no failed probe is reported", &["report.event.unhealthy"], |run| {
        has_failed(run).then(|| without(run, "Unhealthy"))?
    }),
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
    violated("a kill by a probe is reported as any stop", &["report.event.killing-cause"], unexplained),
    violated(
        "a container that exits is reported as stopped",
        &["report.event.killing-only-stopped"],
        |run| {
            let exited = |pod: &PodLife<'_>, event: &KubeEvent<'_>| {
                let container = event.container.and_then(|name| pod.container(name));
                let ends = container
                    .is_some_and(|of| of.attempts.iter().any(|life| life.exited_by_itself().is_some()));
                event.reason == "Pulled" && ends && run.deletion(pod).is_none() && !has_fatal_probe(container)
            };
            change(run, exited, "/reason", json!("Killing"))
        },
    ),
    violated("no start is reported", &["report.event.started-each-time"], |run| {
        let began = run.lives().iter().any(|life| is_early(run, &life.began));
        began.then(|| without(run, "Started"))?
    }),
    violated("no creation is reported", &["report.event.created-before-started"], |run| {
        without(run, "Created")
    }),
    violated("no back-off is reported", &["report.event.back-off"], |run| {
        let calm = run.containers().filter(|(pod, _)| is_calm(pod, "Warning"));
        let mut shown = calm.flat_map(|(pod, of)| pod.changes_of(&of.name));
        let waits = State::Waiting { reason: "CrashLoopBackOff" };
        let waited = shown.any(|(shown, status)| status.state == waits && is_early(run, &shown.at));
        waited.then(|| without(run, "BackOff"))?
    }),
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
    violated("no image is reported as being on the node", &["report.event.pulled-each-time"], |run| {
        let began = run.lives().iter().any(|life| is_early(run, &life.began));
        began.then(|| without(run, "Pulled"))?
    }),
    violated("a container that wrote nothing has a message", &["report.status.termination-message"], |run| {
        let lives = run.lives().whole().undisturbed();
        let (shown, name) = lives.iter().find_map(|life| {
            let (shown, code) = life.termination().filter(|_| life.is_numbered())?;
            let (_, own) = life.exited_by_itself()?;
            let clear = own > 0 && code == i64::from(own) && shown.start_second().is_some();
            (clear && !life.pod.was_ended_from_outside()).then(|| (shown.id, life.container.name.clone()))
        })?;
        let write = |status: &mut Value| {
            for place in ["/state/terminated", "/lastState/terminated"] {
                if let Some(ended) = status.pointer_mut(place) {
                    ended["message"] = json!("from elsewhere");
                }
            }
        };
        Copy::of(run).status(shown, &name, write).done()
    }),
    violated("the status of a container has no mounts", &["report.status.volume-mounts"], |run| {
        container(
            run,
            |shown, name| shown.container(name)?.is_running().then_some(()),
            |status| status["volumeMounts"] = json!([]),
        )
    }),
    violated("a container has two statuses", &["report.status.one-per-container"], |run| {
        let shown = status(run, |shown| shown.object.pointer("/status/containerStatuses/0").is_some())?;
        let double = |object: &mut Value| {
            if let Some(all) = object["status"]["containerStatuses"].as_array_mut() {
                all.extend(all.first().cloned());
            }
        };
        Copy::of(run).object(shown, double).done()
    }),
];

/// A time that is longer than the time within which an event must come.
const LONG: i64 = 7_000_000;

/// If a pod has about this many events of one type, further events were dropped.
const MANY: usize = 20;

/// Whether few events of a type were recorded for a pod.
fn is_calm(pod: &PodLife<'_>, kind: &str) -> bool {
    pod.events.iter().filter(|event| event.kind == kind).count() < MANY
}

/// Whether something happened long before the case ended.
fn is_early(run: &Timeline<'_>, at: &Stamp) -> bool {
    run.at_least(at, &run.end()) > LONG
}

/// Whether a container has a probe that stops it.
fn has_fatal_probe(container: Option<&ContainerLife<'_>>) -> bool {
    let has = |kind| container.is_some_and(|of| of.probe(kind).is_some());
    has(ProbeKind::Startup) || has(ProbeKind::Liveness)
}

/// Whether a probe certainly failed, long before the end.
fn has_failed(run: &Timeline<'_>) -> bool {
    let lives = run.lives().of_each(&ProbeKind::ALL).asked_alone();
    lives.iter().filter(|life| life.is_unmistaken()).any(|life| {
        life.probes.iter().any(|probe| {
            let early = is_early(run, &probe.at) && life.before_deletion(&probe.at);
            early && life.surely(probe) == ProbeOutcome::Failure
        })
    })
}

/// The events about kills by a liveness probe name no probe.
fn unexplained(run: &Timeline<'_>) -> Option<History> {
    let killed = run.lives().of(ProbeKind::Liveness).undisturbed().whole().only(|life| {
        let plain = life.container.lifecycle("postStart").is_none() && !life.pod.work_is_done(life.container);
        let enough = usize::try_from(life.spec.failures).unwrap_or(usize::MAX);
        let last = life.probes.iter().rev().take(enough);
        let failed = last.filter(|probe| life.surely(probe) == ProbeOutcome::Failure).count() == enough;
        let stop = life.stopped_undeleted().filter(|_| life.only_probes_stop_it());
        let calm = is_calm(life.pod, "Normal") && life.is_unmistaken();
        let reported = calm && life.event("Killing", "failed liveness probe").is_some();
        plain && failed && reported && stop.is_some_and(|stop| is_early(run, &stop.at))
    });
    killed.first()?;
    let by_probe = |event: &&KubeEvent<'_>| event.reason == "Killing" && event.message.contains("probe");
    let all = events(run).filter(by_probe).map(|event| event.id);
    let reworded = |copy: Copy, id| copy.object(id, |object| object["message"] = json!("Stopping container"));
    all.fold(Copy::of(run), reworded).done()
}

/// The events about all pods, in the order of the pods.
fn events<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t KubeEvent<'h>> {
    run.pods.iter().flat_map(|pod| &pod.events)
}

/// The first matching event.
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

/// Changes a field of the first matching event.
fn change<'h>(
    run: &Timeline<'h>,
    is: impl Fn(&PodLife<'h>, &KubeEvent<'h>) -> bool,
    path: &str,
    value: Value,
) -> Option<History> {
    set(run, find(run, is)?.id, path, value)
}

/// Leaves out all events with a reason.
fn without(run: &Timeline<'_>, reason: &str) -> Option<History> {
    let all: Vec<EventId> =
        events(run).filter(|event| event.reason == reason).map(|event| event.id).collect();
    all.first().filter(|_| !run.node_was_touched())?;
    Copy::of(run).without(all).done()
}

/// The first matching status that a kubelet wrote.
fn status(run: &Timeline<'_>, is: impl Fn(&Revision<'_>) -> bool) -> Option<EventId> {
    let mut plain = run.pods.iter().filter(|pod| !pod.was_ended_from_outside());
    plain.find_map(|pod| {
        let mut by_kubelet =
            pod.revisions.iter().filter(|shown| shown.start_second().is_some() && !shown.gone);
        by_kubelet.find(|shown| is(shown)).map(|shown| shown.id)
    })
}

/// Changes the first matching status of a container.
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
