//! The initial readiness: a container with a readiness probe starts as not ready, and a container without one is ready
//! immediately.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Fit, seconds};
use probity_model::timeline::{
    At, ContainerLife, Happened, PodLife, ProbeKind, ProbeOutcome, ProbedLife, Revision,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::began::began;
use crate::reading::kubelet_restarts::{is_proven_restart, takes_over_started};
use crate::reading::readiness::{earliest_success, readiness_lives};
use crate::reading::services::{Service, services};

/// A container with a readiness probe is not ready before the first success of the probe, and gets no traffic.
pub(super) fn starts_unready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in readiness_lives(run) {
        let first = life.probes.iter().find(|probe| life.surely(probe) != ProbeOutcome::Failure);
        let first = first.map(|probe| earliest_success(&life, probe));
        let unready = not_ready_before(seen, &life, first.as_ref());
        if life.number == 0 {
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                no_traffic_before(seen, &life, service, first.as_ref());
            }
        }
        if let (Some(success), Some(revision)) = (first, unready) {
            seen.fine([revision, success.id]);
        }
    }
}

/// Checks all revisions of an instance. Returns the last one that shows it as running and not ready.
fn not_ready_before(seen: &mut Seen, life: &ProbedLife<'_, '_>, first: Option<&At>) -> Option<EventId> {
    let mut unready = None;
    for (revision, container) in life.revisions().filter(|(_, container)| container.is_running()) {
        let pod_ready = revision.is("Ready");
        if container.ready || pod_ready == Some(true) {
            let what = format!("container `{}` or its pod was shown as ready", life.container.name);
            too_early(seen, life, &what, revision, first);
        } else if pod_ready == Some(false) {
            unready = Some(revision.id);
        }
    }
    unready
}

fn no_traffic_before(
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    service: &Service<'_, '_>,
    first: Option<&At>,
) {
    let next = life.container.attempts.iter().find(|next| next.number > life.number);
    let of_this_life =
        |at: &Stamp| next.is_none_or(|next| life.run.clocks.order(at, &next.began) == Order::Before);
    let ready = service.entries(life.pod).into_iter().find(|entry| entry.ready());
    if let Some(entry) = ready.filter(|entry| of_this_life(entry.at)) {
        too_early(seen, life, "an EndpointSlice showed the pod as ready", &entry, first);
    }
    if let Some(request) = life.requests.iter().find(|asked| service.brought(life.pod, asked)) {
        too_early(seen, life, "a Service forwarded a request", request, first);
    }
}

/// Reports something that came before the first success, as it must not.
fn too_early(
    seen: &mut Seen,
    life: &ProbedLife<'_, '_>,
    what: &str,
    early: &impl Happened,
    first: Option<&At>,
) {
    let (id, at) = (early.id(), early.when());
    let Some(first) = first else {
        let finding = format!("{what}, although no readiness probe ever succeeded");
        return seen.violated(finding, [life.began.id, id]);
    };
    match life.run.clocks.order(at, first) {
        Order::Before => {
            let early = seconds(life.run.clocks.between(at, first).map_or(0, |span| span.lo));
            let finding = format!("{what} {early} before any readiness probe can have succeeded");
            seen.violated(finding, [id, first.id]);
        }
        Order::TooClose => {
            let why = format!("{what}, too close to the first success to call");
            seen.doubt(Doubt::TooClose, why, [id, first.id]);
        }
        Order::After => {}
    }
}

/// A container without a readiness probe is ready as soon as it runs and counts as started.
pub(super) fn absent_means_ready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        if container.stays() && container.probe(ProbeKind::Readiness).is_none() {
            unready_before_start(run, clause, (pod, &container.name), seen);
            ready_once_started(run, clause, seen, pod, container);
        }
    }
}

