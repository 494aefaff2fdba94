#![expect(clippy::unwrap_used, reason = "tests")]

use probity_case::{CaseName, Profile};
use probity_composer::{AHEAD_US, Composer, NODE, ZERO_WALL_US};
use probity_model::history::{Did, Happening, Listener, Noise};
use probity_model::timeline::ProbeKind;
use probity_model::verdict::Skip;
use probity_model::{Bound, Catalogue, Clause, Clock, History, Judge, Registry, Seen, Timeline};
use serde_json::json;

use super::*;
use crate::run_log::{ClusterFacts, Leftover, Planned, RunFacts, Suite, Tool, Usage};

mod certificate;
mod comparing;
mod findings;
mod threads;

const CLAUSES: &str = r"
- id: demo.never-restarts
  level: must
  stage: action
  says: A container that passes its probes is not restarted.
  source: { document: Demo, edition: '1' }
  tested: by counting
- id: demo.probes-on-time
  level: should
  stage: pace
  says: Probes come one period apart.
  source: { document: Demo, edition: '1', anchor: periods }
  slack: { by: 500ms, because: it is a demonstration }
  tested: by measuring
- id: demo.nobody-asks
  level: must
  says: Nobody asks for this.
  source: { document: Demo, edition: '1' }
  tested: not at all
- id: demo.advice
  level: advice
  says: Be kind.
  source: { document: Demo, edition: '1' }
  tested: not at all
  untestable: advice
";

fn no_restart(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (pod, container) in run.containers().filter(|(_, container)| !container.attempts.is_empty()) {
        match pod.restarts(&container.name) {
            Some((id, 0)) => seen.fine([id]),
            Some((id, times)) => seen.violated(format!("{} was restarted {times} times", pod.key), [id]),
            None => seen.applies(),
        }
    }
}

fn on_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (_, container, spec) in run.probed(ProbeKind::Readiness) {
        for attempt in &container.attempts {
            let probes: Vec<_> = attempt.probes_of(ProbeKind::Readiness).collect();
            for pair in probes.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                let bound = Bound::at_most(spec.period + clause.slack_us(), "periodSeconds + 0.5 s");
                let ends = ((a.id, &a.at), (b.id, &b.at));
                if let Some(found) = run.measure("from probe to probe", &attempt.node, ends.0, ends.1, bound)
                {
                    seen.measure(found);
                }
            }
        }
    }
}

fn nothing(_: &Timeline<'_>, _: &Clause, _: &mut Seen) {}

pub(crate) fn registry() -> Registry {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("demo", CLAUSES).unwrap();
    let judge = |clause, judge| Judge { clause, judge };
    let judges = [
        judge("demo.never-restarts", no_restart),
        judge("demo.probes-on-time", on_time),
        judge("demo.nobody-asks", nothing),
    ];
    Registry::new(catalogue, judges).unwrap()
}

/// The history of a pod that is probed at these times and restarted this many times.
fn history(judges: &[&str], probes: &[f64], restarts: u64) -> History {
    let mut run = Composer::new(judges);
    let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 1 });
    run.create(0.0, &json!({ "containers": [{ "name": "target", "readinessProbe": probe }] })).start(1.0, 0);
    for at in probes {
        run.probe(*at, "/ready", 200);
    }
    run.running(9.0, true, true, restarts);
    run.deed(9.5, Did::Over { why: "done".to_owned() });
    run.done()
}

/// A run that a test composes: its log and histories.
pub(crate) struct Run {
    facts: RunFacts,
    lines: Vec<LogLine>,
    pub(crate) histories: Vec<StoredHistory>,
    finished: bool,
}

pub(crate) const ON_TIME: &[f64] = &[2.0, 3.0, 4.0];
pub(crate) const LATE: &[f64] = &[2.0, 3.0, 6.0];

