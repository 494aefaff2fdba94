//! Most of these tests remove a single precondition of a level.

use std::collections::BTreeSet;

use probity_model::ClauseId;
use probity_model::clause::Need;
use probity_model::verdict::Doubt;

use super::*;

const ASKED: &str = "demo.nobody-asks";

/// A run in which everything holds, on a cluster with one node.
fn good_run() -> Run {
    Run::new().ended("demo/calm", &[RESTARTS, ON_TIME_ID], ON_TIME, 0)
}

fn name(case: &str) -> CaseName {
    CaseName(case.to_owned())
}

/// The book with these cases: each with its profile, the clauses that it targets, and what it needs.
fn book(cases: &[(&str, Profile, &[&str], &[Need])]) -> BookFacts {
    let case = |(case, profile, judges, needs): &(&str, Profile, &[&str], &[Need])| BookCase {
        planned: Planned {
            case: name(case),
            source: format!("suites/{case}.yaml"),
            profile: *profile,
            judges: judges.iter().map(|id| id.parse().unwrap()).collect(),
            story: "why not".to_owned(),
        },
        needs: needs.iter().copied().collect::<BTreeSet<Need>>(),
    };
    BookFacts { suite: Run::new().facts.suite, cases: cases.iter().map(case).collect() }
}

const CALM: (&str, Profile, &[&str], &[Need]) = ("demo/calm", Profile::Core, &[RESTARTS, ON_TIME_ID], &[]);

fn certificate(run: &Run, book: &BookFacts) -> Certificate {
    run.report().certified(book).certificate.unwrap()
}

fn core(run: &Run, book: &BookFacts) -> LevelReport {
    certificate(run, book).of_level(ConformanceLevel::Core).unwrap().clone()
}

/// The reasons why a run does not reach the level `core`.
fn reasons(run: &Run, book: &BookFacts) -> Vec<String> {
    core(run, book).obstacles.iter().map(Obstacle::in_words).collect()
}

fn skipped(run: Run, case: &str, judges: &[&str], reason: Skip) -> Run {
    let why = "it needs something".to_owned();
    run.planned(case, judges).line(LogLine::CaseSkipped { case: name(case), reason, why })
}

#[test]
fn a_whole_run_in_which_all_must_clauses_hold_reaches_the_highest_level() {
    let certificate = certificate(&good_run(), &book(&[CALM]));
    assert_eq!(certificate.level, ConformanceLevel::Extended);
    assert_eq!(certificate.histories.len(), 1);
    assert_eq!(certificate.subject.server, "v1.36.3");
    let level = certificate.of_level(ConformanceLevel::Core).unwrap();
    assert_eq!((level.must.total, level.must.holds), (1, 1), "a SHOULD clause does not count");
    insta::assert_snapshot!(certificate.in_words());
}

#[test]
fn a_violated_should_clause_is_named_and_does_not_count() {
    let run = Run::new().ended("demo/calm", &[RESTARTS, ON_TIME_ID], LATE, 0);
    let core = core(&run, &book(&[CALM]));
    assert!(core.reached);
    assert_eq!(core.should_violated.iter().map(ClauseId::as_str).collect::<Vec<_>>(), [ON_TIME_ID]);
}

#[test]
fn a_violated_must_clause_stands_in_the_way_wherever_it_was_seen() {
    let elsewhere: (&str, Profile, &[&str], &[Need]) = ("demo/calm", Profile::Core, &[ON_TIME_ID], &[]);
    let run = Run::new().ended("demo/calm", &[ON_TIME_ID], ON_TIME, 1);
    let violated = format!("MUST clauses are violated: {RESTARTS}");
    assert_eq!(reasons(&run, &book(&[elsewhere])), [violated]);
}

#[test]
fn an_undecided_must_clause_stands_in_the_way() {
    let asked: (&str, Profile, &[&str], &[Need]) = ("demo/calm", Profile::Core, &[RESTARTS, ASKED], &[]);
    let run = Run::new().ended("demo/calm", &[RESTARTS, ASKED], ON_TIME, 0);
    assert_eq!(reasons(&run, &book(&[asked])), [format!("MUST clauses are undecided: {ASKED}")]);
    let mut report = run.report();
    for clause in report.clauses.iter_mut().filter(|clause| clause.id.as_str() == ASKED) {
        clause.reason = Some(Reason::Doubt(Doubt::HalfSeen));
    }
    let core = Certificate::of(&report, &book(&[asked])).of_level(ConformanceLevel::Core).unwrap().clone();
    let said: Vec<String> = core.obstacles.iter().map(Obstacle::in_words).collect();
    assert_eq!(said, [format!("MUST clauses held, but not for all their facets: {ASKED}")]);
}

