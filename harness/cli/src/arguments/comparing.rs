//! The arguments of the verbs that compare reports.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

/// The format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// For a terminal
    Text,
    /// For a comment, a wiki or the summary of a workflow step
    Markdown,
    /// For a browser: one page that needs no network
    Html,
    /// For programs; `probity schema` prints the schema
    Json,
}

/// How a comparison is written.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ComparisonOutput {
    /// Set the output format; by default, the extension of the --out file determines it (.md, .html, .json),
    /// otherwise it is text
    #[arg(long, value_enum)]
    pub(crate) format: Option<ComparisonFormat>,
    /// Write to this file instead of standard output. In HTML and Markdown, links to the reports are relative to it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

impl ComparisonOutput {
    /// The requested format.
    pub(crate) fn format(&self) -> ComparisonFormat {
        let ending = self.out.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
        self.format.unwrap_or(match ending {
            Some("md") => ComparisonFormat::Markdown,
            Some("html" | "htm") => ComparisonFormat::Html,
            Some("json") => ComparisonFormat::Json,
            _ => ComparisonFormat::Text,
        })
    }
}

/// Compares two reports
#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArgs {
    /// The older report, or the folder of its run
    #[arg(value_name = "OLDER")]
    pub(crate) older: PathBuf,
    /// The newer report, or the folder of its run
    #[arg(value_name = "NEWER")]
    pub(crate) newer: PathBuf,
    #[command(flatten)]
    pub(crate) output: ComparisonOutput,
}

/// Shows several reports side by side
#[derive(Args, Clone, Debug)]
pub(crate) struct MatrixArgs {
    /// Reports, or the folders of their runs, in the order of the columns; write NAME=REPORT to give a report a name
    #[arg(required = true, value_name = "REPORT")]
    pub(crate) reports: Vec<OsString>,
    /// Leave out the clauses on which all reports agree
    #[arg(long)]
    pub(crate) only_differences: bool,
    #[command(flatten)]
    pub(crate) output: ComparisonOutput,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_the_file_unless_it_is_named() {
        let of =
            |format, out: Option<&str>| ComparisonOutput { format, out: out.map(PathBuf::from) }.format();
        assert_eq!(of(None, None), ComparisonFormat::Text);
        assert_eq!(of(None, Some("a/matrix.html")), ComparisonFormat::Html);
        assert_eq!(of(None, Some("matrix.md")), ComparisonFormat::Markdown);
        assert_eq!(of(None, Some("matrix")), ComparisonFormat::Text);
        assert_eq!(of(Some(ComparisonFormat::Json), Some("matrix.html")), ComparisonFormat::Json);
    }
}
