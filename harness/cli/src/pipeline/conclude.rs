//! The end of a run. Everything is read back from its folder, so `probity report` gets the same result.

use std::path::PathBuf;

use probity_model::History;
use probity_report::{Histories as _, LogLine, Report, Workers};
use tokio::runtime::Runtime;

use crate::cases::book::Book;
use crate::exit_status::{Exit, ExitFacts, Failure, Standard};
use crate::run_folder::foreign::RunFiles;
use crate::{provenance, report_files, run_folder};

/// A finished run with a written report.
pub(crate) struct FinishedRun {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Its log.
    pub(crate) log: Vec<LogLine>,
    /// Its report.
    pub(crate) report: Report,
    files: RunFiles,
    standard: Standard,
    failed: Option<String>,
    /// Keeps the signal listener running while the results are written and delivered.
    _runtime: Runtime,
}

impl FinishedRun {
    /// Reads the folder of a run back and writes its report.
    pub(super) fn load(
        folder: PathBuf,
        book: &Book,
        standard: Standard,
        failed: Option<String>,
        runtime: Runtime,
    ) -> Result<Self, Failure> {
        let (log, files) = run_folder::open(&folder)?;
        let report = Report::build(&book.registry, &log, &files, Workers::all())
            .map_err(|error| Failure::failed(format!("the report could not be built: {error}")))?
            .certified(&provenance::book_facts()?);
        report_files::write(&folder, &report, &files, standard)?;
        Ok(Self { folder, log, report, files, standard, failed, _runtime: runtime })
    }

    /// The histories that can be read back, all at once: call this only for a run of a few cases.
    pub(crate) fn whole_histories(&self) -> Vec<History> {
        let whole = self.log.iter().filter_map(|line| match line {
            LogLine::CaseEnded { history, .. } => self.files.read_history(history).ok(),
            _ => None,
        });
        whole.map(|read| read.into_owned().history).collect()
    }

    /// The exit status of the program, according to these facts.
    /// Fails if the run failed, with the reason and the exit status.
    pub(crate) fn end(self, facts: ExitFacts) -> Result<Exit, Failure> {
        let exit = facts.status(self.standard);
        match self.failed {
            Some(sentence) => Err(Failure { exit, sentence }),
            None => Ok(exit),
        }
    }
}
