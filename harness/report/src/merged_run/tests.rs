#![expect(clippy::unwrap_used, reason = "tests")]

use probity_case::{CaseName, Profile};

use super::*;
use crate::run_log::{ClusterFacts, Planned, Suite, Tool, Usage};

const BEGAN: i64 = 1_700_000_000_000_000;

fn name(case: &str) -> CaseName {
    CaseName(case.to_owned())
}

fn planned(case: &str) -> Planned {
    Planned {
        case: name(case),
        source: format!("suites/{case}.yaml"),
        profile: Profile::Core,
        judges: Vec::new(),
        story: "x".to_owned(),
    }
}

fn ended(case: &str) -> LogLine {
    let (history, sha256) = (format!("history/{case}.jsonl.zst"), "5a".to_owned());
    LogLine::CaseEnded { case: name(case), history, sha256, began_us: 1_000_000, us: 9_000_000 }
}

fn skipped(case: &str, reason: Skip) -> LogLine {
    LogLine::CaseSkipped { case: name(case), reason, why: "x".to_owned() }
}

/// A run that began `after_s` seconds after the first run, with these planned cases.
fn run(place: &str, after_s: i64, cases: &[&str], lines: &[LogLine]) -> RunToMerge {
    let facts = RunFacts {
        run_id: format!("run-{place}"),
        began_wall_us: BEGAN + after_s * 1_000_000,
        tool: Tool { name: "probity".to_owned(), version: "0.1.0".to_owned(), ..Tool::default() },
        suite: Suite { name: "probity".to_owned(), digest: "book".to_owned(), ..Suite::default() },
        profiles: vec![Profile::Core],
        repeat: 1,
        cases: cases.iter().map(|case| planned(case)).collect(),
        ..RunFacts::default()
    };
    let ground = ClusterFacts {
        cluster_uid: "u1".to_owned(),
        server: "v1.36.3".to_owned(),
        ..ClusterFacts::default()
    };
    let usage = Usage { wall_us: 10_000_000, cases: 1, requests: 5, ..Usage::default() };
    let mut log = vec![LogLine::Began(Box::new(facts.versioned())), LogLine::Ready(ground)];
    log.extend(lines.iter().cloned());
    log.push(LogLine::Finished(usage));
    RunToMerge { place: place.to_owned(), log }
}

fn facts_of(run: &mut RunToMerge) -> &mut RunFacts {
    match run.log.first_mut() {
        Some(LogLine::Began(facts)) => facts,
        _ => panic!("a log begins with its facts"),
    }
}

fn ground_of(run: &mut RunToMerge) -> &mut ClusterFacts {
    let ground = run.log.iter_mut().find_map(|line| match line {
        LogLine::Ready(ground) => Some(ground),
        _ => None,
    });
    ground.unwrap()
}

fn shard(mut run: RunToMerge, index: u32, of: u32) -> RunToMerge {
    facts_of(&mut run).shard = Some(Shard { index, of });
    run
}

/// Two shards of a run of four cases. A filter leaves out one of the cases.
fn two_shards() -> Vec<RunToMerge> {
    let cases = ["a/one", "a/two", "b/filtered", "b/three"];
    let filtered = skipped("b/filtered", Skip::Filtered);
    let other = |case| skipped(case, Skip::OtherShard);
    vec![
        shard(
            run("0", 0, &cases, &[other("a/two"), filtered.clone(), ended("a/one"), ended("b/three")]),
            0,
            2,
        ),
        shard(run("1", 3, &cases, &[other("a/one"), filtered, other("b/three"), ended("a/two")]), 1, 2),
    ]
}

fn merged(runs: &[RunToMerge]) -> MergedRun {
    merge(runs, &["probity".to_owned(), "merge".to_owned()], Allowed::default()).unwrap()
}

/// The result of each case, one line each.
fn fates(merged: &MergedRun) -> Vec<String> {
    let fate = |line: &LogLine| match line {
        LogLine::CaseEnded { case, history, us, .. } => Some(format!("{case} ended at {us} in {history}")),
        LogLine::CaseSkipped { case, reason, .. } => Some(format!("{case} {reason:?}")),
        LogLine::CaseBroken { case, .. } => Some(format!("{case} broken")),
        _ => None,
    };
    merged.log.iter().filter_map(fate).collect()
}

fn cases(merged: &MergedRun) -> Vec<&str> {
    let Some(LogLine::Began(facts)) = merged.log.first() else { return Vec::new() };
    facts.cases.iter().map(|planned| planned.case.0.as_str()).collect()
}

#[test]
fn shards_become_one_run_in_which_each_case_has_one_fate() {
    let merged = merged(&two_shards());
    assert_eq!(
        fates(&merged),
        [
            "b/filtered Filtered",
            "a/one ended at 9000000 in history/a/one.jsonl.zst",
            "b/three ended at 9000000 in history/b/three.jsonl.zst",
            "a/two ended at 12000000 in history/a/two.jsonl.zst",
        ]
    );
    assert_eq!(cases(&merged), ["a/one", "a/two", "b/filtered", "b/three"]);
    assert_eq!(merged.histories.len(), 3);
    let Some(LogLine::Finished(usage)) = merged.log.last() else { panic!("it has an end") };
    assert_eq!((usage.wall_us, usage.cases, usage.requests), (13_000_000, 2, 10));
}

