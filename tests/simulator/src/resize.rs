//! A change of a container's resources while its pod exists. A running container gets the new resources in place,
//! unless its policy restarts it. A container that waits for its restart starts with a new back-off.

use std::collections::BTreeMap;

use probity_case::manifest::pod_name;
use probity_case::{ONLY, PatchStep, Step};
use probity_model::history::Did;
use probity_model::timeline::ProbeKind;
use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::node_facts::ALLOCATABLE;
use crate::pod::{BackOff, Container, Kind, Pod, State};
use crate::updates::{container_in, merge};
use crate::world::{Act, At, MS, SECOND, World};

/// More CPUs than any node has, in thousandths.
const TOO_MANY: i64 = 8_192_000;

/// The condition of a resize that must wait, and its reason if other pods have the resources.
const PENDING: &str = "PodResizePending";
const DEFERRED: &str = "Deferred";

/// The condition of a resize that is being enacted.
pub(crate) const IN_PROGRESS: &str = "PodResizeInProgress";

/// Whether the resize of a pod waits for room on the node.
fn is_deferred(pod: &Pod) -> bool {
    let mut all = pod.object["status"]["conditions"].as_array().into_iter().flatten();
    all.any(|condition| condition["type"] == PENDING && condition["reason"] == DEFERRED)
}

/// What is allocated for the main containers and the sidecars of a pod together, in thousandths.
fn allocated(pod: &Pod, resource: &str) -> i64 {
    let stay = pod.containers.iter().filter(|of| of.kind != Kind::Init);
    stay.filter_map(|of| thousandths(&of.spec["resources"]["requests"][resource])).sum()
}

/// What the main containers and the sidecars of a pod request together, in thousandths.
pub(crate) fn requested(pod: &Pod, resource: &str) -> i64 {
    let list = |field: &str| pod.object["spec"][field].as_array().into_iter().flatten();
    let sidecars = list("initContainers").filter(|of| of["restartPolicy"] == "Always");
    let all = list("containers").chain(sidecars);
    all.filter_map(|of| thousandths(&of["resources"]["requests"][resource])).sum()
}

fn is_too_large(pod: &Pod) -> bool {
    let list = pod.object["spec"]["containers"].as_array();
    let cpu = |of: &Value| thousandths(&of["resources"]["requests"]["cpu"]);
    list.into_iter().flatten().any(|of| cpu(of).is_some_and(|cpu| cpu > TOO_MANY))
}

