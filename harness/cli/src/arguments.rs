//! The command line: every verb and its flags, as data. `commands` implements them.
//!
//! Groups of flags that several verbs share are defined next to the code that uses them: cases, clusters, runs.

pub(crate) mod comparing;
pub(crate) mod image;
pub(crate) mod in_cluster;
pub(crate) mod merge;
pub(crate) mod namespace;
pub(crate) mod on_cluster;
pub(crate) mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use comparing::{ComparisonFormat, ComparisonOutput, DiffArgs, MatrixArgs};
pub(crate) use image::ImageArgs;
pub(crate) use in_cluster::{FetchArgs, ManifestArgs};
pub(crate) use merge::MergeArgs;
pub(crate) use on_cluster::{GcArgs, RbacArgs, ReproduceArgs, RunArgs, TryArgs};
pub(crate) use verify::VerifyArgs;

use crate::cases::book::SuiteArgs;
use crate::cases::case_filter::CaseFilter;
use crate::exit_status::{STATUSES, Standard, Undecided};

/// Tests what Kubernetes promises about probes and the pod lifecycle, clause by clause, with evidence
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = STATUSES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Runs cases on a cluster and writes a report
    Run(Box<RunArgs>),
    /// Tests a pod's own probe settings with a standard set of faults, and compares the results with what the settings promise
    Try(Box<TryArgs>),
    /// Turns the manifest of a pod or workload into a case, runs it, and writes the text of an issue
    Reproduce(Box<ReproduceArgs>),
    /// Lists the cases, the clauses, or what tests each clause
    List(ListArgs),
    /// Explains a clause, a case, or a case file
    Explain(ExplainArgs),
    /// Checks case files without a cluster
    Lint(LintArgs),
    /// Judges stored histories without a cluster
    Judge(JudgeArgs),
    /// Regenerates the files of a run from its log and histories
    Report(ReportArgs),
    /// Checks another person's run: its digests, its verdicts, and whether anything is missing
    Verify(VerifyArgs),
    /// Merges several runs, such as the shards of one run, into one run with one report
    Merge(MergeArgs),
    /// Compares two reports: verdicts, measured numbers, facets
    Diff(DiffArgs),
    /// Shows several reports side by side: versions, vendors, nodes
    Matrix(MatrixArgs),
    /// Loads the target's image into a cluster, or pushes it to a registry
    Image(ImageArgs),
    /// Prints manifests of runs inside the cluster
    Manifest(ManifestArgs),
    /// Downloads the results of a run inside the cluster
    Fetch(FetchArgs),
    /// Prints the permissions that a run needs, as a manifest
    Rbac(RbacArgs),
    /// Removes the objects that a run left on a cluster when it could not clean up
    Gc(GcArgs),
    /// Prints the JSON Schema of a document
    Schema(SchemaArgs),
    /// Prints shell completions
    Completions(CompletionsArgs),
    /// Writes the manual pages, one for each subcommand
    Manual(ManualArgs),
}

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// How undecided cases and clauses affect the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// The exit status is 3
    Warn,
    /// They count as violated
    Fail,
    /// They pass, provided that something was decided
    Pass,
}

/// What counts as a failure.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StandardArgs {
    /// Set how inconclusive verdicts affect the exit status and the files
    #[arg(long, value_enum, default_value = "warn")]
    pub(crate) inconclusive: Inconclusive,
    /// Count divergences as violations, even though they are known upstream
    #[arg(long)]
    pub(crate) strict: bool,
}

impl StandardArgs {
    /// The standard that these flags describe.
    pub(crate) fn standard(self) -> Standard {
        Standard { undecided: self.inconclusive.into(), strict: self.strict }
    }
}

impl From<Inconclusive> for Undecided {
    fn from(choice: Inconclusive) -> Self {
        match choice {
            Inconclusive::Warn => Self::Warns,
            Inconclusive::Fail => Self::Fails,
            Inconclusive::Pass => Self::Passes,
        }
    }
}

/// Lists
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) filter: CaseFilter,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
    /// List the clauses of the book
    #[arg(long, conflicts_with = "coverage")]
    pub(crate) clauses: bool,
    /// List each clause with its judge, the cases that target it, and the number of planted defects that it detects
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Also list the names of the defects, and the recorded reason for anything that a clause lacks
    #[arg(long, requires = "coverage")]
    pub(crate) wide: bool,
    /// Set the format of the list
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Explains
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A clause such as probe.startup.gates-liveness, a case such as probe_types/startup-gates-others, or a case file or a folder of them; may be repeated
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) suites: SuiteArgs,
}

/// Generates the clause book, docs/book of the project
///
/// Only this project's own scripts use `probity book`. It is not a [`Verb`], because clap would suggest even a hidden
/// verb to users who mistype another one, and list it in the completions.
#[derive(Debug, Parser)]
#[command(name = "book", bin_name = "probity book", long_about = None)]
pub(crate) struct BookArgs {
    /// The folder for the pages, two levels below the project's root, because pages link to the files that they are
    /// generated from
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write nothing: compare with the existing pages, and fail if they differ
    #[arg(long)]
    pub(crate) check: bool,
}

/// Checks
#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// Case files, or folders of them; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Fail on hints too
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Judges
#[derive(Args, Debug)]
pub(crate) struct JudgeArgs {
    /// Histories of cases (.jsonl or .jsonl.zst), or folders of them
    #[arg(required = true, value_name = "HISTORY")]
    pub(crate) histories: Vec<PathBuf>,
    /// Judge only this clause; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) clause: Vec<String>,
    /// Set the format: text, or JSON that is identical to the verdict files of a run, byte for byte
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// Regenerates the files of a run
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// The folder of a run
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Write nothing: compare with the existing report, and fail if it differs
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// Prints a schema
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SchemaArgs {
    /// The document whose schema to print
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
    /// A change to a target's plan
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
    /// What changed between two reports, `probity diff --format json`
    Diff,
    /// Several reports side by side, `probity matrix --format json`
    Matrix,
}

/// Prints completions
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell to complete for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Writes manual pages
#[derive(Args, Clone, Debug)]
pub(crate) struct ManualArgs {
    /// The folder, which is created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
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
