//! What counts before a probe has ever run: not ready, alive, not started.

use probity_model::timeline::{
    Attempt, ContainerLife, ContainerSeen, Handler, PodLife, ProbeKind, ProbeSpec, State,
};
use probity_model::{Clause, EventId, Seen, Timeline};

/// Before its first readiness probe a container is not ready, before its first startup probe not started, and before its
/// first liveness probe nobody kills it for one.
pub(super) fn first_results(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        if spec.initial_delay == 0 || elsewhere(&spec.handler) {
            continue;
        }
        seen.applies();
        for attempt in &container.attempts {
            let first = attempt.probes.iter().find(|probe| probe.can_be(spec.kind));
            let Some(first) = first.filter(|_| attempt.holes.is_empty()) else { continue };
            let Some(at) = run.clocks.on_harness(&first.at) else { continue };
            match spec.kind {
                ProbeKind::Liveness => spared(run, seen, pod, container, attempt, (first.id, at.lo)),
                _ => unproven(seen, pod, container, attempt, spec, (first.id, at.lo)),
            }
        }
    }
}

/// Whether a probe goes to another address, where its coming may not be seen.
fn elsewhere(handler: &Handler) -> bool {
    matches!(handler, Handler::Http { host: Some(_), .. } | Handler::Tcp { host: Some(_), .. })
}

/// Until the first probe, the container is shown as neither ready nor started.
fn unproven(
    seen: &mut Seen,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    spec: &ProbeSpec,
    (first, at): (EventId, i64),
) {
    let flag = |status: &ContainerSeen<'_>| match spec.kind {
        ProbeKind::Readiness => Some(status.ready),
        _ => status.started,
    };
    for revision in pod.revisions.iter().take_while(|revision| revision.at.at.hi < at) {
        let Some(status) = revision.container(&container.name) else { continue };
        let running = matches!(status.state, State::Running { .. });
        if status.restarts != attempt.number || !running {
            continue;
        }
        let word = if spec.kind == ProbeKind::Readiness { "ready" } else { "started" };
        match flag(&status) {
            Some(true) => {
                let finding = format!(
                    "{}/{} is shown as {word} before the first {} probe",
                    pod.key,
                    container.name,
                    spec.kind.word()
                );
                seen.violated(finding, [revision.id, first]);
            }
            Some(false) => seen.fine([revision.id, first]),
            None => {}
        }
    }
}

/// Until the first liveness probe, the container is not killed for one.
fn spared(
    run: &Timeline<'_>,
    seen: &mut Seen,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    attempt: &Attempt<'_>,
    (first, at): (EventId, i64),
) {
    let killing = pod.events.iter().find(|event| {
        event.reason == "Killing"
            && event.container == Some(container.name.as_str())
            && event.message.contains("failed liveness probe")
            && event.at.at.hi < at
    });
    match killing.filter(|_| attempt.number == 0) {
        Some(killing) => {
            let of = format!("{}/{}", pod.key, container.name);
            let finding = format!("{of} was killed for its liveness probe before the first of them");
            seen.violated(finding, [killing.id, first]);
        }
        None if run.clocks.on_harness(&attempt.began).is_some_and(|began| began.hi < at) => {
            seen.fine([attempt.began.id, first]);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests;
