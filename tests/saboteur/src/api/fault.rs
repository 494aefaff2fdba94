//! What can go wrong between kubelet and API server.

use serde::{Deserialize, Serialize};

/// A fault of the connection to the API server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ApiFault {}
