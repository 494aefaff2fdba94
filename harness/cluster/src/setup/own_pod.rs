//! The harness's own pods: what they have in common, and how to wait until one is ready.

use std::time::{Duration, Instant};

use probity_case::manifest::{RUN, Setting};
use serde_json::{Value, json};

use crate::api::client::ClusterClient;
use crate::error::ClusterError;
use crate::fields::Fields as _;

/// The maximum time to wait until one of the harness's own pods is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The maximum number of reads per second for all of the harness's own pods that start together.
const LOOKS_A_SECOND: u32 = 100;

/// The settings of one of the harness's own pods.
pub(super) struct OwnPod<'a> {
    pub(super) name: &'a str,
    /// The name of the application, for its label.
    pub(super) app: &'a str,
    /// The fields of its only container; name, image and security context are added.
    pub(super) container: Value,
    /// The node on which the pod must run; if absent, any node that the run may use.
    pub(super) node: Option<&'a str>,
    /// How many pods are started together with it, itself included.
    pub(super) of: usize,
}

impl OwnPod<'_> {
    /// Creates the pod, and waits until it is ready.
    pub(super) async fn create(
        self,
        cluster: &ClusterClient,
        namespace: &str,
        setting: &Setting,
    ) -> Result<Value, ClusterError> {
        let (name, every) = (self.name, look_every(self.of));
        cluster.create(namespace, &self.manifest(namespace, setting), false).await?;
        until_ready(cluster, namespace, name, every).await
    }

    /// The manifest of the pod.
    pub(super) fn manifest(self, namespace: &str, setting: &Setting) -> Value {
        let Self { name, app, mut container, node, of: _ } = self;
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
        match node {
            Some(node) => setting.placement.on(node).write(&mut spec),
            None => setting.placement.write(&mut spec),
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

/// Why a pod is not ready, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NotReady {
    Yet(String),
    Ever(String),
}

/// The interval between two reads of a pod that starts together with this many pods, itself included.
fn look_every(pods: usize) -> Duration {
    let pods = u32::try_from(pods).unwrap_or(u32::MAX);
    LOOK_EVERY.max(Duration::from_secs(1).saturating_mul(pods) / LOOKS_A_SECOND)
}

/// Waits until a pod is ready, and returns it.
async fn until_ready(
    cluster: &ClusterClient,
    namespace: &str,
    pod: &str,
    every: Duration,
) -> Result<Value, ClusterError> {
    let began = Instant::now();
    loop {
        let problem = match cluster.get(namespace, "Pod", pod).await? {
            Some(seen) if condition(&seen, "Ready", "True").is_some() => return Ok(seen),
            Some(seen) => problem(&seen),
            None => Some(NotReady::Ever("somebody deleted it".to_owned())),
        };
        let why = match problem {
            Some(NotReady::Ever(why)) => why,
            _ if began.elapsed() < READY_WITHIN => {
                tokio::time::sleep(every).await;
                continue;
            }
            Some(NotReady::Yet(why)) => why,
            None => format!("its status shows no problem; see `kubectl -n {namespace} describe pod {pod}`"),
        };
        let (pod, seconds) = (pod.to_owned(), began.elapsed().as_secs());
        return Err(ClusterError::NotReady { pod, seconds, why });
    }
}

/// The reason why a pod is not ready, if its status shows one.
fn problem(pod: &Value) -> Option<NotReady> {
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        return Some(NotReady::Ever("it is being deleted".to_owned()));
    }
    if matches!(pod.text("/status/phase"), "Failed" | "Succeeded") {
        let why = format!("it ended ({} {})", pod.text("/status/reason"), pod.text("/status/message"));
        return Some(NotReady::Ever(why));
    }
    if let Some(scheduled) = condition(pod, "PodScheduled", "False") {
        let message = scheduled.text("/message");
        let why = format!("no node accepts it: {message}; free some capacity, or choose a node with --node");
        return Some(NotReady::Yet(why));
    }
    let statuses = pod.items("/status/initContainerStatuses").chain(pod.items("/status/containerStatuses"));
    statuses.filter_map(problem_of_container).next()
}

fn problem_of_container(status: &Value) -> Option<NotReady> {
    let (name, image) = (status.text("/name"), status.text("/image"));
    if let Some(ended) = status.pointer("/state/terminated") {
        let code = ended["exitCode"].as_i64().unwrap_or_default();
        let why = format!("its container {name} exited with status {code} ({})", ended.text("/reason"));
        return (code != 0).then_some(NotReady::Yet(why));
    }
    let (reason, message) = (status.text("/state/waiting/reason"), status.text("/state/waiting/message"));
    Some(match reason {
        "ErrImageNeverPull" => NotReady::Ever(format!(
            "the image {image} is not on the node and must not be pulled; load it (`probity image load`), or allow \
             it with --pull-policy IfNotPresent"
        )),
        "InvalidImageName" => {
            NotReady::Ever(format!("`{image}` is not a valid image reference; see --image"))
        }
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" => NotReady::Yet(format!(
            "the image {image} cannot be pulled ({message}); push it where the nodes can reach it (`probity image push`), or load it (`probity image load`)"
        )),
        "CrashLoopBackOff" => NotReady::Yet(format!("its container {name} keeps terminating: {message}")),
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            NotReady::Yet(format!("its container {name} cannot be started: {reason}: {message}"))
        }
        _ => return None,
    })
}

fn condition<'v>(pod: &'v Value, kind: &str, status: &str) -> Option<&'v Value> {
    let mut conditions = pod.items("/status/conditions");
    conditions.find(|condition| condition.text("/type") == kind && condition.text("/status") == status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(reason: &str) -> Value {
        let status = json!({ "name": "recorder", "image": "probity:dev", "state": { "waiting": { "reason": reason, "message": "no" } } });
        json!({ "status": { "phase": "Pending", "containerStatuses": [status] } })
    }

    #[test]
    fn many_pods_together_are_read_no_more_often_than_a_few() {
        assert_eq!(look_every(1), LOOK_EVERY);
        assert_eq!(look_every(1_000), Duration::from_secs(10));
        assert!(look_every(usize::MAX) > LOOK_EVERY);
    }

    #[test]
    fn an_image_that_must_not_be_pulled_is_final_and_says_what_to_do() {
        let Some(NotReady::Ever(why)) = problem(&waiting("ErrImageNeverPull")) else { panic!() };
        assert!(why.contains("probity image load"), "{why}");
    }

    #[test]
    fn an_image_that_cannot_be_pulled_may_still_come() {
        let Some(NotReady::Yet(why)) = problem(&waiting("ImagePullBackOff")) else { panic!() };
        assert!(why.contains("probity:dev"), "{why}");
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
        assert!(matches!(problem(&pod), Some(NotReady::Yet(why)) if why.contains("0/1 nodes")));
    }

    #[test]
    fn an_ended_pod_never_becomes_ready() {
        let pod = json!({ "status": { "phase": "Failed", "reason": "Evicted" } });
        assert!(matches!(problem(&pod), Some(NotReady::Ever(why)) if why.contains("Evicted")));
    }
}
