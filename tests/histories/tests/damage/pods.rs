//! Pods with changes where nothing should change: in other containers, the address, or the spec.

use probity_model::timeline::{Attempt, ContainerLife, ProbeKind, Revision};
use probity_model::{EventId, History, Timeline};
use serde_json::Value;

use super::copy::Copy;
use super::course::{SECOND, courses, of_kind};
use super::lives::spent;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a sibling of a container that failed is started again",
        &["probe.liveness.failure-restarts-container"],
        sibling_too,
    ),
    violated(
        "the pod of a container that failed gets another address",
        &["probe.liveness.failure-restarts-container"],
        moved_pod,
    ),
    violated(
        "a field of a probe is changed in a pod that exists",
        &["probe.config.immutable"],
        probe_changed,
    ),
    violated("a default is another one", &["probe.config.defaults"], other_default),
];

/// The revisions of a pod after a liveness probe caused the kill and the restart of a container.
fn after_kill(run: &Timeline<'_>) -> Option<Vec<EventId>> {
    let killed = spent(run).filter(|(course, ..)| course.spec.kind == ProbeKind::Liveness);
    killed.map(|(course, ..)| course).find_map(|course| {
        let again = |revision: &&Revision<'_>| {
            let status = revision.container(&course.container.name);
            status.is_some_and(|status| status.restarts > course.attempt.number)
        };
        let ids: Vec<_> = course.pod.revisions.iter().filter(again).map(|revision| revision.id).collect();
        (!ids.is_empty()).then_some(ids)
    })
}

/// Another container of the pod also gets the stop signal, and the status shows its restart.
fn sibling_too(run: &Timeline<'_>) -> Option<History> {
    let (ids, other, signal) = of_kind(run, ProbeKind::Liveness).find_map(|course| {
        let (signal, at) = course.attempt.stop_signal()?;
        let lives = |other: &&ContainerLife<'_>| {
            let one = other.attempts.first();
            let spans =
                one.and_then(Attempt::last_line).is_some_and(|last| last.at.at.lo > at.at.hi + 2 * SECOND);
            let alone = other.attempts.len() == 1 && other.probe(ProbeKind::Liveness).is_none();
            other.name != course.container.name && spans && alone
        };
        let other = course.pod.containers.iter().find(lives)?;
        let number = course.attempt.number;
        let again = |revision: &&Revision<'_>| {
            revision.container(&course.container.name).is_some_and(|status| status.restarts > number)
        };
        let ids: Vec<_> = course.pod.revisions.iter().filter(again).map(|revision| revision.id).collect();
        let deleted = course.pod.deleted.is_some_and(|deleted| deleted < signal);
        (!ids.is_empty() && !deleted).then_some((ids, other, signal))
    })?;
    let again = |status: &mut Value| {
        status["restartCount"] = 1.into();
        status["containerID"] = "containerd://another".into();
    };
    let copy = Copy::of(run).told_to(signal, &other.name, &other.attempts[0]);
    ids.iter().fold(copy, |copy, id| copy.status(*id, &other.name, again)).done()
}

fn moved_pod(run: &Timeline<'_>) -> Option<History> {
    let ids = after_kill(run)?;
    let moved = |object: &mut Value| object["status"]["podIP"] = "10.9.9.9".into();
    ids.iter().fold(Copy::of(run), |copy, id| copy.object(*id, moved)).done()
}

fn probe_changed(run: &Timeline<'_>) -> Option<History> {
    let (course, last) = courses(run).find_map(|course| {
        let last = course.pod.revisions.last()?.id;
        Some((course, last))
    })?;
    let name = course.container.name.clone();
    let field = course.spec.kind.field();
    Copy::of(run).object(last, |object| set_probe(object, &name, field)).done()
}

fn set_probe(object: &mut Value, container: &str, field: &str) {
    let all = object.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
    for spec in all.into_iter().flatten().filter(|spec| spec["name"] == container) {
        spec[field]["periodSeconds"] = 77.into();
    }
}

/// A field that was not set is shown with a value other than its default.
fn other_default(run: &Timeline<'_>) -> Option<History> {
    let (ids, name, field) = courses(run).find_map(|course| {
        let (_, sent) = course.pod.created?;
        let all = sent.pointer("/spec/containers")?.as_array()?;
        let written = all.iter().find(|spec| spec["name"] == course.container.name.as_str())?;
        let unwritten = written.get(course.spec.kind.field())?.get("timeoutSeconds").is_none();
        let ids: Vec<_> = course.pod.revisions.iter().map(|revision| revision.id).collect();
        unwritten.then(|| (ids, course.container.name.clone(), course.spec.kind.field()))
    })?;
    let change = |object: &mut Value| {
        let all = object.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
        for spec in all.into_iter().flatten().filter(|spec| spec["name"] == name.as_str()) {
            spec[field]["timeoutSeconds"] = 2.into();
        }
    };
    ids.iter().fold(Copy::of(run), |copy, id| copy.object(*id, change)).done()
}
