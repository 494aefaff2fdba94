//! How the API server validates workloads with a pod template, and the hooks in a container's lifecycle.
//!
//! Templates follow the rules for pods, with the path of the template before each field. The simulator does not run
//! workloads.

use serde_json::Value;

use crate::Defect;
use crate::world::World;

/// The path of the pod's spec in an object of a kind, and the API group of the kind.
pub(crate) fn pod_spec_of(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "Pod" => Some(("spec", "")),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => Some(("spec.template.spec", ".apps")),
        "Job" => Some(("spec.template.spec", ".batch")),
        "CronJob" => Some(("spec.jobTemplate.spec.template.spec", ".batch")),
        "ReplicationController" => Some(("spec.template.spec", "")),
        _ => None,
    }
}

/// The part of an object at a path of field names.
pub(crate) fn part<'o>(object: &'o mut Value, path: &str) -> Option<&'o mut Value> {
    path.split('.').try_fold(object, |part, field| part.get_mut(field))
}

impl World<'_> {
    /// The problems with the HostProcess containers of a Windows pod.
    pub(crate) fn host_process_problems(&self, spec: &Value, path: &str, problems: &mut Vec<String>) {
        let of = |holder: &Value| holder["securityContext"]["windowsOptions"]["hostProcess"].as_bool();
        let list = |field: &str| spec[field].as_array().cloned().unwrap_or_default();
        let all = [list("initContainers"), list("containers")].concat();
        let all: Vec<bool> =
            all.iter().map(|container| of(container).or(of(spec)).unwrap_or(false)).collect();
        if !all.contains(&true) {
            return;
        }
        let pure = all.iter().skip(usize::from(self.has(Defect::ApiForgetsFirstHostProcess)));
        if pure.into_iter().any(|host| !host) && !self.has(Defect::ApiAcceptsMixedHostProcess) {
            problems.push(format!(
                "{path}: Invalid value: \"\": If pod contains any hostProcess containers then all containers must be \
                 HostProcess containers"
            ));
        }
        let network = spec["hostNetwork"] == true && !self.has(Defect::ApiRefusesHostProcess);
        if !network && !self.has(Defect::ApiAcceptsHostProcessWithoutHost) {
            problems.push(format!(
                "{path}.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"
            ));
        }
    }

    /// The problems with the sleeps in a container's lifecycle.
    pub(crate) fn sleep_problems(
        &self,
        path: &str,
        container: &Value,
        grace: Option<i64>,
        problems: &mut Vec<String>,
    ) {
        for hook in ["postStart", "preStop"] {
            let seconds = container["lifecycle"][hook]["sleep"]["seconds"].as_i64();
            let (Some(seconds), Some(grace)) = (seconds, grace) else { continue };
            let most = if self.has(Defect::ApiRefusesSleepOfAllGrace) { grace - 1 } else { grace };
            let least = i64::from(self.has(Defect::ApiRefusesSleepOfNothing));
            let wrong = (seconds < least && !(seconds < 0 && self.has(Defect::ApiAcceptsNegativeSleep)))
                || (seconds > most && !self.has(Defect::ApiAcceptsSleepBeyondGrace));
            if wrong {
                problems.push(format!(
                    "{path}.lifecycle.{hook}.sleep: Invalid value: {seconds}: must not be negative, nor longer than \
                     the grace period of {grace} seconds"
                ));
            }
        }
    }
}
