//! What the parts that listen hand to whoever writes histories: one channel, stamped on the harness's clock.

use probity_model::history::{Gap, Heard, Noise, Reading, Sighting};

/// Something was learned. `us` is when, in microseconds since the run's zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The API server showed a revision of an object.
    Sighting {
        /// When.
        us: i64,
        /// What.
        sighting: Sighting,
    },
    /// Something may have been missed.
    Gap {
        /// When this was known.
        us: i64,
        /// What.
        gap: Gap,
    },
    /// A target, or the recorder about it, said something.
    Heard {
        /// When.
        us: i64,
        /// What.
        heard: Heard,
    },
    /// A node's clocks were read.
    Reading {
        /// When.
        us: i64,
        /// What.
        reading: Reading,
    },
    /// Someone was held up.
    Noise {
        /// When this was known.
        us: i64,
        /// What.
        noise: Noise,
    },
}
