//! The harness's own pods: what they have in common, and how to wait until one is ready.

use std::time::{Duration, Instant};

use probity_case::manifest::{RUN, Setting};
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// A pod of the harness is ready by then, or the run does without it.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What one of the harness's own pods runs.
pub(super) struct OwnPod<'a> {
    pub(super) name: &'a str,
    /// The name of the application, for its label.
    pub(super) app: &'a str,
    /// The fields of its only container; name, image and security context are added.
    pub(super) container: Value,
    /// The node that it must run on.
    pub(super) node: Option<&'a str>,
}

impl OwnPod<'_> {
    /// Creates the pod, and waits until it is ready.
    pub(super) async fn create(
        self,
        cluster: &ClusterClient,
        namespace: &str,
        setting: &Setting,
    ) -> Result<Value, ClusterError> {
        let name = self.name;
        cluster.create(namespace, &self.manifest(namespace, setting), false).await?;
        until_ready(cluster, namespace, name).await
    }

    fn manifest(self, namespace: &str, setting: &Setting) -> Value {
        let Self { name, app, mut container, node } = self;
        container["name"] = json!(app.trim_start_matches("probity-"));
        container["image"] = json!(setting.image);
        container["imagePullPolicy"] = json!(setting.pull_policy);
        container["securityContext"] = json!({
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] },
        });
        let mut spec = json!({
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [container],
        });
        if let Some(node) = node {
            // By the name of the node: its host name label may differ.
            let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
            spec["affinity"] = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchFields": [field] }],
            } } });
        }
        let labels = json!({
            RUN: setting.run, "app.kubernetes.io/managed-by": "probity", "app.kubernetes.io/name": app,
        });
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": namespace, "labels": labels },
            "spec": spec,
        })
    }
}

/// Why a pod is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NotReady {
    /// Why, and what to do.
    why: String,
    /// Whether it never will be.
    for_good: bool,
}

impl NotReady {
    fn yet(why: String) -> Self {
        Self { why, for_good: false }
    }

    fn for_good(why: String) -> Self {
        Self { why, for_good: true }
    }
}

/// Waits until a pod is ready, and returns it.
async fn until_ready(cluster: &ClusterClient, namespace: &str, pod: &str) -> Result<Value, ClusterError> {
    let began = Instant::now();
    loop {
        let seen = cluster.get(namespace, "Pod", pod).await?;
        let problem = match &seen {
            Some(seen) if condition(seen, "Ready").is_some_and(|ready| ready.text("/status") == "True") => {
                return Ok(seen.clone());
            }
            Some(seen) => problem(seen),
            None => Some(NotReady::for_good("somebody deleted it".to_owned())),
        };
        if problem.as_ref().is_some_and(|problem| problem.for_good) || began.elapsed() >= READY_WITHIN {
            let unknown =
                || format!("its status shows no problem; see `kubectl -n {namespace} describe pod {pod}`");
            return Err(ClusterError::NotReady {
                pod: pod.to_owned(),
                seconds: began.elapsed().as_secs(),
                why: problem.map_or_else(unknown, |problem| problem.why),
            });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What keeps a pod from being ready, as far as its status shows.
fn problem(pod: &Value) -> Option<NotReady> {
    let status = pod.get("status")?;
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        return Some(NotReady::for_good("it is being deleted".to_owned()));
    }
    if matches!(status.text("/phase"), "Failed" | "Succeeded") {
        let why = format!("it ended ({} {})", status.text("/reason"), status.text("/message"));
        return Some(NotReady::for_good(why));
    }
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(|of| of.text("/status") == "False") {
        let message = scheduled.text("/message");
        let why = format!("no node takes it: {message}; free some room, or name a node with --node");
        return Some(NotReady::yet(why));
    }
    let statuses = status.items("/initContainerStatuses").chain(status.items("/containerStatuses"));
    statuses.filter_map(problem_of_container).next()
}

fn problem_of_container(status: &Value) -> Option<NotReady> {
    let (name, image) = (status.text("/name"), status.text("/image"));
    if let Some(ended) = status.pointer("/state/terminated") {
        let code = ended["exitCode"].as_i64().unwrap_or_default();
        let why = format!("its container {name} ended with status {code} ({})", ended.text("/reason"));
        return (code != 0).then_some(NotReady::yet(why));
    }
    let (reason, message) = (status.text("/state/waiting/reason"), status.text("/state/waiting/message"));
    Some(match reason {
        "ErrImageNeverPull" => NotReady::for_good(format!(
            "the image {image} is not on the node, and it must not be pulled; load it (`probity image load`), or allow it with --pull-policy IfNotPresent"
        )),
        "InvalidImageName" => {
            NotReady::for_good(format!("`{image}` is not a valid image reference; see --image"))
        }
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" => NotReady::yet(format!(
            "the image {image} cannot be pulled ({message}); push it where the nodes can reach it (`probity image push`), or load it (`probity image load`)"
        )),
        "CrashLoopBackOff" => NotReady::yet(format!("its container {name} ends again and again: {message}")),
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            NotReady::yet(format!("its container {name} cannot be started: {reason}: {message}"))
        }
        _ => return None,
    })
}

fn condition<'v>(pod: &'v Value, kind: &str) -> Option<&'v Value> {
    pod.items("/status/conditions").find(|condition| condition.text("/type") == kind)
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
    fn an_image_that_must_not_be_pulled_is_final_and_says_what_to_do() {
        let found = problem(&waiting("ErrImageNeverPull")).unwrap();
        assert!(found.for_good && found.why.contains("probity image load"), "{found:?}");
    }

    #[test]
    fn an_image_that_cannot_be_pulled_may_still_come() {
        let found = problem(&waiting("ImagePullBackOff")).unwrap();
        assert!(!found.for_good && found.why.contains("probity:dev"), "{found:?}");
    }

    #[test]
    fn a_container_that_is_being_created_is_not_a_problem() {
        assert_eq!(problem(&waiting("ContainerCreating")), None);
    }

    #[test]
    fn a_pod_without_a_node_says_what_the_scheduler_says() {
        let unscheduled =
            json!({ "type": "PodScheduled", "status": "False", "message": "0/1 nodes are available" });
        let pod = json!({ "status": { "conditions": [unscheduled] } });
        assert!(problem(&pod).unwrap().why.contains("0/1 nodes"));
    }

    #[test]
    fn an_ended_pod_never_becomes_ready() {
        let pod = json!({ "status": { "phase": "Failed", "reason": "Evicted" } });
        let found = problem(&pod).unwrap();
        assert!(found.for_good && found.why.contains("Evicted"));
    }
}
