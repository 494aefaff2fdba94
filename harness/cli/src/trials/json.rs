//! The report on a trial for programs.

use probity_model::measure::Interval;
use probity_trial::{Expected, Observed, Standing, Trial, What};
use serde_json::{Value, json};

use super::trial_report::{TrialReport, TrialRun};

/// The whole report.
pub(super) fn of(report: &TrialReport<'_>) -> Value {
    let notes = report.stand.notes.iter().map(|note| {
        let what = match note.what {
            What::Replaced => "replaced",
            What::Dropped => "dropped",
            What::Added => "added",
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
        "subject": report.stand.subject,
        "notes": notes.collect::<Vec<_>>(),
        "faults": report.trials.iter().map(|trial| fault(trial, report.run)).collect::<Vec<_>>(),
        "remarks": remarks.collect::<Vec<_>>(),
        "violations": violations,
    })
}

fn fault(trial: &Trial, run: Option<&TrialRun<'_>>) -> Value {
    let outcome = run.and_then(|run| run.outcome(trial));
    let rows = trial.promised.iter().enumerate().map(|(at, promised)| {
        let mut row = json!({
            "quantity": promised.quantity.words(),
            "promise": promise(&promised.expected),
            "allowed": { "earlyUs": promised.early, "lateUs": promised.late },
        });
        if let Some(seen) = outcome.and_then(|outcome| outcome.rows.get(at)) {
            row["observed"] = observed(&seen.observed);
            row["standing"] = standing(seen.standing).into();
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
    if let (Some(run), Some(outcome)) = (run, outcome) {
        fault["history"] = run.history(&trial.case.name.0).display().to_string().into();
        fault["requests"] = outcome.requests.into();
    }
    fault
}

fn promise(expected: &Expected) -> Value {
    match expected {
        Expected::Within(promise) => json!({ "within": micros(promise.span), "formula": promise.formula }),
        Expected::Times(times, why) => json!({ "times": times, "because": why }),
        Expected::Never(why) => json!({ "never": true, "because": why }),
        Expected::Unsaid(why) => json!({ "nothing": true, "because": why }),
    }
}

fn observed(observed: &Observed) -> Value {
    match observed {
        Observed::Span(span) => json!({ "span": micros(*span) }),
        Observed::Times(times) => json!({ "times": times }),
        Observed::Never => json!({ "never": true }),
        Observed::Unseen(why) => json!({ "unseen": why }),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Kept => "kept",
        Standing::Told => "told",
        Standing::Unsure => "unsure",
        Standing::Broken => "broken",
    }
}

fn micros(span: Interval) -> Value {
    json!({ "fromUs": span.lo, "toUs": span.hi })
}
