//! Container starts that failed in the runtime. The API counts each of them as an instance, but no process ran, so the
//! target does not count them.
//!
//! A start is known to have failed if the state or the last state of a container has one of [`START_ERRORS`] as its
//! reason. The target of the next instance is then one number behind the API.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::pod::{PodLife, Revision};
use crate::stamp::MOST_COUNTED;

/// The reasons of a container that could not be started: one with containerd and CRI-O, and one with cri-dockerd.
pub const START_ERRORS: [&str; 2] = ["StartError", "ContainerCannotRun"];

/// The lists that contain the statuses of containers.
const LISTS: [&str; 3] = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];

/// Gives the instances of a pod's containers the numbers that the API counts.
pub(super) fn count(pod: &mut PodLife<'_>) {
    let PodLife { revisions, containers, ephemeral, .. } = pod;
    for container in containers.iter_mut().chain(ephemeral) {
        let failed = failed_in(revisions, &container.name);
        for attempt in &mut container.attempts {
            attempt.failed_starts = failed_before(attempt.number, &failed);
            attempt.number = attempt.number.saturating_add(attempt.failed_starts);
        }
    }
}

/// How many starts failed before the process with this number, which counts only processes. `failed` has the numbers of
/// the failed starts as the API counts them.
fn failed_before(process: u64, failed: &BTreeSet<u64>) -> u64 {
    let skip = |count: u64, failed: &u64| {
        if *failed <= process.saturating_add(count) { count.saturating_add(1) } else { count }
    };
    failed.iter().fold(0, skip)
}

/// The numbers of the instances of a container that the runtime could not start. A container that was shown as running
/// did start, whatever its status shows later.
fn failed_in(revisions: &[Revision<'_>], name: &str) -> BTreeSet<u64> {
    let mut failed: BTreeMap<&str, u64> = BTreeMap::new();
    for status in revisions.iter().filter_map(|shown| status_in(shown, name)) {
        let ends = [("state", Some(restarts(status))), ("lastState", number_of_last(status))];
        for (place, number) in ends {
            if let (Some(id), Some(number)) = (failed_id(&status[place]), number) {
                failed.entry(id).or_insert(number);
            }
        }
    }
    if !failed.is_empty() {
        let running =
            revisions.iter().filter_map(|shown| status_in(shown, name)).filter(|status| is_running(status));
        for id in running.filter_map(|status| status["containerID"].as_str()) {
            failed.remove(id);
        }
    }
    failed.into_values().collect()
}

/// The ID of an instance, if its state shows that the runtime could not start it.
fn failed_id(state: &Value) -> Option<&str> {
    let ended = state.get("terminated")?;
    let failed = ended["reason"].as_str().is_some_and(|reason| START_ERRORS.contains(&reason));
    ended["containerID"].as_str().filter(|id| failed && !id.is_empty())
}

/// The number of the instance in the last state. While a container waits, its count is still that of this instance.
fn number_of_last(status: &Value) -> Option<u64> {
    let count = restarts(status);
    if status["state"].get("waiting").is_some() { Some(count) } else { count.checked_sub(1) }
}

fn restarts(status: &Value) -> u64 {
    status["restartCount"].as_u64().unwrap_or(0).min(MOST_COUNTED)
}

fn is_running(status: &Value) -> bool {
    status["state"].get("running").is_some()
}

fn status_in<'h>(shown: &Revision<'h>, name: &str) -> Option<&'h Value> {
    let lists = LISTS.iter().filter_map(|list| shown.object.get("status")?.get(list)?.as_array());
    lists.flatten().find(|status| status.get("name").and_then(Value::as_str) == Some(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stamp::{EventId, Stamp};

    /// The numbers of the failed starts that these statuses of a container show.
    fn failed(statuses: &[Value]) -> Vec<u64> {
        let objects: Vec<Value> = statuses
            .iter()
            .map(|status| {
                let mut status = status.clone();
                status["name"] = json!("app");
                json!({ "status": { "containerStatuses": [status] } })
            })
            .collect();
        let shown = |(at, object)| Revision { id: EventId(at), at: Stamp::harness(0), object, gone: false };
        let revisions: Vec<Revision<'_>> = (0..).zip(&objects).map(shown).collect();
        failed_in(&revisions, "app").into_iter().collect()
    }

    fn ended(id: &str, reason: &str) -> Value {
        json!({ "terminated": { "exitCode": 128, "reason": reason, "containerID": id } })
    }

    fn running(id: &str, restarts: u64, last: &Value) -> Value {
        json!({ "restartCount": restarts, "containerID": id, "state": { "running": {} }, "lastState": last })
    }

    #[test]
    fn the_state_and_the_last_state_show_which_start_failed() {
        let error = ended("c://0", "StartError");
        let waits = json!({ "waiting": { "reason": "RunContainerError" } });
        assert_eq!(failed(&[json!({ "restartCount": 0, "state": error })]), [0]);
        assert_eq!(failed(&[json!({ "restartCount": 0, "state": waits, "lastState": error })]), [0]);
        assert_eq!(failed(&[running("c://1", 1, &error)]), [0]);
        assert_eq!(failed(&[running("c://1", 1, &ended("c://0", "ContainerCannotRun"))]), [0]);
        assert_eq!(
            failed(&[running("c://1", 1, &error), running("c://2", 2, &error)]),
            [0],
            "it is outdated"
        );
        assert!(failed(&[running("c://1", 1, &ended("c://0", "Error"))]).is_empty());
        assert!(failed(&[running("c://0", 0, &json!({})), running("c://1", 1, &error)]).is_empty(), "it ran");
    }

    #[test]
    fn a_process_has_the_first_number_that_no_failed_start_has() {
        let before = |process, failed: &[u64]| failed_before(process, &failed.iter().copied().collect());
        assert_eq!([0, 1, 2].map(|process| before(process, &[])), [0, 0, 0]);
        assert_eq!([0, 1, 2].map(|process| before(process, &[0])), [1, 1, 1]);
        assert_eq!([0, 1, 2].map(|process| before(process, &[1])), [0, 1, 1]);
        assert_eq!([0, 1, 2].map(|process| before(process, &[0, 2])), [1, 2, 2]);
        assert_eq!(before(0, &[0, 1, 2]), 3);
    }
}
