//! Waits for a pod of ours, and says in words why it does not come.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::connect::Ground;
use crate::error::ClusterError;

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Why a pod is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// Why, with what to do.
    pub why: String,
    /// Whether waiting is of no use.
    pub hopeless: bool,
}

/// Waits until a pod is ready, and returns it.
///
/// # Errors
///
/// If it is not within this time, or never will be: with the reason in words.
pub async fn until_ready(
    ground: &Ground,
    namespace: &str,
    pod: &str,
    within: Duration,
) -> Result<Value, ClusterError> {
    let began = Instant::now();
    loop {
        let seen = ground.get(namespace, "Pod", pod).await?;
        if let Some(seen) = seen.as_ref().filter(|seen| is_ready(seen)) {
            return Ok(seen.clone());
        }
        let hindrance = match &seen {
            Some(seen) => explain(seen),
            None => Some(Hindrance { why: "somebody deleted it".to_owned(), hopeless: true }),
        };
        let hopeless = hindrance.as_ref().is_some_and(|hindrance| hindrance.hopeless);
        if hopeless || began.elapsed() >= within {
            let why = hindrance.map_or_else(
                || format!("nothing is wrong with it as far as its status tells; see `kubectl -n {namespace} describe pod {pod}`"),
                |hindrance| hindrance.why,
            );
            return Err(ClusterError::NotReady {
                pod: pod.to_owned(),
                seconds: began.elapsed().as_secs(),
                why,
            });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Whether a pod's status says that it is ready.
#[must_use]
pub fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| text(ready, "status") == "True")
}

/// What holds a pod up, as far as its status tells.
#[must_use]
pub fn explain(pod: &Value) -> Option<Hindrance> {
    let status = pod.get("status")?;
    if pod.get("metadata").and_then(|of| of.get("deletionTimestamp")).is_some() {
        return Some(Hindrance { why: "it is being deleted".to_owned(), hopeless: true });
    }
    if matches!(text(status, "phase"), "Failed" | "Succeeded") {
        let words = format!("it ended ({} {})", text(status, "reason"), text(status, "message"));
        return Some(Hindrance { why: words, hopeless: true });
    }
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(|of| text(of, "status") == "False") {
        let why = format!(
            "no node takes it: {}; free some room, or name a node with --node",
            text(scheduled, "message")
        );
        return Some(Hindrance { why, hopeless: false });
    }
    ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|list| status.get(list)?.as_array())
        .flatten()
        .find_map(container)
}

fn container(status: &Value) -> Option<Hindrance> {
    let (name, image) = (text(status, "name"), text(status, "image"));
    if let Some(ended) = status.get("state").and_then(|state| state.get("terminated")) {
        let code = ended.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
        let why = format!("its container {name} ended with status {code} ({})", text(ended, "reason"));
        return (code != 0).then_some(Hindrance { why, hopeless: false });
    }
    let waiting = status.get("state")?.get("waiting")?;
    let (reason, message) = (text(waiting, "reason"), text(waiting, "message"));
    let (why, hopeless) = match reason {
        "ErrImageNeverPull" => (
            format!(
                "the image {image} is not on the node, and it must not be pulled; load it (`probity image load`), or allow it with --pull-policy IfNotPresent"
            ),
            true,
        ),
        "InvalidImageName" => (format!("`{image}` is no name of an image; see --image"), true),
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" => (
            format!(
                "the image {image} cannot be pulled ({message}); push it where the nodes can reach it (`probity image push`), or load it (`probity image load`)"
            ),
            false,
        ),
        "CrashLoopBackOff" => (format!("its container {name} ends again and again: {message}"), false),
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            (format!("its container {name} cannot be started: {reason}: {message}"), false)
        }
        _ => return None,
    };
    Some(Hindrance { why, hopeless })
}

fn condition<'v>(pod: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = pod.get("status")?.get("conditions")?.as_array()?;
    conditions.iter().find(|condition| text(condition, "type") == kind)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn waiting(reason: &str) -> Value {
        let status = json!({ "name": "recorder", "image": "probity:dev", "state": { "waiting": { "reason": reason, "message": "no" } } });
        json!({ "status": { "phase": "Pending", "containerStatuses": [status] } })
    }

    #[test]
    fn an_image_that_must_not_be_pulled_is_hopeless_and_says_what_to_do() {
        let hindrance = explain(&waiting("ErrImageNeverPull")).unwrap();
        assert!(hindrance.hopeless && hindrance.why.contains("probity image load"), "{hindrance:?}");
    }

    #[test]
    fn an_image_that_cannot_be_pulled_may_still_come() {
        let hindrance = explain(&waiting("ImagePullBackOff")).unwrap();
        assert!(!hindrance.hopeless && hindrance.why.contains("probity:dev"), "{hindrance:?}");
    }

    #[test]
    fn a_container_that_is_being_created_is_no_hindrance() {
        assert_eq!(explain(&waiting("ContainerCreating")), None);
    }

    #[test]
    fn a_pod_without_a_node_says_what_the_scheduler_says() {
        let unscheduled =
            json!({ "type": "PodScheduled", "status": "False", "message": "0/1 nodes are available" });
        let pod = json!({ "status": { "conditions": [unscheduled] } });
        assert!(explain(&pod).unwrap().why.contains("0/1 nodes"));
    }

    #[test]
    fn an_ended_pod_never_becomes_ready() {
        let pod = json!({ "status": { "phase": "Failed", "reason": "Evicted" } });
        let hindrance = explain(&pod).unwrap();
        assert!(hindrance.hopeless && hindrance.why.contains("Evicted"));
    }
}
