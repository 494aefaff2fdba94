//! The flags of `probity merge`.

use std::path::PathBuf;

use clap::Args;
use probity_report::merged_run::Allowed;

use super::StandardArgs;

/// Merges runs
#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArgs {
    /// Folders of runs, or folders that contain such folders
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Write the merged run to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) allowed: AllowedArgs,
    #[command(flatten)]
    pub(crate) standard: StandardArgs,
}

/// Which runs may be merged although they do not belong together.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct AllowedArgs {
    /// Merge runs of different clusters, books or versions of the program; the report has a warning
    #[arg(long)]
    pub(crate) mixed: bool,
    /// Merge even if shards are missing; the report states that their cases never ended
    #[arg(long)]
    pub(crate) incomplete: bool,
}

impl AllowedArgs {
    /// What these flags allow.
    pub(crate) fn allowed(self) -> Allowed {
        Allowed { mixed: self.mixed, incomplete: self.incomplete }
    }
}
