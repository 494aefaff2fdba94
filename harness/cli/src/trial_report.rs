//! What a trial came to, for people and for programs: the pod that ran, each fault with promise and observation side by
//! side, remarks, and what the kubelet itself did against its promises.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity_model::measure::Interval;
use probity_model::{History, Registry};
use probity_report::LogLine;
use probity_report::Word;
use probity_trial::promise::tenths;
use probity_trial::{
    Expected, Observed, Outcome, Promised, Quantity, Remark, Row, Stand, Standing, Trial, What,
};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::live::clock;
use crate::manifests::Found;
use crate::say;
use crate::verdicts::CaseVerdicts;

/// All that is told.
pub(crate) struct Of<'a> {
    /// What was tried.
    pub(crate) found: &'a Found,
    /// The pod that ran in its place.
    pub(crate) stand: &'a Stand,
    /// The faults.
    pub(crate) trials: &'a [Trial],
    /// What followed from them; none if nothing ran.
    pub(crate) outcomes: &'a [Outcome],
    /// What the documentation says of such settings.
    pub(crate) remarks: Vec<Remark>,
    /// What is known of the run, if there was one.
    pub(crate) run: Option<&'a Told<'a>>,
}

/// What the run of the faults told beside their outcomes.
pub(crate) struct Told<'a> {
    folder: &'a Path,
    /// Why faults did not run, by their cases.
    not_run: BTreeMap<String, String>,
    /// Findings of the clauses' judges that are the kubelet's doing.
    violations: Vec<(String, String)>,
}

impl<'a> Told<'a> {
    /// Judges the histories by the book.
    pub(crate) fn of(registry: &Registry, folder: &'a Path, log: &[LogLine], histories: &[History]) -> Self {
        let mut violations = Vec::new();
        for history in histories {
            let found = CaseVerdicts::of(registry, history);
            let path = file(folder, &history.header.case);
            let broken = found.judgements.iter().filter(|one| Word::of(&one.verdict) == Word::Violated);
            let ids = broken.map(|one| one.clause.to_string());
            let told = found.findings(registry, history, &path.display().to_string(), &[Word::Violated]);
            violations.extend(ids.zip(told));
        }
        let not_run = log.iter().filter_map(|line| match line {
            LogLine::CaseSkipped { case, why, .. } | LogLine::CaseBroken { case, why } => {
                Some((case.0.clone(), why.clone()))
            }
            _ => None,
        });
        Self { folder, not_run: not_run.collect(), violations }
    }
}

fn file(folder: &Path, case: &str) -> PathBuf {
    folder.join("history").join(format!("{case}.jsonl.zst"))
}

/// How the program ends.
pub(crate) fn exit(trials: &[Trial], outcomes: &[Outcome], told: &Told<'_>) -> Exit {
    let worst = outcomes.iter().map(Outcome::standing).max();
    match worst {
        Some(Standing::Broken) => Exit::Violated,
        _ if !told.violations.is_empty() => Exit::Violated,
        _ if outcomes.len() < trials.len() => Exit::Error,
        Some(Standing::Unsure) | None => Exit::Inconclusive,
        Some(Standing::Kept | Standing::Told) => Exit::Success,
    }
}

/// For people.
pub(crate) fn text(of: &Of<'_>) -> String {
    let mut text = format!("{}\n", of.found.words());
    text += &settings(of.stand);
    text += &notes(of);
    for trial in of.trials {
        let outcome = of.outcomes.iter().find(|outcome| outcome.fault == trial.fault);
        text += &table(of, trial, outcome);
    }
    if !of.remarks.is_empty() {
        text += "\nremarks\n";
        for remark in &of.remarks {
            let said = say::wrapped(&format!("{} ({})", remark.says, remark.clause), "    ", 106);
            text += &format!("  - {}", said.trim_start());
        }
    }
    if let Some(run) = of.run {
        text += &after(of, run);
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
            crate::pods::asks(&probe.handler),
            second(probe.initial_delay),
            second(probe.period),
            second(probe.timeout),
            probe.successes,
            probe.failures,
            grace.unwrap_or_default()
        );
    }
    if stand.probes.is_empty() {
        text += "  no probe: nobody asks it anything, so whatever runs counts as healthy and ready\n";
    }
    text += &format!("  restartPolicy {}, {} s of grace\n", stand.policy, stand.grace / 1_000_000);
    text
}

