//! The report on a trial, for programs.

use probity_model::measure::{Fit, Interval, Unit};
use probity_trial::{NEVER, NoteKind, Observation, Promised, Trial};
use serde_json::{Value, json};

use super::trial_report::{TrialReport, TrialRun};

/// The whole report.
pub(crate) fn of(report: &TrialReport<'_>) -> Value {
    let notes = report.pod.notes.iter().map(|note| {
        let what = match note.kind {
            NoteKind::Replaced => "replaced",
            NoteKind::Dropped => "dropped",
            NoteKind::Added => "added",
        };
        json!({ "field": note.field, "what": what, "why": note.why })
    });
    let remarks = report.remarks.iter().map(|remark| json!({ "clause": remark.clause, "says": remark.says }));
    let violations = report.run.map(|run| {
        let violation = |(clause, told): &(String, String)| json!({ "clause": clause, "told": told });
        run.violations.iter().map(violation).collect::<Vec<_>>()
    });
    json!({
        "schema": "probity.dev/try",
        "version": 1,
        "file": report.workload.source,
        "kind": report.workload.workload.kind,
        "name": report.workload.workload.name,
        "subject": report.pod.subject,
        "notes": notes.collect::<Vec<_>>(),
        "faults": report.trials.iter().map(|trial| fault(trial, report.run)).collect::<Vec<_>>(),
        "remarks": remarks.collect::<Vec<_>>(),
        "violations": violations,
    })
}

fn fault(trial: &Trial, run: Option<&TrialRun<'_>>) -> Value {
    let result = run.and_then(|run| run.result(trial));
    let rows = trial.promised.iter().enumerate().map(|(at, promised)| {
        let mut row = json!({
            "quantity": promised.quantity.words(),
            "promise": promise(promised),
            "allowed": { "earlyUs": promised.early, "lateUs": promised.late },
        });
        if let Some(seen) = result.and_then(|result| result.observations.get(at)) {
            row["observed"] = observed(seen);
            row["standing"] = standing(seen.fit).into();
            row["events"] = json!(seen.events);
        }
        row
    });
    let mut fault = json!({
        "fault": trial.fault.word(),
        "takes": { "us": trial.takes.span.hi, "formula": trial.takes.formula },
        "rows": rows.collect::<Vec<_>>(),
    });
    if let Some(why) = run.and_then(|run| run.not_run(trial)) {
        fault["notRun"] = why.into();
    }
    if let (Some(run), Some(result)) = (run, result) {
        fault["history"] = run.history(&trial.case.name.0).display().to_string().into();
        fault["requests"] = result.requests.into();
    }
    fault
}

fn promise(promised: &Promised) -> Value {
    let (span, why) = (promised.promise.span, &promised.promise.formula);
    match promised.quantity.unit() {
        _ if promised.promise.is_open() => json!({ "nothing": true, "because": why }),
        _ if span == NEVER => json!({ "never": true, "because": why }),
        Unit::Count => json!({ "times": span.lo, "because": why }),
        Unit::Us => json!({ "within": micros(span), "formula": why }),
    }
}

fn observed(seen: &Observation) -> Value {
    match (&seen.seen, seen.promised.quantity.unit()) {
        (Err(why), _) => json!({ "unseen": why }),
        (Ok(NEVER), _) => json!({ "never": true }),
        (Ok(times), Unit::Count) => json!({ "times": times.lo }),
        (Ok(span), Unit::Us) => json!({ "span": micros(*span) }),
    }
}

fn standing(fit: Option<Fit>) -> &'static str {
    match fit {
        Some(Fit::Met) => "kept",
        None => "told",
        Some(Fit::Undecided) => "unsure",
        Some(Fit::Missed) => "broken",
    }
}

fn micros(span: Interval) -> Value {
    json!({ "fromUs": span.lo, "toUs": span.hi })
}
