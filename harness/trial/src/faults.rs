//! The standard faults. Each has a generated case, with the promises of the settings.
//!
//! A fault affects one container of a healthy pod, while a client calls the pod through a Service. If the container's
//! probes detect the fault, the promise is an interval. If they do not detect it, the promise is that nothing happens.
//! If the result does not follow from the settings, there is no promise.

mod builder;
mod life;
mod load;
mod outage;

use probity_case::Case;
use probity_model::measure::{Bound, Interval, Unit};

use crate::pod::StandIn;
use crate::promise::{NEVER, Promise, tenths};
use builder::TrialBuilder;

/// What happens to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing.
    Calm,
    /// It opens its ports late.
    SlowStart,
    /// It accepts connections and answers nothing.
    Hang,
    /// It answers every request with an error.
    Errors,
    /// It has two outages that are too short to matter.
    Flapping,
    /// More requests arrive than it can answer.
    Overload,
    /// Its dependency is down, and its readiness endpoint reports it.
    DependencyLoss,
    /// It needs several seconds to stop.
    SlowShutdown,
}

impl Fault {
    /// All faults, in the order in which they are shown.
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
        self.described().0
    }

    /// A sentence that describes the fault.
    #[must_use]
    pub fn story(self) -> &'static str {
        self.described().1
    }

    fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Calm => ("calm", "Nothing is wrong."),
            Self::SlowStart => ("slow-start", "The application opens its ports late."),
            Self::Hang => ("hang", "The application accepts connections but no longer answers."),
            Self::Errors => ("errors", "The application answers every request with an error."),
            Self::Flapping => {
                ("flapping", "The application has two outages, each a little too short for its probes.")
            }
            Self::Overload => (
                "overload",
                "The application receives more requests than it can answer; it serves them one by one.",
            ),
            Self::DependencyLoss => (
                "dependency-loss",
                "A dependency of the application is down, and its readiness endpoint reports it.",
            ),
            Self::SlowShutdown => (
                "slow-shutdown",
                "One of two replicas is deleted under load: it closes its ports at SIGTERM and ends five seconds later.",
            ),
        }
    }
}

/// The observed quantities of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// The time from the container's start until the pod is ready.
    Ready,
    /// The time from the fault until the pod is not ready.
    Unready,
    /// The time from the fault until the container gets its stop signal.
    Killed,
    /// The number of times that the container was started again.
    Restarts,
    /// The time from the end of the fault, or from the new start, until the pod is ready again.
    ReadyAgain,
    /// The time from the pod's deletion until the process ends.
    Stopped,
    /// How long clients received no successful answer.
    Downtime,
    /// The number of the clients' requests that failed.
    Lost,
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Self; 8] = [
        Self::Ready,
        Self::Unready,
        Self::Killed,
        Self::Restarts,
        Self::ReadyAgain,
        Self::Stopped,
        Self::Downtime,
        Self::Lost,
    ];

    /// In a few words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Ready => "time to ready",
            Self::Unready => "out of service after",
            Self::Killed => "stop signal after",
            Self::Restarts => "restarts",
            Self::ReadyAgain => "ready again after",
            Self::Stopped => "stopped after",
            Self::Downtime => "downtime for clients",
            Self::Lost => "requests lost",
        }
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Restarts | Self::Lost => Unit::Count,
            _ => Unit::Us,
        }
    }

    /// A value of this quantity for users: `20.0-31.0 s`, `2`, or `never`.
    #[must_use]
    pub fn show(self, value: Interval) -> String {
        match self.unit() {
            _ if value == NEVER => "never".to_owned(),
            Unit::Count => value.lo.to_string(),
            Unit::Us => tenths(value),
        }
    }
}

/// The promise of the settings for one quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// The quantity.
    pub quantity: Quantity,
    /// Its promised value.
    pub promise: Promise,
    /// How much earlier the observation may be, because of the clocks.
    pub early: i64,
    /// How much later the observation may be, because of the cluster's own work.
    pub late: i64,
}

impl Promised {
    /// The allowed values of an observation.
    #[must_use]
    pub fn bound(&self) -> Bound {
        let Promise { span, formula } = &self.promise;
        Bound::at_most(span.hi.saturating_add(self.late), formula)
            .and_at_least(span.lo.saturating_sub(self.early), formula)
    }
}

/// A fault to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The fault.
    pub fault: Fault,
    /// How it is set up.
    pub case: Case,
    /// What the settings promise.
    pub promised: Vec<Promised>,
    /// The container that has the fault.
    pub subject: String,
    /// The maximum time that the trial takes, in microseconds, with the formula.
    pub takes: Promise,
}

/// Generates the trial of a fault. `boot` is how long a slow start takes, in microseconds.
///
/// # Errors
///
/// If the generated case is not valid, which is a fault of this program.
pub fn trial(pod: &StandIn, fault: Fault, boot: i64) -> Result<Trial, String> {
    let mut builder = TrialBuilder::new(pod, fault);
    match fault {
        Fault::Calm => builder.calm(),
        Fault::SlowStart => builder.slow_start(boot),
        Fault::Hang | Fault::Errors | Fault::DependencyLoss => builder.outage(),
        Fault::Flapping => builder.flapping(),
        Fault::Overload => builder.overload(),
        Fault::SlowShutdown => builder.slow_shutdown(),
    }
    builder.done()
}
