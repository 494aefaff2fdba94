//! Damages to what the rest of the cluster shows: events, endpoints, and the kubelet's counters.

use probity_model::history::{Deed, Did, Happening, ProbeCount};
use probity_model::timeline::{ContainerKind, ContainerLife, EndpointSeen, KubeEvent, PodLife, ProbeKind};
use probity_model::{EventId, History, Timeline};
use probity_script::answer::{Body, HttpAnswer};
use serde_json::Value;

use super::copy::Copy;
use super::{Damage, violated};

const COUNTS: &[&str] = &["prober.metrics.agree-with-witness"];

pub(crate) const ALL: &[Damage] = &[
    violated(
        "an event of a failed probe has the body of the answer in it",
        &["probe.http.event-omits-body"],
        body_told,
    ),
    violated("an event of a failed probe names another status", &["probe.http.event-omits-body"], |run| {
        message(
            run,
            |event| event.message.contains("statuscode: 500"),
            |message| message.replace("500", "418"),
        )
    }),
    violated(
        "an error of the prober is reported as a failure",
        &[
            "probe.result.unknown-no-action",
            "probe.exec.spawn-error-not-counted",
            "probe.http.port-name-unresolvable",
        ],
        |run| message(run, errored, |_| "Readiness probe failed: no such port".to_owned()),
    ),
    violated(
        "a connection that is refused is reported as an error of the prober",
        &["probe.grpc.wrong-port-fails", "probe.tcp.open-success", "probe.http.targets-pod-ip"],
        |run| {
            let refused = |event: &KubeEvent<'_>| {
                event.message.contains("probe failed") && event.message.contains("refused")
            };
            of_pod(run, asks_nobody, refused, |message| {
                message.replace("probe failed", "probe errored and resulted in unknown state")
            })
        },
    ),
    violated(
        "a redirect that was not followed leaves no warning",
        &["probe.http.redirect.cross-host-not-followed"],
        no_warning,
    ),
    violated(
        "a pod that may not restart is said to be restarted",
        &["probe.startup.failure-never-policy"],
        |run| {
            let gated =
                |pod: &PodLife<'_>| pod.containers.iter().any(|of| of.probe(ProbeKind::Startup).is_some());
            let sidecar =
                |pod: &PodLife<'_>| pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar);
            let never = |pod: &PodLife<'_>| pod.restart_policy() == "Never" && gated(pod) && !sidecar(pod);
            of_pod(
                run,
                never,
                |event| event.reason == "Killing",
                |_| "Container target failed startup probe, will be restarted".to_owned(),
            )
        },
    ),
    violated("an endpoint is ready before its pod", &["probe.readiness.starts-unready"], |run| {
        endpoints(run, EndpointIs::First, true)
    }),
    violated("an endpoint stays ready when its pod is not", &["probe.readiness.endpoint-removed"], |run| {
        endpoints(run, EndpointIs::NotReady, true)
    }),
    violated(
        "an endpoint of a Service that publishes all addresses is not ready",
        &["probe.readiness.publish-not-ready"],
        not_published,
    ),
    violated(
        "an endpoint stays ready while its pod is being deleted",
        &["probe.readiness.no-auto-unready-on-delete", "probe.readiness.drain-without-probe"],
        |run| endpoints(run, EndpointIs::Terminating, true),
    ),
    violated("a counter of the kubelet is short of three probes", COUNTS, |run| {
        counted(run, "successful", -3)
    }),
    violated("a counter of the kubelet has three probes too many", COUNTS, |run| {
        counted(run, "successful", 3)
    }),
    violated("a counter of failed probes has one too many", COUNTS, |run| counted(run, "failed", 1)),
    violated(
        "the counters of a pod that is gone are still there",
        &["prober.termination.remove-all"],
        counters_stay,
    ),
];

fn errored(event: &KubeEvent<'_>) -> bool {
    event.message.contains("probe errored")
}

/// Whether a probe of a pod never reached its target.
fn asks_nobody(pod: &PodLife<'_>) -> bool {
    let heard = |container: &ContainerLife<'_>, port: u16| {
        let mut connections = container.attempts.iter().flat_map(|attempt| &attempt.connections);
        connections.any(|connection| connection.port() == Some(port))
    };
    pod.containers.iter().any(|container| {
        let mut ports = container.probes.iter().filter_map(|spec| spec.handler.port());
        !container.attempts.is_empty() && ports.any(|port| !heard(container, port))
    })
}

