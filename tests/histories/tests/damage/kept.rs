//! Damages to what a deletion must not change, and to a command that must run as written.

use probity_model::timeline::{ContainerKind, ProbeKind};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::Fact;
use serde_json::json;

use super::copy::Copy;
use super::course::{SECOND, courses, of_kind};
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a sidecar is started again while its pod is being deleted",
        &["prober.termination.sidecar-liveness"],
        sidecar_again,
    ),
    violated(
        "a variable in the command of a probe is replaced by something else",
        &["prober.exec.static-env-expansion"],
        other_words,
    ),
    violated(
        "a deletion ends two seconds before the grace period does",
        &["probe.tgps.not-used-on-deletion"],
        deletion_hurries,
    ),
];

/// The last revision of a pod that is being deleted shows its sidecar running, with one more restart.
fn sidecar_again(run: &Timeline<'_>) -> Option<History> {
    let sidecars = of_kind(run, ProbeKind::Liveness)
        .filter(|course| course.container.kind == ContainerKind::Sidecar && course.pod.deleted.is_some());
    let (course, later) = sidecars.into_iter().find_map(|course| {
        let going = course.pod.revisions.iter().filter(|shown| shown.terminating() && !shown.gone);
        let later: Vec<EventId> = going.skip(1).map(|shown| shown.id).collect();
        (!later.is_empty()).then_some((course, later))
    })?;
    let number = course.attempt.number + 1;
    let again = |copy: Copy, id: EventId| {
        copy.status(id, &course.container.name, |status| {
            status["restartCount"] = number.into();
            status["state"] = json!({ "running": { "startedAt": "2026-11-21T10:48:40Z" } });
        })
    };
    later.into_iter().fold(Copy::of(run), again).done()
}

/// A command with a variable in its spec got another value.
fn other_words(run: &Timeline<'_>) -> Option<History> {
    let written = |command: &[String]| command.iter().any(|word| word.contains('$'));
    let course = courses(run).find(|course| match &course.spec.handler {
        probity_model::timeline::Handler::Exec { command } => written(command),
        _ => false,
    })?;
    let ran: Vec<EventId> = course.attempt.commands.iter().map(|command| command.id).collect();
    let change = |copy: Copy, id: EventId| {
        copy.line(id, |line| {
            if let Fact::Exec(seen) = &mut line.fact
                && let Some(last) = seen.command.args.last_mut()
            {
                "another".clone_into(last);
            }
        })
    };
    ran.into_iter().fold(Copy::of(run), change).done()
}

/// The process of a deleted pod that ignores its stop signal is killed two seconds too early.
fn deletion_hurries(run: &Timeline<'_>) -> Option<History> {
    let (id, gone) = courses(run).filter(|course| course.spec.grace.is_some()).find_map(|course| {
        let (stop, ended) = (course.attempt.stop()?, course.attempt.ended.as_ref()?);
        let late = !run.before_deletion(course.pod, &stop.at) && course.attempt.exiting().is_none();
        let until = course.attempt.last_line()?.at.at.lo - 2 * SECOND;
        let after = course.attempt.lines.iter().filter(|line| line.at.at.lo > until);
        let gone: Vec<EventId> = after.map(|line| line.id).collect();
        (late && course.pod.grace() > 3 * SECOND).then_some((ended.id, gone))
    })?;
    Copy::of(run).without(gone).moved([id], -2 * SECOND).done()
}