impl Run {
    pub(crate) fn new() -> Self {
        let facts = RunFacts {
            run_id: "r1".to_owned(),
            began_wall_us: ZERO_WALL_US,
            command: vec!["probity".to_owned(), "run".to_owned()],
            tool: Tool { name: "probity".to_owned(), version: "0.1.0".to_owned(), ..Tool::default() },
            suite: Suite { name: "demo".to_owned(), version: "0.1.0".to_owned(), ..Suite::default() },
            profiles: vec![Profile::Core],
            repeat: 1,
            ..RunFacts::default()
        };
        Self { facts: facts.versioned(), lines: Vec::new(), histories: Vec::new(), finished: true }
    }

    fn planned(mut self, case: &str, judges: &[&str]) -> Self {
        self.facts.cases.push(Planned {
            case: CaseName(case.to_owned()),
            source: format!("suites/{case}.yaml"),
            profile: Profile::Core,
            judges: judges.iter().map(|id| id.parse().unwrap()).collect(),
            story: "why not".to_owned(),
        });
        self
    }

    /// Stalls the target of the first history for this long, from the beginning.
    fn stalled(mut self, for_us: i64) -> Self {
        let Ok(told) = &mut self.histories[0].contents else { return self };
        let (by, clock) = (Listener::Target, Clock::Node(NODE.to_owned()));
        let noise = Noise { by, clock, from_us: AHEAD_US, to_us: AHEAD_US + for_us };
        let mut noisy = History::new(told.history.header.clone());
        noisy.push(0, Happening::Noise(noise));
        for (_, event) in told.history.events() {
            noisy.push(event.us, event.what.clone());
        }
        told.history = noisy;
        self
    }

    pub(crate) fn ended(mut self, case: &str, judges: &[&str], probes: &[f64], restarts: u64) -> Self {
        self = if self.facts.cases.iter().any(|planned| planned.case.0 == case) {
            self
        } else {
            self.planned(case, judges)
        };
        let file = format!("history/{case}.{}.jsonl", self.histories.len());
        self.lines.push(LogLine::CaseEnded {
            case: CaseName(case.to_owned()),
            history: file.clone(),
            sha256: "5a".to_owned(),
            began_us: 1_000_000,
            us: 10_000_000,
        });
        let told = ReadHistory { sha256: "5a".to_owned(), history: history(judges, probes, restarts) };
        self.histories.push(StoredHistory { file, contents: Ok(told) });
        self
    }

    fn line(mut self, line: LogLine) -> Self {
        self.lines.push(line);
        self
    }

    pub(crate) fn log(&self) -> Vec<LogLine> {
        let ground = ClusterFacts {
            context: "kind-x".to_owned(),
            server: "v1.36.3".to_owned(),
            ..ClusterFacts::default()
        };
        let begin = [LogLine::Began(Box::new(self.facts.clone())), LogLine::Ready(ground)];
        let usage = Usage { wall_us: 12_000_000, cases: 2, ..Usage::default() };
        let end = self.finished.then_some(LogLine::Finished(usage));
        begin.into_iter().chain(self.lines.clone()).chain(end).collect()
    }

    pub(crate) fn report(&self) -> Report {
        Report::build(&registry(), &self.log(), &self.histories, Workers::of(2)).unwrap()
    }
}

fn clause<'r>(report: &'r Report, id: &str) -> &'r ClauseReport {
    report.clause(&id.parse().unwrap()).unwrap()
}

pub(crate) const RESTARTS: &str = "demo.never-restarts";
pub(crate) const ON_TIME_ID: &str = "demo.probes-on-time";

fn small_run() -> Run {
    Run::new()
        .ended("demo/calm", &[RESTARTS, ON_TIME_ID], ON_TIME, 0)
        .ended("demo/late", &[ON_TIME_ID], LATE, 1)
        .planned("demo/left-out", &["demo.nobody-asks"])
        .line(LogLine::CaseSkipped {
            case: CaseName("demo/left-out".to_owned()),
            reason: Skip::Filtered,
            why: "the filter `calm` leaves it out".to_owned(),
        })
        .line(LogLine::Leftover(Leftover { what: "Pod a".to_owned(), why: "a finalizer".to_owned() }))
}

