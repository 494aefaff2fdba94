#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_report::{Standard, Word, Workers};
use serde_json::json;

use super::*;
use crate::report_files::{self, sample};

fn again(folder: &Path) -> Report {
    let (log, files) = open(folder).unwrap();
    Report::build(&sample::registry(), &log, &files, Workers::of(2)).unwrap().certified(&sample::book())
}

#[test]
fn a_stored_run_gives_the_report_of_the_live_one() {
    let folder = tempfile::tempdir().unwrap();
    sample::store(&sample::run(), folder.path());
    assert_eq!(again(folder.path()), sample::report());
    let names = report_files::write(
        folder.path(),
        &sample::report(),
        &RunFiles::Folder(folder.path().to_owned()),
        Standard::default(),
    )
    .unwrap();
    assert_eq!(names, ["report.json", "report.yaml", "junit.xml", "summary.md", "report.html", "badge.json"]);
    assert_eq!(read_report(folder.path()).unwrap(), sample::report());
}

#[test]
fn a_history_that_was_unpacked_by_hand_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let run = sample::run();
    sample::store(&run, folder.path());
    let (file, text) = run.files().next().unwrap();
    fs::remove_file(folder.path().join(file)).unwrap();
    fs::write(folder.path().join(file.trim_end_matches(".zst")), text).unwrap();
    assert_eq!(again(folder.path()), sample::report());
}

#[test]
fn a_history_that_is_missing_cut_or_changed_is_an_error_of_its_case() {
    let broken = |change: fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let run = sample::run();
        sample::store(&run, folder.path());
        change(&folder.path().join(run.files().next().unwrap().0));
        again(folder.path()).cases.swap_remove(0)
    };
    let missing = broken(|path| fs::remove_file(path).unwrap());
    let cut = broken(|path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
    let changed = broken(|path| {
        let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap().replacen("\"us\":0", "\"us\":1", 1);
        fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
    });
    for case in [&missing, &cut, &changed] {
        assert_eq!(case.verdict, Word::Error, "{case:?}");
    }
    assert!(changed.finding.contains("its digest differs"), "{}", changed.finding);
}

#[test]
fn a_log_cannot_name_files_outside_of_its_folder() {
    for file in ["../secret.jsonl", "/etc/passwd", "history/../../x", ""] {
        assert!(below(Path::new("out"), file).is_err(), "{file}");
    }
    assert!(below(Path::new("out"), "history/a/b=c.jsonl.zst").is_ok());
}

#[test]
fn no_link_of_a_folder_is_followed_neither_to_read_nor_to_write() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = sample::run();
    sample::store(&run, folder.path());
    let history = folder.path().join(run.files().next().unwrap().0);
    let moved = elsewhere.path().join("history.zst");
    fs::rename(&history, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &history).unwrap();
    let case = again(folder.path()).cases.swap_remove(0);
    assert!(case.verdict == Word::Error && case.finding.contains("is a link"), "{case:?}");

    let target = elsewhere.path().join("target");
    fs::write(&target, "before").unwrap();
    for name in ["report.json", "report.json.part"] {
        std::os::unix::fs::symlink(&target, folder.path().join(name)).unwrap();
    }
    report_files::write(
        folder.path(),
        &sample::report(),
        &RunFiles::Folder(folder.path().to_owned()),
        Standard::default(),
    )
    .unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "before");
    assert_eq!(read_report(folder.path()).unwrap(), sample::report());
}

#[test]
fn a_folder_without_a_log_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let trouble = open(folder.path()).map(|_| ()).unwrap_err();
    assert!(trouble.to_string().contains("probity run --out"), "{trouble}");
}

fn history() -> History {
    let mut run = Composer::new(&["probe.startup.gates-liveness"]);
    run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0).left(2.0);
    run.done()
}

#[test]
fn what_is_stored_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chapter/case.jsonl.zst");
    store_history(&path, &history().write().unwrap()).unwrap();
    let stored = read_history(&path).unwrap();
    assert_eq!((stored.history, stored.torn), (history(), None));
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing temporary stays");
}

#[test]
fn the_contents_of_a_history_decide_whether_it_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let text = history().write().unwrap();
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    for (name, bytes) in [("plain.jsonl.zst", text.as_bytes()), ("packed.jsonl", packed.as_slice())] {
        fs::write(folder.path().join(name), bytes).unwrap();
        assert_eq!(read_history(&folder.path().join(name)).unwrap().history, history(), "{name}");
    }
    let mut damaged = packed;
    damaged[4] = 0xFF;
    fs::write(folder.path().join("damaged.jsonl"), damaged).unwrap();
    let why = read_history(&folder.path().join("damaged.jsonl")).err().unwrap();
    assert!(why.contains("damaged") && !why.contains("truncated"), "{why}");
}

#[test]
fn a_report_of_another_format_is_refused() {
    let text = report_files::json(&sample::report()).unwrap();
    assert_eq!(parse_report(&text).unwrap(), sample::report());
    for (from, to, part) in [
        ("probity.dev/v1", "probity.dev/v99", "a ConformanceReport of probity.dev/v99; this program reads"),
        ("ConformanceReport", "Foo", "this is a Foo of probity.dev/v1"),
        ("\"1.0.0\"", "\"99.0.0\"", "a report of format 99.0.0; this program reads 1.x"),
    ] {
        assert!(text.contains(from), "{from}");
        let why = parse_report(&text.replacen(from, to, 1)).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
    assert!(parse_report(&text.replacen("\"1.0.0\"", "\"1.7.0\"", 1)).is_ok(), "fields may be added");
}

#[test]
fn a_file_in_place_of_a_folder_is_named_with_what_to_give_instead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(REPORT);
    fs::write(&path, report_files::json(&sample::report()).unwrap()).unwrap();
    let why = read_history(&path).err().unwrap();
    assert_eq!(why, "this is a report; give the folder of its run");
    let said = open(&path).map(|_| ()).unwrap_err().to_string();
    assert!(said.ends_with("this is a file; give the folder of the run"), "{said}");
    let said = histories_below(&[PathBuf::from("-")]).unwrap_err().to_string();
    assert!(said.contains("standard input cannot be read here"), "{said}");
}

#[test]
fn a_file_that_was_cut_off_is_read_as_far_as_it_goes_and_said_to_be_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("torn.jsonl");
    let text = history().write().unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    let stored = read_history(&path).unwrap();
    assert_eq!(stored.history.events().len(), history().events().len() - 1);
    assert!(stored.torn.is_some());
}
