//! The stored promises of a run of `probity try` with what its histories show, for the page of the run.

use probity_model::EventId;
use probity_model::measure::{Fit, Unit};
use probity_page::{Course, Drawing, Standing, TrialRow, Trials};
use probity_report::{CaseReport, Report};
use probity_trial::{NEVER, Observation, Promised, Quantity, Trial, TrialResult};

use super::stored_promises::{self, PROMISES};
use super::text;
use crate::report_files::RunSources;

/// The trials of a run. `None` if the run is not a run of `probity try`.
pub(crate) fn of(report: &Report, sources: &dyn RunSources) -> Option<Trials> {
    match sources.promises()?.and_then(|text| stored_promises::read(&text)) {
        Ok((workload, trials)) => {
            let list: Vec<_> = trials.iter().filter_map(|trial| shown(report, sources, trial)).collect();
            // Without its cases, the file was left in the folder by another run.
            (!list.is_empty()).then_some(Trials { workload, list, problem: None })
        }
        Err(why) => Some(Trials { problem: Some(format!("{PROMISES}: {why}")), ..Trials::default() }),
    }
}

fn shown(report: &Report, sources: &dyn RunSources, trial: &Trial) -> Option<probity_page::Trial> {
    let case = report.cases.iter().find(|case| case.case == trial.case.name)?;
    let (onset, rows): (_, Vec<TrialRow>) = match result(case, sources, trial) {
        Ok(result) => {
            let onset = onset(&result);
            (onset, result.observations.iter().map(|seen| observed(seen, onset)).collect())
        }
        Err((standing, why)) => {
            (None, trial.promised.iter().map(|promised| unseen(promised, standing, &why)).collect())
        }
    };
    let (fault, story) = (trial.fault.word().to_owned(), trial.fault.story().to_owned());
    Some(probity_page::Trial { case: case.case.0.clone(), fault, story, onset, rows })
}

/// What the history of a fault shows. Without a usable history, the standing of every promise, and the reason.
fn result(
    case: &CaseReport,
    sources: &dyn RunSources,
    trial: &Trial,
) -> Result<TrialResult, (Standing, String)> {
    let Some(history) = &case.history else {
        let standing = if case.ended_us.is_some() { Standing::Unsure } else { Standing::NotRun };
        return Err((standing, case.finding.clone()));
    };
    let read = sources.read_history(&history.file).map_err(|why| (Standing::Unsure, why))?;
    Ok(TrialResult::of(trial, &read.history))
}

/// The event from which the promises of a fault count: most of them are measured from it.
fn onset(result: &TrialResult) -> Option<EventId> {
    let counted_from_onset = [Quantity::Unready, Quantity::Killed, Quantity::Stopped];
    let mut observations = result.observations.iter();
    let seen = observations.find(|seen| counted_from_onset.contains(&seen.promised.quantity))?;
    seen.events.first().copied()
}

fn observed(seen: &Observation, onset: Option<EventId>) -> TrialRow {
    let course = course(&seen.promised);
    TrialRow {
        observed: text::observed(seen),
        standing: match seen.fit {
            None => Standing::Unpromised,
            Some(Fit::Met) => Standing::Kept,
            Some(Fit::Undecided) => Standing::Unsure,
            Some(Fit::Missed) => Standing::Broken,
        },
        remark: text::detail(seen),
        events: seen.events.clone(),
        drawing: drawing(seen, course, onset),
        ..row(&seen.promised)
    }
}

/// A promise about which nothing is known.
fn unseen(promised: &Promised, standing: Standing, why: &str) -> TrialRow {
    let observed = if standing == Standing::NotRun { "not run" } else { "not seen" };
    let standing = match standing {
        Standing::Unsure if promised.promise.is_open() => Standing::Unpromised,
        standing => standing,
    };
    TrialRow { observed: observed.to_owned(), standing, remark: why.to_owned(), ..row(promised) }
}

/// A promise, without what was observed.
fn row(promised: &Promised) -> TrialRow {
    TrialRow {
        quantity: promised.quantity.words().to_owned(),
        promise: match promised.promise.is_open() {
            true => "nothing".to_owned(),
            false => promised.quantity.show(promised.promise.span),
        },
        formula: promised.promise.formula.clone(),
        observed: String::new(),
        standing: Standing::Unpromised,
        remark: String::new(),
        events: Vec::new(),
        drawing: Drawing::Nothing,
        course: course(promised),
    }
}

fn course(promised: &Promised) -> Course {
    let (before, change, state) = states(promised.quantity);
    let span = promised.promise.span;
    match promised.quantity.unit() {
        Unit::Count => Course::Open,
        Unit::Us if promised.promise.is_open() => Course::Open,
        Unit::Us if span == NEVER => Course::Unchanged { state },
        Unit::Us => Course::Change { before, change, from: span.lo, until: span.hi, late: promised.late },
    }
}

/// What a quantity says about the pod: its state before the change, the change, and its state if nothing changes.
fn states(quantity: Quantity) -> (&'static str, &'static str, &'static str) {
    match quantity {
        Quantity::Ready => ("not ready yet", "becomes ready", "does not become ready"),
        Quantity::Unready => ("in service", "goes out of service", "stays in service"),
        Quantity::Killed => ("no stop signal yet", "gets its stop signal", "gets no stop signal"),
        Quantity::ReadyAgain => ("not ready", "becomes ready again", "does not become ready again"),
        Quantity::Stopped => ("draining", "has stopped", "does not stop"),
        Quantity::Downtime => {
            ("no answers for clients", "clients get answers again", "every request is answered")
        }
        Quantity::Restarts | Quantity::Lost => ("", "", ""),
    }
}

/// How an observation is drawn. A change that is counted from the end of the fault is not drawn if the fault did not end.
fn drawing(seen: &Observation, course: Course, onset: Option<EventId>) -> Drawing {
    let quantity = seen.promised.quantity;
    let counted_from_end = quantity == Quantity::ReadyAgain && matches!(course, Course::Change { .. });
    match quantity.unit() {
        Unit::Count => Drawing::Nothing,
        Unit::Us if seen.seen.is_err() && seen.events.is_empty() => Drawing::Nothing,
        Unit::Us if counted_from_end && seen.events.first().copied() == onset => Drawing::Nothing,
        Unit::Us if quantity == Quantity::Downtime => Drawing::Outages,
        Unit::Us => Drawing::Wait,
    }
}

#[cfg(test)]
mod tests;