#[test]
fn a_small_run_as_json() {
    insta::assert_json_snapshot!(small_run().report());
}

#[test]
fn a_small_run_in_words() {
    insta::assert_snapshot!(small_run().report().in_words());
}

#[test]
fn a_report_made_again_is_the_same_and_reads_back() {
    let text = serde_json::to_string_pretty(&small_run().report()).unwrap();
    assert_eq!(text, serde_json::to_string_pretty(&small_run().report()).unwrap());
    let back: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(back, small_run().report());
}

#[test]
fn an_unknown_verdict_is_refused_and_an_unknown_field_is_not() {
    let text = serde_json::to_string(&small_run().report()).unwrap();
    assert!(serde_json::from_str::<Report>(&text.replacen("\"violated\"", "\"maybe\"", 1)).is_err());
    let more = text.replacen("{\"apiVersion\"", "{\"later\":1,\"apiVersion\"", 1);
    assert!(serde_json::from_str::<Report>(&more).is_ok());
}

#[test]
fn a_violation_seen_by_a_case_that_was_written_for_something_else_counts() {
    let report = small_run().report();
    let clause = clause(&report, RESTARTS);
    assert_eq!(clause.verdict, Word::Violated);
    assert_eq!(clause.evidence[0].case.0, "demo/late");
    assert_eq!(report.result.profiles[0].result, ProfileOutcome::Failure);
    assert_eq!(report.exit(Undecided::Warns), Exit::LeftBehind);
    let clean = Report { leftovers: Vec::new(), ..report };
    assert_eq!(clean.exit(Undecided::Warns), Exit::Violated);
}

#[test]
fn a_profile_fails_by_any_violation_that_its_cases_showed() {
    let mut run = Run::new().ended("demo/late", &[ON_TIME_ID], ON_TIME, 1);
    run.facts.profiles = vec![Profile::Core, Profile::Slow];
    let report = run.report();
    let results: Vec<_> = report.result.profiles.iter().map(|profile| profile.result).collect();
    assert_eq!(results, [ProfileOutcome::Failure, ProfileOutcome::Invalid]);
    assert_eq!(report.result.profiles[0].counts.total, 2);
}

#[test]
fn counts_add_up_and_advice_is_not_among_them() {
    let report = small_run().report();
    for counts in [report.result.clauses, report.result.cases] {
        assert_eq!(counts.total, Word::ALL.iter().map(|word| counts.get(*word)).sum::<u64>());
    }
    assert_eq!(report.result.clauses.total, 3);
    assert_eq!(report.result.cases.total, 3);
}

#[test]
fn all_held_is_a_success() {
    let report = Run::new().ended("demo/calm", &[RESTARTS, ON_TIME_ID], ON_TIME, 0).report();
    assert_eq!(report.exit(Undecided::Warns), Exit::Success);
    assert_eq!(report.result.profiles[0].result, ProfileOutcome::Success);
    assert_eq!(clause(&report, "demo.nobody-asks").verdict, Word::Skipped);
}

#[test]
fn a_run_in_which_nothing_ran_is_never_a_pass() {
    for undecided in [Undecided::Warns, Undecided::Passes, Undecided::Fails] {
        assert_ne!(Run::new().report().exit(undecided), Exit::Success);
        let skipped = Run::new().planned("demo/a", &[RESTARTS]).line(LogLine::CaseSkipped {
            case: CaseName("demo/a".to_owned()),
            reason: Skip::Filtered,
            why: "left out".to_owned(),
        });
        assert_ne!(skipped.report().exit(undecided), Exit::Success);
        assert_eq!(skipped.report().result.profiles[0].result, ProfileOutcome::Invalid);
    }
}

