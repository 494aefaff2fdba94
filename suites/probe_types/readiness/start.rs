//! How readiness begins: not ready with a probe, ready at once without one.

use probity_model::clocks::{Order, Stamp};
use probity_model::measure::{Bound, Fit, Interval, seconds};
use probity_model::timeline::{ContainerKind, ContainerLife, PodLife, ProbeKind, Revision, Through};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::evidence::{Life, Outcome, Said, last_event, lives, running};
use crate::reading::services::{Service, services};
use crate::reading::tolerance::NEAR;

const SECOND: i64 = 1_000_000;

/// With a readiness probe a container is not ready before its first success, and gets no traffic.
pub(super) fn starts_unready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let services = services(run);
    for life in &lives(run) {
        seen.applies();
        let first = life.said.iter().find(|said| said.outcome != Outcome::Fail);
        let first = first.map(|said| (said.probe.id, connected(run, life, said)));
        let first = first.as_ref().map(|(id, at)| (*id, at));
        let unready = not_ready_before(run, seen, life, first);
        if life.attempt.number == 0 {
            for service in services.iter().filter(|service| service.selects(life.pod) && !service.publishes) {
                no_traffic_before(run, seen, life, service, first);
            }
        }
        if let (Some((success, _)), Some(revision)) = (first, unready) {
            seen.fine([revision, success]);
        }
    }
}

/// When a probe can have succeeded at the earliest. A connection is made before the target takes it: by the time that the
/// process may have been held up.
fn connected(run: &Timeline<'_>, life: &Life<'_, '_>, said: &Said<'_, '_>) -> Stamp {
    let at = &said.probe.at;
    if !matches!(said.probe.through, Through::Connection(_)) {
        return at.clone();
    }
    let late = NEAR + run.noise_between(&life.attempt.node, &at.earlier(2 * SECOND), at);
    Stamp { clock: at.clock.clone(), at: Interval::new(at.at.lo - late, at.at.hi) }
}

/// Checks all revisions of a life. The last one that shows it running and not ready.
fn not_ready_before(
    run: &Timeline<'_>,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    first: Option<(EventId, &Stamp)>,
) -> Option<EventId> {
    let mut unready = None;
    for (revision, container) in life.revisions().filter(|(_, container)| running(container)) {
        let pod_ready = revision.is("Ready");
        if container.ready || pod_ready == Some(true) {
            let what = format!("container `{}` or its pod was shown ready", life.container.name);
            too_early(run, seen, &what, (revision.id, &revision.at), (life, first));
        } else if pod_ready == Some(false) {
            unready = Some(revision.id);
        }
    }
    unready
}

fn no_traffic_before(
    run: &Timeline<'_>,
    seen: &mut Seen,
    life: &Life<'_, '_>,
    service: &Service<'_, '_>,
    first: Option<(EventId, &Stamp)>,
) {
    let next = life.container.attempts.iter().find(|next| next.number > life.attempt.number);
    let of_this_life =
        |at: &Stamp| next.is_none_or(|next| run.clocks.order(at, &next.began.1) == Order::Before);
    let ready = service.entries(life.pod).into_iter().find(|entry| entry.ready());
    if let Some(entry) = ready.filter(|entry| of_this_life(entry.at)) {
        too_early(run, seen, "an EndpointSlice showed the pod ready", (entry.id, entry.at), (life, first));
    }
    let request = life.attempt.requests.iter().find(|asked| service.brought(life.pod, asked));
    if let Some(request) = request {
        too_early(run, seen, "a request came through a service", (request.id, &request.at), (life, first));
    }
}

/// What must not come before the first success.
fn too_early(
    run: &Timeline<'_>,
    seen: &mut Seen,
    what: &str,
    (id, at): (EventId, &Stamp),
    (life, first): (&Life<'_, '_>, Option<(EventId, &Stamp)>),
) {
    let Some((success, first)) = first else {
        let finding = format!("{what}, though no readiness probe ever succeeded");
        return seen.violated(finding, [life.attempt.began.0, id]);
    };
    match run.clocks.order(at, first) {
        Order::Before => {
            let early = run.clocks.between(at, first).map_or(0, |span| span.lo);
            let finding =
                format!("{what} {} before the first readiness probe that can have succeeded", seconds(early));
            seen.violated(finding, [id, success]);
        }
        Order::TooClose => {
            let why = format!("{what}, too close to the first success to call");
            seen.doubt(Doubt::TooClose, why, [id, success]);
        }
        Order::After => {}
    }
}

/// Without a readiness probe a container is ready as soon as it runs and counts as started.
pub(super) fn absent_means_ready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers() {
        if container.kind != ContainerKind::Init && container.probe(ProbeKind::Readiness).is_none() {
            ready_once_started(run, clause, seen, pod, container);
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
        if now.started != Some(true) || !running(&now) || judged == Some(now.restarts) || revision.gone {
            continue;
        }
        judged = Some(now.restarts);
        let same = |later: &&Revision<'h>| {
            let later = later.container(&container.name);
            later.is_some_and(|later| running(&later) && later.restarts == now.restarts)
        };
        let rest: Vec<&Revision<'h>> = pod.revisions[at..].iter().take_while(same).collect();
        soon_ready(run, clause, seen, (pod, container), &rest);
    }
}

/// The revisions of one life from the first that shows it started.
fn soon_ready<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    seen: &mut Seen,
    (pod, container): (&PodLife<'h>, &ContainerLife<'h>),
    revisions: &[&Revision<'h>],
) {
    let Some(first) = revisions.first() else { return };
    seen.applies();
    let slack = clause.slack_us();
    let from = (first.id, &first.at);
    let quantity = format!("from started=true of `{}` to ready=true", container.name);
    let ready =
        |revision: &&&Revision<'h>| revision.container(&container.name).is_some_and(|seen| seen.ready);
    if let Some(shown) = revisions.iter().find(ready) {
        let bound = Bound::at_most(slack, "the clause's slack");
        if let Some(measured) = run.measure(quantity, &pod.node, from, (shown.id, &shown.at), bound) {
            seen.measure(measured);
        }
        return;
    }
    let Some(last) = revisions.last() else { return };
    let bound = Bound::at_most(slack, "the clause's slack");
    let quantity = format!("{quantity}, which never came until");
    if let Some(measured) = run.measure(quantity, &pod.node, from, (last.id, &last.at), bound)
        && measured.fit() == Fit::Missed
    {
        seen.measure(measured);
    } else if run.ended_us.saturating_sub(first.at.at.hi) > slack
        && pod.last().is_some_and(|revision| revision.id == last.id)
        && run.noise_between(&pod.node, &first.at, &Stamp::harness(run.ended_us)) == 0
    {
        let finding = format!("`{}` was started and not ready when the case ended", container.name);
        seen.violated(finding, [Some(first.id), Some(last.id), last_event(run)].into_iter().flatten());
    }
}
