//! The flags of runs inside the cluster: `probity manifest`, `probity fetch`, and where `probity run` stores its results.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use probity_cluster::job::JOB;
use probity_image::{agnhost, harness};
use probity_script::Span;

use super::merge::AllowedArgs;
use super::{StandardArgs, namespace};
use crate::pipeline::ClusterArgs;

/// Prints manifests
#[derive(Args, Debug)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    pub(crate) of: ManifestOf,
}

/// What `probity manifest` prints.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestOf {
    /// Prints a Job that runs the suite inside the cluster, with its namespaces and minimal permissions
    Job(JobArgs),
    /// Prints a Sonobuoy plugin
    Sonobuoy(SonobuoyArgs),
}

/// The settings of a run in a manifest.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunInPodArgs {
    /// The name of the image of this program on the nodes; `probity image self` writes such an image. In
    /// `probity run`, --image is the name of the target's image
    #[arg(long, value_name = "REF", default_value_t = format!("{}:{}", harness::REPOSITORY, agnhost::TAG))]
    pub(crate) image: String,
    /// The name of the target's image on the nodes
    #[arg(long, value_name = "REF", default_value_t = format!("{}:{}", agnhost::REPOSITORY, agnhost::TAG))]
    pub(crate) target_image: String,
    /// The image pull policy of both images
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = ["Never", "IfNotPresent", "Always"])]
    pub(crate) pull_policy: String,
    /// Run only cases of these profiles, as with `probity run`
    #[arg(long, value_name = "PROFILE", value_delimiter = ',')]
    pub(crate) profile: Vec<String>,
    /// More flags for `probity run`, after --, such as -- --every-node --label product=my-kubelet
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub(crate) run: Vec<String>,
}

/// Prints the manifests of a Job
#[derive(Args, Clone, Debug)]
pub(crate) struct JobArgs {
    /// The namespace of the Job; the test namespaces have the same name with -0, -1 and so on
    #[arg(long, value_name = "NAME", default_value = "probity", value_parser = namespace::name_of_job)]
    pub(crate) namespace: String,
    /// The number of pods that share the cases
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) shards: u32,
    #[command(flatten)]
    pub(crate) run: RunInPodArgs,
}

/// Prints a Sonobuoy plugin
#[derive(Args, Clone, Debug)]
pub(crate) struct SonobuoyArgs {
    #[command(flatten)]
    pub(crate) run: RunInPodArgs,
}

/// Fetches
#[derive(Args, Debug)]
pub(crate) struct FetchArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Fetch from this namespace, in which the Job ran
    #[arg(long, value_name = "NAME", default_value = "probity", value_parser = namespace::name)]
    pub(crate) namespace: String,
    /// Fetch the results stored under this name
    #[arg(long, value_name = "NAME", default_value = JOB)]
    pub(crate) name: String,
    /// Write the run to this folder; the shards of a run go into its subfolder shards
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Wait up to this long for all results to be stored, such as 20m or 2h
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    pub(crate) wait: Span,
    /// Delete the results from the cluster after the download
    #[arg(long)]
    pub(crate) delete: bool,
    #[command(flatten)]
    pub(crate) allowed: AllowedArgs,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// Where a run stores its results, in addition to its folder.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeliveryArgs {
    /// Also store the results in ConfigMaps of this namespace, for `probity fetch`. Violated and undecided clauses then
    /// do not affect the exit status of this program: `probity fetch` exits with the status of the run
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace::name)]
    pub(crate) store: Option<String>,
    /// Store the results under this name
    #[arg(long, value_name = "NAME", default_value = JOB, requires = "store")]
    pub(crate) store_name: String,
    /// The UID of the Job with this name; the Job owns the results
    #[arg(long, hide = true, env = "PROBITY_JOB_UID")]
    pub(crate) job_uid: Option<String>,
    /// Also write the results to this folder, in the format of a Sonobuoy plugin
    #[arg(long, value_name = "DIR", conflicts_with = "store")]
    pub(crate) sonobuoy: Option<PathBuf>,
}

impl DeliveryArgs {
    /// Whether the results are delivered to a user, who judges them.
    pub(crate) fn delivers(&self) -> bool {
        self.store.is_some() || self.sonobuoy.is_some()
    }
}
