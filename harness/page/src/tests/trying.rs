//! The page of a run of `probity try`: promises, observations and the requests of the clients.

use probity_composer::Composer;
use probity_model::history::Did;
use probity_model::{EventId, History};
use probity_report::{Histories, ReadHistory, Report, Workers};
use probity_sample::{MARKUP, ON_TIME, PUNCTUAL, Run};
use probity_script::witness::{Call, ChangeSeen, Fact};
use serde_json::{Value, json};

use super::breaking_out::assert_no_markup_of_others;
use super::{between, data, page, shown, tried_page};
use crate::{Course, Drawing, Standing, Trial, TrialRow, Trials};

/// The name of the case. The runs of `tests/sample` have one chapter.
const CASE: &str = "demo/hang";

fn call(status: Option<u16>, took_us: u64) -> Fact {
    let error = status.is_none().then(|| "failed to connect: Connection refused (os error 111)".to_owned());
    let (by, url) = ("load".to_owned(), "http://10.96.0.1:80/try".to_owned());
    Fact::Call(Call { by, url, status, answered_by: None, error, took_us })
}

/// A hang that begins at second 5. The container gets its stop signal at second 9, and answers again from second 12 on.
/// Returns the events of the fault and of the signal, too.
fn hang() -> (History, EventId, EventId) {
    let mut run = Composer::new(&[ON_TIME]);
    run.of("app", "web").create(0.0, &json!({ "containers": [{ "name": "web" }] }));
    run.start(1.0, 0).running(2.0, true, true, 0);
    run.of("client", "client").create(3.0, &json!({ "containers": [{ "name": "client" }] })).start(3.1, 0);
    for (at, status) in [(3.6, None), (4.0, Some(200)), (4.5, Some(200))] {
        run.fact(at, call(status, 5000));
    }
    let change = Fact::Change(ChangeSeen { endpoints: Vec::new(), change: String::new() });
    let onset = run.of("app", "web").fact(5.0, change);
    run.of("client", "client").fact(6.5, call(None, 5000));
    let signal = run.of("app", "web").signal(9.0, "SIGTERM");
    run.start(10.0, 1).running(11.0, true, true, 1);
    run.of("client", "client").fact(12.0, call(Some(200), 5000));
    run.fact(14.0, call(Some(200), 1_500_000));
    run.deed(15.0, Did::Over { why: "done".to_owned() });
    (run.done(), onset, signal)
}

/// A promise that the stop signal arrives three to five seconds after the fault.
fn row(events: Vec<EventId>) -> TrialRow {
    let (before, change) = ("no stop signal yet", "gets its stop signal");
    TrialRow {
        quantity: "stop signal after".to_owned(),
        promise: "3.0-5.0 s".to_owned(),
        formula: "failureThreshold × periodSeconds".to_owned(),
        observed: "4.0 s".to_owned(),
        standing: Standing::Kept,
        remark: String::new(),
        events,
        drawing: Drawing::Wait,
        course: Course::Change { before, change, from: 3_000_000, until: 5_000_000, late: 3_000_000 },
    }
}

fn trials(onset: Option<EventId>, rows: Vec<TrialRow>) -> Trials {
    let (case, fault) = (CASE.to_owned(), "hang".to_owned());
    let trial = Trial { case, fault, story: "It hangs.".to_owned(), onset, rows };
    Trials { workload: "the Pod shop".to_owned(), list: vec![trial], problem: None }
}

/// The page of a run with one case, which has this history.
fn tried(trials: &Trials, history: History) -> String {
    let run = Run::new().case("hang", ON_TIME, PUNCTUAL);
    let mut stored = run.stored();
    stored[0].contents = Ok(ReadHistory { sha256: String::new(), history });
    page_of(&run.report(), &stored, trials)
}

fn page_of(report: &Report, histories: &dyn Histories, trials: &Trials) -> String {
    tried_page(Workers::of(1), report, histories, Some(trials))
}

fn section(page: &str) -> &str {
    between(page, "<section id=\"trials\"", "</section>")
}

