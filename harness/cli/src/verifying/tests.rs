//! A sample run is changed in every way that somebody might try. Each change must be reported for the file in which it
//! is visible.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use probity_report::run_log::Suite;
use probity_sample::{ON_TIME, PUNCTUAL, Run};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::report_files::sample;
use crate::run_folder::{bundle, digest, store_history};

mod claims;
mod hostile;

const CALM: &str = "history/demo/calm.jsonl.zst";
const QUIET: &str = "history/demo/quiet.jsonl.zst";

fn verifier() -> Verifier {
    let tool = sample::report().tool;
    Verifier { registry: sample::registry(), book: sample::book(), tool }
}

/// The folder of a run with all its files.
fn folder_of(run: &Run) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    sample::store(run, folder.path());
    report_files::write(folder.path(), &run.report(), &run.stored(), Standard::default()).unwrap();
    for stored in run.stored() {
        let name = stored.file.replace("history/", "verdicts/").replace(".jsonl.zst", ".json");
        let verdicts = CaseVerdicts::of(&sample::registry(), &stored.contents.unwrap().history);
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, verdicts.file().unwrap()).unwrap();
    }
    folder
}

fn verified(path: &Path) -> Verified {
    verifier().verify(&Given::open(path).unwrap())
}

/// A changed run.
struct Tampered(TempDir);

impl Tampered {
    fn new() -> Self {
        Self(folder_of(&sample::run()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Replaces a text in a file, which must contain it.
    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.text(name);
        assert!(text.contains(from), "{name} has no {from}");
        fs::write(self.path(name), text.replacen(from, to, 1)).unwrap();
    }

    /// Changes the report as a document.
    fn report(&self, change: impl FnOnce(&mut Value)) {
        let mut report: Value = serde_json::from_str(&self.text(REPORT)).unwrap();
        change(&mut report);
        fs::write(self.path(REPORT), serde_json::to_string_pretty(&report).unwrap() + "\n").unwrap();
    }

    /// Changes the lines of the log.
    fn log(&self, change: impl FnOnce(&mut Vec<Value>)) {
        let mut lines: Vec<Value> =
            self.text(LOG).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        change(&mut lines);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(LOG), text).unwrap();
    }

    /// Changes the lines of a history and, with `hidden`, also its digest wherever it occurs.
    fn history(&self, name: &str, hidden: bool, change: impl FnOnce(&mut Vec<String>)) {
        let packed = fs::read(self.path(name)).unwrap();
        let text = String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        let changed = lines.join("\n") + "\n";
        store_history(&self.path(name), &changed).unwrap();
        if hidden {
            for file in [LOG, REPORT] {
                let edited = self.text(file).replace(&digest(&text), &digest(&changed));
                fs::write(self.path(file), edited).unwrap();
            }
        }
    }

    /// Asserts that a flaw of this file contains this text.
    fn is_noticed(&self, what: &str, file: &str, says: &str) {
        let found = verified(self.0.path());
        assert_eq!(found.exit_facts().status().code(), 1, "{what}");
        let hit = found.flaws.iter().any(|flaw| flaw.file == file && flaw.what.contains(says));
        assert!(hit, "{what}: {:#?}", found.flaws);
    }
}

#[test]
fn an_honest_run_is_verified_and_says_what_was_checked() {
    let folder = folder_of(&sample::run());
    let found = verified(folder.path());
    assert_eq!((&found.flaws, &found.unchecked), (&Vec::new(), &Vec::new()));
    assert_eq!(found.exit_facts().status().code(), 0);
    let mut words = found.in_words("run");
    words = words.replace(&folder.path().display().to_string(), "FOLDER");
    insta::assert_snapshot!(words);
    let by_report = verified(&folder.path().join(REPORT));
    assert!(by_report.flaws.is_empty() && by_report.unchecked.is_empty(), "the report stands for its folder");
}

#[test]
fn a_packed_run_is_verified_without_a_report() {
    let folder = folder_of(&sample::run());
    let packed = folder.path().join("run.tar.zst");
    fs::write(&packed, bundle::pack(folder.path()).unwrap()).unwrap();
    let found = verified(&packed);
    assert!(found.flaws.is_empty() && found.unchecked.is_empty(), "{:?}", found.flaws);
    assert!(found.notes[0].contains("there is no report.json"), "{:?}", found.notes);
}

#[test]
fn every_change_of_the_report_is_noticed() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change, &str); 16] = [
        (
            "verdict",
            |of| of["clauses"][1]["verdict"] = json!("holds"),
            "clauses[demo.hostile].verdict is \"holds\"; it should be \"violated\"",
        ),
        (
            "finding",
            |of| of["clauses"][1]["finding"] = json!("all is well"),
            "clauses[demo.hostile].finding is",
        ),
        (
            "level of a clause",
            |of| of["clauses"][1]["level"] = json!("should"),
            "clauses[demo.hostile].level is",
        ),
        (
            "text of a clause",
            |of| of["clauses"][0]["text"] = json!("anything"),
            "clauses[demo.on-time].text is",
        ),
        (
            "clause missing",
            |of| drop(of["clauses"].as_array_mut().unwrap().remove(1)),
            "clauses[demo.hostile] is missing",
        ),
        (
            "clause twice",
            |of| {
                let one = of["clauses"][0].clone();
                of["clauses"].as_array_mut().unwrap().push(one);
            },
            "clauses[demo.on-time] occurs 2 times instead of 1",
        ),
        (
            "case missing",
            |of| drop(of["cases"].as_array_mut().unwrap().remove(1)),
            "cases[demo/hostile] is missing",
        ),
        (
            "case twice",
            |of| {
                let one = of["cases"][0].clone();
                of["cases"].as_array_mut().unwrap().push(one);
            },
            "cases[demo/calm] occurs 2 times instead of 1",
        ),
        (
            "judgement",
            |of| of["cases"][1]["judgements"][1]["verdict"] = json!("holds"),
            "judgements[demo.hostile].verdict",
        ),
        (
            "digest",
            |of| of["cases"][0]["history"]["sha256"] = json!("00"),
            "cases[demo/calm].history.sha256 is \"00\"",
        ),
        ("profile", |of| of["cases"][0]["profile"] = json!("slow"), "cases[demo/calm].profile is \"slow\""),
        (
            "version",
            |of| of["environment"]["nodes"]["node1"]["kubelet"] = json!("v1.37.0"),
            "environment.nodes.node1.kubelet is \"v1.37.0\"",
        ),
        (
            "counts",
            |of| of["result"]["clauses"]["violated"] = json!(0),
            "result.clauses.violated is 0; it should be 1",
        ),
        (
            "result",
            |of| of["result"]["profiles"][0]["result"] = json!("success"),
            "result.profiles[core].result is \"success\"",
        ),
        (
            "conformance level",
            |of| of["certificate"]["level"] = json!("extended"),
            "certificate.level is \"extended\"; it should be \"none\"",
        ),
        (
            "extra field",
            |of| of["certificate"]["accreditedBy"] = json!("me"),
            "certificate.accreditedBy is \"me\"; it should not be there",
        ),
    ];
    for (what, change, says) in changes {
        let run = Tampered::new();
        run.report(change);
        run.is_noticed(what, REPORT, says);
    }
}

