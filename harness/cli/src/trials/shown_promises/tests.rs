#![expect(clippy::unwrap_used, reason = "tests")]

use std::borrow::Cow;

use probity_case::CaseName;
use probity_composer::Composer;
use probity_model::History;
use probity_report::{Histories, ReadHistory, StoredHistory};
use probity_script::witness::{ChangeSeen, Fact};
use probity_trial::{Fault, StandIn, Workload, trial};
use serde_json::json;

use super::*;
use crate::exit_status::Standard;
use crate::report_files::{self, sample};
use crate::run_folder::PAGE;

const SECOND: i64 = 1_000_000;

/// The files of a run.
struct Files {
    promises: Option<Result<String, String>>,
    histories: Vec<StoredHistory>,
}

impl Histories for Files {
    fn read_history(&self, file: &str) -> Result<Cow<'_, ReadHistory>, String> {
        self.histories.read_history(file)
    }

    fn has_history(&self, file: &str) -> bool {
        self.histories.has_history(file)
    }
}

impl RunSources for Files {
    fn promises(&self) -> Option<Result<String, String>> {
        self.promises.clone()
    }
}

fn stand() -> StandIn {
    let container = json!({
        "name": "web", "ports": [{ "name": "http", "containerPort": 8080 }],
        "livenessProbe": { "httpGet": { "path": "/live", "port": "http" } },
        "readinessProbe": { "httpGet": { "path": "/ready", "port": "http" } },
    });
    let pod = json!({ "kind": "Pod", "metadata": { "name": "shop" }, "spec": { "containers": [container] } });
    StandIn::of(&Workload::of(&pod).unwrap().unwrap()).unwrap()
}

/// A hang that begins at second 5. The container gets its stop signal this many seconds later, and restarts if it does.
fn hang(killed: Option<f64>) -> History {
    let mut run = Composer::new(&[]);
    run.of("app", "web");
    run.create(0.0, &stand().pod.pod["spec"]).reading(0.1);
    run.start(1.0, 0).running(2.0, true, true, 0);
    run.fact(5.0, Fact::Change(ChangeSeen { endpoints: Vec::new(), change: String::new() }));
    run.running(30.0, false, true, 0);
    if let Some(killed) = killed {
        run.signal(5.0 + killed, "SIGTERM");
        run.start(6.0 + killed, 1).running(9.0 + killed, true, true, 1);
    }
    run.reading(60.0);
    run.done()
}

fn promises() -> String {
    stored_promises::text("the Pod shop", &[trial(&stand(), Fault::Hang, 0).unwrap()]).unwrap()
}

/// The report of a run whose case at this place is the hang, and the files of the run.
fn run(place: usize, history: History) -> (Report, Files) {
    let mut report = sample::report();
    let case = &mut report.cases[place];
    case.case = CaseName("try/hang".to_owned());
    let file = case.history.as_ref().map(|history| history.file.clone()).unwrap_or_default();
    let contents = Ok(ReadHistory { sha256: String::new(), history });
    let histories = vec![StoredHistory { file, contents }];
    (report, Files { promises: Some(Ok(promises())), histories })
}

fn row(trials: &Trials, quantity: Quantity) -> TrialRow {
    let rows = &trials.list[0].rows;
    rows.iter().find(|row| row.quantity == quantity.words()).unwrap().clone()
}

#[test]
fn what_the_history_shows_is_compared_with_the_stored_promises() {
    for (killed, standing) in [(25.0, Standing::Kept), (35.5, Standing::Broken)] {
        let (report, files) = run(0, hang(Some(killed)));
        let trials = of(&report, &files).unwrap();
        assert_eq!((trials.workload.as_str(), trials.problem.as_deref()), ("the Pod shop", None));
        let killed = row(&trials, Quantity::Killed);
        assert_eq!((killed.standing, killed.promise.as_str()), (standing, "21.0-31.0 s"));
        assert_eq!(killed.remark.contains("too late"), standing == Standing::Broken, "{}", killed.remark);
        assert_eq!(killed.drawing, Drawing::Wait);
        assert_eq!((killed.events.first().copied(), killed.events.len()), (trials.list[0].onset, 2));
        let Course::Change { change, from, until, .. } = killed.course else { panic!("{killed:?}") };
        assert_eq!((change, from, until), ("gets its stop signal", 21 * SECOND, 31 * SECOND));
        assert_eq!(row(&trials, Quantity::Restarts).drawing, Drawing::Nothing);
        assert_eq!(row(&trials, Quantity::ReadyAgain).drawing, Drawing::Wait);
    }
}

#[test]
fn what_counts_from_an_end_of_the_fault_is_not_drawn_without_one() {
    let (report, files) = run(0, hang(None));
    let trials = of(&report, &files).unwrap();
    assert_eq!(row(&trials, Quantity::ReadyAgain).drawing, Drawing::Nothing);
    assert_eq!(row(&trials, Quantity::Killed).drawing, Drawing::Wait);
}

#[test]
fn without_observations_the_promises_remain_and_none_counts_as_kept() {
    let (report, files) = run(0, Composer::new(&[]).done());
    let silent = of(&report, &files).unwrap();
    let broken = sample::report().cases.iter().position(|case| case.history.is_none()).unwrap();
    let (report, files) = run(broken, hang(None));
    let not_run = of(&report, &files).unwrap();
    for (trials, standing, seen) in
        [(silent, Standing::Unsure, "not seen"), (not_run, Standing::NotRun, "not run")]
    {
        let killed = row(&trials, Quantity::Killed);
        assert_eq!((killed.standing, killed.observed.as_str()), (standing, seen));
        assert_eq!((killed.promise.as_str(), killed.drawing), ("21.0-31.0 s", Drawing::Nothing));
        assert!(!killed.remark.is_empty() && killed.events.is_empty(), "{killed:?}");
        assert_eq!(trials.list[0].onset, None);
        assert!(trials.list[0].rows.iter().all(|row| row.standing != Standing::Kept));
    }
}

#[test]
fn other_runs_have_no_trials_and_a_damaged_file_is_reported() {
    let (report, mut files) = run(0, hang(None));
    assert_eq!(of(&sample::report(), &files), None, "the file of another run");
    files.promises = Some(Ok("{}".to_owned()));
    let problem = of(&report, &files).unwrap().problem.unwrap();
    assert!(problem.starts_with("try.json: it is not a file of promises"), "{problem}");
    files.promises = Some(Err("it is a link".to_owned()));
    assert_eq!(of(&report, &files).unwrap().problem.as_deref(), Some("try.json: it is a link"));
    files.promises = None;
    assert_eq!(of(&report, &files), None);
}

#[test]
fn the_page_shows_the_trial() {
    let (report, files) = run(0, hang(Some(25.0)));
    let page = report_files::text(PAGE, &report, &files, Standard::default()).unwrap();
    assert!(page.contains("id=\"trial/hang\"") && page.contains("the Pod shop"));
}
