#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use probity_case::Case;
use probity_cluster::Room;
use probity_composer::Composer;
use probity_model::timeline::ProbeKind;
use probity_model::verdict::Skip;
use probity_model::{Catalogue, Clause, Judge, Seen, Timeline};
use probity_report::run_log::RunFacts;
use probity_report::{Report, Workers};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc::unbounded_channel;

use super::*;
use crate::cases::book::{Book, CaseFile};
use crate::cases::case_filter::CaseFilter;
use crate::pipeline::libtest::LibtestArgs;
use crate::pipeline::progress::ProgressBoard;
use crate::pipeline::selection::Selection;

const CLAUSE: &str = "demo.no-early-probe";

const CLAUSES: &str = "- { id: demo.no-early-probe, level: must, says: Nobody is asked before three seconds., \
                       source: { document: Demo, edition: '1' }, tested: by waiting }";

/// A book with one clause, so that the output depends on the sink and not on the book.
fn registry() -> Registry {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("demo", CLAUSES).unwrap();
    let judge = |run: &Timeline<'_>, _: &Clause, seen: &mut Seen| {
        for (_, container, _) in run.probed(ProbeKind::Liveness) {
            seen.applies();
            for probe in container.attempts.iter().flat_map(|attempt| attempt.probes_of(ProbeKind::Liveness))
            {
                match run.heard(probe.id).at.lo < 3_000_000 {
                    true => seen.violated("somebody asked too early", [probe.id]),
                    false => seen.fine([probe.id]),
                }
            }
        }
    };
    Registry::new(catalogue, [Judge { clause: CLAUSE, judge }]).unwrap()
}

fn book(names: &[&str]) -> Book {
    let file = |name: &&str| {
        let pod = "pod: { spec: { containers: [{ name: target }] } }";
        let text = format!("case: {name}\nstory: x\njudges: [{CLAUSE}]\n{pod}\n");
        CaseFile { source: format!("{name}.yaml"), cases: Case::read(name, &text).unwrap(), text, own: true }
    };
    Book { registry: registry(), files: names.iter().map(file).collect() }
}

/// The history of a case whose liveness probe arrived at `live`, or never.
fn history(case: &str, live: Option<f64>) -> Box<History> {
    let probe = json!({ "httpGet": { "path": "/live", "port": 8080 }, "periodSeconds": 1 });
    let mut run = Composer::new(&[CLAUSE]);
    run.create(0.0, &json!({ "containers": [{ "name": "target", "livenessProbe": probe }] })).start(1.0, 0);
    if let Some(live) = live {
        run.probe(live, "/live", 200);
    }
    let mut history = run.done();
    case.clone_into(&mut history.header.case);
    Box::new(history)
}

struct Played {
    folder: TempDir,
    shown: String,
}

impl Played {
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("out").join(name)
    }

    fn report(&self) -> Report {
        let (log, stored) = run_folder::open(&self.folder.path().join("out")).unwrap();
        Report::build(&registry(), &log, &stored, Workers::all()).unwrap()
    }
}

/// Plays a run: passes the progress through the sink to the test output and to the files.
fn play(book: &Book, repeat: u32, standard: Standard, happened: Vec<Progress>) -> Played {
    let Selection { cases, awaited, planned, lines, .. } =
        Selection::of(book, &CaseFilter::default(), false, repeat, None, false);
    let folder = tempfile::tempdir().unwrap();
    let board = Arc::new(Mutex::new(ProgressBoard::new(&cases, 1)));
    let registry = registry();
    let sink = RunSink::open(folder.path().join("out"), &registry, awaited, board, standard).unwrap();
    let facts = RunFacts { run_id: "r".to_owned(), repeat, cases: planned, ..RunFacts::default() };
    let began = LogLine::Began(Box::new(facts.versioned()));
    let (out, incoming) = unbounded_channel();
    for progress in happened {
        out.send(progress).unwrap();
    }
    drop(out);
    let shown = folder.path().join("shown").display().to_string();
    let mut output = LibtestArgs::default();
    output.logfile = Some(shown.clone());
    let logfile = output.open().unwrap();
    let broken_log = thread::scope(|scope| {
        let sink = scope.spawn(|| sink.work(&[began], incoming, Console::default()));
        output.show(lines, &Console::default(), logfile);
        sink.join().unwrap()
    });
    assert_eq!(broken_log, None);
    let shown = fs::read_to_string(shown).unwrap();
    Played { folder, shown }
}

