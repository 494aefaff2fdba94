//! Plays the role of the harness: it creates the objects of the case and performs the steps of the case, each as soon
//! as possible.

use std::borrow::Cow;

use probity_case::manifest::{self, object_name, placeholders, pod_name};
use probity_case::wait;
use probity_case::{ContainerRef, ONLY, PatchStep, Step, Wait};
use probity_model::EventId;
use probity_model::history::{Did, Tried};
use serde_json::Value;

use crate::Defect;
use crate::node_facts::ALLOCATABLE;
use crate::pod::micros;
use crate::world::{Act, At, MS, SECOND, World};

/// The default duration of a wait.
const PATIENCE: i64 = 60 * SECOND;
/// The shortest interval at which conditions are checked.
const GLANCE: i64 = 20 * MS;

/// Where the harness is in the case.
#[derive(Default)]
pub(crate) struct Director {
    pub(crate) over: bool,
    objects_made: bool,
    next: usize,
    since: EventId0,
    waiting: Option<i64>,
    looking: bool,
    changed: bool,
    /// Keys of pods that a step is creating.
    wanted: Vec<String>,
}

/// An event id that starts at 0.
struct EventId0(EventId);

impl Default for EventId0 {
    fn default() -> Self {
        Self(EventId(0))
    }
}

