//! The name of a case, and the runs that it belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of the name of a case that runs a second time.
const AGAIN: &str = "/again";

/// The name of a case: `chapter/what-it-shows`, with `/axis=value` for each axis of a matrix, except
/// `container-kind=main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CaseName(pub String);

/// The part of a name before the name of a node.
const ON_NODE: &str = "/node=";

impl CaseName {
    /// The name of this case when it runs on one of several nodes.
    #[must_use]
    pub fn on_node(&self, node: &str) -> Self {
        Self(format!("{}{ON_NODE}{node}", self.0))
    }

    /// The node in a name that `on_node` returned.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.0.rsplit_once(ON_NODE).map(|(_, node)| node)
    }

    /// The name without a node.
    #[must_use]
    pub fn anywhere(&self) -> Self {
        Self(self.0.rsplit_once(ON_NODE).map_or(self.0.as_str(), |(name, _)| name).to_owned())
    }

    /// A form of the name for the names and labels of objects, with at most 44 characters. A digest keeps a shortened
    /// name unique.
    #[must_use]
    pub fn slug(&self) -> String {
        let plain: String = self
            .0
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        let plain = plain.trim_matches('-');
        if plain.len() <= 44 && !plain.is_empty() {
            return plain.to_owned();
        }
        let digest = self.0.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let kept: String = plain.chars().take(35).collect();
        format!("{}-{:08x}", kept.trim_end_matches('-'), digest & 0xFFFF_FFFF)
    }

    /// Its name in the cluster when it runs a second time in the same run.
    #[must_use]
    pub fn again(&self) -> Self {
        Self(format!("{}{AGAIN}", self.0))
    }

    /// Its name in the cluster when it runs for the first time.
    #[must_use]
    pub fn first(&self) -> Self {
        Self(self.0.trim_end_matches(AGAIN).to_owned())
    }

    /// The path of its history in a run's folder.
    #[must_use]
    pub fn file(&self) -> String {
        let plain: String = self
            .0
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_=./".contains(c) { c } else { '-' })
            .collect();
        plain
            .split('/')
            .filter(|part| !part.is_empty() && *part != "." && *part != "..")
            .collect::<Vec<_>>()
            .join("/")
    }
}

impl fmt::Display for CaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which runs a case belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// What every conforming cluster must do, as far as cases inside one namespace can show it in seconds.
    #[default]
    Core,
    /// Other cases that a plain cluster can run within a minute.
    Extended,
    /// Cases that act on a node, such as restarting its kubelet, and leave it in the cluster.
    Node,
    /// Cases that touch the whole cluster: they write outside the namespace of the run, or make a node unavailable for a while.
    Cluster,
    /// Cases that take minutes.
    Slow,
    /// Publicly reported bugs, each with the correct behavior.
    Regressions,
}

impl Profile {
    /// All profiles, in the order in which a report names them.
    pub const ALL: [Self; 6] =
        [Self::Core, Self::Extended, Self::Node, Self::Cluster, Self::Slow, Self::Regressions];

    /// The word for it in case files, on the command line and in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extended => "extended",
            Self::Node => "node",
            Self::Cluster => "cluster",
            Self::Slow => "slow",
            Self::Regressions => "regressions",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
