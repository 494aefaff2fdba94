//! Probes in the wrong order relative to startup, a deletion, or a probe that hangs.

use probity_model::timeline::{ContainerKind, Handler, Probe, ProbeKind};
use probity_model::{History, Timeline};

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a liveness probe comes before startup has succeeded",
        &["probe.startup.gates-liveness"],
        |run| before_startup(run, ProbeKind::Liveness),
    ),
    violated(
        "a readiness probe comes before startup has succeeded",
        &["probe.startup.gates-readiness"],
        |run| before_startup(run, ProbeKind::Readiness),
    ),
    violated(
        "a startup probe comes after startup has succeeded",
        &["probe.startup.stops-after-success"],
        startup_again,
    ),
    violated(
        "the second life has no startup probes",
        &["probe.startup.reruns-on-restart"],
        no_second_startup,
    ),
    violated(
        "a liveness probe comes long after the stop signal of a deletion",
        &["prober.termination.liveness-startup-stop"],
        after_deletion,
    ),
    violated(
        "readiness probes end with the stop signal",
        &["probe.readiness.continues-while-terminating"],
        silent_while_terminating,
    ),
    violated(
        "readiness is asked only seven seconds after startup has succeeded",
        &["probe.startup.readiness-follows-immediately"],
        readiness_waits,
    ),
    violated("one probe waits while another hangs", &["prober.worker.one-per-kind"], waits_for_another),
    violated("an HTTP probe that hangs is waited for twice as long", &["probe.timeout.http"], patient),
    violated(
        "a gRPC probe that hangs is waited for three seconds more",
        &["probe.timeout.tcp-grpc"],
        patient_grpc,
    ),
    violated(
        "a second probe is sent before the one before has ended",
        &["probe.timeout.longer-than-period"],
        overlap,
    ),
];

/// Another probe of the same instance comes before the success of the startup probe.
fn before_startup(run: &Timeline<'_>, kind: ProbeKind) -> Option<History> {
    let (course, early) = of_kind(run, kind).find_map(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup)?;
        let probe = course.probes.first()?;
        let early = course.gap(success, probe) + SECOND / 2;
        (probe.at.at.lo - early > course.attempt.began.at.hi).then_some((course, early))
    })?;
    Copy::of(run).doubled(course.exchange(course.probes[0]), -early).done()
}

fn startup_again(run: &Timeline<'_>) -> Option<History> {
    let (course, success) = of_kind(run, ProbeKind::Startup).find_map(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup)?;
        let lasts = course.attempt.last_line()?.at.at.lo > success.at.at.lo + 3 * course.spec.period;
        lasts.then_some((course, success))
    })?;
    Copy::of(run).doubled(course.exchange(success), course.spec.period).done()
}

fn no_second_startup(run: &Timeline<'_>) -> Option<History> {
    let course = of_kind(run, ProbeKind::Startup).find(|course| {
        course.attempt.number > 0 && course.attempt.first_success(ProbeKind::Startup).is_some()
    })?;
    Copy::of(run).without(course.exchanges(&course.probes)).done()
}

/// The last liveness probe before a deletion comes again, three seconds after the stop signal. Sidecars are left out,
/// because they and their probes continue while the main containers end.
fn after_deletion(run: &Timeline<'_>) -> Option<History> {
    let (course, by) = of_kind(run, ProbeKind::Liveness)
        .filter(|course| course.pod.deleted.is_some() && course.container.kind == ContainerKind::Main)
        .find_map(|course| {
            let (_, stop) = course.attempt.stop_signal()?;
            let lasts = course.attempt.last_line()?.at.at.lo > stop.at.lo + 4 * SECOND;
            let last = course.before(stop).next_back()?;
            let by = stop.at.lo + 3 * SECOND - last.at.at.lo;
            lasts.then_some((course, (last, by)))
        })?;
    Copy::of(run).doubled(course.exchange(by.0), by.1).done()
}