#[test]
fn a_case_that_never_ended_leaves_its_clauses_undecided() {
    let mut run =
        Run::new().ended("demo/calm", &[ON_TIME_ID], ON_TIME, 0).planned("demo/gone", &["demo.nobody-asks"]);
    let report = run.report();
    let clause = clause(&report, "demo.nobody-asks");
    assert_eq!(clause.verdict, Word::Inconclusive);
    assert!(clause.finding.starts_with("nothing ran"), "{}", clause.finding);
    assert_eq!(report.exit(Undecided::Warns), Exit::Inconclusive);
    assert_eq!(report.exit(Undecided::Passes), Exit::Success);
    assert_eq!(report.exit(Undecided::Fails), Exit::Violated);
    run.finished = false;
    let broken_off = run.report();
    assert!(broken_off.warnings[0].contains("has no end"), "{:?}", broken_off.warnings);
    for undecided in [Undecided::Warns, Undecided::Passes, Undecided::Fails] {
        assert_eq!(broken_off.exit(undecided), Exit::Error, "a run without an end failed");
    }
}

#[test]
fn a_history_that_is_missing_torn_or_changed_is_an_error_of_its_case() {
    let of = |change: fn(&mut Run)| {
        let mut run = Run::new().ended("demo/calm", &[RESTARTS], ON_TIME, 0);
        change(&mut run);
        run.report()
    };
    let missing = of(|run| run.histories.clear());
    let unreadable = of(|run| run.histories[0].contents = Err("it is torn".to_owned()));
    let changed = of(|run| run.histories[0].contents.as_mut().unwrap().sha256 = "00".to_owned());
    for report in [missing, unreadable, changed] {
        assert_eq!(report.cases[0].verdict, Word::Error);
        assert_eq!(clause(&report, RESTARTS).verdict, Word::Error);
        assert_eq!(report.exit(Undecided::Warns), Exit::Error);
        assert_eq!(report.result.profiles[0].result, ProfileOutcome::Invalid);
    }
}

#[test]
fn a_doubt_in_passing_is_told_and_does_not_change_the_exit_code() {
    let run = Run::new().ended("demo/calm", &[RESTARTS], LATE, 0).stalled(9_000_000);
    let report = run.report();
    let passing = clause(&report, ON_TIME_ID);
    assert_eq!(passing.verdict, Word::Skipped, "no case targets it");
    assert!(passing.finding.contains("cannot decide it"), "{}", passing.finding);
    assert_eq!(passing.judged_in[0].verdict, Word::Inconclusive);
    assert_eq!(report.cases[0].verdict, Word::Holds);
    assert_eq!(report.exit(Undecided::Warns), Exit::Success);
}

#[test]
fn a_clause_whose_own_cases_the_cluster_cannot_run_is_skipped_whatever_others_showed_of_it() {
    let run = Run::new()
        .ended("demo/calm", &[RESTARTS], LATE, 0)
        .stalled(9_000_000)
        .planned("demo/left-out", &[ON_TIME_ID])
        .line(LogLine::CaseSkipped {
            case: CaseName("demo/left-out".to_owned()),
            reason: Skip::Precondition,
            why: "it needs another runtime".to_owned(),
        });
    let report = run.report();
    let clause = clause(&report, ON_TIME_ID);
    assert_eq!((clause.verdict, clause.finding.as_str()), (Word::Skipped, "it needs another runtime"));
    assert_eq!(report.exit(Undecided::Warns), Exit::Success);
}

#[test]
fn a_doubt_about_a_case_that_names_no_clause_counts() {
    let run = Run::new().ended("demo/pasted", &[], &[], 0).planned("demo/b", &[]);
    let report = run.report();
    assert_eq!(report.cases[1].verdict, Word::Inconclusive, "it never ended");
    assert_eq!(report.exit(Undecided::Warns), Exit::Inconclusive);
}

