//! What the API server showed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A revision of an object, as received (without `managedFields`, which no clause covers).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sighting {
    /// The object's kind: `Pod`, `Event`, `EndpointSlice`, `Endpoints`, `Service`, `Node`…
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The kind of change.
    pub change: Change,
    /// Its resource version.
    pub revision: String,
    /// The object.
    pub object: Value,
}

/// The kind of change that a watch reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The object is new, or existed when the watch started.
    Added,
    /// It changed.
    Modified,
    /// It was deleted.
    Deleted,
}
