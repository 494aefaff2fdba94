//! Static pods: the kubelet runs them from a manifest, and the API shows a mirror pod for each of them.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_model::history::{Change, Did, PLACE_STATIC_POD};
use serde_json::{Value, json};

use crate::Defect;
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

impl World<'_> {
    /// The manifest of a static pod is placed on the node.
    pub(crate) fn place_static_pod(&mut self, key: &str, manifest: Value) {
        let (node, verb) = (NODE.to_owned(), PLACE_STATIC_POD.to_owned());
        let input = Some(manifest.clone());
        self.did(Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output: None, proof: None });
        if self.has(Defect::StaticPodsIgnored) {
            return;
        }
        let hash = format!("{:032x}", self.pods.len() + 0x5eed);
        let mut object = manifest;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        object["metadata"]["name"] = json!(format!("{name}-{NODE}"));
        if !self.has(Defect::MirrorUnmarked) {
            object["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!(hash);
        }
        if !self.has(Defect::MirrorUnowned) {
            object["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "node", "controller": true }]);
        }
        object["spec"]["nodeName"] = json!(NODE);
        self.admit(key, object);
        if let Some(pod) = self.pods.last_mut() {
            pod.uid = hash;
            pod.is_static = true;
        }
    }

    /// The manifests of all static pods are removed from the node.
    pub(crate) fn remove_static_pods(&mut self, of: &NodeStep) {
        self.verb_done(of, None, None);
        if self.has(Defect::StaticPodsOutliveManifests) {
            return;
        }
        for pod in (0..self.pods.len()).filter(|pod| self.pods[*pod].is_static).collect::<Vec<_>>() {
            if self.has(Defect::StaticPodsForgottenWithManifests) {
                self.show_pod(pod, Change::Deleted);
                continue;
            }
            if self.has(Defect::StaticPodsRestartWithManifests) {
                self.stop_pod(pod);
                continue;
            }
            self.pods[pod].deleted = Some((self.now, self.pods[pod].grace() / SECOND));
            if self.has(Defect::StaticPodsKilledWithManifests) {
                (0..self.pods[pod].containers.len()).for_each(|container| {
                    let at = At { pod, container };
                    let attempt = self.pods[pod].containers[container].attempt();
                    self.force(LifeAt { at, attempt });
                });
            } else {
                self.stop_pod(pod);
            }
        }
    }

    /// Whether the API does not show a pod.
    pub(crate) fn is_unseen(&self, pod: usize) -> bool {
        let of = &self.pods[pod].object["metadata"]["ownerReferences"][0]["kind"];
        *of == "Node" && self.has(Defect::MirrorMissing)
    }

    /// The mirror pod of a static pod is deleted: the kubelet creates another one.
    pub(crate) fn delete_mirror(&mut self, pod: usize) {
        if self.has(Defect::MirrorNeverRemoved) {
            return;
        }
        self.show_pod(pod, Change::Deleted);
        if self.has(Defect::MirrorDeletionEndsPod) {
            self.stop_pod(pod);
        }
        if !self.has(Defect::MirrorNotRecreated) {
            let delay = self.between(300 * MS, 2_000 * MS);
            self.later(delay, Act::Mirror(pod));
        }
    }

    /// The kubelet creates a mirror pod again from the manifest.
    pub(crate) fn mirror_again(&mut self, pod: usize) {
        let uid = format!("00000000-0000-4000-9000-{:012}", self.number());
        let created = self.timestamp(self.now);
        let spec = self.pods[pod].first["spec"].clone();
        let object = &mut self.pods[pod].object;
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["creationTimestamp"] = json!(created);
        object["spec"] = spec;
        if self.has(Defect::MirrorStaysPending) {
            // The kubelet does not write the status of the pod any more.
            self.pods[pod].publishing = true;
            let class = self.pods[pod].object["status"]["qosClass"].clone();
            self.pods[pod].object["status"] = json!({ "phase": "Pending", "qosClass": class });
        }
        self.show_pod(pod, Change::Added);
    }
}