impl World<'_> {
    /// Something arrived, so the harness may be able to continue.
    pub(crate) fn heard(&mut self) {
        self.director.changed = true;
        if !self.director.looking {
            self.director.looking = true;
            self.later(GLANCE, Act::Direct);
        }
    }

    /// Continues as far as possible.
    pub(crate) fn direct(&mut self) {
        self.director.looking = false;
        if !self.director.objects_made {
            self.director.objects_made = true;
            for object in &self.case.objects {
                self.create_object(object);
            }
            for (key, workload) in &self.case.workloads {
                let what = format!("create {} {}", workload.kind(), object_name(self.case, key));
                self.did(Did::Failed { what, why: "the simulated cluster has no such verb".to_owned() });
            }
            let keys = self.case.pods.iter().filter(|(_, pod)| !pod.later).map(|(key, _)| key.clone());
            self.director.wanted = keys.collect();
        }
        if !self.create_wanted() {
            return;
        }
        while !self.director.over {
            let Some(step) = self.case.steps.get(self.director.next) else {
                self.director.over = true;
                self.did(Did::Over { why: "done".to_owned() });
                return;
            };
            if !self.step(&self.filled(step)) {
                return;
            }
            self.director.next += 1;
            self.director.waiting = None;
            self.director.since = EventId0(self.history.next_id());
            if !self.director.wanted.is_empty() && !self.create_wanted() {
                return;
            }
        }
    }

    /// Creates the wanted pods if the addresses that they need are known. Returns whether no wanted pod is left.
    fn create_wanted(&mut self) -> bool {
        let wanted = std::mem::take(&mut self.director.wanted);
        for key in wanted {
            let Some(pod) = self.case.pods.get(&key) else { continue };
            for name in placeholders(pod) {
                if let Some(address) = self.address(&name) {
                    self.setting.addresses.insert(name, address);
                }
            }
            let known = placeholders(pod)
                .iter()
                .all(|name| self.setting.addresses.contains_key(name) || *name == format!("ip:{key}"));
            if known {
                self.create_pod(&key);
            } else {
                self.director.wanted.push(key);
            }
        }
        self.director.wanted.is_empty()
    }

    /// The value of a placeholder, once the API shows it.
    fn address(&self, placeholder: &str) -> Option<String> {
        if let Some(key) = placeholder.strip_prefix("ip:") {
            let pod = self.pods.iter().find(|pod| pod.key == key)?;
            return pod.object["status"]["podIP"].as_str().map(str::to_owned);
        }
        if let Some(key) = placeholder.strip_prefix("uid:") {
            return self.pods.iter().find(|pod| pod.key == key).map(|pod| pod.uid.clone());
        }
        if let Some(key) = placeholder.strip_prefix("node:") {
            let pod = self.pods.iter().find(|pod| pod.key == key)?;
            return pod.object["spec"]["nodeName"].as_str().map(str::to_owned);
        }
        if placeholder.starts_with("most-memory:") {
            let [_, (_, memory)] = ALLOCATABLE;
            return manifest::most_memory(memory);
        }
        let name = object_name(self.case, placeholder.strip_prefix("service-ip:")?);
        self.services.iter().find(|service| service.name == name).map(|service| service.ip.clone())
    }

    /// A step as it is sent: the placeholders of a patch are filled in.
    fn filled<'s>(&self, step: &'s Step) -> Cow<'s, Step> {
        let Step::Patch(of) = step else { return Cow::Borrowed(step) };
        let patch = manifest::patch(self.case, &of.patch, &self.setting);
        Cow::Owned(Step::Patch(PatchStep { patch, ..of.clone() }))
    }

    /// Performs a step. Returns whether it is complete.
    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::Wait(wait) => return self.wait(wait, step),
            Step::Watch(span) => return self.watch(micros(*span)),
            Step::Create(of) => {
                let key = of.pod.clone().unwrap_or_else(|| ONLY.to_owned());
                self.director.wanted.push(key);
            }
            Step::Change(change) => {
                let of = ContainerRef { pod: change.pod.clone(), container: change.container.clone() };
                self.change(&of, change.to.clone(), step);
            }
            Step::Reset(of) => self.reset(of, step),
            Step::Mark(mark) => {
                let of = ContainerRef { pod: mark.pod.clone(), container: mark.container.clone() };
                self.mark_by_control(&of, &mark.name, step);
            }
            Step::Delete(deletion) if deletion.workload.is_none() => {
                self.delete(deletion.pod.as_deref().unwrap_or(ONLY), deletion.grace, step);
            }
            Step::Evict(of) if of.workload.is_none() => self.evict(of.pod.as_deref().unwrap_or(ONLY), step),
            Step::Try(trial) => {
                let manifest = manifest::trial(self.case, &trial.name, &trial.manifest, &self.setting);
                let (code, message, stored) = self.try_out(&manifest);
                self.did(Did::Tried(Tried { name: trial.name.clone(), manifest, code, message, stored }));
            }
            Step::Patch(of) if of.kind.is_none() && of.patch["status"].is_object() => self.patch_status(of),
            Step::Patch(of) if of.kind.is_none() && of.subresource.as_deref() == Some("resize") => {
                self.resize(of, step);
            }
            Step::Patch(of)
                if of.kind.is_none() && of.subresource.as_deref() == Some("ephemeralcontainers") =>
            {
                self.patch_ephemeral(of, step);
            }
            Step::Ephemeral(of) => self.add_by_step(of, step),
            Step::Patch(of) if of.kind.is_none() && of.patch["spec"]["schedulingGates"].is_array() => {
                self.patch_gates(of, step);
            }
            Step::Patch(of) if of.kind.is_none() && self.has(Defect::ApiPatchesProbes) => {
                let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
                let (kind, patch) = ("Pod".to_owned(), of.patch.clone());
                self.did(Did::Patched { kind, name, patch, subresource: String::new() });
            }
            Step::Patch(of) if of.kind.is_none() && of.patch["spec"]["initContainers"].is_array() => {
                self.patch_inits(of, step);
            }
            Step::Patch(of) if of.kind.is_none() && of.subresource.is_none() => self.update_pod(of, step),
            Step::Patch(of) if matches!(of.kind.as_deref(), Some("ConfigMap" | "Secret")) => {
                self.patch_settings(of)
            }
            Step::Metrics(_) => self.measure(),
            Step::Node(of) => {
                if let Err(why) = self.do_to_node(of) {
                    self.did(Did::Failed { what: step.in_words(), why });
                }
            }
            Step::Taint(of) => self.taint(of),
            Step::Untaint(of) => self.untaint(of),
            Step::Advertise(of) => self.advertise(of),
            Step::Patch(_)
            | Step::Cordon(_)
            | Step::Drain(_)
            | Step::Delete(_)
            | Step::Evict(_)
            | Step::Exec(_)
            | Step::Scale(_)
            | Step::Update(_) => {
                let why = "the simulated cluster has no such verb".to_owned();
                self.did(Did::Failed { what: step.in_words(), why });
            }
        }
        true
    }

    fn watch(&mut self, span: i64) -> bool {
        let until = self.until(span);
        if self.now < until {
            return false;
        }
        true
    }

    fn wait(&mut self, wanted: &Wait, step: &Step) -> bool {
        let until = self.until(wanted.within.map_or(PATIENCE, micros));
        let fresh = std::mem::take(&mut self.director.changed);
        let came = fresh && wait::met(wanted, self.case, &self.history, self.director.since.0);
        if !came && self.now < until {
            return false;
        }
        self.did(Did::Waited { what: step.in_words(), came });
        self.director.changed = true;
        true
    }

    /// The latest end of the current step. The step starts with the first call of this function.
    fn until(&mut self, span: i64) -> i64 {
        match self.director.waiting {
            Some(until) => until,
            None => {
                let until = self.now + span;
                self.director.waiting = Some(until);
                self.director.changed = true;
                self.at(until, Act::Direct);
                until
            }
        }
    }

    /// The container that a step names.
    pub(crate) fn place_of(&self, of: &ContainerRef) -> Option<At> {
        let key = of.pod.as_deref().unwrap_or(ONLY);
        let name = pod_name(self.case, key);
        let first = self.case.pods.get(key)?.target.keys().next();
        let container = of.container.as_ref().or(first)?;
        let pod = self.pods.iter().rposition(|pod| pod.name == name)?;
        let container = self.pods[pod].containers.iter().position(|c| c.name == *container)?;
        Some(At { pod, container })
    }

    fn delete(&mut self, key: &str, grace: Option<u64>, step: &Step) {
        let name = pod_name(self.case, key);
        let pod = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone);
        if let Some(why) = pod.and_then(|pod| self.refuses_deletion(pod)) {
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        }
        self.did(Did::Deleted { kind: "Pod".to_owned(), name, grace });
        if let Some(pod) = pod.filter(|pod| self.pods[*pod].is_static) {
            self.delete_mirror(pod);
            return;
        }
        let Some(pod) = pod.filter(|pod| !self.awaits_budget(*pod)) else { return };
        self.explain_deletion(pod);
        let (asked, own) = (grace.and_then(|of| i64::try_from(of).ok()), self.pods[pod].grace() / SECOND);
        if let (Some((since, _)), None) = (self.pods[pod].deleted, asked)
            && self.has(Defect::PlainDeletionRestoresGrace)
        {
            return self.write_deadline(pod, since, own);
        }
        self.ask_to_go(pod, asked.unwrap_or(own));
    }

    fn create_object(&mut self, object: &Value) {
        let manifest = manifest::object(self.case, object, &self.setting);
        let text = |path: &Value| path.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&manifest["kind"]), text(&manifest["metadata"]["name"]));
        self.did(Did::Created { kind: kind.clone(), name, manifest: manifest.clone() });
        match kind.as_str() {
            "Service" => self.create_service(manifest),
            "PodDisruptionBudget" => self.create_budget(manifest),
            "ResourceQuota" => self.create_quota(manifest),
            "ConfigMap" | "Secret" => self.create_settings(&manifest),
            "PriorityClass" => self.create_priority(&manifest),
            _ => {}
        }
    }

    fn create_pod(&mut self, key: &str) {
        let Some(of) = self.case.pods.get(key) else { return };
        let manifest = manifest::pod(self.case, key, of, &self.setting);
        if of.is_static {
            self.place_static_pod(key, manifest);
            return;
        }
        let name = pod_name(self.case, key);
        let (code, message, _) = self.try_out(&manifest);
        if code >= 400 {
            let what = format!("create pod {name}");
            self.did(Did::Failed { what, why: message });
            return;
        }
        self.did(Did::Created { kind: "Pod".to_owned(), name, manifest: manifest.clone() });
        self.admit(key, manifest);
    }
}
