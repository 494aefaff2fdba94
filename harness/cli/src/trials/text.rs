//! The report on a trial for people.

use probity_model::measure::Interval;
use probity_trial::promise::tenths;
use probity_trial::{Expected, Observed, Promised, Quantity, Row, Stand, Standing, Trial, What};

use super::trial_report::{TrialReport, TrialRun};
use crate::cases::pods;
use crate::output::{self, wrapped};
use crate::pipeline::progress::clock;

/// The whole report.
pub(super) fn of(report: &TrialReport<'_>) -> String {
    let mut text = format!("{}\n", report.workload.words());
    text += &settings(report.stand);
    text += &notes(report);
    for trial in report.trials {
        text += &table(trial, report.run);
    }
    if !report.remarks.is_empty() {
        text += "\nremarks\n";
        for remark in &report.remarks {
            let said = wrapped(&format!("{} ({})", remark.says, remark.clause), "    ", 106);
            text += &format!("  - {}", said.trim_start());
        }
    }
    if let Some(run) = report.run {
        text += &after(report, run);
    }
    text
}

fn settings(stand: &Stand) -> String {
    let mut text = String::new();
    for probe in &stand.probes {
        let second = |us: i64| us / 1_000_000;
        let grace = probe.grace.map(|us| format!(", terminationGracePeriodSeconds {}", second(us)));
        text += &format!(
            "  {:<9} {}: initialDelaySeconds {}, periodSeconds {}, timeoutSeconds {}, successThreshold {}, \
             failureThreshold {}{}\n",
            probe.kind.word(),
            pods::asks(&probe.handler),
            second(probe.initial_delay),
            second(probe.period),
            second(probe.timeout),
            probe.successes,
            probe.failures,
            grace.unwrap_or_default()
        );
    }
    if stand.probes.is_empty() {
        text += "  no probe: a container counts as healthy and ready while it runs\n";
    }
    text += &format!("  restartPolicy {}, {} s of grace\n", stand.policy, stand.grace / 1_000_000);
    text
}

fn notes(report: &TrialReport<'_>) -> String {
    let stand = report.stand;
    let mut text = format!(
        "  faults come to the container {}; clients call its port {} through a Service\n",
        stand.subject, stand.traffic.port
    );
    for (what, word) in [(What::Replaced, "replaced"), (What::Added, "added")] {
        for note in stand.notes.iter().filter(|note| note.what == what) {
            text += &format!("  {word}: {}: {}\n", note.field, note.why);
        }
    }
    // Fields that are left out for the same reason stand together.
    let mut left: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in stand.notes.iter().filter(|note| note.what == What::Dropped) {
        match left.iter_mut().find(|(why, _)| *why == note.why) {
            Some((_, fields)) => fields.push(&note.field),
            None => left.push((&note.why, vec![&note.field])),
        }
    }
    for (why, fields) in left {
        let said = wrapped(&format!("left out: {}: {why}", fields.join(", ")), "    ", 106);
        text += &format!("  {}", said.trim_start());
    }
    if !report.workload.others.is_empty() {
        text += &format!("  ignored: {}\n", report.workload.others.join(", "));
    }
    text
}

fn table(trial: &Trial, run: Option<&TrialRun<'_>>) -> String {
    let mut text = format!("\n{}: {}\n", trial.fault.word(), trial.fault.story());
    let outcome = run.and_then(|run| run.outcome(trial));
    if run.is_none() {
        text +=
            &format!("  takes up to {} = {}\n", clock(trial.takes.span.hi / 1_000_000), trial.takes.formula);
    }
    if let Some(why) = run.and_then(|run| run.not_run(trial)) {
        text += &format!("  not run: {why}\n");
    }
    let heading = ["", "promise", if run.is_some() { "observed" } else { "" }, ""];
    let mut rows = vec![heading.map(str::to_owned)];
    for (at, promised) in trial.promised.iter().enumerate() {
        let (promise, why) = expected(promised);
        let (seen, remark) = match outcome.and_then(|outcome| outcome.rows.get(at)) {
            Some(row) => (observed(row), remark(row)),
            None if run.is_some() => ("not run".to_owned(), String::new()),
            None => (String::new(), String::new()),
        };
        let remark = if remark.is_empty() { why } else { format!("{remark}: {why}") };
        rows.push([promised.quantity.words().to_owned(), promise, seen, remark]);
    }
    for line in output::table(&rows).lines() {
        text += &format!("  {line}\n");
    }
    text
}

/// A promise in a cell, and where it comes from.
fn expected(promised: &Promised) -> (String, String) {
    match &promised.expected {
        Expected::Within(promise) => (promise.in_words(), promise.formula.clone()),
        Expected::Times(times, why) => (times.to_string(), why.clone()),
        Expected::Never(why) => ("never".to_owned(), why.clone()),
        Expected::Unsaid(why) => ("-".to_owned(), why.clone()),
    }
}

fn observed(row: &Row) -> String {
    match &row.observed {
        Observed::Span(span) => tenths(*span),
        Observed::Times(times) => times.to_string(),
        Observed::Never if row.promised.quantity == Quantity::Downtime => "none".to_owned(),
        Observed::Never => "never".to_owned(),
        Observed::Unseen(_) => "not seen".to_owned(),
    }
}

/// How a row stands to its promise, in words.
fn remark(row: &Row) -> String {
    match (row.standing, &row.observed, &row.promised.expected) {
        (Standing::Kept, ..) => "ok".to_owned(),
        (Standing::Told, ..) => String::new(),
        (Standing::Unsure, Observed::Unseen(why), _) => format!("UNSURE, {why}"),
        (Standing::Unsure, ..) => "UNSURE, too close to an end of the promise".to_owned(),
        (Standing::Broken, Observed::Span(span), Expected::Within(promise)) => {
            let early = promise.span.lo - span.hi;
            if early > 0 {
                return format!("NOT AS PROMISED, {} too early", tenths(Interval::point(early)));
            }
            format!(
                "NOT AS PROMISED, {} too late ({} are allowed for the cluster's own work)",
                tenths(Interval::point(span.lo - promise.span.hi)),
                tenths(Interval::point(row.promised.late))
            )
        }
        (Standing::Broken, ..) => "NOT AS PROMISED".to_owned(),
    }
}

/// What the run showed beside the faults, and the counts.
fn after(report: &TrialReport<'_>, run: &TrialRun<'_>) -> String {
    let mut text = String::new();
    if !run.violations.is_empty() {
        text += "\nthe kubelet violated clauses, whatever the settings are\n";
        for (_, finding) in &run.violations {
            text += &format!("\n{finding}");
        }
    }
    let not_run = report.trials.iter().filter(|trial| run.outcome(trial).is_none()).count();
    let mut counts = format!("{} kept, {} broken", run.count(Standing::Kept), run.count(Standing::Broken));
    for (count, word) in [
        (run.count(Standing::Unsure), "unsure"),
        (not_run, "faults not run"),
        (run.violations.len(), "violated by the kubelet"),
    ] {
        if count > 0 {
            counts += &format!(", {count} {word}");
        }
    }
    text + &format!("\npromises: {counts}\nhistories: {}\n", run.histories().display())
}
