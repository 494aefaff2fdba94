//! `probity report`, `diff` and `matrix`: the same run folders always give the same output.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::fs;
use std::path::Path;
use std::process::Command;

use probity::{probity, write};
use probity_case::{CaseName, Profile};
use probity_composer::{Composer, ZERO_WALL_US};
use probity_model::History;
use probity_model::expectation::{Expectation, Occurrence};
use probity_report::LogLine;
use probity_report::run_log::{ClusterFacts, Leftover, Planned, RunFacts, Suite, Tool, Usage};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const CLAUSE: &str = "probe.startup.gates-liveness";

/// A container whose startup probe succeeds at 3 s and that receives a liveness probe at `live`, in a case that expects
/// no restart.
fn history(live: f64) -> History {
    let probe = |path: &str| {
        json!({
            "httpGet": { "path": path, "port": 8080, "scheme": "HTTP" },
            "periodSeconds": 1, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
        })
    };
    let container =
        json!({ "name": "target", "startupProbe": probe("/start"), "livenessProbe": probe("/live") });
    let mut run = Composer::new(&[CLAUSE]);
    run.create(
        0.0,
        &json!({ "restartPolicy": "Always", "containers": [container], "terminationGracePeriodSeconds": 30 }),
    )
    .start(1.0, 0);
    let mut probes = [(2.0, "/start", 503), (3.0, "/start", 200), (live, "/live", 200)];
    probes.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, path, status) in probes {
        run.probe(at, path, status);
    }
    run.running(3.7, true, true, 0);
    let mut history = run.done();
    history.header.expect = vec![Expectation::Never(Occurrence::Restart)];
    history
}

/// How a run ended, according to its log.
#[derive(Clone, Copy)]
struct End {
    interrupted: bool,
    leftover: bool,
    finished: bool,
}

const CLEAN: End = End { interrupted: false, leftover: false, finished: true };

/// Writes the folder of a run of one case.
fn run(live: f64) -> TempDir {
    run_that_ended(live, CLEAN)
}

fn run_that_ended(live: f64, end: End) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = history(live).write().unwrap();
    let sha256: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let (case, file) = (CaseName("probe_types/one".to_owned()), "history/probe_types/one.jsonl.zst");
    fs::create_dir_all(folder.path().join("history/probe_types")).unwrap();
    fs::write(folder.path().join(file), zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    let planned = Planned {
        case: case.clone(),
        source: "suites/probe_types/one.yaml".to_owned(),
        profile: Profile::Core,
        judges: vec![CLAUSE.parse().unwrap()],
        story: "It shows a report.".to_owned(),
    };
    let facts = RunFacts {
        run_id: "r1".to_owned(),
        began_wall_us: ZERO_WALL_US,
        tool: Tool { name: "probity".to_owned(), ..Tool::default() },
        suite: Suite { name: "book".to_owned(), ..Suite::default() },
        profiles: vec![Profile::Core],
        repeat: 1,
        cases: vec![planned],
        ..RunFacts::default()
    };
    let mut lines = vec![
        LogLine::Began(Box::new(facts.versioned())),
        LogLine::Ready(ClusterFacts { server: "v1.36.3".to_owned(), ..ClusterFacts::default() }),
        LogLine::CaseBegan { case: case.clone(), us: 0 },
        LogLine::CaseEnded { case, history: file.to_owned(), sha256, began_us: 0, us: 9_000_000 },
    ];
    if end.leftover {
        lines.push(LogLine::Leftover(Leftover { what: "Pod a".to_owned(), why: "a finalizer".to_owned() }));
    }
    if end.finished {
        let usage = Usage { wall_us: 12_000_000, cases: 1, interrupted: end.interrupted, ..Usage::default() };
        lines.push(LogLine::Finished(usage));
    }
    let log: String = lines.iter().map(|line| line.write().unwrap()).collect();
    write(folder.path(), "events.ndjson", &log);
    folder
}

fn report(folder: &Path, more: &[&str]) -> probity::ProgramOutput {
    let mut arguments = vec!["report", folder.to_str().unwrap()];
    arguments.extend(more);
    probity(&arguments)
}

const FILES: [&str; 6] =
    ["report.json", "report.yaml", "junit.xml", "summary.md", "report.html", "badge.json"];

fn files(folder: &Path) -> Vec<String> {
    FILES.iter().map(|name| fs::read_to_string(folder.join(name)).unwrap()).collect()
}

#[test]
fn a_run_that_holds_ends_well_and_one_that_does_not_says_why() {
    let said = report(run(3.5).path(), &[]);
    assert_eq!((said.status, said.err.as_str()), (0, ""), "{}", said.out);
    let said = report(run(2.5).path(), &[]);
    assert_eq!(said.status, 1);
    assert!(said.out.contains("a liveness probe arrived 0.5"), "{}", said.out);
}