fn silent_while_terminating(run: &Timeline<'_>) -> Option<History> {
    let (course, gone) = of_kind(run, ProbeKind::Readiness)
        .filter(|course| course.pod.deleted.is_some())
        .find_map(|course| {
            let (_, stop) = course.attempt.stop_signal()?;
            let gone: Vec<_> = course.after(stop).collect();
            (gone.len() > 5).then_some((course, gone))
        })?;
    Copy::of(run).without(course.exchanges(&gone)).done()
}

fn readiness_waits(run: &Timeline<'_>) -> Option<History> {
    let (course, gone) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup)?;
        let until = success.at.at.lo + 7 * SECOND;
        let gone: Vec<_> = course.probes.iter().copied().filter(|probe| probe.at.at.lo < until).collect();
        let lasts = course.attempt.last_line()?.at.at.lo > until;
        (course.spec.period > 5 * SECOND && lasts && !gone.is_empty()).then_some((course, gone))
    })?;
    Copy::of(run).without(course.exchanges(&gone)).done()
}

/// All probes of another kind are left out while a probe hangs: at least three probes each time.
fn waits_for_another(run: &Timeline<'_>) -> Option<History> {
    let (course, gone) = courses(run).find_map(|hanging| {
        let hangs = hanging.probes.iter().filter(|probe| hanging.given_up(probe).is_some());
        let spans: Vec<i64> = hangs.map(|probe| probe.at.at.lo).collect();
        let other = courses(run).find(|other| {
            other.pod.uid == hanging.pod.uid && other.spec.kind != hanging.spec.kind && other.probes.len() > 8
        })?;
        let within = |probe: &&&Probe<'_>| {
            let at = probe.at.at.lo;
            spans.iter().any(|from| (*from..from + hanging.spec.timeout).contains(&at))
        };
        let gone: Vec<_> = other.probes.iter().filter(within).copied().collect();
        let long = hanging.spec.timeout > 3 * other.spec.period;
        (gone.len() > 3 && long && other.always_open()).then_some((other, gone))
    })?;
    Copy::of(run).without(course.exchanges(&gone)).done()
}

/// The kubelet closes the connection of a probe that timed out, but later than it did.
fn patient(run: &Timeline<'_>) -> Option<History> {
    give_up_later(run, 0, |course| course.is_http())
}

fn patient_grpc(run: &Timeline<'_>) -> Option<History> {
    give_up_later(run, 3 * SECOND, |course| matches!(course.spec.handler, Handler::Grpc { .. }))
}

fn give_up_later(run: &Timeline<'_>, least: i64, which: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let (course, probe, answer) = courses(run).filter(which).find_map(|course| {
        let end = course.attempt.last_line()?.at.at.lo;
        let (probe, answer) = course.probes.iter().find_map(|probe| {
            let (answer, took) = course.given_up(probe)?;
            let timeout = course.spec.timeout;
            let long = timeout + timeout.max(least) + SECOND;
            let lasts = probe.at.at.lo + long < end && course.goes_on(run, probe.at.at.lo, long);
            (lasts && (took - timeout).abs() < SECOND / 4).then_some((*probe, answer))
        })?;
        Some((course, probe, answer))
    })?;
    let exchange = course.exchange(probe).into_iter().filter(|id| *id >= answer);
    Copy::of(run).moved(exchange, course.spec.timeout.max(least)).done()
}

fn overlap(run: &Timeline<'_>) -> Option<History> {
    let (course, next, early) = courses(run).find_map(|course| {
        let slow = course.probes.windows(2).find(|pair| {
            let took = pair[0].settled.as_ref().map(|settled| settled.at.lo - pair[0].at.at.lo);
            took.is_some_and(|took| took > course.spec.period + SECOND && took < course.spec.timeout)
        })?;
        let (next, ended) = (slow[1], slow[0].settled.as_ref()?.at.lo);
        let early = next.at.at.lo - ended + SECOND;
        (course.spec.timeout > course.spec.period).then_some((course, next, early))
    })?;
    Copy::of(run).moved(course.exchange(next), -early).done()
}