#[test]
fn the_order_of_the_folders_does_not_matter() {
    let mut runs = two_shards();
    let log = merged(&runs).log;
    runs.reverse();
    assert_eq!(merged(&runs).log, log);
}

#[test]
fn runs_that_do_not_belong_together_are_refused_with_both_places_or_warned_of() {
    type Change = fn(&mut RunToMerge);
    let changes: [(Change, &str); 5] = [
        (|run| ground_of(run).cluster_uid = "u2".to_owned(), "different clusters: u1 in 0, u2 in 1"),
        (|run| ground_of(run).server = "v1.37.0".to_owned(), "API server: v1.36.3 in 0, v1.37.0 in 1"),
        (|run| facts_of(run).suite.digest = "later".to_owned(), "different books"),
        (|run| facts_of(run).suite.added = vec!["mine.yaml".to_owned()], "with mine.yaml in 1"),
        (|run| facts_of(run).tool.version = "0.2.0".to_owned(), "programs: probity 0.1.0 in 0"),
    ];
    for (change, words) in changes {
        let mut runs = two_shards();
        change(&mut runs[1]);
        let error = merge(&runs, &[], Allowed::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.advice().contains("--mixed"));
        let allowed = Allowed { mixed: true, ..Allowed::default() };
        let merged = merge(&runs, &[], allowed).unwrap();
        let warned = LogLine::Warning { what: error.to_string() };
        assert!(merged.log.contains(&warned), "{error}");
    }
}

#[test]
fn what_may_not_be_read_of_a_cluster_is_no_difference() {
    let mut runs = two_shards();
    ground_of(&mut runs[1]).cluster_uid.clear();
    assert!(merge(&runs, &[], Allowed::default()).is_ok());
}

#[test]
fn a_missing_shard_is_refused_or_its_cases_never_ended() {
    let runs = &two_shards()[..1];
    let error = merge(runs, &[], Allowed::default()).unwrap_err();
    assert_eq!(error.to_string(), "of the 2 shards of the run, 1/2 is missing");
    let merged = merge(runs, &[], Allowed { incomplete: true, ..Allowed::default() }).unwrap();
    assert!(!fates(&merged).iter().any(|fate| fate.starts_with("a/two")), "{:?}", fates(&merged));
    assert!(cases(&merged).contains(&"a/two"));
    assert!(merged.log.contains(&LogLine::Warning { what: error.to_string() }));
}

#[test]
fn a_run_that_is_given_twice_is_refused() {
    let mut runs = two_shards();
    runs.push(RunToMerge { place: "copy".to_owned(), ..runs[1].clone() });
    let error = merge(&runs, &[], Allowed::default()).unwrap_err();
    assert!(matches!(error, MergeError::Twice(..)), "{error}");
    assert_eq!(merge(&[], &[], Allowed::default()), Err(MergeError::Nothing));
}

#[test]
fn a_case_that_ran_in_two_runs_is_a_repetition_with_a_history_of_its_own() {
    let runs = [run("x", 5, &["a/one"], &[ended("a/one")]), run("y", 0, &["a/one"], &[ended("a/one")])];
    let merged = merged(&runs);
    let places: Vec<_> = merged.histories.iter().map(|moved| (moved.run, moved.to.as_str())).collect();
    assert_eq!(places, [(1, "history/a/one.1.jsonl.zst"), (0, "history/a/one.2.jsonl.zst")]);
}

#[test]
fn what_was_left_out_in_one_run_and_ran_in_another_ran() {
    let left_out = |reason| run("x", 0, &["a/one"], &[skipped("a/one", reason)]);
    let ran = run("y", 1, &["a/one"], &[ended("a/one")]);
    for reason in [Skip::Filtered, Skip::Precondition] {
        assert_eq!(fates(&merged(&[left_out(reason), ran.clone()])).len(), 1);
    }
    let mut never_ended = ran;
    never_ended.log.remove(2);
    assert_eq!(fates(&merged(&[left_out(Skip::Filtered), never_ended])), [""; 0]);
}

#[test]
fn a_run_without_an_end_leaves_the_merged_run_without_one() {
    let mut runs = two_shards();
    runs[1].log.pop();
    assert!(!merged(&runs).log.iter().any(|line| matches!(line, LogLine::Finished(_))));
}

#[test]
fn cases_on_nodes_stand_where_their_case_would() {
    let cases = ["a/one", "a/two"];
    let on = |case: &str, node: &str| format!("{case}/node={node}");
    let of = |index: usize| {
        let (mine, other) = (cases[index], cases[1 - index]);
        let nodes = [on(mine, "n1"), on(mine, "n2")];
        let mut names = [nodes[0].as_str(), nodes[1].as_str(), other];
        if index == 1 {
            names.rotate_right(1);
        }
        let lines = [skipped(other, Skip::OtherShard), ended(&nodes[0]), ended(&nodes[1])];
        let after_s = i64::try_from(index).unwrap();
        shard(run(&index.to_string(), after_s, &names, &lines), u32::try_from(index).unwrap(), 2)
    };
    let merged = merged(&[of(0), of(1)]);
    assert_eq!(
        super::tests::cases(&merged),
        ["a/one/node=n1", "a/one/node=n2", "a/two/node=n1", "a/two/node=n2"]
    );
}
