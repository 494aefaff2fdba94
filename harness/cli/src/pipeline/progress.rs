//! The progress of a run: which cases run, for how long, what they wait for, and when the run should end.
//!
//! The board only stores the progress; [`screen`] decides where and how often it is shown.

pub(crate) mod console;
pub(crate) mod screen;

use std::collections::{BTreeMap, BTreeSet};

use probity_case::{Case, CaseName};
use probity_cluster::Progress;

/// Roughly how long the cleanup at the end takes.
const CLEANUP_US: i64 = 3_000_000;

/// The state of a run. Times are microseconds since its start.
pub(crate) struct ProgressBoard {
    forecast_us: i64,
    forecasts: BTreeMap<CaseName, i64>,
    waiting: BTreeMap<CaseName, i64>,
    /// The cases that run alone, one after the other.
    alone: BTreeSet<CaseName>,
    running: BTreeMap<CaseName, RunningCase>,
    ended: usize,
    failed: usize,
    ready: bool,
    interrupted: bool,
}

/// A running case.
struct RunningCase {
    since_us: i64,
    doing: String,
}

impl ProgressBoard {
    /// A board for these cases, with the forecast for the whole run.
    pub(crate) fn new<'c>(cases: impl IntoIterator<Item = &'c Case>, forecast_us: i64) -> Self {
        let forecast = |case: &Case| i64::try_from(case.forecast().micros()).unwrap_or(i64::MAX);
        let cases: Vec<&Case> = cases.into_iter().collect();
        let forecasts: BTreeMap<CaseName, i64> =
            cases.iter().map(|case| (case.name.clone(), forecast(case))).collect();
        Self {
            forecast_us,
            waiting: forecasts.clone(),
            alone: cases.iter().filter(|case| case.quiet).map(|case| case.name.clone()).collect(),
            forecasts,
            running: BTreeMap::new(),
            ended: 0,
            failed: 0,
            ready: false,
            interrupted: false,
        }
    }

    /// Records progress of the run.
    pub(crate) fn note(&mut self, progress: &Progress) {
        match progress {
            Progress::Ready { .. } => self.ready = true,
            Progress::Began { case, us } => {
                self.waiting.remove(case);
                self.running
                    .insert(case.clone(), RunningCase { since_us: *us, doing: "starting".to_owned() });
            }
            Progress::Doing { case, what, .. } => {
                if let Some(going) = self.running.get_mut(case) {
                    going.doing.clone_from(what);
                }
            }
            Progress::Ended { case, .. } | Progress::Skipped { case, .. } | Progress::Broken { case, .. } => {
                self.waiting.remove(case);
                self.running.remove(case);
                self.ended += 1;
            }
            Progress::Undecided { .. }
            | Progress::Warning(_)
            | Progress::Leftover { .. }
            | Progress::Finished(_) => {}
        }
    }

    /// Records that a case failed.
    pub(crate) fn note_failure(&mut self) {
        self.failed += 1;
    }

    /// Records that the user interrupted the run.
    pub(crate) fn note_interruption(&mut self) {
        self.interrupted = true;
    }

    /// A forecast of the remaining time.
    fn remaining_us(&self, now_us: i64) -> i64 {
        if !self.ready {
            return (self.forecast_us - now_us).max(0);
        }
        let left = |(case, going): (&CaseName, &RunningCase)| {
            self.forecasts.get(case).copied().unwrap_or_default() - (now_us - going.since_us)
        };
        let running = self.running.iter().map(left).max().unwrap_or(0).max(0);
        let (alone, together): (Vec<_>, Vec<_>) =
            self.waiting.iter().partition(|(case, _)| self.alone.contains(*case));
        // A case that waits for capacity begins when a running case ends. Those that run alone follow one by one.
        let together = together.into_iter().map(|(_, us)| *us).max().unwrap_or(0);
        let alone: i64 = alone.into_iter().map(|(_, us)| *us).sum();
        running + together + alone + CLEANUP_US
    }

    /// How many cases run, and how many wait, and for what.
    fn in_progress(&self) -> String {
        let alone = self.waiting.keys().filter(|case| self.alone.contains(*case)).count();
        let running =
            format!("{} running, {} waiting for capacity", self.running.len(), self.waiting.len() - alone);
        if alone > 0 { format!("{running}, {alone} waiting to run alone") } else { running }
    }

    /// The run in one line.
    pub(crate) fn headline(&self, now_us: i64) -> String {
        let all = self.ended + self.running.len() + self.waiting.len();
        let failed =
            if self.failed > 0 { format!(", {} of them failed", self.failed) } else { String::new() };
        let phase = match (self.interrupted, self.ready, self.running.len()) {
            (true, _, _) => "interrupted, cleaning up".to_owned(),
            (_, false, _) => "preparing".to_owned(),
            (_, true, 0) if self.waiting.is_empty() => "cleaning up".to_owned(),
            (_, true, _) => self.in_progress(),
        };
        let end = match self.remaining_us(now_us) / 1_000_000 {
            0..=1 => "should end any moment now".to_owned(),
            seconds => format!("should end in about {}", clock(seconds)),
        };
        format!("{}  {} of {all} cases ended{failed}; {phase}; {end}", clock(now_us / 1_000_000), self.ended)
    }

    /// The cases that have run longest, each in one line.
    pub(crate) fn cases(&self, now_us: i64, most: usize) -> Vec<String> {
        let mut running: Vec<(&CaseName, &RunningCase)> = self.running.iter().collect();
        running.sort_by_key(|(case, going)| (going.since_us, (*case).clone()));
        let line = |(case, going): &(&CaseName, &RunningCase)| {
            format!("{:>7}  {case}: {}", clock((now_us - going.since_us) / 1_000_000), going.doing)
        };
        running.iter().take(most).map(line).collect()
    }

    /// The line that is printed once a minute without a screen: the headline, and what the cases wait for.
    pub(crate) fn heartbeat(&self, now_us: i64) -> String {
        let mut lines = self.cases(now_us, 3);
        let more = self.running.len().saturating_sub(lines.len());
        if more > 0 {
            lines.push(format!("{more} more"));
        }
        let waits: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let waits = if waits.is_empty() { String::new() } else { format!("; now {}", waits.join(", ")) };
        format!("probity: {}{waits}\n", self.headline(now_us))
    }
}

/// Seconds in the format of a stopwatch.
pub(crate) fn clock(seconds: i64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests;
