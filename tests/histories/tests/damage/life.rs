//! Damages to the lifecycle of a pod, apart from its probes: states, phases and restarts that contradict the targets'
//! records.

use probity_model::timeline::{PodLife, Revision, State};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::Fact;
use serde_json::{Value, json};

use super::copy::Copy;
use super::course::SECOND;
use super::{Damage, violated};

pub(crate) const ALL: &[Damage] = &[
    violated("a running container is shown as waiting too", &["container.state.three-states"], |run| {
        statuses(
            run,
            |state| matches!(state, State::Running { .. }),
            |status| {
                status["state"]["waiting"] = json!({ "reason": "ContainerCreating" });
            },
        )
    }),
    violated(
        "a container that never ended waits for its back-off",
        &["container.state.waiting-reason"],
        |run| {
            statuses(
                run,
                |state| matches!(state, State::Waiting { reason: "ContainerCreating" }),
                |status| {
                    status["state"]["waiting"]["reason"] = json!("CrashLoopBackOff");
                },
            )
        },
    ),
    violated(
        "a container is shown to have started in the year before",
        &["container.state.running-startedat"],
        |run| {
            statuses(
                run,
                |state| matches!(state, State::Running { .. }),
                |status| {
                    status["state"]["running"]["startedAt"] = json!("2025-01-01T00:00:00Z");
                },
            )
        },
    ),
    violated(
        "the exit status that is shown is another one",
        &["container.state.terminated-fields"],
        other_status,
    ),
    violated(
        "a container runs before its hook is done",
        &["container.state.poststart-before-running"],
        before_its_hook,
    ),
    violated("a phase that does not exist", &["pod.phase.values"], |run| {
        phases(run, |revision| revision.phase() == "Running", "Active")
    }),
    violated("a pod is Running when it is created", &["pod.phase.starts-pending"], |run| {
        phases(run, |revision| revision.phase() == "Pending", "Running")
    }),
    violated("a Running pod becomes Pending again", &["pod.phase.moves-to-running"], |run| {
        let pod = run
            .pods
            .iter()
            .find(|pod| pod.revisions.iter().filter(|of| of.phase() == "Running").count() > 1)?;
        phase(run, pod.last()?.id, "Pending")
    }),
    violated("a Running pod has no node", &["pod.phase.running"], |run| {
        let shown = run.pods.iter().flat_map(|pod| &pod.revisions).find(|of| of.phase() == "Running")?;
        let change = |object: &mut Value| object["spec"]["nodeName"] = Value::Null;
        Copy::of(run).object(shown.id, change).done()
    }),
    violated("a pod that succeeded has failed", &["pod.phase.succeeded"], |run| {
        living(run, "Succeeded")?;
        phases(run, |revision| revision.phase() == "Succeeded", "Failed")
    }),
    violated("a pod that failed has succeeded", &["pod.phase.failed"], |run| {
        living(run, "Failed")?;
        phases(run, |revision| revision.phase() == "Failed", "Succeeded")
    }),
    violated("a pod that is to go is Pending", &["pod.phase.not-kubectl-status"], |run| {
        let going = |revision: &Revision<'_>| revision.terminating() && revision.phase() == "Running";
        let shown = run.pods.iter().flat_map(|pod| &pod.revisions).find(|of| going(of))?;
        phase(run, shown.id, "Pending")
    }),
    violated("a pod that is over runs again", &["pod.phase.terminal-sticky"], |run| {
        let over = run.pods.iter().find_map(|pod| Some((pod.over()?.id, pod.last()?.id)))?;
        (over.0 != over.1).then(|| phase(run, over.1, "Running"))?
    }),
    violated("a pod is gone while it is Running", &["pod.phase.terminal-before-removal"], |run| {
        let gone = run
            .pods
            .iter()
            .filter(|pod| asked_to_go(run, pod))
            .find_map(|pod| pod.revisions.iter().find(|of| of.gone))?;
        phase(run, gone.id, "Running")
    }),
    violated("a pod is shown on another node", &["pod.lifecycle.scheduled-once"], |run| {
        let pod = run.pods.iter().find(|pod| pod.revisions.len() > 3 && !pod.node.is_empty())?;
        let change = |object: &mut Value| object["spec"]["nodeName"] = json!("elsewhere");
        Copy::of(run).object(pod.last()?.id, change).done()
    }),
    violated(
        "a container comes back in a pod with Never",
        &["restart.policy.never", "restart.policy.scope"],
        |run| policy(run, "Always", true, "Never"),
    ),
    violated("a container does not come back in a pod with Always", &["restart.policy.always"], |run| {
        policy(run, "Never", false, "Always")
    }),
    violated("the first restart comes ten seconds late", &["restart.first-crash-immediate"], late_restart),
    violated("a restart gives the container no other ID", &["restart.same-pod-same-node"], same_instance),
];

/// Changes all statuses of the first container with a matching state.
fn statuses(run: &Timeline<'_>, of: fn(&State<'_>) -> bool, change: fn(&mut Value)) -> Option<History> {
    let (name, ids) = run.pods.iter().find_map(|pod| {
        let container = pod.containers.iter().find(|container| !container.attempts.is_empty())?;
        let shown = pod.revisions.iter().filter(|revision| {
            revision
                .container(&container.name)
                .is_some_and(|status| status.restarts == 0 && of(&status.state))
        });
        let ids: Vec<EventId> = shown.map(|revision| revision.id).collect();
        (!ids.is_empty()).then(|| (container.name.clone(), ids))
    })?;
    ids.iter().fold(Copy::of(run), |copy, id| copy.status(*id, &name, change)).done()
}

