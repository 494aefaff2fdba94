//! The measures. Each runs the programs in turn and reports whether its aims are met.

mod clock;
mod footprint;
mod idle;
mod instructions;
mod latency;
mod rate;
mod recorder;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::contestant::Programs;
use crate::report::Section;

pub use clock::clock;
pub use footprint::{memory, size, start};
pub use idle::idle;
pub use instructions::instructions;
pub use latency::latency;
pub use rate::{fresh, kept, noise};
pub use recorder::recorder;

/// The shared input of all measures.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The programs.
    pub programs: Programs,
    /// The image's archive.
    pub image: PathBuf,
    /// The number of rounds in which the programs take turns.
    pub rounds: usize,
    /// How long one load lasts.
    pub lasts: Duration,
}

/// The result of a measure.
pub type Measured = io::Result<Section>;

fn columns<const N: usize>(heads: [&str; N]) -> Vec<String> {
    heads.map(str::to_owned).into()
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