/// A lane of the trial: the beginning, the length and the look of each item in milliseconds, with its text.
fn lane(case: &Value, name: &str) -> Vec<(i64, i64, char, String)> {
    let lanes = case["groups"][0]["lanes"].as_array().unwrap();
    let lane = lanes.iter().find(|lane| lane["name"] == name).unwrap();
    let numbers = |field: &str| lane[field].as_array().unwrap().iter().map(|one| one.as_i64().unwrap());
    let begins = numbers("at").scan(0, |at, step| {
        *at += step;
        Some(*at)
    });
    let texts = numbers("text").map(|at| case["texts"][usize::try_from(at).unwrap()].as_str().unwrap());
    let looks = lane["look"].as_str().unwrap().chars();
    let items = begins.zip(numbers("long")).zip(looks).zip(texts);
    items.map(|(((at, long), look), text)| (at, long, look, text.to_owned())).collect()
}

#[test]
fn promise_and_observation_lie_over_the_requests_as_bands() {
    let (history, onset, signal) = hang();
    let page = tried(&trials(Some(onset), vec![row(vec![onset, signal])]), history);
    let case = data(&page).swap_remove(0).1;
    assert_eq!(case["groups"][0]["name"], "Trial hang");
    let requests: String = lane(&case, "client requests").into_iter().map(|(_, _, look, _)| look).collect();
    assert_eq!(requests, "fggagm", "early, answered twice, refused, answered, slow");
    let spans = |name: &str| -> Vec<(i64, i64, char)> {
        lane(&case, name).into_iter().map(|(at, long, look, _)| (at, long, look)).collect()
    };
    assert_eq!(spans("promised: stop signal"), [(5000, 3000, 'f'), (8000, 2000, 'l'), (10_000, 3000, 'f')]);
    assert_eq!(spans("observed: stop signal"), [(5000, 4000, 'g')]);
    let (_, _, _, said) = lane(&case, "promised: stop signal").swap_remove(1);
    assert_eq!(said, "gets its stop signal: 3.0-5.0 s, failureThreshold × periodSeconds");
}

#[test]
fn the_tables_say_what_the_bands_show_and_the_evidence_is_marked() {
    let (history, onset, signal) = hang();
    let page = tried(&trials(Some(onset), vec![row(vec![onset, signal])]), history);
    let section = section(&page);
    for said in [
        "What the probe settings of the Pod shop promise",
        "<th scope=\"row\">stop signal after</th><td>3.0-5.0 s</td><td>4.0 s</td>",
        "<b class=\"holds\">kept</b><p class=\"quiet\">failureThreshold × periodSeconds</p>",
        "<td>1</td><td>refused</td>",
        "<td class=\"level\">1 of 1</td>",
        "3 answered, 1 answered after more than 1 s, 1 refused, 1 sent before the first answer, not counted",
    ] {
        assert!(section.contains(said), "{said} in {section}");
    }
    for event in [onset, signal] {
        assert!(section.contains(&format!("<li data-event=\"{}\"><code>{event}</code>", event.0)), "{event}");
        assert!(shown(&data(&page)[0].1).contains(&i64::from(event.0)), "{event}");
    }
    let marks = format!("data-marks=\"0:{} {}\"", onset.0, signal.0);
    assert!(section.contains(&marks), "{marks} in {section}");
    for link in [
        "<a href=\"#trials\">1 kept</a>",
        "<a href=\"#trials\">Trials</a>",
        "<a href=\"#trial/hang\">promises and observations</a>",
    ] {
        assert!(page.contains(link), "{link}");
    }
}

#[test]
fn the_downtime_is_drawn_from_the_first_failure_to_the_next_answer() {
    let (history, onset, _) = hang();
    let failed = history.events().find_map(|(id, event)| (event.us == 6_500_000).then_some(id)).unwrap();
    let (quantity, drawing) = ("downtime for clients".to_owned(), Drawing::Outages);
    let downtime = TrialRow { quantity, drawing, standing: Standing::Broken, ..row(vec![failed]) };
    let state = "every request is answered";
    let never = TrialRow { course: Course::Unchanged { state }, ..downtime.clone() };
    for (row, promised) in [(downtime, 6495), (never, 5000)] {
        let page = tried(&trials(Some(onset), vec![row]), history.clone());
        let case = data(&page).swap_remove(0).1;
        assert_eq!(lane(&case, "promised: downtime")[0].0, promised);
        let observed = lane(&case, "observed: downtime");
        assert_eq!((observed.len(), observed[0].0, observed[0].1, observed[0].2), (1, 6495, 5500, 'b'));
    }
}

