//! What follows if the runtime cannot start a container, for example because its command does not exist.

use probity_model::measure::{Bound, Fit};
use probity_model::timeline::{ContainerLife, PodLife, Revision};
use probity_model::{Seen, Timeline};
use serde_json::Value;

use super::statuses::status_of;

/// The reasons for a container that could not be started: of containerd and CRI-O, and of cri-dockerd.
const START_ERRORS: [&str; 2] = ["StartError", "ContainerCannotRun"];

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
    let end = || [Some(error.id), run.last_event()].into_iter().flatten();
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

/// Whether a revision shows that the runtime could not start a container.
fn shows_start_error(shown: &Revision<'_>, container: &ContainerLife<'_>) -> bool {
    status_of(shown, &container.name).is_some_and(|status| {
        let ends = ["state", "lastState"].map(|place| &status[place]["terminated"]);
        let unstarted = |reason: &Value| reason.as_str().is_some_and(|reason| START_ERRORS.contains(&reason));
        ends.iter().any(|end| unstarted(&end["reason"]))
    })
}
