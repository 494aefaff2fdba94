//! The user's choices for a run, and why a run may be impossible.

use std::collections::BTreeMap;

use probity_case::manifest::{Setting, variants};
use probity_case::{CaseName, Placement};

use crate::error::{ClusterError, Refusal};
use crate::run::drain::Kubectl;

/// What the user chose.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The name of the run: it labels everything, and names the namespaces that are created.
    pub run: String,
    /// An existing namespace to use. The run neither creates nor removes it.
    pub namespace: Option<String>,
    /// Where pods may be placed.
    pub placement: Placement,
    /// The cases that run on one node, by their names in the cluster.
    pub bound: BTreeMap<CaseName, String>,
    /// The image of the target.
    pub image: String,
    /// How it is pulled.
    pub pull_policy: String,
    /// The command for verbs on nodes.
    pub node_command: Option<Vec<String>>,
    /// The program that drains nodes.
    pub kubectl: Option<Kubectl>,
    /// Whether everything is kept for the user to look at.
    pub keep: bool,
    /// How many pods may start at the same time on a node.
    pub starts: u32,
    /// How many pods may exist at the same time; if absent, as many as the nodes can run.
    pub pods: Option<u32>,
}

impl RunOptions {
    pub(crate) fn setting(&self, namespace: &str, recorder: &str, token: &str) -> Setting {
        Setting {
            run: self.run.clone(),
            namespace: namespace.to_owned(),
            image: self.image.clone(),
            pull_policy: self.pull_policy.clone(),
            recorder: recorder.to_owned(),
            token: token.to_owned(),
            placement: self.placement.clone(),
            addresses: variants::references(&self.image).collect(),
        }
    }
}

/// A pod or a workload that the API server refuses in a dry run.
#[derive(Debug)]
pub struct RefusedPod {
    /// The case.
    pub case: CaseName,
    /// The key of the pod or the workload in the case.
    pub pod: String,
    /// The answer.
    pub refusal: Refusal,
}

/// How many refused pods the error of a run describes.
const DESCRIBED: usize = 3;

/// Why a run did not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The cluster could not be prepared.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Some pods are invalid for the API server.
    #[error("the API server rejects {} of the pods: {}", .0.len(), described(.0))]
    Refused(Vec<RefusedPod>),
    /// A policy of the cluster refuses every case with this message.
    #[error("no case can run, because a policy of the cluster refuses the pods of all of them: {0}")]
    AllRefused(String),
}

/// The first refused pods, each with the reason.
fn described(refused: &[RefusedPod]) -> String {
    let describe = |one: &RefusedPod| format!("{} of {}: {}", one.pod, one.case, one.refusal);
    let mut described: Vec<String> = refused.iter().take(DESCRIBED).map(describe).collect();
    if refused.len() > DESCRIBED {
        described.push(format!("and {} more", refused.len() - DESCRIBED));
    }
    described.join("; ")
}