fn ended(case: &str, live: f64) -> Progress {
    let name = CaseName(case.to_owned());
    Progress::Ended {
        case: name,
        history: history(case, Some(live)),
        began_us: 0,
        us: 9_000_000,
        room: Room::default(),
    }
}

fn finished(interrupted: bool) -> Progress {
    Progress::Finished(probity_report::run_log::Usage {
        interrupted,
        ..probity_report::run_log::Usage::default()
    })
}

#[test]
fn what_holds_passes_and_what_is_violated_fails_with_all_that_is_known_of_it() {
    let happened = vec![ended("a/calm", 3.5), ended("a/early", 2.5), finished(false)];
    let played = play(&book(&["a/calm", "a/early"]), 1, Standard::default(), happened);
    assert!(played.shown.contains("test a/calm  ... ok"), "{}", played.shown);
    assert!(played.shown.contains("test a/early ... FAILED"), "{}", played.shown);
    for part in
        ["promised", "seen       somebody asked too early", "evidence   #", "again      probity judge"]
    {
        assert!(played.shown.contains(part), "{part} is not in {}", played.shown);
    }
    assert_eq!(played.report().exit(Undecided::Warns), probity_report::Exit::Violated);
}

#[test]
fn a_stored_history_judged_again_gives_the_verdict_file_of_the_run_byte_for_byte() {
    let happened = vec![ended("a/early", 2.5), finished(false)];
    let played = play(&book(&["a/early"]), 1, Standard::default(), happened);
    let stored = run_folder::read_history(&played.path("history/a/early.jsonl.zst")).unwrap();
    let again = CaseVerdicts::of(&registry(), &stored.history).file().unwrap();
    assert_eq!(again, fs::read_to_string(played.path("verdicts/a/early.json")).unwrap());
    assert_eq!(stored.torn, None);
}

#[test]
fn a_skipped_case_is_ignored_and_a_broken_one_fails_as_an_error() {
    let (skipped, broken) = (CaseName("a/skipped".to_owned()), CaseName("a/broken".to_owned()));
    let happened = vec![
        Progress::Skipped { case: skipped, reason: Skip::Precondition, why: "one node only".to_owned() },
        Progress::Broken {
            case: broken,
            why: "no image".to_owned(),
            history: Box::default(),
            room: Room::default(),
        },
        finished(false),
    ];
    let played = play(&book(&["a/skipped", "a/broken"]), 1, Standard::default(), happened);
    assert!(played.shown.contains("ignored (one node only)"), "{}", played.shown);
    assert!(played.shown.contains("error: no image"), "{}", played.shown);
    let words: Vec<Word> = played.report().cases.iter().map(|case| case.verdict).collect();
    assert_eq!(words, [Word::Skipped, Word::Error]);
}

#[test]
fn a_run_that_falls_over_fails_every_case_that_it_did_not_reach() {
    let played = play(&book(&["a/calm", "a/never"]), 1, Standard::default(), vec![ended("a/calm", 3.5)]);
    assert!(played.shown.contains("test a/never ... FAILED"), "{}", played.shown);
    assert!(played.shown.contains("the run ended before this case did"), "{}", played.shown);
    assert!(played.report().usage.is_none());
    assert_eq!(played.report().exit(Undecided::Warns), probity_report::Exit::Error);
}

#[test]
fn an_interrupted_run_fails_nothing_that_it_did_not_reach() {
    let happened = vec![ended("a/calm", 3.5), finished(true)];
    let played = play(&book(&["a/calm", "a/never"]), 1, Standard::default(), happened);
    assert!(played.shown.contains("ignored (interrupted)"), "{}", played.shown);
    assert_eq!(played.report().exit(Undecided::Warns), probity_report::Exit::Interrupted);
}

#[test]
fn repetitions_are_stored_side_by_side_and_reported_under_one_name() {
    let happened = vec![ended("a/calm/run=1", 3.5), ended("a/calm/run=2", 2.5), finished(false)];
    let played = play(&book(&["a/calm"]), 2, Standard::default(), happened);
    assert!(
        played.path("history/a/calm.1.jsonl.zst").exists()
            && played.path("history/a/calm.2.jsonl.zst").exists()
    );
    let report = played.report();
    assert!(report.cases.iter().all(|case| case.case.0 == "a/calm"));
    let words: Vec<Word> = report.cases.iter().map(|case| case.verdict).collect();
    assert_eq!(words, [Word::Holds, Word::Violated]);
}

