//! Writes histories without a cluster, for tests of judges and for the simulator.
//!
//! A [`Composer`] keeps track of the same things as a real run: event times, sequence numbers, connection numbers,
//! resource versions. Times are seconds since the run's zero, on one node whose monotonic clock is ahead of the
//! harness's clock by a constant. The readings show this constant to within a millisecond.

mod lines;
mod objects;
mod requests;

use std::collections::BTreeMap;

use probity_model::history::{
    Deed, Did, Gap, Happening, Header, Listener, NodeFacts, Noise, Reading, Source,
};
use probity_model::{Clock, EventId, History};

pub use objects::{running_status, timestamp};
pub use requests::Told;

/// The node of a composed history.
pub const NODE: &str = "node1";
/// How far the node's monotonic clock is ahead of the harness's, in microseconds.
pub const AHEAD_US: i64 = 1_000_000_000;
/// The wall clock at the run's zero: 2026-01-01T00:00:00Z.
pub const ZERO_WALL_US: i64 = 1_767_225_600_000_000;

/// A history that is being composed.
pub struct Composer {
    history: History,
    pod: String,
    container: String,
    boots: BTreeMap<String, Boot>,
    revision: u64,
}

/// A process instance whose history is being written.
#[derive(Clone, Debug, Default)]
struct Boot {
    name: String,
    attempt: u64,
    seq: u64,
    conn: u64,
    exec: u64,
}

/// Seconds as microseconds.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "times of a composed history are small")]
pub fn us(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

impl Composer {
    /// A history of a case that must give evidence for these clauses, on a cluster of version 1.36.
    ///
    /// # Panics
    ///
    /// If a name is not a valid clause ID.
    #[must_use]
    pub fn new(judges: &[&str]) -> Self {
        let facts = NodeFacts {
            kubelet: "v1.36.3".to_owned(),
            settings: Some(BTreeMap::new()),
            ..NodeFacts::default()
        };
        #[expect(clippy::expect_used, reason = "the names are constants of the caller")]
        let judges = judges.iter().map(|id| id.parse().expect("a clause's name")).collect();
        let header = Header {
            run: "composed".to_owned(),
            case: "composed".to_owned(),
            judges,
            server: "v1.36.3".to_owned(),
            nodes: BTreeMap::from([(NODE.to_owned(), facts)]),
            began_wall_us: ZERO_WALL_US,
            ..Header::default()
        };
        Self::with_header(header)
    }

    /// A history with this header.
    #[must_use]
    pub fn with_header(header: Header) -> Self {
        let (pod, container) = ("pod".to_owned(), "target".to_owned());
        let mut composer =
            Self { history: History::new(header), pod, container, boots: BTreeMap::new(), revision: 100 };
        composer.reading(0.0);
        composer
    }

    /// The history.
    #[must_use]
    pub fn done(self) -> History {
        self.history
    }

    /// The following calls are about this pod and container.
    pub fn of(&mut self, pod: &str, container: &str) -> &mut Self {
        pod.clone_into(&mut self.pod);
        container.clone_into(&mut self.container);
        self
    }

    /// Adds any event.
    pub fn push(&mut self, at: f64, what: Happening) -> EventId {
        self.history.push(us(at), what)
    }

    /// Adds something that the harness did.
    pub fn deed(&mut self, at: f64, did: Did) -> EventId {
        self.push(at, Happening::Deed(Deed { began_us: us(at), did }))
    }

    /// Reads the node's clocks.
    pub fn reading(&mut self, at: f64) -> &mut Self {
        let now = us(at);
        let (mono_us, wall_us) = (now + AHEAD_US, now + ZERO_WALL_US);
        let node = NODE.to_owned();
        self.push(
            at,
            Happening::Reading(Reading {
                node,
                sent_us: now - 500,
                received_us: now + 500,
                mono_us,
                wall_us,
            }),
        );
        self
    }

    /// A target's process was stalled.
    pub fn noise(&mut self, from: f64, to: f64) -> &mut Self {
        self.noise_by(Listener::Target, from, to)
    }

    /// A listener recorded a stall.
    pub fn noise_by(&mut self, by: Listener, from: f64, to: f64) -> &mut Self {
        let (clock, ahead_us) = match by {
            Listener::Harness | Listener::Echo => (Clock::Harness, 0),
            Listener::Target | Listener::Metronome | Listener::Node | Listener::Overload => {
                (Clock::Node(NODE.to_owned()), AHEAD_US)
            }
        };
        let (from_us, to_us) = (us(from) + ahead_us, us(to) + ahead_us);
        self.push(to, Happening::Noise(Noise { by, clock, from_us, to_us }));
        self
    }

    /// A watch was lost for a while.
    pub fn gap(&mut self, from: f64, to: f64, kind: &str) -> &mut Self {
        let of = Source::Watch(kind.to_owned());
        let why = "the watch ended with 410 Gone".to_owned();
        self.push(to, Happening::Gap(Gap { of, from_us: us(from), to_us: us(to), why }));
        self
    }
}

fn mono(at: f64) -> u64 {
    u64::try_from(us(at) + AHEAD_US).unwrap_or_default()
}
