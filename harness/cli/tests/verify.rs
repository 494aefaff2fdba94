//! `probity verify` as another person uses it: with the book of the program, and histories of a real kubelet.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::fs;
use std::path::Path;

use probity::{ProgramOutput, probity, write};
use probity_case::{Case, Profile};
use probity_model::History;
use probity_model::verdict::Skip;
use probity_report::LogLine;
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Suite, Tool, Usage};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Cases with recorded histories.
const RECORDED: [&str; 2] = ["probe_tcp/connections", "probe_tcp/host-service-name"];

fn recorded(case: &str) -> History {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories/kubernetes-1.36.3");
    let packed = fs::read(folder.join(format!("{case}.jsonl.zst"))).unwrap();
    History::read(&String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap()).unwrap()
}

fn book() -> Vec<(Case, String)> {
    let files = probity_suites::cases().unwrap();
    files
        .into_iter()
        .flat_map(|file| file.cases.into_iter().map(move |case| (case, file.source.clone())))
        .collect()
}

/// The folder of a run with this book that ran only the recorded cases and skipped all others.
fn run_of(suite: &Suite) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let book = book();
    let header = recorded(RECORDED[0]).header;
    let facts = RunFacts {
        run_id: header.run.clone(),
        began_wall_us: header.began_wall_us,
        tool: Tool { name: "probity".to_owned(), ..Tool::default() },
        suite: suite.clone(),
        profiles: vec![Profile::Core, Profile::Extended],
        repeat: 1,
        cases: book.iter().map(|(case, source)| Planned::of(case, source)).collect(),
        ..RunFacts::default()
    };
    let ground = ClusterFacts {
        server: header.server.clone(),
        nodes: header.nodes.clone(),
        ..ClusterFacts::default()
    };
    let mut lines = vec![LogLine::Began(Box::new(facts.versioned())), LogLine::Ready(ground)];
    for (case, _) in &book {
        lines.push(if RECORDED.contains(&case.name.0.as_str()) {
            // The judges of the book may have changed since the recording.
            let mut history = recorded(&case.name.0);
            history.header.judges.clone_from(&case.judges);
            history.header.run.clone_from(&header.run);
            history.header.began_wall_us = header.began_wall_us;
            let text = history.write().unwrap();
            let file = format!("history/{}.jsonl.zst", case.name);
            let path = folder.path().join(&file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
            let sha256 = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            LogLine::CaseEnded { case: case.name.clone(), history: file, sha256, began_us: 0, us: 9_000_000 }
        } else {
            LogLine::CaseSkipped {
                case: case.name.clone(),
                reason: Skip::Filtered,
                why: "a filter".to_owned(),
            }
        });
    }
    lines.push(LogLine::Finished(Usage { wall_us: 12_000_000, cases: 2, ..Usage::default() }));
    let log: String = lines.iter().map(|line| line.write().unwrap()).collect();
    write(folder.path(), "events.ndjson", &log);
    probity(&["report", folder.path().to_str().unwrap()]);
    folder
}

/// The book of the program. A report names it as `judgedBy` if the run used another book.
fn suite() -> Suite {
    let folder = run_of(&Suite::default());
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("report.json")).unwrap()).unwrap();
    serde_json::from_value(report["judgedBy"].clone()).unwrap()
}

fn verify(paths: &[&Path], more: &[&str]) -> ProgramOutput {
    let mut arguments = vec!["verify"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    arguments.extend(more);
    probity(&arguments)
}

/// Changes the first occurrence of a text in a file.
fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn an_honest_run_is_verified_and_each_status_has_its_reason() {
    let suite = suite();
    let (good, bad) = (run_of(&suite), run_of(&suite));
    let said = verify(&[good.path()], &[]);
    assert_eq!((said.status, said.err.as_str()), (0, ""), "{}", said.out);
    assert!(said.out.contains(": verified\n") && said.out.contains("level    none"), "{}", said.out);

    let said = verify(&[good.path()], &["--level", "core"]);
    assert_eq!(said.status, 1);
    assert!(said.err.contains("its conformance level is none, but core was requested"), "{}", said.err);

    let report = bad.path().join("report.json");
    change(&report, "\"holds\"", "\"violated\"");
    let said = verify(&[good.path(), bad.path()], &[]);
    assert_eq!(said.status, 1);
    assert!(said.out.contains("NOT verified") && said.out.contains("report.json: "), "{}", said.out);

    let alone = tempfile::tempdir().unwrap();
    let copy = alone.path().join("report.json");
    fs::copy(good.path().join("report.json"), &copy).unwrap();
    let said = verify(&[&copy], &[]);
    assert_eq!(said.status, 3, "{}{}", said.out, said.err);
    assert!(said.out.contains("ask for the folder of the run"), "{}", said.out);

    let said = verify(&[Path::new("/etc/hostname"), good.path()], &[]);
    assert_eq!(said.status, 2, "{}", said.err);
    assert!(
        said.out.contains(": verified\n") && said.err.contains("neither the folder of a run"),
        "{}",
        said.err
    );
}

#[test]
fn a_field_that_nobody_reads_hides_no_changed_verdict() {
    let run = run_of(&suite());
    let report = run.path().join("report.json");
    change(&report, "\"holds\"", "\"violated\"");
    change(&report, "{", "{\"unknown\":1e999,");
    let said = verify(&[run.path()], &[]);
    assert_eq!(said.status, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains("NOT verified") && said.out.contains("report.json: "), "{}", said.out);
}

#[test]
fn a_run_of_another_book_is_checked_as_far_as_possible() {
    let other = Suite { digest: "sha256:0123456789abcdef".to_owned(), ..suite() };
    let folder = run_of(&other);
    let said = verify(&[folder.path()], &[]);
    assert_eq!(said.status, 3, "{}", said.out);
    assert!(said.out.contains("the run used the book probity 0.1.0 (0123456789ab)"), "{}", said.out);
    change(&folder.path().join("events.ndjson"), "\"sha256\":\"", "\"sha256\":\"0");
    assert_eq!(verify(&[folder.path()], &[]).status, 1);
}