/// The log and the histories contain everything that determines the exit status of a run, so all readers agree.
#[test]
fn a_stored_run_ends_as_the_run_did_whether_reported_or_judged() {
    let interrupted = End { interrupted: true, ..CLEAN };
    let leftover = End { leftover: true, ..CLEAN };
    let broken_off = End { finished: false, ..CLEAN };
    let abandoned = End { finished: false, ..leftover };
    for (end, holds, violated) in [
        (CLEAN, 0, 1),
        (interrupted, 5, 5),
        (leftover, 6, 6),
        (End { leftover: true, ..interrupted }, 6, 6),
        (broken_off, 4, 1),
        (abandoned, 6, 6),
    ] {
        for (live, status) in [(3.5, holds), (2.5, violated)] {
            let folder = run_that_ended(live, end);
            let path = folder.path().to_str().unwrap();
            assert_eq!(report(folder.path(), &[]).status, status);
            assert_eq!(probity(&["judge", path]).status, status);
            let narrowed = probity(&["judge", path, "--clause", CLAUSE]);
            assert_eq!(narrowed.status, i32::from(live < 3.0), "one clause says nothing about the run");
        }
    }
}

#[test]
fn every_file_is_the_same_when_it_is_made_again() {
    let folder = run(2.5);
    report(folder.path(), &[]);
    let first = files(folder.path());
    report(folder.path(), &[]);
    assert_eq!(first, files(folder.path()));
    assert_eq!(report(folder.path(), &["--check"]).status, 0);
    let tampered = first[0].replacen("\"violated\"", "\"holds\"", 1);
    write(folder.path(), "report.json", &tampered);
    let said = report(folder.path(), &["--check"]);
    assert_eq!(said.status, 4);
    assert!(said.err.contains("does not match the histories"), "{}", said.err);
}

#[test]
fn in_a_workflow_the_violation_is_annotated_and_the_step_has_its_summary() {
    let folder = run(2.5);
    let summary = folder.path().join("step");
    let output = Command::new(env!("CARGO_BIN_EXE_probity"))
        .arg("report")
        .arg(folder.path())
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.lines().any(|line| line.starts_with("::error title=probe.startup.gates-liveness%3A violated::"))
    );
    assert_eq!(fs::read_to_string(summary).unwrap(), files(folder.path())[3]);
}

#[test]
fn a_case_with_its_own_expectation_says_what_became_of_it() {
    let folder = run(3.5);
    report(folder.path(), &[]);
    let report: Value = serde_json::from_str(&files(folder.path())[0]).unwrap();
    assert_eq!(report["cases"][0]["expected"][0]["what"], "never a restart");
    assert_eq!(report["cases"][0]["expected"][0]["verdict"]["verdict"], "holds");
}

#[test]
fn a_difference_fails_only_if_something_got_worse() {
    let (good, bad) = (run(3.5), run(2.5));
    report(good.path(), &[]);
    report(bad.path(), &[]);
    let diff =
        |older: &Path, newer: &Path| probity(&["diff", older.to_str().unwrap(), newer.to_str().unwrap()]);
    let said = diff(good.path(), bad.path());
    assert_eq!(said.status, 1);
    assert!(said.out.starts_with(&format!("violated   {CLAUSE}: inconclusive -> violated")), "{}", said.out);
    assert_eq!(diff(bad.path(), good.path()).status, 0);
    assert_eq!(diff(good.path(), good.path()).status, 0);
}

#[test]
fn runs_stand_side_by_side_in_a_page_that_leads_to_theirs() {
    let (good, bad) = (run(3.5), run(2.5));
    report(good.path(), &[]);
    report(bad.path(), &[]);
    let page = good.path().join("pages/matrix.html");
    let of = |name: &str, folder: &Path| format!("{name}={}", folder.display());
    let arguments =
        ["matrix", &of("good", good.path()), &of("bad", bad.path()), "--out", page.to_str().unwrap()];
    let said = probity(&arguments);
    assert_eq!((said.status, said.out), (0, format!("wrote {}\n", page.display())), "{}", said.err);
    let text = fs::read_to_string(page).unwrap();
    assert!(
        text.contains("1 regression</h1>") && text.contains(&format!("href=\"../report.html#{CLAUSE}\""))
    );
}

#[test]
fn what_cannot_be_compared_is_refused_and_says_why() {
    let good = run(3.5);
    report(good.path(), &[]);
    let path = good.path().to_str().unwrap();
    for (arguments, why) in [
        (vec!["matrix", path, path], "is given twice; give each report once"),
        (vec!["matrix", path], "give at least two"),
        (vec!["matrix", path, "/no/such/run"], "give a report.json, or the folder of a run that has one"),
        (vec!["diff", path, path, "--format", "pdf"], "invalid value 'pdf'"),
    ] {
        let said = probity(&arguments);
        assert!(said.status == 2 && said.err.contains(why), "{arguments:?}: {}", said.err);
    }
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = report(folder.path(), &[]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("events.ndjson"), "{}", said.err);
}
