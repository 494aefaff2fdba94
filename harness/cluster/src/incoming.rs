//! What the parts that listen hand to whoever writes histories: one channel, stamped on the harness's clock.

use probity_model::history::{Gap, Heard, Noise, Reading, Sighting, Source};

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
    /// A source can't be heard since then. Nothing is lost yet: it may come later.
    Away {
        /// Which.
        of: Source,
        /// When it was heard last.
        since_us: i64,
    },
    /// It is heard again, with all that it had to say meanwhile.
    Back {
        /// Which.
        of: Source,
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
