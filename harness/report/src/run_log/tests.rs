#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn lines() -> Vec<LogLine> {
    let case = CaseName("chapter/case".to_owned());
    let facts = RunFacts { run_id: "r1".to_owned(), repeat: 1, ..RunFacts::default() };
    let ground = ClusterFacts { context: "kind-x".to_owned(), ..ClusterFacts::default() };
    vec![
        LogLine::Began(Box::new(facts.versioned())),
        LogLine::Ready(ground),
        LogLine::CaseBegan { case: case.clone(), us: 6 },
        LogLine::CaseEnded {
            case: case.clone(),
            history: "history/chapter/case.jsonl.zst".to_owned(),
            sha256: "00".to_owned(),
            began_us: 6,
            us: 7,
        },
        LogLine::CaseSkipped { case: case.clone(), reason: Skip::Budget, why: "no room".to_owned() },
        LogLine::CaseBroken { case, why: "no image".to_owned() },
        LogLine::Warning { what: "slow".to_owned() },
        LogLine::Leftover(Leftover { what: "pod a".to_owned(), why: "finalizer".to_owned() }),
        LogLine::Finished(Usage { wall_us: 9, ..Usage::default() }),
    ]
}

fn written(lines: &[LogLine]) -> String {
    lines.iter().map(|line| line.write().unwrap()).collect()
}

#[test]
fn what_is_written_is_read_again() {
    assert_eq!(read(&written(&lines())).unwrap(), lines());
}

#[test]
fn a_torn_last_line_is_left_out_and_a_torn_middle_is_not() {
    let text = written(&lines());
    let torn = &text[..text.len() - 4];
    assert_eq!(read(torn).unwrap().len(), lines().len() - 1);
    let broken = text.replacen("case-began", "case-", 1);
    assert!(matches!(read(&broken), Err(LogError::Line { line: 3, .. })));
    let why = read(&broken).unwrap_err().to_string();
    assert!(why.starts_with("line 3 is not a line of a run log: ") && !why.contains("line 1 "), "{why}");
}

#[test]
fn a_newer_log_is_refused_and_so_is_something_else() {
    let newer = written(&lines()).replacen("\"version\":1", "\"version\":2", 1);
    assert!(matches!(read(&newer), Err(LogError::Version(2))));
    assert!(matches!(read(""), Err(LogError::Empty)));
    assert!(matches!(read("{\"event\":\"warning\",\"what\":\"x\"}"), Err(LogError::Beginning(_))));
    let other = written(&lines()).replacen(SCHEMA, "other", 1);
    assert!(matches!(read(&other), Err(LogError::Beginning(_))));
}

#[test]
fn the_first_line_names_the_format() {
    let text = written(&lines());
    assert!(text.starts_with("{\"event\":\"began\",\"schema\":\"probity.dev/run\",\"version\":1,"), "{text}");
}
