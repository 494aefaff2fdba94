//! One pod on a fake node: the statuses and events that a kubelet writes about a pod whose containers start and stay
//! healthy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::Failure;
use crate::api::{Api, now};
use crate::target;

/// From the binding of the pod to the start of its containers, and from there to its first successful probe.
const STARTS_IN: Duration = Duration::from_millis(700);
const READY_IN: Duration = Duration::from_millis(1_000);
/// From the request to delete the pod to the end of its containers.
const ENDS_IN: Duration = Duration::from_millis(300);

/// The stage of a pod's containers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Creating,
    Running,
    Ready,
    Ended,
}

pub(crate) struct FakePod {
    api: Arc<Api>,
    pod: Value,
    host: String,
    address: String,
    began: String,
    /// The status of each condition, and when it last changed.
    conditions: BTreeMap<&'static str, (bool, String)>,
}

impl FakePod {
    pub(crate) fn new(api: Arc<Api>, pod: Value, host: &str) -> Self {
        // An address that is probably unique, and that nobody connects to.
        let address = format!("198.18.{}.{}", fastrand::u8(..), fastrand::u8(1..));
        Self { api, pod, host: host.to_owned(), address, began: now(), conditions: BTreeMap::new() }
    }

    /// Plays the pod until it is gone. A refused request does not end it, because the pod may be gone at any moment.
    pub(crate) async fn play(mut self, mut end: watch::Receiver<bool>, lines: bool) {
        let mut links = Vec::new();
        for (stage, after) in
            [(Stage::Creating, Duration::ZERO), (Stage::Running, STARTS_IN), (Stage::Ready, READY_IN)]
        {
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                _ = end.wait_for(|ends| *ends) => break,
            }
            let _ = self.enter(stage).await;
            if stage == Stage::Running && lines {
                links.extend(target::play_all(&self.pod));
            }
        }
        if end.wait_for(|ends| *ends).await.is_err() {
            return;
        }
        self.event_of_each("Killing", "Stopping container").await;
        tokio::time::sleep(ENDS_IN).await;
        drop(links);
        let _ = self.enter(Stage::Ended).await;
        let options =
            json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": self.at("/metadata/uid") } });
        let _ = self.api.delete(&self.path(), &options).await;
    }

    async fn enter(&mut self, stage: Stage) -> Result<(), Failure> {
        if stage == Stage::Running {
            self.event_of_each("Pulled", "Container image is already present on the machine").await;
            self.event_of_each("Created", "Container created").await;
            self.event_of_each("Started", "Container started").await;
        }
        let patch = json!({ "status": self.status(stage) });
        self.api.patch(&format!("{}/status", self.path()), &patch).await?;
        Ok(())
    }

    fn at(&self, pointer: &str) -> &str {
        self.pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.at("/metadata/namespace"), self.at("/metadata/name"))
    }

    fn status(&mut self, stage: Stage) -> Value {
        let ready = stage == Stage::Ready;
        let conditions = [
            self.condition("PodReadyToStartContainers", stage == Stage::Running || ready, stage),
            self.condition("Initialized", stage != Stage::Creating, stage),
            self.condition("Ready", ready, stage),
            self.condition("ContainersReady", ready, stage),
            self.condition("PodScheduled", true, stage),
        ];
        let phase = match stage {
            Stage::Creating => "Pending",
            Stage::Running | Stage::Ready => "Running",
            Stage::Ended => "Succeeded",
        };
        let mut status = json!({
            "phase": phase,
            "observedGeneration": self.pod["metadata"]["generation"],
            "startTime": self.began,
            "hostIP": self.host,
            "hostIPs": [{ "ip": self.host }],
            "qosClass": self.pod["status"]["qosClass"],
            "conditions": conditions,
            "initContainerStatuses": self.containers("initContainers", stage),
            "containerStatuses": self.containers("containers", stage),
        });
        if stage != Stage::Creating {
            status["podIP"] = json!(self.address);
            status["podIPs"] = json!([{ "ip": self.address }]);
        }
        status
    }

    /// A condition with the time of its last change, and with a reason if it is not met.
    fn condition(&mut self, kind: &'static str, holds: bool, stage: Stage) -> Value {
        let known = self.conditions.entry(kind).or_insert_with(|| (holds, now()));
        if known.0 != holds {
            *known = (holds, now());
        }
        let mut condition = json!({
            "type": kind, "status": if holds { "True" } else { "False" }, "lastTransitionTime": known.1,
            "observedGeneration": self.pod["metadata"]["generation"],
        });
        match kind {
            _ if holds => {}
            "Ready" | "ContainersReady" if stage == Stage::Ended => {
                condition["reason"] = json!("PodCompleted")
            }
            "Ready" | "ContainersReady" => {
                let names: Vec<&str> = names(&self.pod, "containers").collect();
                condition["reason"] = json!("ContainersNotReady");
                condition["message"] =
                    json!(format!("containers with unready status: [{}]", names.join(" ")));
            }
            "Initialized" => condition["reason"] = json!("ContainersNotInitialized"),
            _ => {}
        }
        condition
    }

    fn containers(&self, field: &str, stage: Stage) -> Value {
        let containers = self.pod["spec"][field].as_array().into_iter().flatten();
        containers.map(|container| self.container(container, field == "initContainers", stage)).collect()
    }

    fn container(&self, container: &Value, first: bool, stage: Stage) -> Value {
        let is_init = first && container["restartPolicy"] != "Always";
        let running = matches!(stage, Stage::Running | Stage::Ready) && !is_init;
        let state = match stage {
            Stage::Creating if first => json!({ "waiting": { "reason": "PodInitializing" } }),
            Stage::Creating => json!({ "waiting": { "reason": "ContainerCreating" } }),
            _ if running => json!({ "running": { "startedAt": self.began } }),
            _ => json!({ "terminated": {
                "exitCode": 0, "reason": "Completed", "startedAt": self.began, "finishedAt": now(),
                "containerID": self.id(container),
            } }),
        };
        json!({
            "name": container["name"], "image": container["image"], "imageID": container["image"],
            "state": state, "lastState": {}, "restartCount": 0,
            "started": running, "ready": is_init && stage != Stage::Creating || stage == Stage::Ready,
            "containerID": if stage == Stage::Creating { String::new() } else { self.id(container) },
            "volumeMounts": mounts(container),
        })
    }

    fn id(&self, container: &Value) -> String {
        format!("fake://{}-{}", self.at("/metadata/uid"), container["name"].as_str().unwrap_or_default())
    }

    /// Writes an event about each container.
    async fn event_of_each(&self, reason: &str, message: &str) {
        for field in ["initContainers", "containers"] {
            for name in names(&self.pod, field) {
                self.event(&format!("spec.{field}{{{name}}}"), reason, message).await;
            }
        }
    }

    async fn event(&self, field: &str, reason: &str, message: &str) {
        let (namespace, name) = (self.at("/metadata/namespace"), self.at("/metadata/name"));
        let at = now();
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": reason, "message": message,
            "metadata": { "name": format!("{name}.{:x}", fastrand::u64(..)), "namespace": namespace },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "name": name, "namespace": namespace,
                "uid": self.at("/metadata/uid"), "fieldPath": field,
            },
            "source": { "component": "kubelet", "host": self.at("/spec/nodeName") },
            "reportingComponent": "kubelet", "reportingInstance": self.at("/spec/nodeName"),
            "firstTimestamp": at, "lastTimestamp": at, "count": 1,
        });
        let _ = self.api.create(&format!("/api/v1/namespaces/{namespace}/events"), &event).await;
    }
}

/// The names of the containers in a field of the spec.
fn names<'p>(pod: &'p Value, field: &str) -> impl Iterator<Item = &'p str> {
    let containers = pod["spec"][field].as_array().into_iter().flatten();
    containers.filter_map(|container| container["name"].as_str())
}

/// The mounts of a container, as its status shows them.
fn mounts(container: &Value) -> Value {
    let mount = |mount: &Value| {
        let mut seen = json!({ "name": mount["name"], "mountPath": mount["mountPath"] });
        if mount["readOnly"] == true {
            seen["readOnly"] = json!(true);
            seen["recursiveReadOnly"] = json!("Disabled");
        }
        seen
    };
    container["volumeMounts"].as_array().into_iter().flatten().map(mount).collect()
}
