//! What the API server showed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A revision of an object, as it came (without `managedFields`, which no clause speaks of).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sighting {
    /// The object's kind: `Pod`, `Event`, `EndpointSlice`, `Endpoints`, `Service`, `Node`…
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub change: Change,
    /// Its resource version.
    pub revision: String,
    /// The object.
    pub object: Value,
}

/// What a watch says became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is new, or was there when the watch began.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}
