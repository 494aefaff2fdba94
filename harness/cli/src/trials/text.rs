//! The report on a trial, for people.

use probity_model::measure::{Fit, Interval, Unit};
use probity_trial::promise::tenths;
use probity_trial::{NEVER, NoteKind, Observation, Promised, Quantity, StandIn, Trial};

use super::trial_report::{TrialReport, TrialRun};
use crate::cases::pods;
use crate::output::{self, wrapped};
use crate::pipeline::progress::clock;

/// The whole report.
pub(crate) fn of(report: &TrialReport<'_>) -> String {
    let mut text = format!("{}\n", report.workload.words());
    text += &settings(report.pod);
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

fn settings(pod: &StandIn) -> String {
    let mut text = String::new();
    for probe in &pod.probes {
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
    if pod.probes.is_empty() {
        text += "  no probe: a container counts as healthy and ready while it runs\n";
    }
    text += &format!("  restartPolicy {}, grace period {} s\n", pod.policy, pod.grace / 1_000_000);
    text
}

fn notes(report: &TrialReport<'_>) -> String {
    let pod = report.pod;
    let mut text = format!(
        "  faults affect the container {}; clients call its port {} through a Service\n",
        pod.subject, pod.traffic.port
    );
    for (kind, word) in [(NoteKind::Replaced, "replaced"), (NoteKind::Added, "added")] {
        for note in pod.notes.iter().filter(|note| note.kind == kind) {
            text += &format!("  {word}: {}: {}\n", note.field, note.why);
        }
    }
    // Group the fields that are left out for the same reason.
    let mut left: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in pod.notes.iter().filter(|note| note.kind == NoteKind::Dropped) {
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
    let result = run.and_then(|run| run.result(trial));
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
        let why = promised.promise.formula.clone();
        let promise = match promised.promise.is_open() {
            true => "-".to_owned(),
            false => promised.quantity.show(promised.promise.span),
        };
        let (seen, remark) = match result.and_then(|result| result.observations.get(at)) {
            Some(seen) => (observed(seen), remark(seen)),
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

/// The observed value in words.
pub(super) fn observed(seen: &Observation) -> String {
    match &seen.seen {
        Err(_) => "not seen".to_owned(),
        Ok(NEVER) if seen.promised.quantity == Quantity::Downtime => "none".to_owned(),
        Ok(value) => seen.promised.quantity.show(*value),
    }
}

/// How an observation fits its promise, in words.
fn remark(seen: &Observation) -> String {
    let word = match seen.fit {
        None => return String::new(),
        Some(Fit::Met) => return "ok".to_owned(),
        Some(Fit::Undecided) => "UNSURE",
        Some(Fit::Missed) => "NOT AS PROMISED",
    };
    match detail(seen) {
        detail if detail.is_empty() => word.to_owned(),
        detail => format!("{word}, {detail}"),
    }
}

/// Why an observation is missing or unsure, or how far it is from its promise. May be empty.
pub(super) fn detail(seen: &Observation) -> String {
    match (&seen.seen, seen.fit) {
        (Err(why), _) => why.clone(),
        (Ok(_), Some(Fit::Undecided)) => "too close to a limit of the promise".to_owned(),
        (Ok(span), Some(Fit::Missed)) => missed_by(&seen.promised, *span),
        (Ok(_), Some(Fit::Met) | None) => String::new(),
    }
}

/// How far a time is from its promise, if both are times.
fn missed_by(promised: &Promised, span: Interval) -> String {
    let of = promised.promise.span;
    if span == NEVER || of == NEVER {
        return String::new();
    }
    let (early, late) = (of.lo - span.hi, span.lo - of.hi);
    let seconds = |us| tenths(Interval::point(us));
    match promised.quantity.unit() {
        Unit::Count => String::new(),
        Unit::Us if early > 0 => format!("{} too early", seconds(early)),
        Unit::Us => format!(
            "{} too late (with {} allowed for the cluster's own work)",
            seconds(late),
            seconds(promised.late)
        ),
    }
}

/// The other results of the run, and the counts.
fn after(report: &TrialReport<'_>, run: &TrialRun<'_>) -> String {
    let mut text = String::new();
    if !run.violations.is_empty() {
        text += "\nthe kubelet violated clauses, regardless of the settings\n";
        for (_, finding) in &run.violations {
            text += &format!("\n{finding}");
        }
    }
    let not_run = report.trials.iter().filter(|trial| run.result(trial).is_none()).count();
    let mut counts = format!("{} kept, {} broken", run.count(Fit::Met), run.count(Fit::Missed));
    for (count, word) in [
        (run.count(Fit::Undecided), "unsure"),
        (not_run, "faults not run"),
        (run.violations.len(), "violated by the kubelet"),
    ] {
        if count > 0 {
            counts += &format!(", {count} {word}");
        }
    }
    let (histories, page) = (run.histories(), run.page());
    text + &format!("\npromises: {counts}\nhistories: {}\npage: {}\n", histories.display(), page.display())
}
