//! The trials of `probity try`: what the settings of a pod promise under each fault, and what was observed.
//!
//! This crate does not calculate promises and does not judge them. The caller does both, with `probity_trial`. This crate
//! shows them: a table for each fault, and bands in the timeline of its case, over the requests of the clients. The
//! tables say everything that the bands show, for readers without JavaScript and for screen readers.

pub(crate) mod requests;
mod section;
mod tables;

use std::collections::BTreeSet;

use probity_model::EventId;

use crate::lanes::Look;

pub(crate) use section::{fact, html};

/// The trials of a run of `probity try`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trials {
    /// The workload whose settings were tried, in a few words.
    pub workload: String,
    /// The faults, in the order in which they are shown.
    pub list: Vec<Trial>,
    /// Why the promises cannot be shown, if they cannot.
    pub problem: Option<String>,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The name of its case.
    pub case: String,
    /// Its name.
    pub fault: String,
    /// A sentence that describes it.
    pub story: String,
    /// The event from which the promises count. `None` if the fault was not observed.
    pub onset: Option<EventId>,
    /// The quantities about which the settings promise something, and those that were only observed.
    pub rows: Vec<TrialRow>,
}

/// A quantity of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialRow {
    /// The quantity in a few words.
    pub quantity: String,
    /// The promised value in words.
    pub promise: String,
    /// The formula of the promise, or why there is none.
    pub formula: String,
    /// The observed value in words.
    pub observed: String,
    /// How the observed value compares with the promise.
    pub standing: Standing,
    /// What else is known about the comparison, such as why it is unsure. May be empty.
    pub remark: String,
    /// The events on which the observed value is based. For a [`Drawing::Wait`], the first one is its beginning, and the
    /// second one its end.
    pub events: Vec<EventId>,
    /// How the quantity is drawn.
    pub drawing: Drawing,
    /// The course of events that the settings promise.
    pub course: Course,
}

/// How a quantity is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Not at all: a number of things has no place in time.
    Nothing,
    /// As the time from its first event to its second event. Without a second event, as the time until the end.
    Wait,
    /// As the times in which the requests of the clients failed.
    Outages,
}

/// The promised course of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// The settings promise nothing.
    Open,
    /// The state of the pod does not change.
    Unchanged {
        /// The state, such as `stays in service`.
        state: &'static str,
    },
    /// The state of the pod changes once.
    Change {
        /// The state before the change, such as `in service`.
        before: &'static str,
        /// The change, such as `goes out of service`.
        change: &'static str,
        /// The earliest time of the change, in microseconds.
        from: i64,
        /// The latest time of the change.
        until: i64,
        /// How much later it may be observed, because of the cluster's own work.
        late: i64,
    },
}

/// How an observed value compares with its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The promise was kept.
    Kept,
    /// The promise was not kept.
    Broken,
    /// The value is too close to a limit of the promise, or it could not be observed.
    Unsure,
    /// There is no promise.
    Unpromised,
    /// The fault did not run.
    NotRun,
}

impl Standing {
    /// The order in which the standing of a fault follows from its quantities: the first that occurs.
    const WORST_FIRST: [Self; 5] = [Self::Broken, Self::NotRun, Self::Unsure, Self::Kept, Self::Unpromised];

    /// In a word, and the verdict with its color.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Kept => ("kept", "holds"),
            Self::Broken => ("broken", "violated"),
            Self::Unsure => ("unsure", "inconclusive"),
            Self::Unpromised => ("no promise", "skipped"),
            Self::NotRun => ("not run", "error"),
        }
    }

    /// In a word.
    pub(crate) fn word(self) -> &'static str {
        self.shown().0
    }

    /// The verdict with its color.
    pub(crate) fn color(self) -> &'static str {
        self.shown().1
    }

    /// How an observed value is drawn.
    pub(crate) fn look(self) -> Look {
        match self {
            Self::Kept => Look::Good,
            Self::Broken => Look::Bad,
            Self::Unsure => Look::Mixed,
            Self::Unpromised | Self::NotRun => Look::Plain,
        }
    }
}

impl Trial {
    /// The worst standing of its quantities.
    pub(crate) fn standing(&self) -> Standing {
        let occurs = |standing: &Standing| self.count(*standing) > 0;
        Standing::WORST_FIRST.into_iter().find(occurs).unwrap_or(Standing::Unpromised)
    }

    /// How many of its quantities have this standing.
    pub(crate) fn count(&self, standing: Standing) -> usize {
        self.rows.iter().filter(|row| row.standing == standing).count()
    }

    /// The events on which its observed values are based. They are marked in its timeline.
    pub(crate) fn events(&self) -> BTreeSet<EventId> {
        self.onset.into_iter().chain(self.rows.iter().flat_map(|row| row.events.iter().copied())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(standing: Standing, events: &[u32]) -> TrialRow {
        TrialRow {
            quantity: "stop signal after".to_owned(),
            promise: "never".to_owned(),
            formula: String::new(),
            observed: "never".to_owned(),
            standing,
            remark: String::new(),
            events: events.iter().copied().map(EventId).collect(),
            drawing: Drawing::Wait,
            course: Course::Open,
        }
    }

    fn trial(rows: Vec<TrialRow>) -> Trial {
        let (case, fault) = ("try/hang".to_owned(), "hang".to_owned());
        Trial { case, fault, story: String::new(), onset: Some(EventId(4)), rows }
    }

    #[test]
    fn one_broken_promise_outweighs_everything_and_a_row_without_a_promise_nothing() {
        use Standing::{Broken, Kept, Unpromised, Unsure};
        let standing = |all: &[Standing]| trial(all.iter().map(|one| row(*one, &[])).collect()).standing();
        assert_eq!(standing(&[Kept, Unsure, Broken]), Broken);
        assert_eq!(standing(&[Kept, Unsure, Unpromised]), Unsure);
        assert_eq!(standing(&[Unpromised, Kept]), Kept);
        assert_eq!(standing(&[]), Unpromised);
    }

    #[test]
    fn every_event_is_marked_once() {
        let events = trial(vec![row(Standing::Kept, &[4, 9]), row(Standing::Kept, &[4, 7])]).events();
        assert_eq!(events.into_iter().map(|id| id.0).collect::<Vec<_>>(), [4, 7, 9]);
    }
}
