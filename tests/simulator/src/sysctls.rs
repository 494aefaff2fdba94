//! Pods that set kernel parameters: the kubelet rejects those that are not safe.

use probity_model::history::Change;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::World;

impl World<'_> {
    /// The kubelet rejects a pod that sets an unsafe kernel parameter; returns whether it did.
    pub(crate) fn refuses_sysctls(&mut self, pod: usize) -> bool {
        let of = &self.pods[pod].object["spec"]["securityContext"]["sysctls"];
        let mut all = of.as_array().into_iter().flatten();
        let slashed = |of: &Value| of["name"].as_str().is_some_and(|name| name.contains('/'));
        let allowed = |of: &Value| slashed(of) && self.has(Defect::SlashedSysctlAllowed);
        let forbidden = |of: &Value| slashed(of) && self.has(Defect::SlashedSysctlForbidden);
        let first = all.position(|of| forbidden(of) || (!is_safe(of) && !allowed(of)));
        if first.is_none_or(|first| first > 0 && self.has(Defect::UnsafeSysctlAfterSafe)) {
            return false;
        }
        self.pods[pod].terminal = true;
        self.pods[pod].object["status"]["phase"] = json!("Failed");
        self.pods[pod].object["status"]["reason"] = json!("SysctlForbidden");
        self.pods[pod].object["status"]["message"] = json!("Pod was rejected: forbidden sysctl");
        let (name, object) = (self.pods[pod].name.clone(), self.pods[pod].object.clone());
        self.show("Pod", &name, Change::Modified, &object);
        true
    }

    /// The files with which the kernel shows the parameters of a pod, with their content.
    pub(crate) fn sysctl_files(&self, pod: usize) -> Vec<(String, String)> {
        let of = self.pods[pod].object["spec"]["securityContext"]["sysctls"].as_array();
        let file = |of: &Value| {
            let path = of["name"].as_str()?.replace('.', "/");
            let value = of["value"].as_str().filter(|_| !self.has(Defect::SafeSysctlUnset)).unwrap_or("0");
            Some((format!("/proc/sys/{path}"), format!("{value}\n")))
        };
        of.into_iter().flatten().filter_map(file).collect()
    }
}

/// Whether a kernel parameter is safe; of the unsafe ones, the cases use none of this family.
fn is_safe(of: &Value) -> bool {
    let name = of["name"].as_str().unwrap_or_default().replace('/', ".");
    name.starts_with("net.ipv4.") || name == "kernel.shm_rmid_forced"
}
