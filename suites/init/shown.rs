//! The status of a pod and its init containers in the API while the pod is initializing.

use std::collections::BTreeSet;

use probity_model::clocks::Order;
use probity_model::measure::Fit;
use probity_model::timeline::{ContainerKind, PodLife, Revision, State};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::inits::{Initializing, initializing, inits, plain_pods};

/// Neither `Ready` nor `ContainersReady` is True before the last init container has succeeded.
pub(super) fn not_ready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for condition in ["Ready", "ContainersReady"] {
        let promised = |shown: &Revision<'_>| shown.is(condition).map(|is| !is);
        judge(run, clause, (condition, &promised), seen, |_, _, seen| seen.facet("condition", condition));
    }
}

/// The phase of a pod is Pending while the pod initializes.
pub(super) fn pending(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let promised = |shown: &Revision<'_>| match shown.phase() {
        "Pending" => Some(true),
        // An init container may have failed for good.
        "Failed" | "" => None,
        _ => Some(false),
    };
    judge(run, clause, ("Pending", &promised), seen, |pod, shown, seen| {
        for of in inits(pod).filter_map(|init| shown.container(&init.name)) {
            match of.state {
                State::Running { .. } => seen.facet("init", "running"),
                State::Waiting { .. } if of.restarts > 0 || !matches!(of.last, State::Unknown) => {
                    seen.facet("init", "waiting");
                }
                _ => {}
            }
        }
    });
}

/// The condition `Initialized` is False during initialization, and True soon after it.
pub(super) fn initialized(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // An init container that exits with 0 because its pod is deleted is shown as one that succeeded.
    let promised =
        |shown: &Revision<'_>| shown.is("Initialized").filter(|is| !is || !shown.terminating()).map(|is| !is);
    judge(run, clause, ("Initialized", &promised), seen, |_, _, seen| seen.facet("initialized", "False"));
    for pod in
        plain_pods(run).filter(|pod| !pod.containers.iter().any(|of| of.kind == ContainerKind::Sidecar))
    {
        let Some(done) = initializing(run, pod).and_then(|of| of.done) else { continue };
        match pod.revisions.iter().find(|shown| shown.is("Initialized") == Some(true)) {
            Some(shown) => {
                let quantity =
                    format!("from the success of the last init container of {} to Initialized", pod.key);
                if seen.within(run, &pod.node, quantity, (done, shown), clause.in_time()) == Some(Fit::Met) {
                    seen.facet("initialized", "True");
                }
            }
            None if run.watched_for(pod, &done.at, clause.slack_us()) => {
                let finding =
                    format!("all init containers of {} succeeded, but Initialized is not True", pod.key);
                seen.violated(finding, run.to_the_end([done.id]));
            }
            None => {}
        }
    }
}

/// A requirement for the status during initialization: its words, and a function that returns whether a revision meets
/// it. The function returns `None` if the revision does not show this part of the status.
type Promise<'p> = (&'p str, &'p dyn Fn(&Revision<'_>) -> Option<bool>);

/// Judges whether each revision that arrived while a pod was initializing shows what is promised, and whether there is
/// any such revision.
fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (what, promised): Promise<'_>,
    seen: &mut Seen,
    facets: impl Fn(&PodLife<'_>, &Revision<'_>, &mut Seen),
) {
    for pod in plain_pods(run) {
        let Some(phase) = initializing(run, pod) else { continue };
        let mut said = false;
        for shown in pod.revisions.iter().filter(|shown| !shown.gone && phase.covers(run, shown)) {
            let events = [phase.began.id, shown.id];
            match promised(shown) {
                // Before the first init container runs, the pod has not begun to initialize.
                Some(true) if run.clocks.order(phase.began, &shown.at) == Order::Before => {
                    said = true;
                    seen.fine(events);
                    facets(pod, shown, seen);
                }
                Some(false) => {
                    seen.violated(
                        format!("{} is initializing, but the status does not show this: {what}", pod.key),
                        events,
                    );
                }
                Some(true) | None => {}
            }
        }
        if !said {
            judge_silence(run, clause, (pod, &phase), what, seen);
        }
    }
}

