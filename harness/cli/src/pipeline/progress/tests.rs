#![expect(clippy::unwrap_used, reason = "tests")]

use probity_cluster::Room;

use super::*;

fn cases() -> Vec<Case> {
    let text = |name: &str, takes: u32| {
        format!(
            "case: {name}\nstory: x\ntakes: {takes}s\npod: {{ spec: {{ containers: [{{ name: c }}] }} }}\n"
        )
    };
    [("a/short", 10), ("a/long", 30)]
        .map(|(name, takes)| Case::read("-", &text(name, takes)).unwrap().remove(0))
        .into()
}

fn begun() -> ProgressBoard {
    let mut board = ProgressBoard::new(&cases(), 45_000_000);
    let (context, server) = ("kind-x".to_owned(), "v1.36.3".to_owned());
    let nodes = BTreeMap::new();
    board.note(&Progress::Ready {
        context,
        cluster_uid: String::new(),
        server,
        namespace: String::new(),
        nodes,
        image: String::new(),
        us: 5_000_000,
    });
    for name in ["a/short", "a/long"] {
        board.note(&Progress::Began { case: CaseName(name.to_owned()), us: 5_000_000 });
    }
    board
}

#[test]
fn until_the_run_is_ready_the_forecast_of_the_whole_counts() {
    let board = ProgressBoard::new(&cases(), 45_000_000);
    assert_eq!(board.headline(5_000_000), "0:05  0 of 2 cases ended; preparing; should end in about 0:40");
}

#[test]
fn the_longest_case_decides_when_it_should_end() {
    let board = begun();
    let said = board.headline(15_000_000);
    assert_eq!(said, "0:15  0 of 2 cases ended; 2 running, 0 waiting for capacity; should end in about 0:23");
}

#[test]
fn cases_that_run_alone_follow_one_by_one() {
    let mut cases = cases();
    cases.iter_mut().for_each(|case| case.quiet = true);
    let mut board = ProgressBoard::new(&cases, 45_000_000);
    board.ready = true;
    let said = board.headline(15_000_000);
    let whole = "0:15  0 of 2 cases ended; 0 running, 0 waiting for capacity, 2 waiting to run alone; should end in about";
    assert_eq!(said, format!("{whole} 0:43"));
}

#[test]
fn a_late_case_should_end_any_moment_and_never_in_the_past() {
    let mut board = begun();
    let case = CaseName("a/short".to_owned());
    board.note(&Progress::Broken {
        case,
        why: String::new(),
        history: Box::default(),
        room: Room::default(),
    });
    board.note_failure();
    assert!(board.headline(90_000_000).contains("1 of 2 cases ended, 1 of them failed"));
    assert!(board.headline(90_000_000).ends_with("should end in about 0:03"));
}

#[test]
fn a_heartbeat_names_what_is_waited_for() {
    let mut board = begun();
    let case = CaseName("a/long".to_owned());
    board.note(&Progress::Doing { case, what: "wait ready: true".to_owned(), us: 6_000_000 });
    let said = board.heartbeat(65_000_000);
    assert!(said.contains("1:00  a/long: wait ready: true"), "{said}");
}
