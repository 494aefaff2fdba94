//! `probity judge`: the same history gives the same bytes, and the exit status follows from the verdicts.

#![expect(clippy::unwrap_used, reason = "tests")]

mod probity;

use std::path::PathBuf;

use probity::{probity, write};
use probity_composer::Composer;
use probity_model::History;
use serde_json::json;

const CLAUSE: &str = "probe.startup.gates-liveness";

/// A container whose startup probe succeeds at 3 s, and that receives a liveness probe at `live`.
fn history(live: f64) -> History {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 1 });
    let container =
        json!({ "name": "target", "startupProbe": probe("/start"), "livenessProbe": probe("/live") });
    let mut run = Composer::new(&[CLAUSE]);
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    for (at, path, status) in [(2.0, "/start", 503), (3.0, "/start", 200)] {
        if at > live {
            run.probe(live, "/live", 200);
        }
        run.probe(at, path, status);
    }
    if live > 3.0 {
        run.probe(live, "/live", 200);
    }
    run.done()
}

struct Stored {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn stored(history: &History) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "case.jsonl", &history.write().unwrap());
    Stored { _folder: folder, path }
}

fn judge(stored: &Stored, more: &[&str]) -> probity::ProgramOutput {
    let mut arguments = vec!["judge", stored.path.to_str().unwrap(), "--clause", CLAUSE];
    arguments.extend(more);
    probity(&arguments)
}

#[test]
fn the_same_history_gives_the_same_bytes_whether_compressed_or_not() {
    let plain = stored(&history(3.5));
    let packed = plain.path.with_extension("jsonl.zst");
    std::fs::write(&packed, zstd::encode_all(std::fs::read(&plain.path).unwrap().as_slice(), 3).unwrap())
        .unwrap();
    let judge = |path: &PathBuf| probity(&["judge", "--format", "json", path.to_str().unwrap()]).out;
    let (first, second) = (judge(&plain.path), judge(&plain.path));
    assert!(first.contains(CLAUSE), "{first}");
    assert_eq!(first, second);
    assert_eq!(first, judge(&packed));
}

#[test]
fn what_holds_ends_well_and_what_is_violated_does_not() {
    assert_eq!(judge(&stored(&history(3.5)), &[]).status, 0);
    let said = judge(&stored(&history(2.5)), &[]);
    assert_eq!(said.status, 1);
    for part in [
        "VIOLATED",
        "promised",
        "seen       a liveness probe arrived 0.5",
        "evidence   #",
        "again      probity judge ",
    ] {
        assert!(said.out.contains(part), "{part} is not in {}", said.out);
    }
}

#[test]
fn a_doubt_fails_unless_it_is_told_to_pass_and_something_was_decided() {
    let mut run = Composer::new(&[CLAUSE]);
    let probe = json!({ "exec": { "command": ["/agnhost-rs", "exec", "live"] } });
    let container = json!({ "name": "target", "startupProbe": probe, "livenessProbe": probe });
    run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0);
    let stored_doubt = stored(&run.done());
    let judge = |more: &[&str]| judge(&stored_doubt, more).status;
    assert_eq!(judge(&[]), 3);
    assert_eq!(judge(&["--inconclusive", "fail"]), 1);
    assert_eq!(judge(&["--inconclusive", "pass"]), 3, "nothing was decided");
    let decided = stored(&history(3.5));
    let decided = decided.path.to_str().unwrap();
    assert_eq!(judge(&[decided]), 3);
    assert_eq!(judge(&[decided, "--inconclusive", "pass"]), 0);
}

#[test]
fn a_history_to_which_the_clause_does_not_apply_is_left_out() {
    let mut run = Composer::new(&[]);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
    let other = stored(&run.done());
    let said = judge(&other, &[]);
    assert_eq!(said.status, 3, "nothing was judged");
    let why = format!("the clause {CLAUSE} does not apply to this case (it needs: ");
    assert!(said.out.contains(&why), "{}", said.out);
    let held = stored(&history(3.5));
    assert_eq!(judge(&other, &[held.path.to_str().unwrap()]).status, 0);
}

#[test]
fn a_torn_history_is_judged_as_far_as_it_goes_and_said_to_be_torn() {
    let text = history(2.5).write().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "torn.jsonl", &text[..text.len() - 30]);
    let said = probity(&["judge", path.to_str().unwrap(), "--clause", CLAUSE]);
    assert_eq!(said.status, 1, "{}", said.err);
    assert!(said.err.contains("its last line is incomplete"), "{}", said.err);
}

#[test]
fn what_is_no_history_is_wrong_use_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let judge = |name: &str, text: &str| {
        let path = write(folder.path(), name, text);
        probity(&["judge", path.to_str().unwrap()])
    };
    let text = history(3.5).write().unwrap();
    let broken = text.replacen("\n{\"us\"", "\n{\"su\"", 3);
    for (name, text, part) in [
        ("empty.jsonl", "", "the history is empty"),
        ("other.jsonl", "{}\n", "not the header of a history"),
        ("newer.jsonl", &text.replacen("\"version\":1", "\"version\":2", 1), "use a newer program"),
        ("broken.jsonl", &broken, "line 2 is not an event"),
    ] {
        let said = judge(name, text);
        assert_eq!(said.status, 2, "{name}: {}", said.err);
        assert!(said.err.contains(part), "{name}: {}", said.err);
    }
    assert_eq!(probity(&["judge", "/no/such/history.jsonl"]).status, 2);
    assert_eq!(probity(&["judge", folder.path().to_str().unwrap(), "--clause", "no.such.clause"]).status, 2);
}

#[test]
fn a_folder_stands_for_all_histories_below_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("chapter")).unwrap();
    for (name, live) in [("a.jsonl", 3.5), ("chapter/b.jsonl", 2.5)] {
        write(folder.path(), name, &history(live).write().unwrap());
    }
    write(folder.path(), "notes.txt", "no history");
    let said = probity(&["judge", folder.path().to_str().unwrap(), "--clause", CLAUSE]);
    assert_eq!(said.status, 1);
    assert_eq!(said.out.matches("composed  ").count(), 2, "{}", said.out);
    write(folder.path(), "chapter/a.jsonl", "no history");
    let said = probity(&["judge", folder.path().to_str().unwrap(), "--clause", CLAUSE]);
    assert_eq!(said.status, 1, "a damaged one does not hide the violation");
    assert!(said.err.contains("chapter/a.jsonl: the first line is not the header"), "{}", said.err);
    assert_eq!(said.out.matches("composed  ").count(), 2, "{}", said.out);
}
