//! Things that a process may or may not be allowed to do, and that a plan lets it try.

use serde::{Deserialize, Serialize};

/// One thing to try. Each leaves everything as it was, as far as it can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum PlannedTrial {
    /// Mount an empty file system over this directory (CAP_SYS_ADMIN), and remove it.
    Mount(String),
    /// Set the host name (CAP_SYS_ADMIN) to what it is.
    SetHostname,
    /// Make a device for nothing under this name (CAP_MKNOD), and remove it.
    MakeDevice(String),
    /// Ask the kernel to load an empty module (CAP_SYS_MODULE), which it never does.
    LoadModule,
    /// Look up the owner of this file.
    Owner(String),
    /// Open this file for writing, or make it and remove it, and write nothing.
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

    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Mount(path) | Self::MakeDevice(path) | Self::Owner(path) | Self::Write(path) => Some(path),
            Self::SetHostname | Self::LoadModule => None,
        }
    }
}
