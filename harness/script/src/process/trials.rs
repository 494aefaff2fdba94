//! Actions that a plan lets a process try, to find out whether they are permitted.

use serde::{Deserialize, Serialize};

/// One action to try. Each action undoes its effects as far as possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum PlannedTrial {
    /// Mount an empty file system over this directory (CAP_SYS_ADMIN), and remove it.
    Mount(String),
    /// Set the host name (CAP_SYS_ADMIN) to its current value.
    SetHostname,
    /// Create a null device with this name (CAP_MKNOD), and remove it.
    MakeDevice(String),
    /// Request that the kernel loads an empty module (CAP_SYS_MODULE). The kernel never loads it.
    LoadModule,
    /// Look up the owner of this file.
    Owner(String),
    /// Open this file for writing without writing anything. A file that does not exist is created and removed.
    Write(String),
}

impl PlannedTrial {
    /// What is tried, in a word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mount(_) => "mount",
            Self::SetHostname => "set-hostname",
            Self::MakeDevice(_) => "make-device",
            Self::LoadModule => "load-module",
            Self::Owner(_) => "owner",
            Self::Write(_) => "write",
        }
    }

    /// The file that the action uses.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Mount(path) | Self::MakeDevice(path) | Self::Owner(path) | Self::Write(path) => Some(path),
            Self::SetHostname | Self::LoadModule => None,
        }
    }
}