#[test]
fn every_change_of_the_log_is_noticed() {
    type Change = fn(&mut Vec<Value>);
    let changes: [(&str, Change, &str); 11] = [
        (
            "result missing",
            |lines| drop(lines.remove(2)),
            "it plans the case demo/calm but has no result for it",
        ),
        (
            "result twice",
            |lines| lines.insert(3, lines[2].clone()),
            "it names the history history/demo/calm.jsonl.zst twice",
        ),
        ("no end", |lines| drop(lines.pop()), "it has no end"),
        ("no cluster", |lines| drop(lines.remove(1)), "no line names the cluster"),
        (
            "case missing",
            |lines| {
                lines.remove(3);
                lines[0]["cases"].as_array_mut().unwrap().remove(1);
            },
            "it does not list the case demo/hostile of the book",
        ),
        (
            "case planned twice",
            |lines| {
                let one = lines[0]["cases"][0].clone();
                lines[0]["cases"].as_array_mut().unwrap().push(one);
            },
            "it plans the case demo/calm twice",
        ),
        (
            "case invented",
            |lines| lines[0]["cases"][0]["case"] = json!("demo/other"),
            "it plans the case demo/other, which the book does not have",
        ),
        (
            "profile",
            |lines| lines[0]["cases"][1]["profile"] = json!("slow"),
            "the profile of the case demo/hostile is slow, but in the book it is core",
        ),
        (
            "target",
            |lines| lines[0]["cases"][1]["judges"] = json!([]),
            "the target of the case demo/hostile is empty, but in the book it is demo.hostile",
        ),
        (
            "skipped and ran",
            |lines| {
                lines.insert(3, json!({ "event": "case-skipped", "case": "demo/calm", "reason": "precondition", "why": "x" }))
            },
            "the case demo/calm was skipped, and also that it ran",
        ),
        ("two runs", |lines| lines.insert(1, lines[0].clone()), "it is the log of two runs"),
    ];
    for (what, change, says) in changes {
        let run = Tampered::new();
        run.log(change);
        run.is_noticed(what, LOG, says);
    }
    let run = Tampered::new();
    let text = run.text(LOG);
    fs::write(run.path(LOG), &text[..text.len() - 20]).unwrap();
    run.is_noticed("cut off", LOG, "its last line is incomplete");
    run.replace(LOG, "{", "[");
    run.is_noticed("not a log", LOG, "is not the first line of a run log");
    fs::remove_file(run.path(LOG)).unwrap();
    run.is_noticed("removed", LOG, "it is missing");
}

