//! Ephemeral containers: how the API server accepts them, and how the kubelet runs them.
//!
//! Each ephemeral container runs as a separate pod that the API does not show, so that it does not affect its real pod.

use probity_case::manifest::{self, pod_name};
use probity_case::{EphemeralStep, ONLY, PatchStep, Step};
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::api::{containers, new_pod};
use crate::kubelet::images::NOWHERE;
use crate::pod::{Kind, Pod, State};
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

const LIST: &str = "ephemeralContainers";
const PART: &str = "ephemeralcontainers";
/// Fields that an ephemeral container must not have, each with the defect that accepts the field.
const FORBIDDEN: [(&str, Defect); 6] = [
    ("ports", Defect::ApiAcceptsEphemeralPorts),
    ("livenessProbe", Defect::ApiAcceptsEphemeralProbes),
    ("readinessProbe", Defect::ApiAcceptsEphemeralProbes),
    ("startupProbe", Defect::ApiAcceptsEphemeralProbes),
    ("lifecycle", Defect::ApiAcceptsEphemeralHooks),
    ("resources", Defect::ApiAcceptsEphemeralResources),
];

fn is_missing(image: &Value) -> bool {
    image.as_str().is_some_and(|image| image.starts_with(NOWHERE))
}

fn entries(list: &Value) -> impl Iterator<Item = &Value> + use<'_> {
    list.as_array().into_iter().flatten()
}

