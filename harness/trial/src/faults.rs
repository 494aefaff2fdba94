//! The standard faults: each a generated case, with what the settings promise for it.
//!
//! A fault comes to one container of a healthy pod, while a client calls it through a Service. Where its probes notice,
//! the promise is an interval; where they do not, it is that nothing happens; and where the settings say nothing, that
//! is said.

mod life;
mod load;
mod outage;
mod scene;

use super::pod::Stand;
use crate::promise::Promise;
use probity_case::Case;
use scene::Scene;

/// What happens to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing.
    Calm,
    /// It opens its ports late.
    SlowStart,
    /// It accepts connections and answers nothing.
    Hang,
    /// It answers everything by errors.
    Errors,
    /// It has two outages that are too short to matter.
    Flapping,
    /// More requests come than it can answer.
    Overload,
    /// What it depends on is away, and its readiness endpoint says so.
    DependencyLoss,
    /// It takes its time to stop.
    SlowShutdown,
}

impl Fault {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Calm,
        Self::SlowStart,
        Self::Hang,
        Self::Errors,
        Self::Flapping,
        Self::Overload,
        Self::DependencyLoss,
        Self::SlowShutdown,
    ];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::SlowStart => "slow-start",
            Self::Hang => "hang",
            Self::Errors => "errors",
            Self::Flapping => "flapping",
            Self::Overload => "overload",
            Self::DependencyLoss => "dependency-loss",
            Self::SlowShutdown => "slow-shutdown",
        }
    }

    /// What it is, in a sentence.
    #[must_use]
    pub fn story(self) -> &'static str {
        match self {
            Self::Calm => "Nothing is wrong.",
            Self::SlowStart => "The application opens its ports late.",
            Self::Hang => "The application accepts connections and answers nothing any more.",
            Self::Errors => "The application answers everything by an error.",
            Self::Flapping => "The application has two outages, each a little too short for its probes.",
            Self::Overload => {
                "More requests come than the application can answer; it serves them one by one."
            }
            Self::DependencyLoss => {
                "What the application depends on is away, and its readiness endpoint says so."
            }
            Self::SlowShutdown => {
                "One of two replicas is deleted under load: it closes its ports at SIGTERM and ends five seconds later."
            }
        }
    }
}

/// What is observed of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// From the container's start until the pod is ready.
    Ready,
    /// From the fault until the pod is not ready.
    Unready,
    /// From the fault until the container is told to stop.
    Killed,
    /// How often the container was started again.
    Restarts,
    /// From the end of the fault, or the new start, until the pod is ready again.
    ReadyAgain,
    /// From the pod's deletion until the process ends.
    Stopped,
    /// How long clients got no good answer.
    Downtime,
    /// How many of their requests failed.
    Lost,
}

impl Quantity {
    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "time to ready",
            Self::Unready => "out of service after",
            Self::Killed => "told to stop after",
            Self::Restarts => "restarts",
            Self::ReadyAgain => "ready again after",
            Self::Stopped => "stopped after",
            Self::Downtime => "downtime for clients",
            Self::Lost => "requests lost",
        }
    }
}

/// What the settings let one expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It happens within this.
    Within(Promise),
    /// So many times.
    Times(i64, String),
    /// It does not happen, and why.
    Never(String),
    /// The settings say nothing, and why.
    Unsaid(String),
}

/// What is expected of one quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// Of what.
    pub quantity: Quantity,
    /// What.
    pub expected: Expected,
    /// It may be so much sooner, by the clocks.
    pub early: i64,
    /// It may be so much later, by the cluster's own work.
    pub late: i64,
}

/// A fault to be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The fault.
    pub fault: Fault,
    /// How it is arranged.
    pub case: Case,
    /// What the settings promise.
    pub promised: Vec<Promised>,
    /// The container that falls ill.
    pub subject: String,
    /// How long it takes at most, in microseconds, and how that follows.
    pub takes: Promise,
}

/// Arranges a fault. `boot` is how long a slow start takes, in microseconds.
///
/// # Errors
///
/// If a generated part is none, which is a fault of ours.
pub fn trial(stand: &Stand, fault: Fault, boot: i64) -> Result<Trial, String> {
    let mut scene = Scene::new(stand, fault);
    match fault {
        Fault::Calm => scene.calm(),
        Fault::SlowStart => scene.slow_start(boot),
        Fault::Hang | Fault::Errors | Fault::DependencyLoss => scene.outage(),
        Fault::Flapping => scene.flapping(),
        Fault::Overload => scene.overload(),
        Fault::SlowShutdown => scene.slow_shutdown(),
    }
    scene.done()
}
