//! The flags of the verbs that work on a cluster, or with the permissions for it.

use std::path::PathBuf;

use clap::Args;
use probity_report::run_log::Shard;
use probity_script::Span;
use probity_trial::Fault;

use super::in_cluster::DeliveryArgs;
use super::{Format, StandardArgs, namespace};
use crate::cases::book::SuiteArgs;
use crate::cases::case_filter::CaseFilter;
use crate::cases::shards;
use crate::output::did_you_mean;
use crate::pipeline::libtest::LibtestArgs;
use crate::pipeline::{ClusterArgs, RunSettings, STARTS, key_value};

/// Runs
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) filter: CaseFilter,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    #[command(flatten)]
    pub(crate) settings: RunSettings,
    /// Run each case N times; the worst verdict counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Run only this shard, such as 0/4 for the first of four: some of the cases or, with --every-node, all cases on
    /// some of the nodes; `probity merge` combines the runs
    #[arg(long, value_name = "I/N", value_parser = shards::read)]
    pub(crate) shard: Option<Shard>,
    /// Run each case on each node, or on each node selected with --node-selector
    #[arg(long, conflicts_with = "node")]
    pub(crate) every_node: bool,
    /// Use this command to act on nodes; it is called with a verb and the name of a node, such as restart-kubelet node2
    #[arg(long, value_name = "COMMAND")]
    pub(crate) node_command: Option<String>,
    /// Use this kubectl in cases that drain nodes [default: the kubectl on the PATH]
    #[arg(long, value_name = "PATH", env = "PROBITY_KUBECTL", hide_env_values = true)]
    pub(crate) kubectl: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
    /// Start at most N pods at the same time on a node
    #[arg(long, value_name = "N", default_value_t = STARTS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) starts: u32,
    /// Let at most N pods exist at the same time [default: the capacity of the nodes, at most 1000]
    #[arg(long, value_name = "N", alias = "test-threads", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pods: Option<u32>,
    /// Run a case up to N more times if it left something undecided; has no effect with --repeat
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) retries: u32,
    /// Add a label to the report, such as product=my-kubelet; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) label: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) delivery: DeliveryArgs,
    #[command(flatten)]
    pub(crate) libtest: LibtestArgs,
}

/// Tries
#[derive(Args, Debug)]
pub(crate) struct TryArgs {
    /// A file with a Pod, or a workload with a pod template; - for standard input
    #[arg(value_name = "POD.yaml")]
    pub(crate) file: PathBuf,
    /// Try the workload with this name, or with this kind and name (KIND/NAME), if the file has several
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) settings: RunSettings,
    /// Inject only these faults, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = fault)]
    pub(crate) faults: Vec<Fault>,
    /// Set how long the application takes to start in the slow-start fault
    #[arg(long, value_name = "SPAN", default_value = "20s", value_parser = positive_span)]
    pub(crate) slow_start: Span,
    /// Set the longest time that a fault may take; a pod whose probe settings need more time is rejected
    #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = positive_span)]
    pub(crate) span: Span,
    /// Print the faults, what the probe settings promise, and the duration; create nothing, and use no cluster
    #[arg(long)]
    pub(crate) plan: bool,
    /// Set the format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// The same as --format json, for scripts that use the older name
    #[arg(long, hide = true)]
    pub(crate) json: bool,
}

impl TryArgs {
    /// Whether the result is printed as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.format == Format::Json
    }
}

/// Reproduces
#[derive(Args, Debug)]
pub(crate) struct ReproduceArgs {
    /// A file with a Pod, or a workload with a pod template (- for standard input); or a case file; or a known bug, such as
    /// regressions/exec-timeout-ignored
    #[arg(value_name = "POD.yaml")]
    pub(crate) file: PathBuf,
    /// Reproduce the workload with this name, or with this kind and name (KIND/NAME), if the file has several
    #[arg(long, value_name = "NAME")]
    pub(crate) workload: Option<String>,
    /// Write the case to this file, so that you can correct the guesses and run it again
    #[arg(long, value_name = "FILE")]
    pub(crate) case_out: Option<PathBuf>,
    /// Write and explain the case, but do not run it; needs no cluster. Without --case-out, the case is printed
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) settings: RunSettings,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// Reads a span, which must be longer than 0s. Otherwise, there would be nothing to try.
fn positive_span(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    if span == Span::default() { Err("it must be longer than 0s".to_owned()) } else { Ok(span) }
}

fn fault(word: &str) -> Result<Fault, String> {
    let found = Fault::ALL.into_iter().find(|fault| fault.word() == word);
    found.ok_or_else(|| {
        let words: Vec<&str> = Fault::ALL.iter().map(|fault| fault.word()).collect();
        format!("the faults are {}{}", words.join(", "), did_you_mean(word, words.iter().copied()))
    })
}

/// Prints permissions
#[derive(Args, Debug)]
pub(crate) struct RbacArgs {
    /// Limit the permissions to this existing namespace
    #[arg(long, value_name = "NAME", value_parser = namespace::name)]
    pub(crate) namespace: Option<String>,
}

/// Removes
#[derive(Args, Debug)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Look only in this namespace [default: all namespaces, including those that runs created]
    #[arg(long, value_name = "NAME", value_parser = namespace::name)]
    pub(crate) namespace: Option<String>,
    /// Use this command to undo what a run did to a node; it is called with a verb and the name of a node, such as
    /// heal node2
    #[arg(long, value_name = "COMMAND")]
    pub(crate) node_command: Option<String>,
    /// Remove only objects that are at least this old, such as 10m or 2h, so that newer runs are not disturbed
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    pub(crate) older_than: Span,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_span_of_nothing_is_refused() {
        assert!(positive_span("0s").unwrap_err().contains("longer than 0s"));
        assert!(positive_span("1x").is_err());
        assert_eq!(positive_span("90s").unwrap().micros(), 90_000_000);
    }
}
