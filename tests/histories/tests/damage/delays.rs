//! Damages that make first probes too early or much too late, or send probes to the wrong place.

use probity_model::timeline::{Handler, ProbeKind};
use probity_model::{History, Timeline};
use serde_json::json;

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::lives::spent;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a delay shorter than the period is not waited for",
        &["probe.timing.initial-delay-with-larger-period"],
        |run| impatient(run, |course| course.spec.period > course.spec.initial_delay),
    ),
    violated(
        "the delay of a second life is not waited for",
        &["probe.timing.initial-delay-per-restart"],
        |run| impatient(run, |course| course.attempt.number > 0),
    ),
    violated(
        "a delay behind a startup probe is not waited for",
        &["probe.timing.initial-delay-after-startup"],
        early_after_startup,
    ),
    violated(
        "readiness with a long period is asked only a period after the start",
        &["probe.timing.readiness-out-of-period"],
        readiness_in_period,
    ),
    violated(
        "a probe comes while the hook after the start sleeps",
        &["prober.worker.waits-for-container"],
        before_the_hook_ends,
    ),
    violated(
        "a probe with a host goes to its own pod's address",
        &["probe.http.host-field-overrides-address"],
        |run| to_host(run, false),
    ),
    violated(
        "a probe of the loopback comes from elsewhere",
        &["probe.http.host-localhost-hostnetwork"],
        |run| to_host(run, true),
    ),
    violated(
        "the grace period of a probe is taken away from a pod that exists",
        &["probe.tgps.always-honoured-if-present"],
        grace_taken_away,
    ),
    violated(
        "no replica is available while new ones crash",
        &["scenario.rollout.blocked-by-crashloop"],
        none_available,
    ),
];

/// The first probe of an instance comes after a fifth of its delay. (Half of a delay of two seconds may look like the
/// whole delay, because `startedAt` is in whole seconds.)
fn impatient(run: &Timeline<'_>, which: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let own = |course: &Course<'_, '_>| course.probes.iter().all(|probe| probe.is(course.spec.kind));
    let course = courses(run).find(|course| {
        let delayed = course.spec.initial_delay > 0 && !course.is_command() && !course.probes.is_empty();
        delayed && which(course) && own(course) && course.always_open()
    })?;
    let first = course.probes.first()?;
    let early = first.at.at.lo - course.attempt.began.at.hi - course.spec.initial_delay / 5;
    Copy::of(run).moved(course.exchange(first), -early.max(0)).done()
}

/// The first probe comes a second after the startup success, long before its delay has passed, whichever way it is
/// counted.
fn early_after_startup(run: &Timeline<'_>) -> Option<History> {
    let (course, early) = courses(run).find_map(|course| {
        let success = course.attempt.first_success(ProbeKind::Startup)?;
        let took = success.at.at.lo - course.attempt.began.at.hi;
        let telling = took > course.spec.period + 4 * SECOND && course.spec.initial_delay > took + 2 * SECOND;
        let early = course.gap(success, course.probes.first()?) - SECOND;
        telling.then_some((course, early))
    })?;
    Copy::of(run).moved(course.exchange(course.probes[0]), -early).done()
}

/// The first readiness probe comes seven seconds after the opening of its port, and no readiness probe comes before it.
fn readiness_in_period(run: &Timeline<'_>) -> Option<History> {
    let (course, by) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let long = course.spec.initial_delay == 0 && course.spec.period > 9 * SECOND;
        let opened = course.opened().filter(|_| long && !course.is_gated() && !run.node_was_touched())?;
        let own = course.probes.iter().all(|probe| probe.is(ProbeKind::Readiness));
        let (first, next) = (course.probes.first()?, course.probes.get(1));
        let until = opened + 7 * SECOND;
        let alone = next.is_none_or(|next| next.at.at.lo > until) && first.at.at.lo < opened + 2 * SECOND;
        let lasts = course.goes_on(run, opened, 8 * SECOND);
        let by = until - first.at.at.lo;
        (alone && own && lasts && course.attempt.number == 0).then_some((course, by))
    })?;
    // No probe was refused before this time either.
    let told = course.pod.events.iter().filter(|event| {
        event.container == Some(course.container.name.as_str()) && event.reason == "Unhealthy"
    });
    let told: Vec<_> = told.map(|event| event.id).collect();
    Copy::of(run).moved(course.exchange(course.probes[0]), by).without(told).done()
}