impl World<'_> {
    /// A step adds an ephemeral container.
    pub(crate) fn add_by_step(&mut self, of: &EphemeralStep, step: &Step) {
        let pod = self.case.pods.get(of.pod.as_deref().unwrap_or(ONLY));
        let container = manifest::ephemeral(self.case, of, pod, &self.setting);
        let patch = json!({ "spec": { LIST: [container] } });
        let (pod, subresource, kind, name) = (of.pod.clone(), Some(PART.to_owned()), None, None);
        self.patch_ephemeral(&PatchStep { pod, kind, name, subresource, patch }, step);
    }

    /// A client patches the ephemeral containers of a pod.
    pub(crate) fn patch_ephemeral(&mut self, of: &PatchStep, step: &Step) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let asked = of.patch["spec"][LIST].clone();
        if let Some(problem) = entries(&asked).find_map(|entry| self.ephemeral_problem(pod, entry)) {
            let why = format!("failed to patch Pod {name}: the API server answered 422 Invalid: {problem}");
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        }
        let (kind, patch, subresource) = ("Pod".to_owned(), of.patch.clone(), PART.to_owned());
        self.did(Did::Patched { kind, name, patch, subresource });
        let again = entries(&self.pods[pod].object["spec"][LIST]).next().is_some();
        for entry in entries(&asked) {
            self.take_ephemeral(pod, entry);
        }
        if !(again && self.has(Defect::SecondEphemeralKeepsGeneration)) {
            self.count_change(pod);
        }
        self.show_again(pod);
    }

    /// Why the API server rejects an ephemeral container.
    fn ephemeral_problem(&self, pod: usize, entry: &Value) -> Option<String> {
        let object = &self.pods[pod].object;
        let known = entries(&object["spec"][LIST]).find(|known| known["name"] == entry["name"]);
        if object["metadata"]["annotations"].get("kubernetes.io/config.mirror").is_some()
            && !self.has(Defect::ApiDebugsMirrors)
        {
            return Some("[]: Forbidden: static pods do not support ephemeral containers".to_owned());
        }
        let path = "spec.ephemeralContainers";
        if let Some(known) = known {
            let removed = entry["$patch"] == "delete";
            let changed = entry.as_object()?.iter().any(|(field, asked)| known.get(field) != Some(asked));
            return match () {
                () if removed => (!self.has(Defect::ApiRemovesEphemeral) && !self.removes_ended(pod, entry))
                    .then(|| format!("{path}: Forbidden: existing ephemeral containers may not be removed")),
                () if changed => (!self.has(Defect::ApiChangesEphemeral))
                    .then(|| format!("{path}: Forbidden: existing ephemeral containers may not be changed")),
                () => None,
            };
        }
        let wrong = |(field, defect): &&(&str, Defect)| entry.get(*field).is_some() && !self.has(*defect);
        let (field, _) = FORBIDDEN.iter().find(wrong)?;
        Some(format!("{path}[0].{field}: Forbidden: cannot be set for an Ephemeral Container"))
    }

    /// Whether an ephemeral container can be removed because it has ended.
    fn removes_ended(&self, pod: usize, entry: &Value) -> bool {
        let mut own = self.pods.iter().filter(|of| of.within == Some(pod)).map(|of| &of.containers[0]);
        let ended = own.any(|of| entry["name"] == of.name.as_str() && matches!(of.state, State::Ended(_)));
        ended && self.has(Defect::ApiRemovesEndedEphemeral)
    }

    /// The API server stores an ephemeral container, and the kubelet is notified.
    fn take_ephemeral(&mut self, pod: usize, entry: &Value) {
        let list = &mut self.pods[pod].object["spec"][LIST];
        if !list.is_array() {
            *list = json!([]);
        }
        let Some(list) = list.as_array_mut() else { return };
        if let Some(at) = list.iter().position(|known| known["name"] == entry["name"]) {
            if entry["$patch"] == "delete" {
                list.remove(at);
            } else if let (Some(known), Some(entry)) = (list[at].as_object_mut(), entry.as_object()) {
                known.extend(entry.clone());
            }
            return;
        }
        let mut entry = entry.clone();
        let plan = entries(&entry["env"]).find(|variable| variable["name"] == "AGNHOST_PLAN").cloned();
        if self.has(Defect::ApiDropsEphemeralFields)
            && let Some(fields) = entry.as_object_mut()
        {
            fields.remove("env");
            fields.remove("volumeMounts");
        }
        self.pods[pod].object["spec"][LIST]
            .as_array_mut()
            .into_iter()
            .for_each(|list| list.push(entry.clone()));
        if self.has(Defect::EphemeralNeverRuns) {
            return;
        }
        let policy = match () {
            () if self.has(Defect::EphemeralRestarts) => "Always",
            () if self.has(Defect::EphemeralRestartsOnFailure) => "OnFailure",
            () => "Never",
        };
        let mut spec = json!({ "restartPolicy": policy, "containers": [entry] });
        for field in ["hostname", "subdomain", "setHostnameAsFQDN", "securityContext", "hostAliases"] {
            spec[field] = self.pods[pod].object["spec"][field].clone();
        }
        let read = |plan: &Value| serde_json::from_str(plan["value"].as_str()?).ok();
        let mut made = containers(&spec, |_| plan.as_ref().and_then(read));
        let missing = is_missing(&entry["image"]);
        if missing {
            let explained = !self.has(Defect::EphemeralImageUnexplained);
            made[0].view.state =
                State::Waiting(if explained { "ErrImageNeverPull" } else { "ContainerCreating" });
        }
        let object = json!({ "metadata": self.pods[pod].object["metadata"], "spec": spec });
        let whole = &self.pods[pod];
        let own = Pod {
            ip: whole.ip.clone(),
            containers: made,
            within: Some(pod),
            ..new_pod(&whole.key, &format!("{}/", whole.name), &whole.uid, object, self.now)
        };
        self.pods.push(own);
        let at = At { pod: self.pods.len() - 1, container: 0 };
        if missing {
            return;
        }
        let late = if self.has(Defect::EphemeralRunsLate) { 15 * SECOND } else { 0 };
        let delay = late + self.between(100 * MS, 900 * MS);
        self.later(delay, Act::Start(at));
    }

    /// The statuses of a pod's ephemeral containers.
    pub(crate) fn add_ephemeral(&self, pod: usize, status: &mut Value) {
        let own = self.pods.iter().enumerate().filter(|(_, of)| of.within == Some(pod));
        let made: Vec<(Value, State)> = own
            .map(|(number, of)| {
                (self.container_status(number, &of.containers[0]), of.containers[0].view.state.clone())
            })
            .collect();
        let forgets = self.has(Defect::EphemeralLostFromStatus);
        let lost = |state: &State| match state {
            State::Ended(ended) => forgets && self.now > ended.finished + SECOND,
            _ => false,
        };
        let made: Vec<_> = made.into_iter().filter(|(_, state)| !lost(state)).collect();
        if made.is_empty() {
            return;
        }
        let runs = made.iter().any(|(_, state)| matches!(state, State::Running(_)));
        let failed = made.iter().any(|(_, state)| matches!(state, State::Ended(ended) if ended.code != 0));
        let count = made.len();
        let shown = made.into_iter().map(|(shown, _)| self.misshow_ephemeral(shown, count));
        let mut shown: Vec<Value> = shown.collect();
        if count > 1 && self.has(Defect::EphemeralShownTwice) {
            shown.extend(shown.first().cloned());
        }
        status["ephemeralContainerStatuses"] = json!(shown);
        let unreadies = self.has(Defect::EphemeralUnreadiesAtOnce);
        if unreadies
            || runs && self.has(Defect::EphemeralUnreadiesPod)
            || failed && self.has(Defect::EphemeralFailsPod)
        {
            let conditions = status["conditions"].as_array_mut().into_iter().flatten();
            conditions
                .filter(|one| one["type"] == "Ready")
                .for_each(|ready| ready["status"] = json!("False"));
        }
    }

    /// Applies the defects of how an ephemeral container is shown, and mainly its end.
    fn misshow_ephemeral(&self, mut shown: Value, count: usize) -> Value {
        let Some(end) = shown["state"].get("terminated").cloned() else {
            if self.has(Defect::RunningEphemeralWithoutId) {
                shown["containerID"] = json!("");
            }
            return shown;
        };
        if count > 1 && self.has(Defect::EphemeralEndForgotten) {
            shown["state"] = json!({ "waiting": { "reason": "ContainerCreating" } });
        } else if self.has(Defect::EphemeralEndUnshown) {
            shown["state"] = json!({ "running": { "startedAt": end["startedAt"] } });
        } else if self.has(Defect::EphemeralEndsWell) {
            shown["state"]["terminated"]["exitCode"] = json!(0);
            shown["state"]["terminated"]["reason"] = json!("Completed");
        } else if self.has(Defect::EphemeralEndsAtStart) {
            shown["state"]["terminated"]["finishedAt"] = end["startedAt"].clone();
        }
        shown
    }

    /// The container whose process namespace an ephemeral container shares, if any.
    pub(crate) fn shares_processes(&self, at: At) -> Option<At> {
        let own = &self.pods[at.pod];
        let whole = own.within?;
        let target = &own.containers[at.container].spec["targetContainerName"];
        let shared = self.pods[whole].object["spec"]["shareProcessNamespace"] == true;
        if self.has(Defect::EphemeralSeesNothing) || (!shared && self.has(Defect::EphemeralTargetIgnored)) {
            return None;
        }
        let first = self.has(Defect::EphemeralTargetsFirst);
        let of_mains = self.has(Defect::EphemeralTargetsMainsOnly);
        let named = |of: &crate::pod::Container| shared || first || *target == of.name.as_str();
        let container = self.pods[whole].containers.iter().position(named)?;
        let apart = of_mains && !shared && self.pods[whole].containers[container].kind != Kind::Main;
        (!apart).then_some(At { pod: whole, container })
    }

    /// The ephemeral containers of a pod that is deleted get their stop signal with the others.
    pub(crate) fn stop_ephemeral(&mut self, pod: usize) {
        if self.keeps_ephemeral(pod) {
            return;
        }
        let grace = match () {
            () if self.has(Defect::EphemeralKilledEarly) => 2 * SECOND,
            () if self.has(Defect::EphemeralNeverKilled) => 600 * SECOND,
            () => self.pods[pod].grace(),
        };
        for number in 0..self.pods.len() {
            let of = &self.pods[number];
            if of.within == Some(pod)
                && of.containers[0].is_running()
                && !self.has(Defect::EphemeralGetsNoSignal)
            {
                self.stop_container(At { pod: number, container: 0 }, grace);
            }
        }
    }

    /// Whether a defective kubelet does nothing for a pod because an image of an ephemeral container is missing.
    pub(crate) fn is_blocked_by_ephemeral(&self, pod: usize) -> bool {
        self.has(Defect::EphemeralMissingImageBlocks)
            && entries(&self.pods[pod].object["spec"][LIST]).any(|entry| is_missing(&entry["image"]))
    }

    /// Whether an ephemeral container of a pod has failed.
    pub(crate) fn has_failed_ephemeral(&self, pod: usize) -> bool {
        let mut own = self.pods.iter().filter(|of| of.within == Some(pod));
        own.any(|of| matches!(&of.containers[0].view.state, State::Ended(ended) if ended.code != 0))
    }

    /// Whether an ephemeral container of a pod is running.
    pub(crate) fn has_running_ephemeral(&self, pod: usize) -> bool {
        self.pods.iter().any(|of| of.within == Some(pod) && of.containers[0].is_running())
    }

    /// The ephemeral containers of a pod that ends are killed with it.
    pub(crate) fn end_ephemeral(&mut self, pod: usize) {
        for number in 0..self.pods.len() {
            if self.pods[number].within == Some(pod) && !std::mem::replace(&mut self.pods[number].gone, true)
            {
                let (at, of) = (At { pod: number, container: 0 }, &self.pods[number].containers[0]);
                self.force(LifeAt { at, attempt: of.attempt() });
            }
        }
    }

    /// Why an update of a pod, or a new one, may not have ephemeral containers.
    pub(crate) fn refuses_ephemeral(&self, spec: &Value, new: bool) -> Option<String> {
        let accepts = if new { Defect::ApiCreatesEphemeral } else { Defect::ApiUpdatesEphemeral };
        let wrong = entries(&spec[LIST]).next().is_some() && !self.has(accepts);
        wrong.then(|| "spec.ephemeralContainers: Forbidden: cannot be set on create".to_owned())
    }
}
