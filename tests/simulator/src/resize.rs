//! A change of a container's resources while its pod exists; such a change, like a new image, begins the container's back-off
//! anew.

use probity_case::manifest::pod_name;
use probity_case::{ONLY, PatchStep};
use probity_model::history::Did;
use serde_json::Value;

use crate::Defect;
use crate::pod::{BackOff, State};
use crate::world::{Act, At, MS, World};

impl World<'_> {
    /// A client changes the resources of containers.
    pub(crate) fn resize(&mut self, of: &PatchStep) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let (kind, patch, subresource) = ("Pod".to_owned(), of.patch.clone(), "resize".to_owned());
        self.did(Did::Patched { kind, name: name.clone(), patch, subresource });
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else { return };
        let entries: Vec<Value> = of.patch["spec"]["containers"].as_array().cloned().unwrap_or_default();
        let containers = self.pods[pod].object["spec"]["containers"].as_array_mut();
        for container in containers.into_iter().flatten() {
            if let Some(entry) = entries.iter().find(|entry| entry["name"] == container["name"]) {
                container["resources"] = entry["resources"].clone();
            }
        }
        self.count_change(pod);
        self.show_again(pod);
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let Some(entry) = entries.iter().find(|entry| entry["name"] == of.name.as_str()) else {
                continue;
            };
            if !self.has(Defect::ResourcesOfFirstStatus) {
                self.pods[pod].containers[container].spec["resources"] = entry["resources"].clone();
            }
            self.begin_back_off_anew(At { pod, container });
        }
    }

    /// The image or the resources of a container changed.
    pub(crate) fn begin_back_off_anew(&mut self, at: At) {
        if self.has(Defect::ChangeKeepsBackOff) {
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
