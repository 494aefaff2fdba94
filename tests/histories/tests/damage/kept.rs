//! What a restart of the kubelet or a deletion must leave as it is, and a command as it is written.

use probity_model::history::Did;
use probity_model::timeline::{ContainerKind, ProbeKind, Revision};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::Fact;
use serde_json::json;

use super::copy::{Copy, revised, write_condition, write_status};
use super::course::{SECOND, courses, of_kind};
use super::statuses::shown;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated(
        "a restart of the kubelet makes a container not ready",
        &["prober.kubelet-restart.status-kept"],
        unready_by_restart,
    ),
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

/// A second after the kubelet was restarted a revision shows a container as not ready, though its probes pass.
fn unready_by_restart(run: &Timeline<'_>) -> Option<History> {
    let restarted = run.deeds.iter().find_map(|(id, deed)| {
        let verb = |verb: &str| verb == "restart-kubelet";
        let did = matches!(&deed.did, Did::NodeVerb { verb: of, exit: Some(0), .. } if verb(of));
        did.then(|| run.history.get(*id).map(|event| event.us))?
    })?;
    let (course, model) = of_kind(run, ProbeKind::Readiness).find_map(|course| {
        let ready = |shown: &(&Revision<'_>, _)| shown.0.at.at.lo < restarted;
        let (model, status) = shown(&course).filter(ready).last()?;
        let passes = course.probes.iter().all(|probe| probe.passed == Some(true));
        let id = model.id;
        (status.ready && passes).then_some((course, id))
    })?;
    let mut event = revised(run.history.get(model)?, restarted + SECOND);
    write_status(&mut event, &course.container.name, |status| status["ready"] = false.into());
    write_condition(&mut event, "Ready", false);
    write_condition(&mut event, "ContainersReady", false);
    Copy::of(run).with(event).done()
}

/// The last revision of a pod that is being deleted counts one more restart of its sidecar, which runs.
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

/// What a command was given where its spec has a variable.
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
