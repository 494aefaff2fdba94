//! What a case is called, and which runs it belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a case: `chapter/what-it-shows`, with `/axis=value` for each axis of a matrix but `container-kind=main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CaseName(pub String);

impl CaseName {
    /// The name as it can stand in names and labels of objects: at most 44 characters, unique by a digest if cut.
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

    /// Where its history lies below a run's folder.
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
    /// MUST clauses on a plain cluster, in seconds.
    #[default]
    Core,
    /// The rest that a plain cluster can show.
    Extended,
    /// What needs a node of its own or verbs on it.
    Node,
    /// What takes minutes.
    Slow,
}