#[test]
fn a_run_that_leaves_out_a_case_is_not_certified_and_the_case_is_named() {
    let more: (&str, Profile, &[&str], &[Need]) = ("demo/more", Profile::Core, &[ASKED], &[Need::UserStatus]);
    let book = book(&[CALM, more]);
    for (reason, says) in [
        (Skip::Filtered, "the filters or the profiles of the run left out cases of this level: demo/more"),
        (Skip::OtherShard, "another shard of the run should have run cases of this level: demo/more"),
        (Skip::Interrupted, "cases did not end, or their histories are missing or damaged: demo/more"),
        (Skip::Budget, "cases did not end, or their histories are missing or damaged: demo/more"),
    ] {
        let said = reasons(&skipped(good_run(), "demo/more", &[ASKED], reason), &book);
        assert!(said.iter().any(|one| one == says), "{reason:?}: {said:?}");
    }
    let said = reasons(&good_run(), &book);
    assert_eq!(said[0], "the log of the run does not name all cases of this level: demo/more");
    let broken = good_run()
        .planned("demo/more", &[ASKED])
        .line(LogLine::CaseBroken { case: name("demo/more"), why: "x".to_owned() });
    assert!(!core(&broken, &book).reached);
}

#[test]
fn the_cases_of_the_next_level_are_not_needed_for_this_one() {
    let more: (&str, Profile, &[&str], &[Need]) = ("demo/more", Profile::Extended, &[ASKED], &[]);
    let slow: (&str, Profile, &[&str], &[Need]) = ("demo/slow", Profile::Slow, &[ASKED], &[]);
    let run = skipped(good_run(), "demo/more", &[ASKED], Skip::Filtered);
    let certificate = certificate(&run, &book(&[CALM, more, slow]));
    assert_eq!(certificate.level, ConformanceLevel::Core);
    let words = certificate.in_words();
    assert!(words.contains("not extended: the filters or the profiles of the run left out"), "{words}");
}

#[test]
fn what_a_cluster_lacks_is_an_exception_only_if_the_book_says_that_it_may() {
    let run = skipped(good_run(), "demo/more", &[ASKED], Skip::Precondition);
    let may = book(&[CALM, ("demo/more", Profile::Core, &[ASKED], &[Need::UserStatus])]);
    let level = core(&run, &may);
    assert!(level.reached, "{:?}", level.obstacles);
    assert_eq!(level.exceptions[0].in_words(), format!("{ASKED} (it needs something)"));
    let may_not = book(&[CALM, ("demo/more", Profile::Core, &[ASKED], &[])]);
    let said = reasons(&run, &may_not);
    assert!(said[0].starts_with("cases were skipped for lack of something"), "{said:?}");
}

#[test]
fn a_clause_that_another_case_broke_is_no_exception() {
    let run = skipped(
        Run::new().ended("demo/calm", &[ON_TIME_ID], ON_TIME, 1),
        "demo/more",
        &[RESTARTS],
        Skip::Precondition,
    );
    let needs = book(&[
        ("demo/calm", Profile::Core, &[ON_TIME_ID], &[]),
        ("demo/more", Profile::Core, &[RESTARTS], &[Need::UserStatus]),
    ]);
    let level = core(&run, &needs);
    assert!(level.exceptions.is_empty() && !level.reached);
}

#[test]
fn a_run_that_is_not_whole_or_not_of_the_book_is_not_certified() {
    type Change = fn(&mut Run);
    let changes: [(Change, &str); 6] = [
        (|run| run.finished = false, "the log of the run has no end"),
        (
            |run| run.facts.shard = Some(crate::run_log::Shard { index: 0, of: 2 }),
            "the run is one shard of several",
        ),
        (|run| run.facts.tool.modified = true, "the program that ran was built from sources that differ"),
        (
            |run| run.facts.suite.added = vec!["mine.yaml".to_owned()],
            "the run included cases that are not part of the book",
        ),
        (
            |run| run.facts.suite.digest = "sha256:00".to_owned(),
            "a different book than the one that judged it",
        ),
        (|run| run.facts.suite.version = "9".to_owned(), "a different book than the one that judged it"),
    ];
    for (change, says) in changes {
        let mut run = good_run();
        change(&mut run);
        let said = reasons(&run, &book(&[CALM]));
        assert!(said.iter().any(|one| one.contains(says)), "{says}: {said:?}");
    }
    let noisy = good_run().stalled(8_000_000);
    let said = reasons(&noisy, &book(&[CALM]));
    assert!(
        said.iter()
            .any(|one| one.contains("the result of the profile core is invalid: the nodes are too noisy")),
        "{said:?}"
    );
    let mut report = good_run().report();
    report.usage = report.usage.map(|usage| Usage { interrupted: true, ..usage });
    report.environment = None;
    let certificate = Certificate::of(&report, &book(&[CALM]));
    let said: Vec<&str> = certificate.levels[0].obstacles.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(said, ["the run never reached the cluster", "the run was interrupted"]);
}

#[test]
fn runs_of_different_clusters_do_not_add_up_to_a_level() {
    let mut report = good_run().report();
    report.merged = vec![crate::run_log::MergedFrom {
        run_id: "a".to_owned(),
        began_wall_us: 0,
        command: Vec::new(),
        shard: None,
    }];
    assert!(Certificate::of(&report, &book(&[CALM])).levels[0].reached, "runs of one cluster do");
    report.environment.as_mut().unwrap().server = "v1.35.1, v1.36.3".to_owned();
    assert!(!Certificate::of(&report, &book(&[CALM])).levels[0].reached);
}

#[test]
fn nothing_is_certified_by_nothing() {
    let certificate = certificate(&Run::new(), &book(&[]));
    assert_eq!(certificate.level, ConformanceLevel::None);
    assert!(certificate.in_words().contains("level    none"), "{}", certificate.in_words());
}
