//! `probity merge`: the merged shards of a run have the same verdicts as the whole run.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::fs;
use std::path::{Path, PathBuf};

use probity::{ProgramOutput, probity};
use probity_case::{CaseName, Profile};
use probity_model::History;
use probity_model::verdict::Skip;
use probity_report::LogLine;
use probity_report::run_log::{ClusterFacts, Planned, RunFacts, Shard, Suite, Tool, Usage};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Chapters of a recorded run on a real cluster. Together, they have every kind of pod, and only a few megabytes.
const CHAPTERS: [&str; 2] = ["probe_types", "probe_tcp"];

/// A recorded history.
struct Recorded {
    case: CaseName,
    bytes: Vec<u8>,
    history: History,
    sha256: String,
}

fn recorded() -> Vec<Recorded> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/histories/kubernetes-1.36.3");
    let mut folders: Vec<PathBuf> = CHAPTERS.iter().map(|chapter| all.join(chapter)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8(zstd::decode_all(bytes.as_slice()).unwrap()).unwrap();
                let history = History::read(&text).unwrap();
                let sha256 =
                    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
                found.push(Recorded { case: CaseName(history.header.case.clone()), bytes, history, sha256 });
            }
        }
    }
    found.sort_by(|one, other| one.case.cmp(&other.case));
    found
}

/// Writes the folder of a run of these histories, or of one shard of it.
fn write(folder: &Path, all: &[Recorded], shard: Option<Shard>) {
    let planned = |recorded: &Recorded| Planned {
        case: recorded.case.clone(),
        source: format!("suites/{}.yaml", recorded.case),
        profile: Profile::Core,
        judges: recorded.history.header.judges.clone(),
        story: "It was recorded.".to_owned(),
    };
    let facts = RunFacts {
        run_id: format!("run-{}", shard.map_or_else(|| "whole".to_owned(), |shard| shard.index.to_string())),
        began_wall_us: all[0].history.header.began_wall_us + shard.map_or(0, |shard| i64::from(shard.index)),
        tool: Tool { name: "probity".to_owned(), ..Tool::default() },
        suite: Suite { name: "probity".to_owned(), ..Suite::default() },
        profiles: vec![Profile::Core],
        repeat: 1,
        shard,
        cases: all.iter().map(planned).collect(),
        ..RunFacts::default()
    };
    let header = &all[0].history.header;
    let ground = ClusterFacts {
        server: header.server.clone(),
        nodes: header.nodes.clone(),
        ..ClusterFacts::default()
    };
    let mut log = vec![LogLine::Began(Box::new(facts.versioned())), LogLine::Ready(ground)];
    for (at, recorded) in all.iter().enumerate() {
        let case = recorded.case.clone();
        if shard.is_some_and(|shard| at as u32 % shard.of != shard.index) {
            log.push(LogLine::CaseSkipped { case, reason: Skip::OtherShard, why: "x".to_owned() });
            continue;
        }
        let history = format!("history/{}.jsonl.zst", case.file());
        fs::create_dir_all(folder.join(&history).parent().unwrap()).unwrap();
        fs::write(folder.join(&history), &recorded.bytes).unwrap();
        let sha256 = recorded.sha256.clone();
        log.push(LogLine::CaseEnded { case, history, sha256, began_us: 1_000_000, us: 9_000_000 });
    }
    log.push(LogLine::Finished(Usage { wall_us: 10_000_000, ..Usage::default() }));
    let text: String = log.iter().map(|line| line.write().unwrap()).collect();
    fs::write(folder.join("events.ndjson"), text).unwrap();
}

fn merge(from: &[&Path], to: &Path, more: &[&str]) -> ProgramOutput {
    let mut words: Vec<String> = vec!["merge".to_owned()];
    words.extend(from.iter().map(|folder| folder.display().to_string()));
    words.extend(["--out".to_owned(), to.display().to_string()]);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    probity(&words)
}

fn report(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
}

/// The content of a report, without the times at which the cases ran.
fn said(folder: &Path) -> (Value, Value, Vec<Value>) {
    let mut report = report(folder);
    let cases = report["cases"].as_array_mut().unwrap().drain(..);
    let timeless = cases.map(|mut case| {
        case.as_object_mut().unwrap().retain(|field, _| !field.ends_with("Us"));
        case
    });
    let cases = timeless.collect();
    (report["clauses"].clone(), report["result"].clone(), cases)
}

fn shards(all: &[Recorded], of: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..of {
        let here = folder.path().join(index.to_string());
        fs::create_dir_all(&here).unwrap();
        write(&here, all, Some(Shard { index, of }));
    }
    folder
}

#[test]
fn the_merged_shards_of_a_recorded_run_say_what_the_whole_run_says() {
    let all = recorded();
    assert!(all.len() > 20, "{}", all.len());
    let whole = tempfile::tempdir().unwrap();
    write(whole.path(), &all, None);
    let of_whole = probity(&["report", &whole.path().display().to_string()]);
    let shards = shards(&all, 3);
    let out = shards.path().join("merged");
    let merged = merge(&[shards.path()], &out, &[]);
    assert_eq!(merged.status, of_whole.status, "{}", merged.err);
    assert_eq!(said(&out), said(whole.path()));
    let again = probity(&["report", &out.display().to_string(), "--check"]);
    assert_eq!(again.status, 0, "{}", again.err);
    let verdicts = out.join(format!("verdicts/{}.json", all[0].case.file()));
    assert!(verdicts.exists(), "{}", verdicts.display());
}

#[test]
fn a_shard_that_is_missing_is_named_and_nothing_is_written() {
    let all: Vec<Recorded> = recorded().into_iter().take(4).collect();
    let shards = shards(&all, 2);
    let (first, out) = (shards.path().join("0"), shards.path().join("merged"));
    let said = merge(&[&first], &out, &[]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("1/2 is missing") && said.err.contains("--incomplete"), "{}", said.err);
    assert!(!out.exists());
    let said = merge(&[&first], &out, &["--incomplete"]);
    assert!(said.out.contains("warning: of the 2 shards"), "{}", said.out);
    let never = report(&out)["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["verdict"] == "inconclusive")
        .count();
    assert!(never >= 2, "the cases of the missing shard never ended");
    assert_eq!(merge(&[&first], &out, &["--incomplete"]).status, 2, "a run is not overwritten");
}

#[test]
fn a_folder_without_a_run_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let said = merge(&[empty.path()], &empty.path().join("out"), &[]);
    assert_eq!(said.status, 2);
    assert!(said.err.contains("not the folder of a run"), "{}", said.err);
}
