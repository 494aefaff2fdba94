//! How the program ends: the exit statuses for `--help`, and the failure of a command.
//!
//! The statuses are a contract with scripts and CI and do not change. Only [`ExitFacts::status`] decides which status a
//! run or a judgement ends with.

use std::fmt;
use std::path::Path;

use probity_cluster::ClusterError;
use probity_script::problem::Problem;

pub(crate) use probity_report::{Exit, ExitFacts, Standard, Undecided};

/// The statuses, for `--help` and for the documentation.
pub(crate) const STATUSES: &str = "Exit statuses:
    0  success: nothing is violated and nothing is undecided (and, with --strict, nothing diverges)
    1  a clause or an expectation is violated or, with --strict, a clause diverges
    2  wrong usage: an invalid flag, an unknown name, a missing permission, or a file or folder on the command line that does
       not exist, cannot be read or is invalid; nothing was created
    3  nothing is violated, but something is inconclusive, or nothing was decided
    4  the cluster or the harness failed, or another file could not be read or written
    5  the run was interrupted and cleaned up
    6  objects are left on the cluster; they are named, and `probity gc` removes them
If several apply, the precedence is 6 or 5, then 1, 4, 3. A clause that held wherever it was observed, but was not observed
for all its facets, is listed as inconclusive, but does not count as undecided here.";

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What went wrong, where, and what to do.
    pub(crate) sentence: String,
}

impl Failure {
    /// A failure that the user can fix.
    pub(crate) fn wrong_use(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, sentence: sentence.into() }
    }

    /// A file or folder that the user named is wrong. If an argument can only name files, [`FileArgument`] also says what
    /// the argument takes.
    ///
    /// [`FileArgument`]: crate::input_files::FileArgument
    pub(crate) fn wrong_file(path: &Path, why: impl fmt::Display) -> Self {
        Self::wrong_use(format!("{}: {why}", path.display()))
    }

    /// A failure that no flag can fix.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Error, sentence: sentence.into() }
    }

    /// A file that the user did not name could not be read or written, or one that the user named could not be written.
    pub(crate) fn file_failed(path: &Path, why: impl fmt::Display) -> Self {
        Self::failed(format!("{}: {why}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl From<Box<Problem>> for Failure {
    fn from(problem: Box<Problem>) -> Self {
        Self::wrong_use(problem.to_string())
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        match &error {
            ClusterError::Kubeconfig { .. }
            | ClusterError::ContextNotNamed { .. }
            | ClusterError::NoContexts { .. }
            | ClusterError::NoSuchContext { .. }
            | ClusterError::Context { .. }
            | ClusterError::Proxy { .. }
            | ClusterError::NotInCluster(_)
            | ClusterError::Permissions(_)
            | ClusterError::Namespace { .. }
            | ClusterError::UnknownKind { .. } => Self::wrong_use(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}