/// A container that has not started is not ready. After a restart, a kubelet resets `started` first, and `ready` in its
/// next status. An early kubelet also does this after a restart of its own.
fn unready_before_start(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &str),
    seen: &mut Seen,
) {
    let forgets = |shown: &Revision<'_>| {
        let earlier = run.deeds.iter().take_while(|(id, _)| *id < shown.id);
        !takes_over_started(run, &pod.node)
            && earlier.into_iter().any(|(_, deed)| is_proven_restart(&deed.did))
    };
    let mut changes = pod.changes_of(container).peekable();
    while let Some((early, now)) = changes.next() {
        if !now.is_running() || !now.ready || now.started != Some(false) {
            continue;
        }
        let known = now.restarts > 0 || forgets(early);
        let next = changes.peek().map(|(next, _)| *next);
        let brief = next.is_some_and(|next| !run.longer_than(pod, (&early.at, &next.at), clause.slack_us()));
        let finding = format!("`{container}` was shown as ready although it had not started");
        if known && next.is_none() && !run.watched_for(pod, &early.at, clause.slack_us()) {
            seen.doubt(
                Doubt::TooShort,
                format!("{finding}; the case ended before the kubelet could correct this"),
                [early.id],
            );
            continue;
        }
        match known && brief {
            true => seen.diverges(finding, [Some(early.id), next.map(|next| next.id)].into_iter().flatten()),
            false => seen.violated(finding, [early.id]),
        }
    }
}

fn ready_once_started<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    pod: &PodLife<'h>,
    container: &ContainerLife<'h>,
) {
    let mut judged = None;
    for (at, revision) in pod.revisions.iter().enumerate() {
        let Some(now) = revision.container(&container.name) else { continue };
        if now.started != Some(true) || !now.is_running() || judged == Some(now.restarts) || revision.gone {
            continue;
        }
        judged = Some(now.restarts);
        let same = |later: &&Revision<'h>| {
            let later = later.container(&container.name);
            later.is_some_and(|later| later.is_running() && later.restarts == now.restarts)
        };
        let rest: Vec<&Revision<'h>> = pod.revisions[at..].iter().take_while(same).collect();
        soon_ready(run, clause, seen, (pod, container), &rest);
    }
}

/// Judges the revisions of one instance, from the first that shows it as started.
fn soon_ready<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    (pod, container): (&PodLife<'h>, &ContainerLife<'h>),
    revisions: &[&Revision<'h>],
) {
    let Some(first) = revisions.first() else { return };
    let number = first.container(&container.name).map_or(0, |status| status.restarts);
    // With a startup probe, the time counts from when the container is shown as started; without one, from the start of
    // the container.
    let gated = container.probe(ProbeKind::Startup).is_some();
    let began = began(run, pod, container, number).filter(|_| !gated);
    let (from, since) = began.map_or((At::of(*first), "started=true"), |began| (began, "the start"));
    let quantity = format!("from {since} of `{}` to ready=true", container.name);
    let ready =
        |revision: &&&Revision<'h>| revision.container(&container.name).is_some_and(|seen| seen.ready);
    if let Some(shown) = revisions.iter().find(ready) {
        seen.within(run, &pod.node, quantity, (&from, *shown), clause.in_time());
        // In a later instance, or after a kubelet restart, the kubelet may first reset `started` to false.
        if !gated || (number == 0 && !run.node_was_touched()) {
            stays_ready(seen, &container.name, revisions);
        }
        return;
    }
    let Some(last) = revisions.last() else { return };
    let quantity = format!("{quantity}, not reached within");
    if let Some(measured) = run.measure(quantity, &pod.node, &from, *last, clause.in_time())
        && measured.fit() == Fit::Missed
    {
        seen.measure(measured);
    } else if run.ended_us.saturating_sub(first.at.at.hi) > clause.slack_us()
        && pod.last().is_some_and(|revision| revision.id == last.id)
        && run.watched_for(pod, &from, clause.slack_us())
    {
        let finding = format!("`{}` was started but not ready when the case ended", container.name);
        seen.violated(finding, run.to_the_end([from.id, last.id]));
    }
}

/// A started container without a readiness probe stays ready until it ends, even if its pod is deleted.
fn stays_ready(seen: &mut Seen, container: &str, revisions: &[&Revision<'_>]) {
    let shown =
        |of: &&&Revision<'_>, ready: bool| of.container(container).is_some_and(|now| now.ready == ready);
    let mut later = revisions.iter().skip_while(|revision| !shown(revision, true));
    let Some(first) = later.next() else { return };
    if let Some(back) = later.find(|revision| shown(revision, false)) {
        let finding =
            format!("`{container}` has no readiness probe, but it was shown as not ready while it ran");
        seen.violated(finding, [first.id, back.id]);
    }
}
