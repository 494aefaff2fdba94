//! How each step of a case is done.

use probity_case::manifest::{self, control_port, object_name, pod_name};
use probity_case::wait;
use probity_case::{
    ChangeOf, EphemeralOf, ExecOf, MetricsOf, NodeVerbOf, PatchOf, ScaleOf, Step, TryOf, UpdateOf,
};
use probity_model::EventId;
use probity_model::history::{Did, Tried};
use probity_script::Changed;
use serde_json::{Value, json};

use crate::director::{Cut, Director};
use crate::error::SendError;
use crate::forward::Door;

impl Director<'_> {
    /// Does one step. A step that fails is entered as failed, and the case goes on: its judges see why.
    pub(crate) async fn step(&mut self, step: &Step, since: EventId) -> Result<(), Cut> {
        let began = self.stage.zero.us();
        let stop = self.stage.stop.clone();
        let done = match step {
            Step::Wait(wait) => return self.wait(wait, since).await,
            Step::Watch(span) => return self.pause(span.0).await,
            Step::Create(of) => {
                return self.place_pod(of.pod.as_deref().unwrap_or(probity_case::ONLY)).await;
            }
            Step::Update(update) => {
                let plans = manifest::placeholders_in(&json!(update.patch), &update.target);
                self.learn_addresses(plans).await?;
                tokio::select! {
                    done = self.update(update) => done,
                    () = stop.cancelled() => return Err(Cut::Interrupted),
                }
            }
            other => tokio::select! {
                done = self.act(other) => done,
                () = stop.cancelled() => return Err(Cut::Interrupted),
            },
        };
        match done {
            Ok(did) => self.book.deed(began, did),
            Err(why) => self.book.deed(began, Did::Failed { what: step.in_words(), why }),
        };
        Ok(())
    }

    async fn act(&mut self, step: &Step) -> Result<Did, String> {
        let namespace = self.setting.namespace.clone();
        let ground = self.stage.ground.clone();
        let words = |error: SendError| error.to_string();
        match step {
            Step::Change(change) => self.change(change).await,
            Step::Reset(of) => {
                self.call(of.pod.as_deref(), of.container.as_deref(), "reset", "/v1/reset").await
            }
            Step::Mark(mark) => {
                let path = format!("/v1/marks/{}", mark.name);
                self.call(mark.pod.as_deref(), mark.container.as_deref(), &mark.name, &path).await
            }
            Step::Delete(of) => {
                let (key, _) = self.means(of.pod.as_deref(), None);
                let name = pod_name(self.case, &key);
                ground.delete(&namespace, "Pod", &name, of.grace).await.map_err(words)?;
                Ok(Did::Deleted { kind: "Pod".to_owned(), name, grace: of.grace })
            }
            Step::Evict(of) => {
                let (key, _) = self.means(of.pod.as_deref(), None);
                let pod = pod_name(self.case, &key);
                ground.evict(&namespace, &pod).await.map_err(words)?;
                Ok(Did::Evicted { pod })
            }
            Step::Patch(patch) => self.patch(patch).await,
            Step::Exec(exec) => self.exec(exec).await,
            Step::Scale(ScaleOf { kind, name, replicas }) => {
                let patch = json!({ "spec": { "replicas": replicas } });
                let name = object_name(self.case, name);
                ground.patch(&namespace, kind, &name, "", &patch).await.map_err(words)?;
                Ok(Did::Scaled { kind: kind.clone(), name, replicas: *replicas })
            }
            Step::Ephemeral(EphemeralOf { pod, container }) => {
                let (key, _) = self.means(pod.as_deref(), None);
                let name = pod_name(self.case, &key);
                let patch = json!({ "spec": { "ephemeralContainers": [container] } });
                self.patched("Pod", name, "ephemeralcontainers", patch).await
            }
            Step::Node(verb) => self.node(verb).await,
            Step::Metrics(of) => self.metrics(of).await,
            Step::Try(trial) => self.try_out(trial).await,
            Step::Wait(_) | Step::Watch(_) | Step::Create(_) | Step::Update(_) => {
                Err("this step is done elsewhere".to_owned())
            }
        }
    }

    /// Opens the control port of a container, or takes it as it is open.
    async fn door(
        &mut self,
        pod: Option<&str>,
        container: Option<&str>,
    ) -> Result<(String, String, &Door), String> {
        let (key, container) = self.means(pod, container);
        let name = pod_name(self.case, &key);
        let port = self.case.pods.get(&key).and_then(|of| control_port(of, &container));
        let port = port.ok_or_else(|| format!("{name}/{container} is no target and has no control port"))?;
        let place = (name.clone(), container.clone());
        if !self.doors.contains_key(&place) {
            let (ground, namespace) = (&self.stage.ground, &self.setting.namespace);
            let door = Door::open(ground, namespace, &name, port, &self.setting.token).await;
            self.doors.insert(place.clone(), door.map_err(|error| error.to_string())?);
        }
        match self.doors.get(&place) {
            Some(door) => Ok((name, container, door)),
            None => Err("the control port was closed".to_owned()),
        }
    }

    async fn change(&mut self, of: &ChangeOf) -> Result<Did, String> {
        let body = serde_json::to_vec(&of.to).map_err(|error| error.to_string())?;
        let (pod, container, door) = self.door(of.pod.as_deref(), of.container.as_deref()).await?;
        let answer = post(door, "/v1/change", body).await?;
        let changed: Changed = serde_json::from_slice(&answer)
            .map_err(|error| format!("the control port's answer cannot be read: {error}"))?;
        Ok(Did::Changed { pod, container, endpoints: changed.endpoints, mono_us: changed.mono_us })
    }

    async fn call(
        &mut self,
        pod: Option<&str>,
        container: Option<&str>,
        call: &str,
        path: &str,
    ) -> Result<Did, String> {
        let (pod, container, door) = self.door(pod, container).await?;
        post(door, path, Vec::new()).await?;
        Ok(Did::Called { pod, container, call: call.to_owned() })
    }

    async fn patch(&mut self, of: &PatchOf) -> Result<Did, String> {
        let subresource = of.subresource.clone().unwrap_or_default();
        match (&of.kind, &of.name) {
            (Some(kind), Some(name)) => {
                let name = object_name(self.case, name);
                self.patched(kind, name, &subresource, of.patch.clone()).await
            }
            _ => {
                let (key, _) = self.means(of.pod.as_deref(), None);
                let name = pod_name(self.case, &key);
                self.patched("Pod", name, &subresource, of.patch.clone()).await
            }
        }
    }

    async fn patched(
        &mut self,
        kind: &str,
        name: String,
        subresource: &str,
        patch: Value,
    ) -> Result<Did, String> {
        let (ground, namespace) = (&self.stage.ground, &self.setting.namespace);
        ground.patch(namespace, kind, &name, subresource, &patch).await.map_err(|error| error.to_string())?;
        Ok(Did::Patched { kind: kind.to_owned(), name, patch, subresource: subresource.to_owned() })
    }

    /// Sends another template of a workload.
    async fn update(&mut self, of: &UpdateOf) -> Result<Did, String> {
        let workload = self.case.workloads.get(&of.workload);
        let workload = workload.ok_or_else(|| format!("the case has no workload `{}`", of.workload))?;
        let patch = manifest::update(workload, of, &self.setting);
        self.patched(workload.kind(), object_name(self.case, &of.workload), "", patch).await
    }

    async fn exec(&mut self, of: &ExecOf) -> Result<Did, String> {
        let (key, container) = self.means(of.pod.as_deref(), of.container.as_deref());
        let pod = pod_name(self.case, &key);
        let command = of.command.clone();
        let exit = self.stage.ground.exec(&self.setting.namespace, &pod, &container, &command).await;
        let exit = Some(exit.map_err(|error| error.to_string())?);
        Ok(Did::Executed { pod, container, command, exit })
    }

    /// Runs the user's command with the verb and the node as its last two arguments.
    async fn node(&mut self, of: &NodeVerbOf) -> Result<Did, String> {
        let command = self.stage.node_command.clone().filter(|command| !command.is_empty());
        let command = command.ok_or("there is no command for verbs on nodes: give one by --node-command")?;
        let node = self.node_of(of.pod.as_deref())?;
        let (program, arguments) = command.split_first().ok_or("the command for verbs on nodes is empty")?;
        let status = tokio::process::Command::new(program)
            .args(arguments)
            .args([of.verb.as_str(), node.as_str()])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .kill_on_drop(true)
            .status()
            .await
            .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
        Ok(Did::NodeVerb { node, verb: of.verb.clone(), exit: status.code() })
    }

    /// The node that a pod of the case was bound to.
    fn node_of(&self, pod: Option<&str>) -> Result<String, String> {
        let (key, _) = self.means(pod, None);
        let pod = pod_name(self.case, &key);
        let node = self.book.look(|history| {
            probity_model::Timeline::of(history)
                .pods
                .iter()
                .find(|life| life.name == pod)
                .map(|life| life.node.clone())
        });
        node.filter(|node| !node.is_empty()).ok_or_else(|| format!("pod {pod} is on no node yet"))
    }

    async fn metrics(&self, of: &MetricsOf) -> Result<Did, String> {
        let node = self.node_of(of.pod.as_deref())?;
        let mut pods: Vec<String> = self.case.pods.keys().map(|key| pod_name(self.case, key)).collect();
        pods.extend(self.book.look(|history| {
            let of = self.case.workloads.keys().flat_map(|key| wait::pods_of(self.case, key, history));
            of.map(str::to_owned).collect::<Vec<_>>()
        }));
        let counts = self.stage.ground.probe_counts(&node, &self.setting.namespace, &pods).await;
        Ok(Did::Measured { node, probes: counts.map_err(|error| error.to_string())? })
    }

    async fn try_out(&mut self, of: &TryOf) -> Result<Did, String> {
        let manifest = manifest::trial(self.case, &of.name, &of.manifest, &self.setting);
        let name = of.name.clone();
        let tried = match self.stage.ground.create(&self.setting.namespace, &manifest, true).await {
            Ok(stored) => Tried { name, manifest, code: 201, message: String::new(), stored },
            Err(SendError::Refused { refusal, .. }) => {
                let message = refusal.to_string();
                Tried { name, manifest, code: refusal.code, message, stored: Value::Null }
            }
            Err(other) => return Err(other.to_string()),
        };
        Ok(Did::Tried(tried))
    }
}

async fn post(door: &Door, path: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
    match door.post(path, body).await {
        Ok((200..=299, answer)) => Ok(answer.to_vec()),
        Ok((status, answer)) => {
            Err(format!("the control port answered {status}: {}", String::from_utf8_lossy(&answer).trim()))
        }
        Err(error) => Err(error.to_string()),
    }
}