fn message(
    run: &Timeline<'_>,
    which: impl Fn(&KubeEvent<'_>) -> bool,
    to: impl Fn(&str) -> String,
) -> Option<History> {
    of_pod(run, |_| true, which, to)
}

/// Changes the message of all events of one kind of the first pod that has any.
fn of_pod(
    run: &Timeline<'_>,
    pods: impl Fn(&PodLife<'_>) -> bool,
    which: impl Fn(&KubeEvent<'_>) -> bool,
    to: impl Fn(&str) -> String,
) -> Option<History> {
    let pod = run.pods.iter().find(|pod| pods(pod) && pod.events.iter().any(&which))?;
    let events = pod.events.iter().filter(|event| which(event));
    events
        .fold(Copy::of(run), |copy, event| {
            copy.object(event.id, |object| object["message"] = to(event.message).into())
        })
        .done()
}

/// The event contains the body from the container's plan.
fn body_told(run: &Timeline<'_>) -> Option<History> {
    let (event, body) = run.containers().find_map(|(pod, container)| {
        let plan = container.plan()?;
        let of_paths = plan.listeners.values().flat_map(|listener| listener.paths.values());
        let body = of_paths.flat_map(|script| script.steps()).find_map(|step| match &step.answer {
            HttpAnswer::Reply(reply) => match &reply.body {
                Some(Body::Text(text)) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        })?;
        let of = |event: &&KubeEvent<'_>| {
            event.message.contains("statuscode") && event.container == Some(container.name.as_str())
        };
        Some((pod.events.iter().find(of)?, body))
    })?;
    Copy::of(run)
        .object(event.id, |object| object["message"] = format!("{}: {body}", event.message).into())
        .done()
}

fn no_warning(run: &Timeline<'_>) -> Option<History> {
    let warnings = run.pods.iter().flat_map(|pod| &pod.events).filter(|event| event.reason == "ProbeWarning");
    let ids: Vec<EventId> = warnings.map(|event| event.id).collect();
    (!ids.is_empty()).then(|| Copy::of(run).without(ids).done())?
}

/// Which endpoints are changed.
#[derive(Clone, Copy, PartialEq)]
enum EndpointIs {
    /// All endpoints in the first revision of a slice that has endpoints.
    First,
    /// The endpoints that are neither ready nor terminating.
    NotReady,
    /// The endpoints of pods that are being deleted.
    Terminating,
}

/// Changes `ready` of the endpoints of Services that do not publish all addresses.
fn endpoints(run: &Timeline<'_>, which: EndpointIs, ready: bool) -> Option<History> {
    let fit = |of: &EndpointSeen<'_>| fits(which, of.ready, of.terminating) && tells(run, which, of.pod);
    let service = run.services.iter().find(|service| {
        let all = service.object.and_then(|object| object.pointer("/spec/publishNotReadyAddresses"));
        let publishes = all.and_then(Value::as_bool).unwrap_or(false);
        !publishes && service.slices.iter().flat_map(|slice| &slice.endpoints).any(fit)
    })?;
    let mut copy = Copy::of(run);
    for slice in &service.slices {
        let any = slice.endpoints.iter().any(fit);
        copy = copy.object(slice.id, |object| {
            for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
                let is = |name: &str| endpoint["conditions"][name].as_bool();
                if fits(which, is("ready"), is("terminating")) {
                    endpoint["conditions"]["ready"] = ready.into();
                    endpoint["conditions"]["serving"] = ready.into();
                }
            }
        });
        if any && which == EndpointIs::First {
            break;
        }
    }
    copy.done()
}

/// Whether an endpoint of a pod is evidence: for readiness, if the pod has a readiness probe; for the termination of
/// the pod, if the termination took a while.
fn tells(run: &Timeline<'_>, which: EndpointIs, name: &str) -> bool {
    let Some(pod) = run.pods.iter().find(|pod| pod.name == name) else { return false };
    match which {
        EndpointIs::First | EndpointIs::NotReady => {
            pod.containers.iter().any(|of| of.probe(ProbeKind::Readiness).is_some())
        }
        EndpointIs::Terminating => {
            let going = pod.revisions.iter().find(|revision| revision.terminating());
            let gone = going.zip(pod.revisions.last());
            gone.is_some_and(|(going, gone)| gone.at.at.lo - going.at.at.lo > 4_000_000)
        }
    }
}

fn fits(which: EndpointIs, ready: Option<bool>, terminating: Option<bool>) -> bool {
    match which {
        EndpointIs::First | EndpointIs::NotReady => ready == Some(false) && terminating != Some(true),
        EndpointIs::Terminating => terminating == Some(true),
    }
}

fn not_published(run: &Timeline<'_>) -> Option<History> {
    let service = run.services.iter().find(|service| {
        let all = service.object.and_then(|object| object.pointer("/spec/publishNotReadyAddresses"));
        all.and_then(Value::as_bool).unwrap_or(false)
    })?;
    let slice =
        service.slices.iter().find(|slice| slice.endpoints.iter().any(|of| of.serving == Some(false)))?;
    Copy::of(run)
        .object(slice.id, |object| {
            for endpoint in object["endpoints"].as_array_mut().into_iter().flatten() {
                endpoint["conditions"]["ready"] = false.into();
            }
        })
        .done()
}

/// The deeds that read a kubelet's counters and found at least one.
fn measured<'t>(run: &'t Timeline<'_>) -> Vec<(EventId, &'t Deed, &'t [ProbeCount])> {
    let read = |(id, deed): &(EventId, &'t Deed)| match &deed.did {
        Did::Measured { probes, .. } => Some((*id, *deed, probes.as_slice())),
        _ => None,
    };
    run.deeds.iter().filter_map(read).collect()
}

/// Changes a counter of the second reading.
fn counted(run: &Timeline<'_>, result: &str, by: i64) -> Option<History> {
    let (id, ..) = *measured(run).get(1)?;
    let copy = Copy::of(run).event(id, |event| {
        if let Happening::Deed(Deed { did: Did::Measured { probes, .. }, .. }) = &mut event.what
            && let Some(count) = probes.iter_mut().find(|count| count.result == result)
        {
            count.count = count.count.saturating_add_signed(by);
        }
    });
    copy.done()
}

/// The last reading has the same counts as the previous reading.
fn counters_stay(run: &Timeline<'_>) -> Option<History> {
    let all = measured(run);
    let (last, ..) = *all.iter().rfind(|(.., probes)| probes.is_empty())?;
    let (.., known) = *all.iter().rfind(|(.., probes)| !probes.is_empty())?;
    let copy = Copy::of(run).event(last, |event| {
        if let Happening::Deed(Deed { did: Did::Measured { probes, .. }, .. }) = &mut event.what {
            *probes = known.to_vec();
        }
    });
    copy.done()
}
