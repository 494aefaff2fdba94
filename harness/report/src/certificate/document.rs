//! The certificate as a document: every field that it can contain.

use std::collections::BTreeMap;
use std::fmt;

use probity_case::{CaseName, Profile};
use probity_model::ClauseId;
use serde::{Deserialize, Serialize};

use crate::document::Counts;
use crate::run_log::{Suite, Tool};

/// A conformance level. A higher one includes all lower ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ConformanceLevel {
    /// No level was reached.
    #[default]
    None,
    /// Every MUST clause that the cases of the profile `core` target holds, or diverges as the book records it.
    Core,
    /// Every MUST clause that the cases of the profiles `core` and `extended` target holds, or diverges as the book
    /// records it.
    Extended,
}

/// What a run shows about the conformance of a cluster, and what this is based on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The highest level that the run reached.
    pub level: ConformanceLevel,
    /// What was tested.
    pub subject: Subject,
    /// The book that the histories were judged by. Its digest covers the clauses, the cases, the judges and the version.
    pub book: Suite,
    /// The program that ran.
    pub program: Tool,
    /// When the run started, by the harness's clock.
    pub began: String,
    /// Each level, with the reasons if it was not reached.
    pub levels: Vec<LevelReport>,
    /// The histories, each with the SHA-256 digest of its lines before compression.
    pub histories: BTreeMap<String, String>,
}

/// What was tested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    /// The version of the API server; empty if the run never reached it.
    pub server: String,
    /// The UID of the namespace kube-system. Empty without permission to read it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster_uid: String,
    /// The kubelets and runtimes of the nodes. Empty without permission to read nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kubelets: Vec<Kubelets>,
    /// The digest of the target's image.
    pub image: String,
    /// The labels of the run, such as the product.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Nodes that run the same programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Kubelets {
    /// The version of the kubelet; empty if unknown.
    pub kubelet: String,
    /// The container runtime and its version.
    pub runtime: String,
    /// The architecture.
    pub architecture: String,
    /// How many nodes there are.
    pub nodes: usize,
}

/// What a run says about one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LevelReport {
    /// The level.
    pub level: ConformanceLevel,
    /// Whether the run reached this level.
    pub reached: bool,
    /// The MUST clauses of the level by verdict, without the clauses that are not promised for this version of
    /// Kubernetes.
    pub must: Counts,
    /// Why the level was not reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<Obstacle>,
    /// MUST clauses that this cluster cannot show, or cannot show completely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<Exception>,
    /// Clauses of the level that are not promised for this version of Kubernetes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_promised: Vec<ClauseId>,
    /// SHOULD clauses of the level that were violated. They do not affect the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub should_violated: Vec<ClauseId>,
}

/// A reason why a level was not reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// The reason, in a sentence.
    pub why: String,
    /// The clauses that the reason is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<ClauseId>,
    /// The cases that the reason is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseName>,
}

/// A clause that a cluster cannot show, because it lacks a feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    /// The clause.
    pub clause: ClauseId,
    /// The cases that were skipped.
    pub cases: Vec<CaseName>,
    /// What the cluster lacks, in a sentence.
    pub why: String,
}

impl ConformanceLevel {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Core => "core",
            Self::Extended => "extended",
        }
    }

    /// The profiles whose cases the level needs.
    #[must_use]
    pub fn profiles(self) -> &'static [Profile] {
        match self {
            Self::None => &[],
            Self::Core => &[Profile::Core],
            Self::Extended => &[Profile::Core, Profile::Extended],
        }
    }
}

impl fmt::Display for ConformanceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
