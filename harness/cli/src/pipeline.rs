//! A run on a cluster, for `probity run` and `probity try` alike.
//!
//! ```text
//! prepare:  connect, check the permissions, submit the user's own pods as dry runs; nothing is created
//! conduct:  create the namespace, submit every pod as a dry run, create, watch, clean up; meanwhile the sink writes and
//!           judges, and the screen shows the progress
//! conclude: read the log and the histories back, write the report, choose the exit status
//! ```

mod conclude;
mod conduct;
mod delivery;
mod image_variants;
mod prepare;
mod run_sink;
mod signals;

pub(crate) mod closing_summary;
pub(crate) mod kubectl;
pub(crate) mod libtest;
pub(crate) mod progress;
pub(crate) mod selection;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use probity_case::{Placement, Toleration};
use probity_cluster::{Access, RunOptions};
use probity_image::agnhost;

pub(crate) use conduct::RunPlan;
pub(crate) use delivery::deliver;
pub(crate) use prepare::{prepare, runtime};

use crate::arguments::namespace;

/// How many pods start at the same time on a node, unless the user sets another number.
pub(crate) const STARTS: u32 = 2;

/// The cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClusterArgs {
    /// Use this kubeconfig [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Use this context; required unless the file given with --kubeconfig has only one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Use the service account of the pod that this program runs in, without a kubeconfig
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) in_cluster: bool,
}

impl ClusterArgs {
    /// How to access the cluster.
    pub(crate) fn access(&self) -> Access {
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        Access { kubeconfig, context, in_cluster: self.in_cluster }
    }
}

/// The nodes of a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PlacementArgs {
    /// Use only this node
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Use only nodes with this label; may be repeated, and all labels must match
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) node_selector: Vec<(String, String)>,
    /// Also use nodes with this taint, such as vendor.example.com/kubelet=new:NoSchedule; may be repeated
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub(crate) toleration: Vec<Toleration>,
}

impl PlacementArgs {
    /// Where pods may be placed.
    pub(crate) fn placement(&self) -> Placement {
        Placement {
            node: self.node.clone(),
            selector: self.node_selector.iter().cloned().collect(),
            tolerations: self.toleration.clone(),
        }
    }
}

/// The program of a command and its arguments.
pub(crate) fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The settings of every run on a cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunSettings {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Run in this existing namespace, which may enforce the restricted Pod Security Standard [default: create a
    /// namespace, and delete it afterwards]
    #[arg(long, value_name = "NAME", value_parser = namespace::name)]
    pub(crate) namespace: Option<String>,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// Write the histories, the verdicts and the report to this folder [default: probity-out/RUN]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Use this image for the targets; the nodes must have it or be able to pull it. In `probity manifest`,
    /// --image names the image that contains `probity`, and --target-image names the targets' image
    #[arg(long, value_name = "REF", default_value_t = format!("{}:{}", agnhost::REPOSITORY, agnhost::TAG))]
    pub(crate) image: String,
    /// Set the image pull policy of the targets
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = ["Never", "IfNotPresent", "Always"])]
    pub(crate) pull_policy: String,
    /// Leave everything on the cluster for inspection
    #[arg(long)]
    pub(crate) keep: bool,
}

impl RunSettings {
    /// The options that all new runs share.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            run: run_name(),
            namespace: self.namespace.clone(),
            placement: self.placement.placement(),
            bound: BTreeMap::new(),
            image: self.image.clone(),
            pull_policy: self.pull_policy.clone(),
            node_command: None,
            kubectl: None,
            keep: self.keep,
            starts: STARTS,
            pods: None,
        }
    }

    /// The folder of the run with this name.
    fn folder(&self, run: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| Path::new("probity-out").join(run))
    }
}

/// A unique name for a run. It is a label of all objects of the run, and the name of its namespace.
fn run_name() -> String {
    let random = uuid::Uuid::now_v7().simple().to_string();
    format!("probity-{}-{}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"), &random[random.len() - 4..])
}