fn phase(run: &Timeline<'_>, id: EventId, phase: &str) -> Option<History> {
    Copy::of(run).object(id, |object| object["status"]["phase"] = json!(phase)).done()
}

/// Changes the phase in all matching revisions of all pods.
fn phases(run: &Timeline<'_>, of: fn(&Revision<'_>) -> bool, phase: &str) -> Option<History> {
    let ids: Vec<EventId> = run
        .pods
        .iter()
        .flat_map(|pod| &pod.revisions)
        .filter(|revision| of(revision))
        .map(|of| of.id)
        .collect();
    let change = |object: &mut Value| object["status"]["phase"] = json!(phase);
    (!ids.is_empty()).then(|| ids.iter().fold(Copy::of(run), |copy, id| copy.object(*id, change)).done())?
}

/// The revision in which a pod ended in this phase before anyone deleted it.
fn living(run: &Timeline<'_>, phase: &str) -> Option<EventId> {
    run.pods.iter().find_map(|pod| {
        let over = pod.over().filter(|over| over.phase() == phase && run.before_deletion(pod, &over.at))?;
        (pod.spec.get("activeDeadlineSeconds").is_none() && !pod.was_ended_from_outside()).then_some(over.id)
    })
}

fn asked_to_go(run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
    use probity_model::history::Did;
    let own =
        |did: &Did| matches!(did, Did::Deleted { name, grace, .. } if *name == pod.name && *grace != Some(0));
    run.deeds.iter().any(|(_, deed)| own(&deed.did))
        && pod.containers.iter().any(|of| !of.attempts.is_empty())
}

/// The end of a container whose process recorded its exit status is shown with another status.
fn other_status(run: &Timeline<'_>) -> Option<History> {
    let (name, ids) = run.lives().into_iter().find_map(|life| {
        let (revision, _) = life.exiting().and_then(|_| life.termination())?;
        let ended = revision.container(&life.container.name)?;
        let own = ended.restarts == life.number && matches!(ended.state, State::Terminated { .. });
        own.then(|| (life.container.name.clone(), revision.id))
    })?;
    Copy::of(run).status(ids, &name, |status| status["state"]["terminated"]["exitCode"] = json!(77)).done()
}

fn before_its_hook(run: &Timeline<'_>) -> Option<History> {
    let id = run.lives().into_iter().find_map(|life| {
        life.container.lifecycle("postStart")?;
        life.revisions().find(|(_, status)| status.is_running()).map(|(revision, _)| revision.id)
    })?;
    Copy::of(run).moved([id], -4 * SECOND).done()
}

/// Changes the restart policy of a pod with the policy `from`. One of its containers exited by itself and restarted or,
/// without `again`, did not restart.
fn policy(run: &Timeline<'_>, from: &str, again: bool, to: &str) -> Option<History> {
    let pod = run.lives().into_iter().find_map(|life| {
        let crashed = life.exited_by_itself().is_some_and(|(line, _)| life.before_deletion(&line.at));
        let fits = life.container.stays() && life.policy() == from && crashed;
        (fits && life.lives_again().is_some() == again && life.container.spec.get("restartPolicy").is_none())
            .then_some(life.pod)
    })?;
    let ids =
        pod.created.map(|(id, _)| id).into_iter().chain(pod.revisions.iter().map(|revision| revision.id));
    let change = |object: &mut Value| object["spec"]["restartPolicy"] = json!(to);
    ids.fold(Copy::of(run), |copy, id| copy.object(id, change)).done()
}

/// All events of a container's second instance come later.
fn late_restart(run: &Timeline<'_>) -> Option<History> {
    let lines: Vec<EventId> = run.lives().into_iter().find_map(|life| {
        let first = life.number == 0 && life.exited_by_itself().is_some() && life.pod.containers.len() == 1;
        let next = life.next().filter(|_| first)?;
        Some(next.lines.iter().map(|line| line.id).collect())
    })?;
    let began = |line: &mut probity_script::WitnessLine| {
        if let Fact::Started(started) = &mut line.fact {
            started.began_mono_us = started.began_mono_us.saturating_add_signed(10 * SECOND);
        }
    };
    let first = *lines.first()?;
    Copy::of(run).moved(lines, 10 * SECOND).line(first, began).done()
}

fn same_instance(run: &Timeline<'_>) -> Option<History> {
    let (name, old, ids) = run.lives().into_iter().find_map(|life| {
        let before = life.before().filter(|_| life.container.stays())?;
        let old = before
            .revisions()
            .find(|(_, status)| !status.id.is_empty())
            .map(|(_, status)| status.id.to_owned())?;
        let ids: Vec<EventId> = life.revisions().map(|(revision, _)| revision.id).collect();
        (!ids.is_empty()).then(|| (life.container.name.clone(), old, ids))
    })?;
    ids.iter()
        .fold(Copy::of(run), |copy, id| copy.status(*id, &name, |status| status["containerID"] = json!(old)))
        .done()
}