fn before_the_hook_ends(run: &Timeline<'_>) -> Option<History> {
    let course = courses(run).find(|course| {
        let hook = course.container.lifecycle("postStart").and_then(|hook| hook.get("sleep"));
        let first = course.attempt.probes.first().map(|probe| probe.id);
        let firsts = course.container.attempts.iter().filter(|attempt| attempt.number == 0).count() == 1;
        hook.is_some()
            && firsts
            && course.attempt.number == 0
            && first == course.probes.first().map(|of| of.id)
    })?;
    let first = course.probes.first()?;
    let early = (first.at.at.lo - course.attempt.began.at.hi) * 3 / 4;
    Copy::of(run).moved(course.exchange(first), -early).done()
}

/// The requests of a probe whose spec has a host arrive at, or come from, another address.
fn to_host(run: &Timeline<'_>, loopback: bool) -> Option<History> {
    let get = run.probes().find_map(|(pod, _, spec)| match &spec.handler {
        Handler::Http { path, port, host: Some(host), .. } if host.starts_with("127.") == loopback => {
            let node = pod.spec.get("hostNetwork").is_some();
            (node == loopback || !loopback).then(|| (path.clone(), port.number))
        }
        _ => None,
    });
    let (path, port) = get?;
    let attempts: Vec<_> = run.containers().flat_map(|(_, container)| &container.attempts).collect();
    let ids = attempts.iter().flat_map(|attempt| {
        let of = attempt.requests.iter().filter(|asked| asked.request.target == path && asked.from_prober());
        of.filter_map(|asked| attempt.connection(asked)).filter(|connection| connection.port() == port)
    });
    let ids: Vec<_> = ids.map(|connection| connection.id).collect();
    if ids.is_empty() {
        return None;
    }
    ids.into_iter()
        .fold(Copy::of(run), |copy, id| {
            super::wire::accepted(copy, id, |accepted| match loopback {
                true => "10.1.2.3:40000".clone_into(&mut accepted.peer),
                false => {
                    let port = accepted.local.rsplit_once(':').map_or("80", |(_, port)| port).to_owned();
                    accepted.local = format!("10.1.2.3:{port}");
                }
            })
        })
        .done()
}

/// The last revision of a pod has no `terminationGracePeriodSeconds` in a probe that was sent with one.
fn grace_taken_away(run: &Timeline<'_>) -> Option<History> {
    let (course, last) = courses(run).find_map(|course| {
        let last = course.pod.revisions.last()?.id;
        (course.spec.grace.is_some() && course.pod.revisions.len() > 2).then_some((course, last))
    })?;
    let (name, field) = (course.container.name.clone(), course.spec.kind.field());
    let copy = Copy::of(run).object(last, |object| {
        for list in ["containers", "initContainers"] {
            let all = object["spec"].get_mut(list).and_then(serde_json::Value::as_array_mut);
            for spec in all.into_iter().flatten().filter(|spec| spec["name"] == name.as_str()) {
                if let Some(probe) = spec[field].as_object_mut() {
                    probe.remove("terminationGracePeriodSeconds");
                }
            }
        }
    });
    copy.done()
}

/// In a case about crashing replicas that never count as available, no old replica is left either.
fn none_available(run: &Timeline<'_>) -> Option<History> {
    let clause = "scenario.rollout.blocked-by-crashloop";
    let written = run.history.header.judges.iter().any(|of| of.as_str() == clause);
    spent(run).find(|_| written)?;
    let last = super::rollouts::deployments(run).last().copied()?;
    let shown = &super::rollouts::object(run, last)?["spec"]["minReadySeconds"];
    (shown.as_i64().unwrap_or_default() > 0).then(|| {
        Copy::of(run).object(last, |object| object["status"]["availableReplicas"] = json!(0)).done()
    })?
}
