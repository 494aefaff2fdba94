//! What follows if the runtime cannot start a container, for example because its command does not exist.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::FIRST_BACK_OFF;
use probity_model::timeline::{At, ContainerLife, PodLife, Revision, START_ERRORS, State};
use probity_model::{Seen, Stamp, Timeline};
use serde_json::Value;

use super::statuses::status_of;

/// Judges what follows if the runtime cannot start a container: with restartPolicy Never its pod fails, and otherwise the
/// kubelet retries within the slack. Returns the policy, if it was followed.
pub(crate) fn judge_start_error<'p>(
    run: &Timeline<'_>,
    slack: i64,
    (pod, container): (&'p PodLife<'_>, &'p ContainerLife<'_>),
    seen: &mut Seen,
) -> Option<&'p str> {
    let error = pod.revisions.iter().find(|shown| shows_start_error(shown, container))?;
    let policy = pod.policy_of(container);
    let restarts =
        |shown: &&Revision<'_>| shown.container(&container.name).is_some_and(|status| status.restarts > 0);
    let over = pod.over().filter(|over| run.before_deletion(pod, &over.at));
    let again = pod.revisions.iter().find(restarts);
    let watched = run.watched_for(pod, &error.at, slack);
    let end = || run.to_the_end([error.id]);
    let name = format!("{}/{}", pod.key, container.name);
    match (policy, again, over) {
        ("Never", Some(again), _) => {
            seen.violated(
                format!("{name} could not be started, and the kubelet tried again, although the restartPolicy is Never"),
                [error.id, again.id],
            );
        }
        ("Never", None, Some(over)) => {
            let finding = || {
                format!(
                    "{name} could not be started, and the pod is {}, although the restartPolicy is Never",
                    over.phase()
                )
            };
            let failed = over.phase() == "Failed";
            seen.check(failed, finding, [error.id, over.id]);
            return failed.then_some(policy);
        }
        ("Never", None, None) if watched => {
            seen.violated(
                format!("{name} could not be started, and the pod did not fail, although the restartPolicy is Never"),
                end(),
            );
        }
        ("Never", None, None) => {}
        (_, _, Some(over)) => {
            let finding = format!(
                "{name} could not be started, and the pod became {}, although the restartPolicy is {policy}",
                over.phase()
            );
            seen.violated(finding, [error.id, over.id]);
        }
        (_, Some(again), None) => {
            let quantity = format!("from the first failed start of {name} to the next");
            let bound = Bound::at_most(slack, "the kubelet tries again");
            let fit = seen.within(run, &pod.node, quantity, (error, again), bound);
            return (fit == Some(Fit::Met)).then_some(policy);
        }
        (_, None, None) if watched => {
            seen.violated(
                format!(
                    "{name} could not be started, and the kubelet did not try again, although the restartPolicy is {policy}"
                ),
                end(),
            );
        }
        (_, None, None) => {}
    }
    None
}

/// Judges that the second retry does not come before the first delay of the back-off has passed since the first retry failed.
/// The status shows when it failed, in whole seconds.
pub(crate) fn judge_second_retry(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    seen: &mut Seen,
) {
    let restarts =
        |shown: &Revision<'_>| shown.container(&container.name).map_or(0, |status| status.restarts);
    let Some(again) = pod.revisions.iter().find(|shown| restarts(shown) > 1) else { return };
    let first = pod.revisions.iter().filter(|shown| shown.id < again.id && restarts(shown) == 1);
    let mut ends = first.filter_map(|shown| Some((shown, failed_at(shown, container)?)));
    let Some((failed, second)) = ends.next_back() else { return };
    let failed = At::new(failed.id, Stamp::wall_second(&pod.node, second));
    let delay = seconds(FIRST_BACK_OFF);
    let bound = Bound::at_least(FIRST_BACK_OFF, format!("the back-off of {delay}"));
    let waited = run.measure("", &pod.node, &failed, again, bound);
    match waited.map(|waited| waited.fit()) {
        Some(Fit::Missed) => {
            let finding = format!(
                "{}/{} failed to start twice, but the kubelet tried again within the back-off of {delay}",
                pod.key, container.name
            );
            seen.violated(finding, [failed.id, again.id]);
        }
        Some(Fit::Met) => seen.fine([failed.id, again.id]),
        _ => {}
    }
}

/// When the last attempt to start a container failed, in seconds since 1970, according to a revision.
fn failed_at(shown: &Revision<'_>, container: &ContainerLife<'_>) -> Option<i64> {
    let status = shown.container(&container.name)?;
    let end = if matches!(status.state, State::Waiting { .. }) { status.last } else { status.state };
    match end {
        State::Terminated { reason, finished, .. } if START_ERRORS.contains(&reason) => finished,
        _ => None,
    }
}

/// The first revision that shows that the runtime could not start a container, if it never started it.
pub(crate) fn never_started<'p, 'h>(
    pod: &'p PodLife<'h>,
    container: &ContainerLife<'_>,
) -> Option<&'p Revision<'h>> {
    let other = |status: &Value| {
        let ends = ["state", "lastState"].map(|place| &status[place]["terminated"]);
        let started = |end: &&Value| end["reason"].as_str().is_none_or(|of| !START_ERRORS.contains(&of));
        !status["state"]["running"].is_null() || ends.iter().any(|end| !end.is_null() && started(end))
    };
    let ran = |shown: &Revision<'_>| status_of(shown, &container.name).is_some_and(other);
    let error = pod.revisions.iter().find(|shown| shows_start_error(shown, container))?;
    (container.attempts.is_empty() && !pod.revisions.iter().any(ran)).then_some(error)
}

/// Whether a revision shows that the runtime could not start a container.
fn shows_start_error(shown: &Revision<'_>, container: &ContainerLife<'_>) -> bool {
    status_of(shown, &container.name).is_some_and(|status| {
        let ends = ["state", "lastState"].map(|place| &status[place]["terminated"]);
        let unstarted = |reason: &Value| reason.as_str().is_some_and(|reason| START_ERRORS.contains(&reason));
        ends.iter().any(|end| unstarted(&end["reason"]))
    })
}