fn notes(of: &Of<'_>) -> String {
    let subject = &of.stand.subject;
    let mut text = format!(
        "  faults come to the container {subject}; clients call its port {} through a Service\n",
        of.stand.traffic.port
    );
    for (what, word) in [(What::Replaced, "replaced"), (What::Added, "added")] {
        for note in of.stand.notes.iter().filter(|note| note.what == what) {
            text += &format!("  {word}: {}: {}\n", note.field, note.why);
        }
    }
    // What is left out for one reason is told together.
    let mut left: Vec<(&str, Vec<&str>)> = Vec::new();
    for note in of.stand.notes.iter().filter(|note| note.what == What::Dropped) {
        match left.iter_mut().find(|(why, _)| *why == note.why) {
            Some((_, fields)) => fields.push(&note.field),
            None => left.push((&note.why, vec![&note.field])),
        }
    }
    for (why, fields) in left {
        let said = say::wrapped(&format!("left out: {}: {why}", fields.join(", ")), "    ", 106);
        text += &format!("  {}", said.trim_start());
    }
    if !of.found.others.is_empty() {
        text += &format!("  not looked at: {}\n", of.found.others.join(", "));
    }
    text
}

fn table(of: &Of<'_>, trial: &Trial, outcome: Option<&Outcome>) -> String {
    let mut text = format!("\n{}: {}\n", trial.fault.word(), trial.fault.story());
    let ran = of.run.is_some();
    let mut rows = vec![["", "promise", if ran { "observed" } else { "" }, ""].map(str::to_owned)];
    for (at, promised) in trial.promised.iter().enumerate() {
        let row = outcome.and_then(|outcome| outcome.rows.get(at));
        let (promise, why) = expected(promised);
        let (seen, remark) = match row {
            Some(row) => (observed(row), remark(row)),
            None if ran => ("not run".to_owned(), String::new()),
            None => (String::new(), String::new()),
        };
        let remark = if remark.is_empty() { why } else { format!("{remark}: {why}") };
        rows.push([promised.quantity.words().to_owned(), promise, seen, remark]);
    }
    if !ran {
        text +=
            &format!("  takes up to {} = {}\n", clock(trial.takes.span.hi / 1_000_000), trial.takes.formula);
    }
    if let (None, Some(why)) = (outcome, of.run.and_then(|run| run.not_run.get(&trial.case.name.0))) {
        text += &format!("  not run: {why}\n");
    }
    for line in say::table(&rows).lines() {
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

/// What is said of a row before its reason.
fn remark(row: &Row) -> String {
    match (row.standing, &row.observed) {
        (Standing::Kept, _) => "ok".to_owned(),
        (Standing::Told, _) => String::new(),
        (Standing::Unsure, Observed::Unseen(why)) => format!("UNSURE, {why}"),
        (Standing::Unsure, _) => "UNSURE, too close to an end of the promise".to_owned(),
        (Standing::Broken, Observed::Span(span)) => match &row.promised.expected {
            Expected::Within(promise) if span.hi < promise.span.lo => {
                let by = Interval::point(promise.span.lo - span.hi);
                format!("NOT AS PROMISED, {} too early", tenths(by))
            }
            Expected::Within(promise) => {
                let by = Interval::point(span.lo - promise.span.hi);
                let late = Interval::point(row.promised.late);
                format!(
                    "NOT AS PROMISED, {} too late ({} are allowed for the cluster's own work)",
                    tenths(by),
                    tenths(late)
                )
            }
            _ => "NOT AS PROMISED".to_owned(),
        },
        (Standing::Broken, _) => "NOT AS PROMISED".to_owned(),
    }
}

fn after(of: &Of<'_>, run: &Told<'_>) -> String {
    let mut text = String::new();
    if !run.violations.is_empty() {
        text += "\nthe kubelet broke promises of its own, which no setting excuses\n";
        for (_, told) in &run.violations {
            text += &format!("\n{told}");
        }
    }
    let all = of.outcomes.iter().flat_map(|outcome| &outcome.rows);
    let count = |standing: Standing| all.clone().filter(|row| row.standing == standing).count();
    let not_run = of.trials.len().saturating_sub(of.outcomes.len());
    let mut said = format!("{} kept, {} broken", count(Standing::Kept), count(Standing::Broken));
    for (count, word) in [
        (count(Standing::Unsure), "unsure"),
        (not_run, "faults not run"),
        (run.violations.len(), "violated by the kubelet"),
    ] {
        if count > 0 {
            said += &format!(", {count} {word}");
        }
    }
    text += &format!("\npromises: {said}\n");
    text += &format!("histories: {}\n", run.folder.join("history/try").display());
    text
}

/// For programs.
pub(crate) fn json(of: &Of<'_>) -> Value {
    let micros = |span: Interval| json!({ "fromUs": span.lo, "toUs": span.hi });
    let expected = |expected: &Expected| match expected {
        Expected::Within(promise) => json!({ "within": micros(promise.span), "formula": promise.formula }),
        Expected::Times(times, why) => json!({ "times": times, "because": why }),
        Expected::Never(why) => json!({ "never": true, "because": why }),
        Expected::Unsaid(why) => json!({ "nothing": true, "because": why }),
    };
    let observed = |observed: &Observed| match observed {
        Observed::Span(span) => json!({ "span": micros(*span) }),
        Observed::Times(times) => json!({ "times": times }),
        Observed::Never => json!({ "never": true }),
        Observed::Unseen(why) => json!({ "unseen": why }),
    };
    let standing = |standing: Standing| match standing {
        Standing::Kept => "kept",
        Standing::Told => "told",
        Standing::Unsure => "unsure",
        Standing::Broken => "broken",
    };
    let faults = of.trials.iter().map(|trial| {
        let outcome = of.outcomes.iter().find(|outcome| outcome.fault == trial.fault);
        let rows = trial.promised.iter().enumerate().map(|(at, promised)| {
            let mut row = json!({
                "quantity": promised.quantity.words(),
                "promise": expected(&promised.expected),
                "allowed": { "earlyUs": promised.early, "lateUs": promised.late },
            });
            if let Some(seen) = outcome.and_then(|outcome| outcome.rows.get(at)) {
                row["observed"] = observed(&seen.observed);
                row["standing"] = json!(standing(seen.standing));
                row["events"] = json!(seen.events);
            }
            row
        });
        let mut fault = json!({
            "fault": trial.fault.word(),
            "takes": { "us": trial.takes.span.hi, "formula": trial.takes.formula },
            "rows": rows.collect::<Vec<_>>(),
        });
        if let (None, Some(why)) = (outcome, of.run.and_then(|run| run.not_run.get(&trial.case.name.0))) {
            fault["notRun"] = json!(why);
        }
        if let (Some(run), Some(outcome)) = (of.run, outcome) {
            fault["history"] = json!(file(run.folder, &trial.case.name.0).display().to_string());
            fault["requests"] = json!(outcome.requests);
        }
        fault
    });
    let note = |note: &probity_trial::Note| {
        let what = match note.what {
            What::Replaced => "replaced",
            What::Dropped => "dropped",
            What::Added => "added",
        };
        json!({ "field": note.field, "what": what, "why": note.why })
    };
    let remark = |remark: &Remark| json!({ "clause": remark.clause, "says": remark.says });
    let violation = |(clause, told): &(String, String)| json!({ "clause": clause, "told": told });
    json!({
        "schema": "probity.dev/try",
        "version": 1,
        "file": of.found.source,
        "kind": of.found.workload.kind,
        "name": of.found.workload.name,
        "subject": of.stand.subject,
        "notes": of.stand.notes.iter().map(note).collect::<Vec<_>>(),
        "faults": faults.collect::<Vec<_>>(),
        "remarks": of.remarks.iter().map(remark).collect::<Vec<_>>(),
        "violations": of.run.map(|run| run.violations.iter().map(violation).collect::<Vec<_>>()),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use probity_case::CaseName;
    use probity_trial::{Fault, trial};

    use super::*;

    #[test]
    fn a_fault_that_did_not_run_is_told_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pod.yaml");
        std::fs::write(&path, "{ kind: Pod, spec: { containers: [{ name: c }] } }\n").unwrap();
        let found = crate::manifests::read(&path).unwrap().choose(None).unwrap();
        let stand = Stand::of(&found.workload).unwrap();
        let trials = [trial(&stand, Fault::Hang, 1).unwrap()];
        let (case, why) = (CaseName("try/hang".to_owned()), "the node is full".to_owned());
        let log = [LogLine::CaseBroken { case, why }];
        let told = Told::of(&crate::book::registry().unwrap(), folder.path(), &log, &[]);
        let of = Of {
            found: &found,
            stand: &stand,
            trials: &trials,
            outcomes: &[],
            remarks: Vec::new(),
            run: Some(&told),
        };
        let said = text(&of);
        assert!(said.contains("  not run: the node is full\n"), "{said}");
        assert_eq!(json(&of)["faults"][0]["notRun"], "the node is full");
    }
}