#[test]
fn no_band_reaches_beyond_the_end_of_the_case() {
    let (history, onset, _) = hang();
    let mut late = row(vec![onset]);
    let (before, change) = ("no stop signal yet", "gets its stop signal");
    late.course = Course::Change { before, change, from: i64::MAX, until: i64::MAX, late: i64::MAX };
    let page = tried(&trials(Some(onset), vec![late]), history);
    let case = data(&page).swap_remove(0).1;
    assert_eq!(case["to"], 15_000);
    let (at, long, look, text) = lane(&case, "promised: stop signal").swap_remove(0);
    assert_eq!((at, long, look, text.as_str()), (5000, 10_000, 'f', "no stop signal yet"));
}

#[test]
fn a_fault_that_did_not_run_has_its_promises_and_no_timeline() {
    let run = Run::new().broken("hang", "the node is full");
    let not_run = TrialRow {
        observed: "not run".to_owned(),
        standing: Standing::NotRun,
        remark: "the node is full".to_owned(),
        ..row(Vec::new())
    };
    let page = page_of(&run.report(), &run.stored(), &trials(None, vec![not_run]));
    let section = section(&page);
    assert!(section.contains("<b class=\"error\">not run</b>, the node is full<p"), "{section}");
    assert!(section.contains("<td>3.0-5.0 s</td><td>not run</td>"), "{section}");
    assert!(section.contains("There is no history of this fault to draw."), "{section}");
    assert!(!section.contains("data-marks") && !section.contains("class=\"events\""), "{section}");
}

#[test]
fn a_trial_in_which_nothing_was_observed_draws_the_requests_alone() {
    let (history, ..) = hang();
    let unsure = TrialRow { standing: Standing::Unsure, drawing: Drawing::Nothing, ..row(Vec::new()) };
    let waits = TrialRow { drawing: Drawing::Wait, ..unsure.clone() };
    let page = tried(&trials(None, vec![unsure, waits]), history);
    let case = data(&page).swap_remove(0).1;
    let lanes = case["groups"][0]["lanes"].as_array().unwrap();
    let names: Vec<&str> = lanes.iter().map(|lane| lane["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["client requests"]);
    let section = section(&page);
    assert!(section.contains("<b class=\"inconclusive\">unsure</b>"), "{section}");
    assert!(section.contains("data-marks=\"0:\"") && !section.contains("Evidence: "), "{section}");
}

#[test]
fn hostile_words_of_a_trial_are_only_text() {
    let (history, onset, signal) = hang();
    let hostile = || MARKUP.to_owned();
    let mut trials = trials(Some(onset), vec![row(vec![onset, signal])]);
    trials.workload = hostile();
    trials.problem = Some(hostile());
    let trial = &mut trials.list[0];
    (trial.fault, trial.story) = (hostile(), hostile());
    let row = &mut trial.rows[0];
    (row.quantity, row.promise, row.formula) = (hostile(), hostile(), hostile());
    (row.observed, row.remark) = (hostile(), hostile());
    let page = tried(&trials, history);
    assert_no_markup_of_others(&page, 2);
    assert!(section(&page).contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is shown as text");
    assert!(data(&page)[0].1.to_string().contains("alert(1)"), "and is in the timeline, as data");
}

#[test]
fn a_long_text_and_many_changes_of_the_results_do_not_fill_the_page() {
    let (_, onset, signal) = hang();
    let mut run = Composer::new(&[ON_TIME]);
    run.of("client", "client").create(0.0, &json!({ "containers": [{ "name": "client" }] })).start(1.0, 0);
    for nth in 0..40_u32 {
        run.fact(2.0 + f64::from(nth), call(nth.is_multiple_of(2).then_some(200), 5000));
    }
    let mut long = row(vec![onset, signal]);
    long.formula = "x".repeat(100_000);
    let page = tried(&trials(None, vec![long]), run.done());
    assert!(section(&page).contains("The results change 16 more times"), "{}", section(&page));
    assert!(section(&page).len() < 20_000, "{}", section(&page).len());
}

#[test]
fn promises_that_cannot_be_read_are_reported() {
    let trials = Trials { problem: Some("try.json: it is damaged".to_owned()), ..Trials::default() };
    let page = tried(&trials, hang().0);
    assert!(section(&page).contains("The promises cannot be shown: try.json: it is damaged"));
    assert!(!page.contains("id=\"trial-table\""));
}

#[test]
fn a_run_without_trials_has_no_trace_of_them() {
    let run = Run::new().case("hang", ON_TIME, PUNCTUAL);
    let page = page(&run.report(), &run.stored());
    assert!(!page.contains("id=\"trials\"") && !page.contains("#trials"));
}