impl World<'_> {
    /// A client changes the resources of containers.
    pub(crate) fn resize(&mut self, of: &PatchStep, step: &Step) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let old = self.pods[pod].object["spec"].clone();
        let mut new = self.pods[pod].object.clone();
        merge(&mut new, &of.patch);
        if self.class_of(&old) != self.class_of(&new["spec"]) && !self.has(Defect::ApiResizesClass) {
            let why = format!(
                "failed to patch Pod {name}/resize: the API server answered 422 Invalid: Pod \"{name}\" is invalid: \
                 spec: Invalid value: Pod QoS class may not change as a result of resizing"
            );
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        }
        let (kind, patch, subresource) = ("Pod".to_owned(), of.patch.clone(), "resize".to_owned());
        self.did(Did::Patched { kind, name, patch, subresource });
        self.pods[pod].object = new;
        self.count_change(pod);
        self.show_again(pod);
        if is_too_large(&self.pods[pod]) && !self.has(Defect::TooLargeResizeEnacted) {
            if !self.has(Defect::TooLargeResizeUnsaid) {
                let reason = if self.has(Defect::TooLargeResizeDeferred) { DEFERRED } else { "Infeasible" };
                self.add_condition(pod, PENDING, reason);
            }
            return;
        }
        let guaranteed = self.class_of(&self.pods[pod].object["spec"]) == "Guaranteed";
        if guaranteed && self.has(Defect::GuaranteedNeverResized) {
            self.add_condition(pod, PENDING, "Infeasible");
            return;
        }
        if !self.fits(pod) && !is_too_large(&self.pods[pod]) {
            self.add_condition(pod, PENDING, DEFERRED);
            self.touch(pod);
            return;
        }
        self.end_wait(pod);
        self.allocate(pod);
    }

    /// A resize that had to wait was granted or withdrawn.
    fn end_wait(&mut self, pod: usize) {
        let kept = self.is_as_wanted(pod) && self.has(Defect::WithdrawnResizeStaysPending);
        let conditions = self.pods[pod].object["status"]["conditions"].as_array_mut();
        let Some(all) = conditions.filter(|_| !kept) else { return };
        let before = all.len();
        all.retain(|condition| condition["type"] != PENDING);
        if all.len() < before {
            self.touch(pod);
        }
    }

    /// Whether every container of a pod has the resources that it wants.
    fn is_as_wanted(&self, pod: usize) -> bool {
        let all = self.pods[pod].containers.iter().enumerate();
        let mut all = all.map(|(container, of)| (At { pod, container }, of));
        all.all(|(at, of)| of.spec["resources"] == self.wanted(at))
    }

    /// Whether a running container of a pod does not have its new resources yet, or is being stopped to get them.
    pub(crate) fn is_resizing(&self, pod: usize) -> bool {
        let all = self.pods[pod].containers.iter().enumerate().filter(|(_, of)| of.is_running());
        let mut all = all.map(|(container, of)| (At { pod, container }, of));
        all.any(|(at, of)| {
            let stops = of.life.as_ref().is_some_and(|life| life.stopping || life.stops_for_resize);
            stops || of.spec["resources"] != self.wanted(at)
        })
    }

    /// The requests that a status shows as allocated for a container.
    pub(crate) fn shown_requests(&self, pod: usize, container: &Container) -> Value {
        let of = &self.pods[pod];
        let early = is_deferred(of) && self.has(Defect::DeferredShownAsAllocated);
        let wanted = container_in(&of.object["spec"], &container.name).filter(|_| early);
        wanted.unwrap_or(&container.spec)["resources"]["requests"].clone()
    }

    /// The kubelet accepts the new resources of a pod, and gives them to its containers.
    fn allocate(&mut self, pod: usize) {
        let mut begins = false;
        for container in 0..self.pods[pod].containers.len() {
            let at = At { pod, container };
            let wanted = self.wanted(at);
            if wanted == self.pods[pod].containers[container].spec["resources"] {
                continue;
            }
            if self.pods[pod].containers[container].is_running() {
                let late = if self.has(Defect::ResizeLate) { 14 * SECOND } else { 0 };
                let delay = late + self.between(100 * MS, 600 * MS);
                self.later(delay, Act::Resize(at));
                begins |= !(self.is_sidecar(at) && self.has(Defect::SidecarResizeUnannounced));
            } else {
                let old = &self.pods[pod].containers[container].spec["resources"];
                let of_limits = old["requests"] == wanted["requests"];
                if !self.has(Defect::ResourcesOfFirstStatus) {
                    self.pods[pod].containers[container].spec["resources"] = wanted;
                    self.pods[pod].containers[container].enacted = None;
                }
                if !(of_limits && self.has(Defect::LimitsKeepBackOff)) {
                    self.begin_back_off_anew(at);
                }
            }
        }
        if begins && !self.has(Defect::ResizeUnannounced) {
            self.add_condition(pod, IN_PROGRESS, "");
        }
    }

    /// A pod was removed: the kubelet tries deferred resizes again.
    pub(crate) fn retry_resizes(&mut self) {
        let priority = |pod: &usize| self.pods[*pod].object["spec"]["priority"].as_i64().unwrap_or_default();
        let mut all: Vec<usize> = (0..self.pods.len()).collect();
        all.sort_by_key(|pod| std::cmp::Reverse(priority(pod)));
        if self.has(Defect::LowPriorityResizedFirst) {
            all.reverse();
        }
        for pod in all {
            let ready = is_deferred(&self.pods[pod]) && !self.pods[pod].gone && self.fits(pod);
            if !ready || self.has(Defect::DeferredResizeForgotten) {
                continue;
            }
            self.end_wait(pod);
            self.allocate(pod);
            self.touch(pod);
        }
    }

    /// Whether the node has room for the requests of a pod beside those of the other pods.
    fn fits(&self, pod: usize) -> bool {
        let here = |other: &&Pod| {
            let bound = other.object["spec"]["nodeName"].is_string();
            // A resize that no node has room for was not accepted.
            let takes = !other.gone && !other.terminal && !is_too_large(other);
            bound && takes && other.uid != self.pods[pod].uid
        };
        ALLOCATABLE.into_iter().all(|(resource, all)| {
            // A resize that is granted takes its room before the containers have it.
            let takes = |other: &Pod| match is_deferred(other) {
                true => allocated(other, resource),
                false => requested(other, resource).max(allocated(other, resource)),
            };
            let taken: i64 = self.pods.iter().filter(here).map(takes).sum();
            let all = thousandths(&json!(all)).unwrap_or_default();
            let own = requested(&self.pods[pod], resource);
            own == 0 || taken + own <= all
        })
    }

    /// The resources of a container according to its pod's object.
    fn wanted(&self, at: At) -> Value {
        let pod = &self.pods[at.pod];
        let name = pod.containers[at.container].name.as_str();
        container_in(&pod.object["spec"], name).map(|of| of["resources"].clone()).unwrap_or_default()
    }

    fn add_condition(&mut self, pod: usize, kind: &str, reason: &str) {
        let mut condition =
            json!({ "type": kind, "status": "True", "lastTransitionTime": self.timestamp(self.now) });
        if !reason.is_empty() {
            condition["reason"] = json!(reason);
        }
        if !self.has(Defect::GenerationOfResizesUnsaid) {
            condition["observedGeneration"] = self.pods[pod].object["metadata"]["generation"].clone();
        }
        let all = &mut self.pods[pod].object["status"]["conditions"];
        let mut conditions = all.as_array().cloned().unwrap_or_default();
        conditions.retain(|of| of["type"] != kind);
        conditions.push(condition);
        *all = json!(conditions);
        self.show_again(pod);
    }

    /// The kubelet gives a running container its new resources, or restarts it with them.
    pub(crate) fn enact(&mut self, at: At) {
        let wanted = self.wanted(at);
        let of = &self.pods[at.pod].containers[at.container];
        if self.pods[at.pod].gone || self.pods[at.pod].deleted.is_some() || of.spec["resources"] == wanted {
            return;
        }
        if self.resize_awaits_startup(at) {
            return self.later(SECOND, Act::Resize(at));
        }
        let (old, kind) = (of.spec["resources"].clone(), of.kind);
        let changed = |resource: &str| {
            ["requests", "limits"].iter().any(|list| old[*list][resource] != wanted[*list][resource])
        };
        let says = |resource: &str| {
            let all = of.spec["resizePolicy"].as_array().into_iter().flatten();
            let mut of = all.filter(|policy| policy["resourceName"] == resource);
            of.any(|policy| policy["restartPolicy"] == "RestartContainer")
        };
        let together = changed("cpu") && changed("memory") && self.has(Defect::CombinedResizeFollowsCpu);
        let heeds = |resource: &str| match resource {
            "cpu" => !self.has(Defect::CpuPolicyIgnored),
            _ => !together,
        };
        let by_policy =
            ["cpu", "memory"].iter().any(|resource| changed(resource) && says(resource) && heeds(resource));
        let restarts = by_policy && !self.has(Defect::ResizePolicyIgnored)
            || self.has(Defect::ResizeRestarts) && kind == Kind::Main
            || self.has(Defect::ResizeOfMemoryRestarts) && changed("memory")
            || self.has(Defect::ResizeRestartsSidecars) && kind == Kind::Sidecar;
        if !self.has(Defect::ResizeUnshown) {
            self.pods[at.pod].containers[at.container].spec["resources"] = wanted.clone();
        }
        self.pods[at.pod].containers[at.container].back_off = BackOff::default();
        let before = self.pods[at.pod].containers[at.container].enacted.clone();
        self.enact_late(at, before.as_ref().unwrap_or(&old));
        let enacted = self.enacted(&old, &wanted, kind);
        self.pods[at.pod].containers[at.container].enacted = Some(enacted);
        if self.has(Defect::ResizeNeverCompletes) {
            self.add_condition(at.pod, IN_PROGRESS, "");
        }
        if let Some(life) = self.pods[at.pod].containers[at.container].life.as_mut() {
            life.stops_for_resize = restarts;
        }
        if !restarts && self.has(Defect::ResizeRepeatsStartup) {
            self.forget_startup(at);
        }
        self.touch(at.pod);
        if restarts {
            let grace = self.pods[at.pod].grace();
            self.stop_for_resize(at, grace);
            if self.has(Defect::ResizeRestartsAll) {
                self.stop_others(at, grace);
            }
            if self.has(Defect::ResizeRestartsTwice) {
                self.pods[at.pod].containers[at.container].spec["resources"] = old;
                self.later(3 * SECOND, Act::Resize(at));
            }
        }
    }

    /// A defective kubelet forgets that the startup probe of a container has succeeded.
    fn forget_startup(&mut self, at: At) {
        let container = &mut self.pods[at.pod].containers[at.container];
        let id = container.view.id.clone();
        let Some(worker) = container.worker(ProbeKind::Startup) else { return };
        worker.hold = false;
        worker.last = None;
        container.results.set(ProbeKind::Startup, &id, None);
        container.view.started = false;
    }

    /// The resources in the cgroup of a container after a resize.
    fn enacted(&self, old: &Value, new: &Value, kind: Kind) -> Value {
        let mut enacted = new.clone();
        for (defect, resource) in
            [(Defect::ResizeOfCpuUnenacted, "cpu"), (Defect::ResizeOfMemoryUnenacted, "memory")]
        {
            let lower = thousandths(&new["limits"][resource]) < thousandths(&old["limits"][resource]);
            let forgotten = self.has(defect)
                || self.has(Defect::ResizeOnlyRaises) && lower
                || self.has(Defect::MemoryOnlyRaises) && lower && resource == "memory"
                || self.has(Defect::ResizeOfSidecarsUnenacted) && kind == Kind::Sidecar
                || self.has(Defect::AddedLimitUnenacted) && old["limits"][resource].is_null();
            if forgotten {
                enacted["limits"][resource] = old["limits"][resource].clone();
            }
        }
        enacted
    }

    /// The files of its own cgroup that a container reads.
    pub(crate) fn cgroup_files(&self, at: At) -> BTreeMap<String, String> {
        let of = &self.pods[at.pod].containers[at.container];
        let unlimited = of.kind == Kind::Init && self.has(Defect::LimitsOfInitsUnapplied);
        let limits = &of.enacted.as_ref().unwrap_or(&of.spec["resources"])["limits"];
        let limits = if unlimited { &Value::Null } else { self.limits_in_cgroup(of, limits) };
        let amount = |resource: &str| thousandths(&limits[resource]).map(|all| all * self.limits_factor());
        let memory = amount("memory").map_or("max".to_owned(), |all| (all / 1_000).to_string());
        let quota = amount("cpu").map_or("max".to_owned(), |all| (all * 100).to_string());
        let file = |name: &str, text: String| (format!("/sys/fs/cgroup/{name}"), text);
        BTreeMap::from([file("memory.max", memory), file("cpu.max", format!("{quota} 100000"))])
    }

    /// The image or the resources of a container changed.
    pub(crate) fn begin_back_off_anew(&mut self, at: At) {
        let sidecar = self.is_sidecar(at) && self.has(Defect::ChangeKeepsBackOffOfSidecar);
        let init = self.pods[at.pod].containers[at.container].kind == Kind::Init;
        let kept = sidecar || (init && self.has(Defect::ChangeKeepsBackOffOfInit));
        if kept || self.has(Defect::ChangeKeepsBackOff) {
            return;
        }
        let grows = self.has(Defect::ChangeKeepsDelays);
        let container = &mut self.pods[at.pod].containers[at.container];
        if !grows {
            container.back_off = BackOff::default();
        }
        if container.state == State::Waiting("CrashLoopBackOff") {
            container.void_start = Some(container.waits_until);
            if !grows {
                self.back_off_more(at);
            }
            let delay = self.between(100 * MS, 400 * MS);
            self.later(delay, Act::Start(at));
        }
    }
}
