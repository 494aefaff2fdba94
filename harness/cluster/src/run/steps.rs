//! Performs each step of a case.

use bytes::Bytes;
use probity_case::manifest::{self, control_port, name_of_kind, object_name, pod_name};
use probity_case::wait;
use probity_case::{ChangeStep, MetricsStep, ONLY, PatchStep, ScaleStep, Step, TryStep};
use probity_model::history::{Did, Tried};
use probity_model::{EventId, Timeline};
use probity_script::Changed;
use serde_json::{Value, json};

use crate::api::port_forward::PortForwardClient;
use crate::api::probe_counts::ProbeMetrics;
use crate::error::ClusterError;
use crate::run::director::{Director, EarlyEnd};
use crate::run::drain::DrainError;
use crate::setup::node_changes::NodeChangeError;
use crate::setup::node_command::NodeCommandError;

/// The status codes with which the API server reports that the harness may not evict, or that the pod does not exist.
/// With any other code, the API server refuses the eviction itself.
const NOT_EVICTABLE: [u16; 3] = [401, 403, 404];

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("{pod}/{container} is not a target and has no control port")]
    NoControlPort { pod: String, container: String },
    #[error("the control port answered {status}: {}", String::from_utf8_lossy(body).trim())]
    ControlPort { status: u16, body: Bytes },
    #[error("the control port's answer cannot be read: {0}")]
    ControlAnswer(#[from] serde_json::Error),
    #[error("the case has no workload `{0}`")]
    NoWorkload(String),
    #[error("the workload `{0}` has no pod that could be deleted")]
    NoPod(String),
    #[error("pod {0} is not on a node yet")]
    NoNode(String),
    #[error("no step of the case gave node {node} the taint {key}:{effect}")]
    NotTainted { node: String, key: String, effect: String },
    #[error(transparent)]
    Node(#[from] NodeCommandError),
    #[error(transparent)]
    NodeChange(#[from] NodeChangeError),
    #[error(transparent)]
    Drain(#[from] DrainError),
}

impl Director<'_> {
    /// Does one step. A step that fails is recorded as failed, and the case continues: the judges see why.
    pub(super) async fn step(&mut self, step: &Step, since: EventId) -> Result<(), EarlyEnd> {
        let began_us = self.run.clock.us();
        let stop = self.run.stop.clone();
        match step {
            Step::Wait(wait) => return self.wait(wait, since).await,
            Step::Watch(span) => return self.watch(span.0).await,
            Step::Create(of) => return self.place_pod(of.pod.as_deref().unwrap_or(ONLY)).await,
            Step::Update(update) => {
                let placeholders = manifest::placeholders_in(&json!(update.patch), &update.target);
                self.learn_addresses(placeholders).await?;
            }
            _ => {}
        }
        let changed = self.change_node(step).await;
        let done = match changed {
            Some(Err(error)) => Err(error),
            Some(Ok(Some(did))) => Ok(Some(did)),
            _ => tokio::select! {
                done = self.act(step) => done,
                () = stop.cancelled() => return Err(EarlyEnd::Interrupted),
            },
        };
        let failed = |error: StepError| Did::Failed { what: step.in_words(), why: error.to_string() };
        if let Some(did) = done.unwrap_or_else(|error| Some(failed(error))) {
            // An action without a visible effect is a fault of the run.
            let unproven = did.unproven().map(|why| Did::Failed { what: step.in_words(), why });
            self.history.deed(began_us, did);
            unproven.into_iter().for_each(|failed| self.history.deed(began_us, failed));
        }
        Ok(())
    }

    /// Does a step that does not wait. `None` if the step waits.
    async fn act(&mut self, step: &Step) -> Result<Option<Did>, StepError> {
        let namespace = self.setting.namespace.clone();
        let cluster = self.run.cluster.clone();
        let case = self.case;
        let pod_of = |pod: &Option<String>| pod_name(case, pod.as_deref().unwrap_or(ONLY));
        let did = match step {
            Step::Wait(_)
            | Step::Watch(_)
            | Step::Create(_)
            | Step::Taint(_)
            | Step::Untaint(_)
            | Step::Cordon(_)
            | Step::Advertise(_) => {
                return Ok(None);
            }
            Step::Drain(of) => self.drain(of).await?,
            Step::Change(change) => self.change(change).await?,
            Step::Reset(of) => self.call(&of.pod, &of.container, "reset", "/v1/reset").await?,
            Step::Mark(mark) => {
                let path = format!("/v1/marks/{}", mark.name);
                self.call(&mark.pod, &mark.container, &mark.name, &path).await?
            }
            Step::Delete(of) => {
                let name = match &of.workload {
                    Some(key) => self.oldest_of(key)?,
                    None => pod_of(&of.pod),
                };
                cluster.delete(&namespace, "Pod", &name, of.grace).await?;
                Did::Deleted { kind: "Pod".to_owned(), name, grace: of.grace }
            }
            Step::Evict(of) => {
                let pod = match &of.workload {
                    Some(key) => self.oldest_of(key)?,
                    None => pod_of(&of.pod),
                };
                match cluster.evict(&namespace, &pod).await {
                    Ok(()) => Did::Evicted { pod, refused: None, code: None, cause: None },
                    // A refusal because of a budget is a valid answer and not a fault.
                    Err(error) => match error.refusal() {
                        Some(refusal) if !NOT_EVICTABLE.contains(&refusal.code) => {
                            let cause = Some(refusal.cause.clone()).filter(|cause| !cause.is_empty());
                            let code = Some(refusal.code);
                            let did = Did::Evicted { pod, refused: Some(error.to_string()), code, cause };
                            if did.is_throttled() {
                                return Err(error.into());
                            }
                            did
                        }
                        _ => return Err(error.into()),
                    },
                }
            }
            Step::Patch(PatchStep { pod, kind, name, subresource, patch }) => {
                let (kind, name) = match (kind, name) {
                    (Some(kind), Some(name)) => {
                        (kind.as_str(), name_of_kind(self.case, kind, name, &self.setting.run))
                    }
                    _ => ("Pod", pod_of(pod)),
                };
                let patch = manifest::patch(self.case, patch, &self.setting);
                self.patch(kind, name, subresource.as_deref().unwrap_or_default(), patch).await?
            }
            Step::Update(of) => {
                let workload = self.case.workloads.get(&of.workload);
                let workload = workload.ok_or_else(|| StepError::NoWorkload(of.workload.clone()))?;
                let patch = manifest::update(self.case, workload, of, &self.setting);
                self.patch(workload.kind(), object_name(self.case, &of.workload), "", patch).await?
            }
            Step::Exec(of) => {
                let (key, container) = self.target(of.pod.as_deref(), of.container.as_deref());
                let (pod, command) = (pod_name(self.case, &key), of.command.clone());
                let exit = Some(cluster.exec(&namespace, &pod, &container, &command).await?);
                Did::Executed { pod, container, command, exit }
            }
            Step::Scale(ScaleStep { kind, name, replicas }) => {
                let patch = json!({ "spec": { "replicas": replicas } });
                let name = object_name(self.case, name);
                cluster.patch(&namespace, kind, &name, "", &patch).await?;
                Did::Scaled { kind: kind.clone(), name, replicas: *replicas }
            }
            Step::Ephemeral(of) => {
                let case_pod = self.case.pods.get(of.pod.as_deref().unwrap_or(ONLY));
                let container = manifest::ephemeral(self.case, of, case_pod, &self.setting);
                let patch = json!({ "spec": { "ephemeralContainers": [container] } });
                self.patch("Pod", pod_of(&of.pod), "ephemeralcontainers", patch).await?
            }
            Step::Node(of) => self.node_step(of).await?,
            Step::Metrics(of) => self.read_metrics(of).await?,
            Step::Try(of) => self.try_out(of).await?,
        };
        Ok(Some(did))
    }

    /// Posts to the control port of a container; returns the pod, the container, and the answer.
    async fn post(
        &mut self,
        pod: &Option<String>,
        container: &Option<String>,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(String, String, Bytes), StepError> {
        let (key, container) = self.target(pod.as_deref(), container.as_deref());
        let pod = pod_name(self.case, &key);
        let port = self.case.pods.get(&key).and_then(|of| control_port(of, &container));
        let Some(port) = port else { return Err(StepError::NoControlPort { pod, container }) };
        let control_port = self.control_ports.entry((pod.clone(), container.clone())).or_insert_with(|| {
            let (cluster, setting) = (&self.run.cluster, &self.setting);
            PortForwardClient::new(cluster, &setting.namespace, &pod, port, &setting.token)
        });
        let response = control_port.post(path, body).await?;
        match response.status {
            200..=299 => Ok((pod, container, response.body)),
            status => Err(StepError::ControlPort { status, body: response.body }),
        }
    }

    async fn change(&mut self, of: &ChangeStep) -> Result<Did, StepError> {
        let body = serde_json::to_vec(&of.to)?;
        let (pod, container, answer) = self.post(&of.pod, &of.container, "/v1/change", body).await?;
        let Changed { endpoints, mono_us, .. } = serde_json::from_slice(&answer)?;
        Ok(Did::Changed { pod, container, endpoints, mono_us })
    }

    async fn call(
        &mut self,
        pod: &Option<String>,
        container: &Option<String>,
        call: &str,
        path: &str,
    ) -> Result<Did, StepError> {
        let (pod, container, _) = self.post(pod, container, path, Vec::new()).await?;
        Ok(Did::Called { pod, container, call: call.to_owned() })
    }

    async fn patch(
        &self,
        kind: &str,
        name: String,
        subresource: &str,
        patch: Value,
    ) -> Result<Did, StepError> {
        self.run.cluster.patch(&self.setting.namespace, kind, &name, subresource, &patch).await?;
        Ok(Did::Patched { kind: kind.to_owned(), name, patch, subresource: subresource.to_owned() })
    }

    /// The oldest pod of a workload.
    fn oldest_of(&self, key: &str) -> Result<String, StepError> {
        let found = self.history.look(|history| wait::oldest_of(self.case, key, history).map(str::to_owned));
        found.ok_or_else(|| StepError::NoPod(key.to_owned()))
    }

    /// The node that a pod of the case was bound to, and the UID of the pod.
    pub(super) fn place_of(&self, pod: &Option<String>) -> Result<(String, String), StepError> {
        let pod = pod_name(self.case, pod.as_deref().unwrap_or(ONLY));
        let place = self.history.look(|history| {
            let run = Timeline::of(history);
            run.pods
                .iter()
                .find(|life| life.name == pod)
                .map(|life| (life.node.clone(), life.uid_on_node().to_owned()))
        });
        place.filter(|(node, _)| !node.is_empty()).ok_or(StepError::NoNode(pod))
    }

    async fn read_metrics(&self, of: &MetricsStep) -> Result<Did, StepError> {
        let (node, _) = self.place_of(&of.pod)?;
        let mut pods: Vec<String> = self.case.pods.keys().map(|key| pod_name(self.case, key)).collect();
        self.history.look(|history| {
            let of = self.case.workloads.keys().flat_map(|key| wait::pods_of(self.case, key, history));
            pods.extend(of.map(str::to_owned));
        });
        let found = self.run.cluster.probe_metrics(&node, &self.setting.namespace, &pods).await?;
        let ProbeMetrics { counts: probes, on_node, durations } = found;
        Ok(Did::Measured { node, probes, on_node: Some(on_node), durations })
    }

    async fn try_out(&self, of: &TryStep) -> Result<Did, StepError> {
        let manifest = manifest::trial(self.case, &of.name, &of.manifest, &self.setting);
        let name = of.name.clone();
        let tried = match self.run.cluster.create(&self.setting.namespace, &manifest, true).await {
            Ok(stored) => Tried { name, manifest, code: 201, message: String::new(), stored },
            Err(error) => match error.refusal() {
                Some(refusal) => {
                    let (code, message) = (refusal.code, refusal.to_string());
                    Tried { name, manifest, code, message, stored: Value::Null }
                }
                None => return Err(error.into()),
            },
        };
        Ok(Did::Tried(tried))
    }
}
