//! Damages that a kubelet would leave if it were too slow or did not probe: probes never come, and all changes of
//! readiness come late.

use probity_model::timeline::{ContainerKind, Handler, ProbeKind};
use probity_model::{EventId, History, Timeline};

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::lives::what_follows;
use super::statuses::down;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a container gets no liveness probe by HTTP, ever",
        &["probe.timing.period", "probe.liveness.failure-restarts-container"],
        |run| {
            no_probes(run, ProbeKind::Liveness, |course| matches!(course.spec.handler, Handler::Http { .. }))
        },
    ),
    violated(
        "a container gets no liveness probe by gRPC, ever",
        &["probe.timing.period", "probe.liveness.failure-restarts-container"],
        |run| {
            no_probes(run, ProbeKind::Liveness, |course| matches!(course.spec.handler, Handler::Grpc { .. }))
        },
    ),
    violated(
        "a container gets no liveness probe by TCP, ever",
        &["probe.timing.period", "probe.liveness.failure-restarts-container"],
        |run| {
            no_probes(run, ProbeKind::Liveness, |course| matches!(course.spec.handler, Handler::Tcp { .. }))
        },
    ),
    violated(
        "a sidecar gets no liveness probe, ever",
        &["probe.timing.period", "probe.liveness.failure-restarts-container"],
        |run| no_probes(run, ProbeKind::Liveness, |course| course.container.kind == ContainerKind::Sidecar),
    ),
    violated(
        "a container gets no readiness probe, ever",
        &["probe.timing.period", "probe.readiness.runs-for-life"],
        |run| no_probes(run, ProbeKind::Readiness, |_| true),
    ),
    violated(
        "every turn of readiness is shown three seconds late",
        &[
            "probe.readiness.failure-marks-unready",
            "probe.readiness.recovers",
            "prober.sync.readiness-status-path",
        ],
        late_statuses,
    ),
    violated(
        "a forced end comes a second too early",
        &[
            "probe.tgps.default-inherits",
            "probe.tgps.liveness-override",
            "probe.tgps.startup-override",
            "probe.liveness.kill-is-graceful",
        ],
        |run| forced_end(run, -SECOND),
    ),
    violated(
        "a forced end comes a second and a half too late",
        &[
            "probe.tgps.default-inherits",
            "probe.tgps.liveness-override",
            "probe.tgps.startup-override",
            "probe.liveness.kill-is-graceful",
        ],
        |run| forced_end(run, SECOND * 3 / 2),
    ),
];

/// An instance with records over a long time loses its probes of one kind and the events about them.
fn no_probes(run: &Timeline<'_>, kind: ProbeKind, of: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let long = |course: &Course<'_, '_>| {
        let last = course.probes.last().map_or(0, |probe| probe.at.at.lo);
        let success = course.attempt.first_success(ProbeKind::Startup);
        let through = success.map_or(course.attempt.began.at.hi, |success| success.at.at.hi);
        let first = through + course.spec.initial_delay;
        let lives_on = course.attempt.stop().is_none() && course.attempt.ended.is_none();
        let free = !course.is_gated() || success.is_some();
        lives_on && free && course.attempt.number == 0 && last - first > 2 * course.spec.period + 8 * SECOND
    };
    let alone = |course: &Course<'_, '_>| {
        let listens = course.spec.handler.port();
        let others = run.probes().filter(|(_, container, spec)| {
            container.name == course.container.name
                && spec.kind != kind
                && spec.handler == course.spec.handler
        });
        listens.is_some() && others.count() == 0 && course.container.lifecycle("postStart").is_none()
    };
    let course = of_kind(run, kind).find(|course| long(course) && alone(course) && of(course))?;
    let told = course.pod.events.iter().filter(|event| {
        event.container == Some(course.container.name.as_str())
            && event.message.to_lowercase().contains(&format!("{} probe", kind.word()))
    });
    let told: Vec<EventId> = told.map(|event| event.id).collect();
    Copy::of(run).without(course.exchanges(&course.probes)).without(told).done()
}

/// All revisions of all pods come three seconds later, and one of them shows that a container is no longer ready.
fn late_statuses(run: &Timeline<'_>) -> Option<History> {
    down(run)?;
    let revisions: Vec<EventId> =
        run.pods.iter().flat_map(|pod| pod.revisions.iter().map(|revision| revision.id)).collect();
    Copy::of(run).moved(revisions, 3 * SECOND).done()
}

/// A process that ignored its stop signal ends at another time, later than any stall allows.
fn forced_end(run: &Timeline<'_>, by: i64) -> Option<History> {
    let ignored = |course: &Course<'_, '_>| {
        let waited = course.attempt.stop().zip(course.attempt.ended.as_ref());
        let grace = course.spec.grace.unwrap_or_else(|| course.pod.grace());
        course.attempt.exiting().is_none()
            && course.spec.kind != ProbeKind::Readiness
            && course.pod.deleted.is_none()
            && grace >= 2 * SECOND
            && waited.is_some_and(|(stop, ended)| {
                run.clocks.between(&stop.at, ended).is_some_and(|span| (span.lo - grace).abs() < SECOND / 2)
            })
    };
    let moved = |course: Course<'_, '_>| {
        let (stop, ended) = (course.attempt.stop()?, course.attempt.ended.as_ref()?);
        let noise = run.noise_between(&course.attempt.node, &stop.at, &ended.later(2 * by.max(0)));
        let by = if by > 0 { by + noise } else { by };
        let after = if by > 0 { what_follows(run, &course, ended.id) } else { Vec::new() };
        let in_time = run.history.get(ended.id).is_some_and(|event| event.us + by < run.ended_us);
        let undeleted = run.before_deletion(course.pod, &ended.later(by));
        (in_time && undeleted).then_some((ended.id, after, by))
    };
    let (id, after, by) = courses(run).filter(ignored).find_map(moved)?;
    Copy::of(run).moved([id], by).moved(after, by).done()
}
