//! The command line. Flags are described and read here; what they lead to is in `commands`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::exit::{Inconclusive, STATUSES};
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
    /// Lists the cases, the clauses, or which case gives evidence for which clause
    List(ListArgs),
    /// Explains a clause, or a case in English
    Explain(ExplainArgs),
    /// Checks case files without a cluster
    Lint(LintArgs),
    /// Judges stored histories, without a cluster
    Judge(JudgeArgs),
    /// Prints the JSON Schema of a document
    Schema(SchemaArgs),
    /// Prints the completions of a shell
    Completions(CompletionsArgs),
}

impl Verb {
    /// The word on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Explain(_) => "explain",
            Self::Lint(_) => "lint",
            Self::Judge(_) => "judge",
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
    /// List for each clause whether it has a judge, and the cases that must give evidence for it
    #[arg(long)]
    pub(crate) coverage: bool,
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
    #[arg(long, value_enum, default_value = "fail")]
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