#[test]
fn every_change_of_a_history_is_noticed_also_with_its_digests_changed() {
    let run = Tampered::new();
    run.history(CALM, false, |lines| drop(lines.remove(5)));
    run.is_noticed("a line removed", CALM, "it is not the file that the run wrote");

    let run = Tampered::new();
    fs::copy(run.path(QUIET), run.path(CALM)).unwrap();
    run.is_noticed("replaced", CALM, "it is not the file that the run wrote");
    run.is_noticed("replaced", CALM, "it belongs to the case demo/quiet, but events.ndjson says demo/calm");

    let run = Tampered::new();
    run.history("history/demo/hostile.jsonl.zst", true, |lines| {
        lines.retain(|line| !line.contains("Warning"))
    });
    run.is_noticed(
        "the evidence removed",
        REPORT,
        "clauses[demo.hostile].judgedIn[demo/hostile].verdict is \"violated\"",
    );
    run.is_noticed("the evidence removed", "verdicts/demo/hostile.json", "the verdicts on its history give");

    let run = Tampered::new();
    run.history(CALM, true, |lines| drop(lines.pop()));
    run.is_noticed("the end removed", CALM, "it does not show the end of its case");

    for (field, from, to, says) in [
        ("run", "0198a1b2", "another", "it belongs to the run another, but events.ndjson says 0198a1b2"),
        ("server", "\"server\":\"v1.36.3\"", "\"server\":\"v1.36.4\"", "a cluster of version v1.36.4"),
        (
            "kubelet",
            "\"kubelet\":\"v1.36.3\"",
            "\"kubelet\":\"v1.36.4\"",
            "a run whose node node1 has the kubelet v1.36.4",
        ),
        ("judges", "[\"demo.on-time\"]", "[]", "a case for the clauses "),
    ] {
        let run = Tampered::new();
        run.history(CALM, true, |lines| lines[0] = lines[0].replacen(from, to, 1));
        run.is_noticed(field, CALM, says);
    }

    let run = Tampered::new();
    run.replace(LOG, "\"server\":\"v1.36.3\"", "\"server\":\"v1.36.4\"");
    run.replace(REPORT, "\"server\": \"v1.36.3\"", "\"server\": \"v1.36.4\"");
    run.is_noticed("version in log and report", CALM, "but events.ndjson says v1.36.4");

    let run = Tampered::new();
    let packed = fs::read(run.path(CALM)).unwrap();
    fs::write(run.path(CALM), &packed[..packed.len() - 9]).unwrap();
    run.is_noticed("cut off", CALM, "the file is truncated");

    let run = Tampered::new();
    fs::remove_file(run.path(CALM)).unwrap();
    run.is_noticed("missing", CALM, "it is missing");

    let run = Tampered::new();
    fs::copy(run.path(CALM), run.path("history/demo/second.jsonl.zst")).unwrap();
    run.is_noticed("one more", "history/demo/second.jsonl.zst", "events.ndjson does not name it");
}

#[test]
fn a_missing_history_is_one_contradiction_and_its_consequences_are_none() {
    let run = Tampered::new();
    fs::remove_file(run.path(CALM)).unwrap();
    let found = verified(run.0.path());
    assert_eq!(found.flaws, [Flaw::new(CALM, "it is missing")]);
    let note = "not compared: everything that depends on the history that cannot be used (cases, clauses, totals, \
                other files)";
    assert!(found.notes.iter().any(|one| one == note), "{:?}", found.notes);
    run.report(|of| of["cases"][1]["verdict"] = json!("holds"));
    run.is_noticed("another case", REPORT, "cases[demo/hostile].verdict is \"holds\"");
}

#[test]
fn every_change_of_a_generated_file_is_noticed() {
    for name in report_files::GENERATED {
        let run = Tampered::new();
        run.replace(name, "violated", "fine");
        run.is_noticed(name, name, "it does not match the log and the histories");
    }
    let run = Tampered::new();
    run.replace("verdicts/demo/calm.json", "holds", "violated");
    run.is_noticed("verdicts", "verdicts/demo/calm.json", "the verdicts on its history give");
    let run = Tampered::new();
    fs::write(run.path("verdicts/demo/more.json"), "{}").unwrap();
    run.is_noticed("more verdicts", "verdicts/demo/more.json", "does not name a history for it");
}

#[test]
fn files_that_were_generated_with_other_settings_are_right_too() {
    let run = sample::run();
    let folder = folder_of(&run);
    for standard in standards() {
        report_files::write(folder.path(), &run.report(), &run.stored(), standard).unwrap();
        assert!(verified(folder.path()).flaws.is_empty(), "{standard:?}");
    }
}