#[test]
fn a_broken_case_is_an_error_and_a_violation_outweighs_it() {
    let broken = |run: Run| {
        run.planned("demo/broken", &["demo.nobody-asks"])
            .line(LogLine::CaseBroken {
                case: CaseName("demo/broken".to_owned()),
                why: "no image".to_owned(),
            })
            .report()
    };
    assert_eq!(broken(Run::new()).exit(Undecided::Warns), Exit::Error);
    let both = broken(Run::new().ended("demo/late", &[ON_TIME_ID], LATE, 0));
    assert_eq!(both.exit(Undecided::Warns), Exit::Violated);
}

#[test]
fn an_interrupted_run_says_so_and_what_is_left() {
    let interrupted = |left: bool| {
        let mut run = Run::new().ended("demo/late", &[ON_TIME_ID], LATE, 0).planned("demo/b", &[RESTARTS]);
        run.finished = false;
        if left {
            run = run.line(LogLine::Leftover(Leftover::default()));
        }
        run.line(LogLine::Finished(Usage { interrupted: true, ..Usage::default() })).report()
    };
    assert_eq!(interrupted(false).exit(Undecided::Warns), Exit::Interrupted);
    assert_eq!(interrupted(true).exit(Undecided::Warns), Exit::LeftBehind);
    assert_eq!(interrupted(false).cases[1].reason, Some(Reason::Skip(Skip::Interrupted)));
}

#[test]
fn repetitions_are_all_told_and_the_worst_counts() {
    let mut run =
        Run::new().ended("demo/calm", &[RESTARTS], ON_TIME, 0).ended("demo/calm", &[RESTARTS], ON_TIME, 1);
    run.facts.repeat = 3;
    let report = run.report();
    let words: Vec<_> = report.cases.iter().map(|case| (case.repetition.unwrap(), case.verdict)).collect();
    assert_eq!(words, [(1, Word::Holds), (2, Word::Violated), (3, Word::Inconclusive)]);
    assert_eq!(clause(&report, RESTARTS).verdict, Word::Violated);
}

#[test]
fn repetitions_are_numbered_as_their_files_are_in_whatever_order_they_ended() {
    let mut run = Run::new();
    for at in 0..12 {
        run = run.ended("demo/calm", &[RESTARTS], ON_TIME, u64::from(at == 10));
    }
    run.facts.repeat = 12;
    run.lines.reverse();
    let report = run.report();
    let violated: Vec<_> = report.cases.iter().filter(|case| case.verdict == Word::Violated).collect();
    assert_eq!(violated.len(), 1);
    assert_eq!(violated[0].repetition, Some(11));
    assert_eq!(violated[0].history.as_ref().unwrap().file, "history/demo/calm.10.jsonl");
}

#[test]
fn a_modified_program_makes_no_claim() {
    let mut run = Run::new().ended("demo/calm", &[RESTARTS], ON_TIME, 0);
    run.facts.tool.modified = true;
    assert_eq!(run.report().result.profiles[0].result, ProfileOutcome::Invalid);
    assert_eq!(run.report().exit(Undecided::Warns), Exit::Success);
}

#[test]
fn a_history_that_the_log_does_not_name_is_not_read() {
    let mut run = Run::new().ended("demo/calm", &[RESTARTS], ON_TIME, 0);
    let told = ReadHistory { sha256: "5a".to_owned(), history: history(&[RESTARTS], ON_TIME, 7) };
    run.histories.push(StoredHistory { file: "history/alien.jsonl".to_owned(), contents: Ok(told) });
    assert_eq!(clause(&run.report(), RESTARTS).verdict, Word::Holds);
}

#[test]
fn another_book_is_named_only_if_it_is_another() {
    let report = small_run().report();
    let same = report.suite.clone();
    assert_eq!(report.clone().judged_by(&same).judged_by, None);
    let later = Suite { version: "9".to_owned(), ..same };
    assert_eq!(report.judged_by(&later).judged_by.unwrap().version, "9");
}
