//! The command line. Flags are described and read here; what they lead to is in `commands`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use probity_cluster::{Access, RunOptions};
use probity_image::agnhost;
use probity_script::Span;

use crate::commands::diff::DiffArgs;
use crate::commands::image::ImageArgs;
use crate::commands::report::{Inconclusive, ReportArgs};
use crate::commands::try_pod::TryArgs;
use crate::exit::STATUSES;
use crate::front::FrontArgs;
use crate::select::Choice;

/// Tests what Kubernetes promises of probes and the pod lifecycle, clause by clause, with evidence
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = STATUSES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Runs cases on a cluster, and writes a report
    Run(Box<RunArgs>),
    /// Tries a pod's own probe settings under a standard set of faults, beside what they promise
    Try(Box<TryArgs>),
    /// Lists the cases, the clauses, or what there is to test each clause with
    List(ListArgs),
    /// Explains a clause, or a case in English
    Explain(ExplainArgs),
    /// Checks case files without a cluster
    Lint(LintArgs),
    /// Judges stored histories, without a cluster
    Judge(JudgeArgs),
    /// Makes the files of a run again from its log and histories
    Report(ReportArgs),
    /// Compares two reports
    Diff(DiffArgs),
    /// Brings the target's image to where a cluster finds it
    Image(ImageArgs),
    /// Prints the rights that a run needs, as a manifest
    Rbac(RbacArgs),
    /// Removes what a run left on a cluster when it could not clean up
    Gc(GcArgs),
    /// Writes the clause book, as docs/book of the project has it
    #[command(hide = true)]
    Book(BookArgs),
    /// Prints the JSON Schema of a document
    Schema(SchemaArgs),
    /// Prints the completions of a shell
    Completions(CompletionsArgs),
}

impl Verb {
    /// The word on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Try(_) => "try",
            Self::Report(_) => "report",
            Self::Diff(_) => "diff",
            Self::Image(_) => "image",
            Self::Rbac(_) => "rbac",
            Self::Gc(_) => "gc",
            Self::List(_) => "list",
            Self::Explain(_) => "explain",
            Self::Lint(_) => "lint",
            Self::Judge(_) => "judge",
            Self::Book(_) => "book",
            Self::Schema(_) => "schema",
            Self::Completions(_) => "completions",
        }
    }
}

/// Cases of one's own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SuiteArgs {
    /// A case file of your own, or a folder of them, besides the built-in book; may be given more than once
    #[arg(long, value_name = "PATH")]
    pub(crate) suite: Vec<PathBuf>,
    /// Leave the built-in book's cases out
    #[arg(long, requires = "suite")]
    pub(crate) only_suite: bool,
}

/// Which cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClusterArgs {
    /// The kubeconfig; else $KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context. It must be named, unless the kubeconfig given by flag has only one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ClusterArgs {
    /// The way to the cluster.
    pub(crate) fn access(&self) -> Access {
        Access { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}

/// Runs
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// A namespace that is there, at the restricted Pod Security level; else one is made and removed
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Use this node alone
    #[arg(long, value_name = "NAME")]
    pub(crate) node: Option<String>,
    /// Run each case so often; the worst verdict counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where histories, verdicts and the report go; probity-out/RUN if not said
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The target's image, as the nodes know it
    #[arg(long, value_name = "REF", default_value_t = image())]
    pub(crate) image: String,
    /// Whether nodes ask a registry for the image
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = ["Never", "IfNotPresent", "Always"])]
    pub(crate) pull_policy: String,
    /// A command that reaches nodes: it is called with a verb and a node's name behind it, such as restart-kubelet node2
    #[arg(long, value_name = "COMMAND")]
    pub(crate) node_command: Option<String>,
    /// Whether inconclusive verdicts fail the run
    #[arg(long, value_enum, default_value = "warn")]
    pub(crate) inconclusive: Inconclusive,
    /// Leave everything on the cluster, to look at
    #[arg(long)]
    pub(crate) keep: bool,
    /// How many pods start at the same time on a node
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) starts: u32,
    /// How many pods are there at the same time; as many as the nodes take if not said
    #[arg(long, value_name = "N", alias = "test-threads", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pods: Option<u32>,
    /// Something to say in the report, such as product=my-kubelet; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub(crate) label: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
}

impl RunArgs {
    /// What the cluster's side has to know.
    pub(crate) fn options(&self, run: String) -> RunOptions {
        let words = |command: &String| command.split_whitespace().map(str::to_owned).collect();
        RunOptions {
            run,
            namespace: self.namespace.clone(),
            node: self.node.clone(),
            image: self.image.clone(),
            pull_policy: self.pull_policy.clone(),
            node_command: self.node_command.as_ref().map(words),
            keep: self.keep,
            starts: self.starts,
            pods: self.pods,
        }
    }
}

/// The target's image as the archive of this project names it.
pub(crate) fn image() -> String {
    format!("{}:{}", agnhost::REPOSITORY, agnhost::TAG)
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it like product=my-kubelet")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Prints rights
#[derive(Args, Debug)]
pub(crate) struct RbacArgs {
    /// Rights in this namespace alone, which must be there
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
}

/// Removes
#[derive(Args, Debug)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Look in this namespace alone; else everywhere, and for namespaces that runs made
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Only what is at least so old, so that runs of others go on: 10m, 2h
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    pub(crate) older_than: Span,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Lists
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) choice: Choice,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    /// List the clauses of the book
    #[arg(long, conflicts_with = "coverage")]
    pub(crate) clauses: bool,
    /// List for each clause its judge, the cases that must give evidence for it, and how many planted defects it notices
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Name the defects as well, and give the written reasons for what a clause has not
    #[arg(long, requires = "coverage")]
    pub(crate) wide: bool,
    /// How
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Explains
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A clause such as probe.startup.gates-liveness, or a case such as probe_types/startup-gates-others
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
}

/// Writes the clause book
#[derive(Args, Debug)]
pub(crate) struct BookArgs {
    /// The folder, two below that of the project: pages point to the files that they are made of
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write nothing: compare with the pages that are there, and fail if they say something else
    #[arg(long)]
    pub(crate) check: bool,
}

/// Checks
#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// Case files, or folders of them
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Let hints fail too
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Judges
#[derive(Args, Debug)]
pub(crate) struct JudgeArgs {
    /// Histories of cases (.jsonl or .jsonl.zst), or folders of them
    #[arg(required = true, value_name = "HISTORY")]
    pub(crate) histories: Vec<PathBuf>,
    /// Only this clause; may be given more than once
    #[arg(long, value_name = "ID")]
    pub(crate) clause: Vec<String>,
    /// Text for people, or the verdict files of a run, byte for byte
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Whether inconclusive verdicts change the exit status
    #[arg(long, value_enum, default_value = "warn")]
    pub(crate) inconclusive: Inconclusive,
}

/// Prints a schema
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SchemaArgs {
    /// Which document
    #[arg(value_enum)]
    pub(crate) document: Document,
}

/// A document that has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Document {
    /// A case file
    Case,
    /// A chapter's clauses
    Clauses,
    /// A target's plan
    Plan,
    /// A change of a target's plan
    Change,
    /// A line that a target writes
    Witness,
    /// A line of a history
    History,
    /// The verdicts on one history
    Verdicts,
    /// A line of a run's log
    Log,
    /// The report of a run
    Report,
}

/// Prints completions
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        CommandLine::command().debug_assert();
    }
}
