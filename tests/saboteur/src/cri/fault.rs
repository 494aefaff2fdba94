//! What can go wrong between kubelet and container runtime.

use serde::{Deserialize, Serialize};

/// A fault of the connection to the container runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum CriFault {}