#[test]
fn a_doubt_fails_a_case_unless_it_is_told_to_pass() {
    let silent = || {
        let case = CaseName("a/silent".to_owned());
        vec![
            Progress::Ended {
                case,
                history: history("a/silent", None),
                began_us: 0,
                us: 1,
                room: Room::default(),
            },
            finished(false),
        ]
    };
    let shown = |undecided| play(&book(&["a/silent"]), 1, Standard::from(undecided), silent()).shown;
    assert!(shown(Undecided::Warns).contains("INCONCLUSIVE"), "{}", shown(Undecided::Warns));
    assert!(shown(Undecided::Passes).contains("test a/silent ... ok"), "{}", shown(Undecided::Passes));
}

#[test]
fn a_folder_that_holds_a_run_already_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let open = |folder: &Path| {
        let board = Arc::new(Mutex::new(ProgressBoard::new([], 1)));
        RunSink::open(folder.to_owned(), &registry(), BTreeMap::new(), board, Standard::default()).is_ok()
    };
    assert!(open(folder.path()));
    assert!(!open(folder.path()));
}

#[test]
fn a_case_that_left_something_undecided_runs_again_and_the_later_time_counts() {
    let (book, registry) = (book(&["a/quiet", "a/calm"]), registry());
    let Selection { cases, awaited, planned, lines, .. } =
        Selection::of(&book, &CaseFilter::default(), false, 1, None, false);
    let folder = tempfile::tempdir().unwrap();
    let board = Arc::new(Mutex::new(ProgressBoard::new(&cases, 1)));
    let out = folder.path().join("out");
    let sink = RunSink::open(out.clone(), &registry, awaited, board, Standard::default()).unwrap();
    let sink = sink.retrying(1, &planned);
    let facts = RunFacts { run_id: "r".to_owned(), repeat: 1, cases: planned, ..RunFacts::default() };
    let (send, incoming) = unbounded_channel();
    let never = |name: &str| Progress::Ended {
        case: CaseName(name.to_owned()),
        history: history(name, None),
        began_us: 0,
        us: 9_000_000,
        room: Room::default(),
    };
    let answers = thread::scope(|scope| {
        let began = LogLine::Began(Box::new(facts.versioned()));
        let console = Console::default();
        let working = scope.spawn(move || sink.work(&[began], incoming, console));
        send.send(never("a/quiet")).unwrap();
        send.send(ended("a/calm", 3.5)).unwrap();
        let answers: Vec<Vec<CaseName>> = (0..2)
            .map(|round| {
                let (again, answer) = tokio::sync::oneshot::channel();
                send.send(Progress::Undecided { again }).unwrap();
                let answer = answer.blocking_recv().unwrap();
                if round == 0 {
                    send.send(ended("a/quiet/again", 3.5)).unwrap();
                }
                answer
            })
            .collect();
        send.send(finished(false)).unwrap();
        drop(send);
        assert_eq!(working.join().unwrap(), None);
        answers
    });
    assert_eq!(answers, [vec![CaseName("a/quiet".to_owned())], vec![]]);
    let mut output = LibtestArgs::default();
    output.logfile = Some(folder.path().join("shown").display().to_string());
    output.show(lines, &Console::default(), output.open().unwrap());
    let shown = fs::read_to_string(folder.path().join("shown")).unwrap();
    assert!(shown.contains("test a/quiet ... ok"), "{shown}");

    let (log, stored) = run_folder::open(&out).unwrap();
    let report = Report::build(&registry, &log, &stored, Workers::all()).unwrap();
    let tries: Vec<(&str, bool, Word)> =
        report.cases.iter().map(|case| (case.case.0.as_str(), case.tried_again, case.verdict)).collect();
    assert_eq!(
        tries,
        [
            ("a/quiet", true, Word::Inconclusive),
            ("a/quiet", false, Word::Holds),
            ("a/calm", false, Word::Holds)
        ]
    );
    assert_eq!(report.exit(Undecided::Fails), probity_report::Exit::Success);
}
