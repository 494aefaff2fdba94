//! The resources, the volumes and the user that a container has according to its status.

use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::pod::{Container, State};
use crate::world::World;

fn list<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    of[field].as_array().into_iter().flatten()
}

impl World<'_> {
    /// The user, the group and the supplemental groups of a container's processes.
    pub(crate) fn ids_of(&self, pod: usize, container: &Container) -> Vec<u32> {
        let of_pod = &self.pods[pod].object["spec"]["securityContext"];
        let of_both = |field: &str| {
            let own = container.spec["securityContext"][field].as_u64();
            own.or(of_pod[field].as_u64()).unwrap_or_default()
        };
        let most = if self.has(Defect::OnlyFirstGroupAdded) { 1 } else { usize::MAX };
        let added = list(of_pod, "supplementalGroups").take(most);
        let beside = list(of_pod, "supplementalGroups").next().is_some();
        let of_files = [&of_pod["fsGroup"]].into_iter();
        let of_files = of_files.filter(|_| !(beside && self.has(Defect::FsGroupBesideOthersLost)));
        let groups = added.chain(of_files).filter_map(Value::as_u64);
        let group = of_pod["runAsGroup"].as_u64().filter(|_| self.has(Defect::GroupOfPodWins));
        let own = &container.spec["securityContext"];
        let dropped = own["runAsUser"].is_u64() && self.has(Defect::UserDropsGroup);
        let own_group = own["runAsGroup"].as_u64().unwrap_or_default();
        let group = group.unwrap_or_else(|| if dropped { own_group } else { of_both("runAsGroup") });
        let all = [of_both("runAsUser"), group].into_iter().chain(groups);
        all.filter_map(|id| u32::try_from(id).ok()).collect()
    }

    /// Shows the resources, the volumes and the user of a container.
    pub(crate) fn show_given(&self, pod: usize, container: &Container, status: &mut Value) {
        let mounts = list(&container.spec, "volumeMounts").map(|mount| {
            let mut shown = json!({ "name": mount["name"], "mountPath": mount["mountPath"] });
            if mount["readOnly"] == true && !self.has(Defect::MountsShownAsWritable) {
                shown["readOnly"] = json!(true);
                let recursive = self.has(Defect::MountsShownAsRecursive);
                shown["recursiveReadOnly"] = json!(if recursive { "Enabled" } else { "Disabled" });
            }
            shown
        });
        let mounts: Vec<Value> = mounts.collect();
        if !mounts.is_empty() && !self.has(Defect::MountsUnsaid) {
            status["volumeMounts"] = json!(mounts);
        }
        let waits = matches!(container.view.state, State::Waiting("CrashLoopBackOff"));
        let kept = waits && !container.view.id.is_empty() && !self.has(Defect::AllocationLostInBackOff);
        if !matches!(container.view.state, State::Running(_)) && !kept {
            return;
        }
        let mut resources = container.spec["resources"].clone();
        let requests = self.shown_requests(pod, container);
        if requests.is_object() && !self.has(Defect::AllocationUnsaid) {
            let halved = self.has(Defect::AllocationOfMemoryOnly);
            let shown = if halved { json!({ "memory": requests["memory"] }) } else { requests };
            status["allocatedResources"] = shown;
        }
        if self.has(Defect::AllocationBeyondRequests) && container.spec["resources"]["requests"].is_null() {
            status["allocatedResources"] = json!({ "memory": "16Mi" });
        }
        if self.has(Defect::ResourcesWithoutLimits)
            && let Some(lists) = resources.as_object_mut()
        {
            lists.remove("limits");
        }
        if resources.is_object() && !self.has(Defect::ResourcesUnsaid) {
            status["resources"] = resources;
        }
        if container.attempt() > 0 && self.has(Defect::UserOfFirstInstanceOnly) {
            return;
        }
        if let [user, group, groups @ ..] = self.ids_of(pod, container).as_slice() {
            let user = if self.has(Defect::UserShownAsRoot) { &0 } else { user };
            let groups = if self.has(Defect::GroupsUnsaid) { &[] } else { groups };
            let groups: Vec<&u32> = [group].into_iter().chain(groups).collect();
            status["user"] = json!({ "linux": { "uid": user, "gid": group, "supplementalGroups": groups } });
        }
    }

    /// Shows the requests that are allocated for a whole pod. Nothing is shown if an amount is written in a rarer way.
    pub(crate) fn show_allocation(&self, pod: usize, status: &mut Value) {
        let of = &self.pods[pod];
        let stays = self.has(Defect::PodAllocationStays);
        let spec = if stays { &of.first["spec"] } else { &of.object["spec"] };
        if let (Some(cpu), Some(memory)) = (self.allocated(spec, "cpu"), self.allocated(spec, "memory")) {
            status["allocatedResources"] =
                json!({ "cpu": format!("{cpu}m"), "memory": (memory / 1000).to_string() });
        }
    }

    /// How much of a resource a whole pod requests, in thousandths.
    fn allocated(&self, spec: &Value, resource: &str) -> Option<i64> {
        let own = |of: &Value| match &of["resources"]["requests"][resource] {
            Value::Null => Some(0),
            amount => thousandths(amount),
        };
        let (mut mains, mut sidecars, mut inits) = (0, 0, 0);
        for container in list(spec, "containers") {
            mains += own(container)?;
        }
        for container in list(spec, "initContainers") {
            let amount = own(container)?;
            match container["restartPolicy"] == "Always" {
                true if self.has(Defect::PodAllocationWithoutSidecars) => {}
                true => sidecars += amount,
                false => inits = inits.max(sidecars + amount),
            }
        }
        Some(inits.max(mains + sidecars))
    }

    /// Applies defects to the lists of statuses of a pod.
    pub(crate) fn miscount(&self, status: &mut Value) {
        let twice = self.has(Defect::StatusTwice);
        if !twice && !self.has(Defect::StatusOfNoContainer) {
            return;
        }
        for field in ["initContainerStatuses", "containerStatuses"] {
            let Some(all) = status[field].as_array_mut() else { continue };
            let Some(mut more) = all.last().cloned() else { continue };
            if !twice {
                more["name"] = json!("left-over");
            }
            all.push(more);
        }
    }
}
