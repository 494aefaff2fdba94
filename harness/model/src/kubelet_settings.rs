//! The settings of a kubelet on which promises of the documentation depend.
//!
//! An administrator may set a shorter back-off, or allow unsafe sysctls. What a clause promises for the default does not
//! hold there, and this is not a fault of the kubelet. A clause names such settings in `unless-configured`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The fields of a KubeletConfiguration that matter. A field that is absent has its default.
pub const KUBELET_SETTINGS: [&str; 17] = [
    "allowedUnsafeSysctls",
    "configMapAndSecretChangeDetectionStrategy",
    "cpuManagerPolicy",
    "crashLoopBackOff.maxContainerRestartPeriod",
    "eventBurst",
    "eventRecordQPS",
    "featureGates.ContainerRestartRules",
    "featureGates.InPlacePodVerticalScaling",
    "featureGates.KubeletCrashLoopBackOffMax",
    "featureGates.PodReadyToStartContainersCondition",
    "featureGates.ReduceDefaultCrashLoopBackOffDecay",
    "featureGates.RestartAllContainersOnContainerExits",
    "fileCheckFrequency",
    "memorySwap.swapBehavior",
    "registryPullQPS",
    "serializeImagePulls",
    "syncFrequency",
];

/// The values that mean the default. A kubelet fills in some defaults, and leaves out others.
fn is_default(name: &str, value: &Value) -> bool {
    let defaults: &[Value] = match name {
        "allowedUnsafeSysctls" => &[json!([])],
        "configMapAndSecretChangeDetectionStrategy" => &[json!("Watch"), json!("")],
        "cpuManagerPolicy" => &[json!("none"), json!("")],
        "crashLoopBackOff.maxContainerRestartPeriod" => &[json!("5m0s"), json!("5m"), json!("300s")],
        "eventBurst" => &[json!(100), json!(0)],
        "eventRecordQPS" => &[json!(50)],
        "featureGates.ContainerRestartRules"
        | "featureGates.InPlacePodVerticalScaling"
        | "featureGates.KubeletCrashLoopBackOffMax"
        | "featureGates.PodReadyToStartContainersCondition"
        | "featureGates.RestartAllContainersOnContainerExits"
        | "serializeImagePulls" => &[json!(true)],
        "featureGates.ReduceDefaultCrashLoopBackOffDecay" => &[json!(false)],
        "fileCheckFrequency" => &[json!("20s"), json!("0s")],
        "memorySwap.swapBehavior" => &[json!("NoSwap"), json!("")],
        "registryPullQPS" => &[json!(5)],
        "syncFrequency" => &[json!("1m0s"), json!("1m"), json!("60s"), json!("0s")],
        _ => &[],
    };
    value.is_null() || defaults.contains(value)
}

/// The settings that matter and that a KubeletConfiguration changes, each with its value.
#[must_use]
pub fn changed_by(configuration: &Value) -> BTreeMap<String, String> {
    let value = |name: &str| configuration.pointer(&format!("/{}", name.replace('.', "/")));
    let changed = KUBELET_SETTINGS.iter().filter_map(|name| {
        let value = value(name).filter(|value| !is_default(name, value))?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(((*name).to_owned(), text))
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_differ_from_their_defaults_are_kept() {
        let plain =
            json!({ "syncFrequency": "1m0s", "eventRecordQPS": 50, "crashLoopBackOff": {}, "maxPods": 7 });
        assert_eq!(changed_by(&plain), BTreeMap::new());
        let own = json!({
            "syncFrequency": "10m0s",
            "crashLoopBackOff": { "maxContainerRestartPeriod": "10s" },
            "allowedUnsafeSysctls": ["kernel.msg*"],
            "featureGates": { "ReduceDefaultCrashLoopBackOffDecay": true },
        });
        let changed = changed_by(&own);
        let text = |name: &str| changed.get(name).map(String::as_str);
        assert_eq!(text("syncFrequency"), Some("10m0s"));
        assert_eq!(text("crashLoopBackOff.maxContainerRestartPeriod"), Some("10s"));
        assert_eq!(text("allowedUnsafeSysctls"), Some(r#"["kernel.msg*"]"#));
        assert_eq!(text("featureGates.ReduceDefaultCrashLoopBackOffDecay"), Some("true"));
        assert_eq!(text("eventRecordQPS"), None);
    }

    #[test]
    fn the_defaults_that_a_kubelet_fills_in_change_nothing() {
        let plain = json!({
            "configMapAndSecretChangeDetectionStrategy": "Watch", "eventBurst": 100, "fileCheckFrequency": "20s",
            "memorySwap": {}, "registryPullQPS": 5, "serializeImagePulls": true,
            "featureGates": { "ContainerRestartRules": true, "KubeletCrashLoopBackOffMax": true },
        });
        assert_eq!(changed_by(&plain), BTreeMap::new());
        let own = json!({
            "configMapAndSecretChangeDetectionStrategy": "Cache", "eventBurst": 10, "fileCheckFrequency": "2m0s",
            "memorySwap": { "swapBehavior": "LimitedSwap" }, "registryPullQPS": 0, "serializeImagePulls": false,
            "featureGates": { "PodReadyToStartContainersCondition": false },
        });
        let changed = changed_by(&own);
        let text = |name: &str| changed.get(name).map(String::as_str);
        assert_eq!(text("configMapAndSecretChangeDetectionStrategy"), Some("Cache"));
        assert_eq!(text("eventBurst"), Some("10"));
        assert_eq!(text("memorySwap.swapBehavior"), Some("LimitedSwap"));
        assert_eq!(text("serializeImagePulls"), Some("false"));
        assert_eq!(text("featureGates.PodReadyToStartContainersCondition"), Some("false"));
        assert_eq!(changed.len(), 7);
    }

    #[test]
    fn a_configuration_that_is_none_changes_nothing() {
        assert_eq!(changed_by(&json!("hostile")), BTreeMap::new());
    }
}