/// Judges a pod that was initializing for a long time while no revision showed this.
fn judge_silence(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, phase): (&PodLife<'_>, &Initializing<'_, '_>),
    what: &str,
    seen: &mut Seen,
) {
    let Some(done) = phase.done else { return };
    let quantity = format!("how long {} was initializing while the status did not show {what}", pod.key);
    let Some(measured) = run.measure(quantity, &pod.node, phase.began, done, clause.in_time()) else {
        return;
    };
    if measured.fit() == Fit::Missed {
        seen.measure(measured);
    }
}

/// Each init container has its status in `initContainerStatuses`, in the order of the spec, with the usual fields.
pub(super) fn in_their_list(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.containers.iter().any(|of| of.kind != ContainerKind::Main)) {
        let staged: Vec<&str> = pod
            .containers
            .iter()
            .filter(|of| of.kind != ContainerKind::Main)
            .map(|of| of.name.as_str())
            .collect();
        let inits = pod.containers.iter().filter(|of| of.kind == ContainerKind::Init);
        let inits: Vec<&str> = inits.map(|of| of.name.as_str()).collect();
        let mut kinds = BTreeSet::new();
        for shown in &pod.revisions {
            let list = |field: &str| shown.object["status"][field].as_array();
            let (own, others) = (list("initContainerStatuses"), list("containerStatuses"));
            if own.is_none() && others.is_none() {
                continue;
            }
            let wrong = misplaced(&staged, own, others)
                .or_else(|| unready(&inits, own))
                .or_else(|| unstarted(&inits, own));
            if let Some(finding) = wrong {
                seen.violated(format!("the init containers of {}: {finding}", pod.key), [shown.id]);
                continue;
            }
            let fresh = own.into_iter().flatten().filter_map(state_of).filter(|state| kinds.insert(*state));
            let fresh: Vec<_> = fresh.collect();
            if !fresh.is_empty() {
                seen.fine([shown.id]);
            }
            fresh.into_iter().for_each(|state| seen.facet("state", state));
        }
    }
}

/// The first mistake in the two lists of container statuses.
fn misplaced(staged: &[&str], own: Option<&Vec<Value>>, others: Option<&Vec<Value>>) -> Option<String> {
    let names = |list: Option<&Vec<Value>>| -> Vec<String> {
        list.into_iter().flatten().map(|of| of["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (here, there) = (names(own), names(others));
    if here != staged {
        return Some(format!("the status lists {here:?} instead of {staged:?}"));
    }
    if let Some(name) = there.iter().find(|name| staged.contains(&name.as_str())) {
        return Some(format!("the status lists {name} among the main containers"));
    }
    own.into_iter().flatten().find_map(|status| {
        let lacks = |field: &str, is: bool| (!is).then(|| format!("{} has no {field}", status["name"]));
        lacks("image", status["image"].is_string())
            .or_else(|| lacks("ready", status["ready"].is_boolean()))
            .or_else(|| lacks("restartCount", status["restartCount"].is_u64()))
            .or_else(|| lacks("state", state_of(status).is_some()))
    })
}

/// An init container that has completed but is shown as not ready, as a finding.
fn unready(inits: &[&str], own: Option<&Vec<Value>>) -> Option<String> {
    own.into_iter().flatten().find_map(|status| {
        let name = status["name"].as_str().filter(|name| inits.contains(name))?;
        let done = status["state"]["terminated"]["exitCode"] == 0;
        (done && status["ready"] == false).then(|| format!("{name} has completed, but is shown as not ready"))
    })
}

/// An init container that runs but is not shown as started, as a finding. It has neither a startup probe nor a hook, so it
/// has started as soon as it runs.
fn unstarted(inits: &[&str], own: Option<&Vec<Value>>) -> Option<String> {
    own.into_iter().flatten().find_map(|status| {
        let name = status["name"].as_str().filter(|name| inits.contains(name))?;
        let runs = state_of(status) == Some("running");
        (runs && status["started"] != true).then(|| format!("{name} is running, but is not shown as started"))
    })
}

fn state_of(status: &Value) -> Option<&'static str> {
    ["waiting", "running", "terminated"].into_iter().find(|state| status["state"].get(state).is_some())
}
