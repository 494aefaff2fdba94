//! What can go wrong between kubelet and pods.

use serde::{Deserialize, Serialize};

/// A fault of a connection to a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum PodsFault {}
