//! The flags of `probity merge`.

use std::path::PathBuf;

use clap::Args;
use probity_report::merged_run::Allowed;

use super::StandardArgs;

/// Merges runs
#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// Folders of runs, or folders that hold some
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Where the merged run goes
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) allowed: AllowedArgs,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// What is merged though it does not belong together.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct AllowedArgs {
    /// Merge runs of different clusters, books or versions of the program; the report warns of it
    #[arg(long)]
    pub(crate) mixed: bool,
    /// Merge though shards are missing; their cases count as never ended
    #[arg(long)]
    pub(crate) incomplete: bool,
}

impl AllowedArgs {
    /// What they allow.
    pub(crate) fn allowed(self) -> Allowed {
        Allowed { mixed: self.mixed, incomplete: self.incomplete }
    }
}
