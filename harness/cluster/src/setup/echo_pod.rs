//! The pod that the harness changes, to measure how long a change takes to return on the watch: see
//! [`crate::listen::echo`].
//!
//! A scheduling gate keeps the pod away from all nodes. So no kubelet may write it, and no taint, drain or failure of a
//! node removes it: only the API server, its storage and the network can delay what the harness sees of it.

use probity_case::manifest::Setting;
use serde_json::{Value, json};

use crate::setup::own_pod::OwnPod;

/// The name of the pod.
pub(crate) const NAME: &str = "probity-echo";

/// The manifest of the pod.
pub(crate) fn manifest(setting: &Setting) -> Value {
    let container = json!({ "resources": { "requests": { "cpu": "1m", "memory": "1Mi" } } });
    let pod = OwnPod { name: NAME, app: NAME, container, node: None, of: 1 };
    let mut manifest = pod.manifest(&setting.namespace, setting);
    manifest["spec"]["schedulingGates"] = json!([{ "name": "probity.dev/never" }]);
    manifest
}
