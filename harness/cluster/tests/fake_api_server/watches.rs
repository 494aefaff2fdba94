//! Watches that break, are forgotten, or are slow.

use std::time::Duration;

use probity_cluster::{Incoming, RunClock, watch};
use probity_model::history::{Happening, Listener, Source};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use crate::server::{FakeApiServer, Piece, ReceivedRequest, ScriptedAnswer, event, list, object, refused};

const PODS: &str = "/api/v1/namespaces/n/pods";

fn stream(events: &[String], end: Piece) -> ScriptedAnswer {
    ScriptedAnswer::Pieces(events.iter().cloned().map(Piece::Bytes).chain([end]).collect())
}

/// The first reports of a watch of pods, as short lines. Reports that the watch is away are left out.
async fn reported(
    many: usize,
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
) -> (Vec<String>, FakeApiServer) {
    let (lines, server) = all_reported(many, script).await;
    (lines.into_iter().filter(|line| line != "away" && line != "back").collect(), server)
}

async fn all_reported(
    many: usize,
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
) -> (Vec<String>, FakeApiServer) {
    let server = FakeApiServer::start(script).await;
    let client = server.client().await;
    let (out, mut incoming) = unbounded_channel();
    let _watch = watch(&client, "n", "Pod", Some("probity.dev/run=r"), RunClock::now(), out);
    let mut lines = Vec::new();
    let presence = |line: &&String| *line == "away" || *line == "back";
    while lines.iter().filter(|line| !presence(line)).count() < many {
        let next = tokio::time::timeout(Duration::from_secs(20), incoming.recv()).await;
        lines.push(short(&next.unwrap().unwrap()));
    }
    // A report too many comes now.
    tokio::time::sleep(Duration::from_millis(150)).await;
    while let Ok(more) = incoming.try_recv() {
        lines.push(short(&more));
    }
    (lines, server)
}

fn short(incoming: &Incoming) -> String {
    let what = match incoming {
        Incoming::Happening { what, .. } => what,
        Incoming::Away { of, .. } | Incoming::Back { of, .. } => {
            assert_eq!(*of, Source::Watch("Pod".to_owned()));
            return if matches!(incoming, Incoming::Back { .. }) { "back" } else { "away" }.to_owned();
        }
        Incoming::EchoSent { .. } | Incoming::EchoRefused { .. } | Incoming::EchoFailed { .. } => {
            panic!("a watch sends no change")
        }
    };
    match what {
        Happening::Sighting(sighting) => {
            assert!(sighting.object["metadata"].get("managedFields").is_none());
            format!("{:?} {} {}", sighting.change, sighting.name, sighting.revision)
        }
        Happening::Gap(gap) => {
            assert_eq!(gap.of, Source::Watch("Pod".to_owned()));
            let to = if gap.to_us == i64::MAX { " for good" } else { "" };
            assert!(gap.from_us <= gap.to_us);
            format!("gap{to}: {}", gap.why)
        }
        Happening::Noise(noise) => {
            assert!(noise.by == Listener::Harness && noise.to_us - noise.from_us > 50_000);
            "noise".to_owned()
        }
        other => format!("{other:?}"),
    }
}

/// The revisions from which the watches began.
fn revisions(server: &FakeApiServer) -> Vec<String> {
    let asked = server.asked();
    asked
        .iter()
        .filter(|asked| asked.is_watch())
        .map(|asked| asked.query["resourceVersion"].clone())
        .collect()
}

/// Returns lists at revision 10 and then at revision 20, and answers watches as the script says.
fn lists(
    first: Vec<serde_json::Value>,
    second: Vec<serde_json::Value>,
    watches: impl Fn(&ReceivedRequest) -> ScriptedAnswer + Send + Sync + 'static,
) -> impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static {
    move |asked| match (asked.path.as_str(), asked.is_watch(), asked.nth) {
        (PODS, true, _) => Some(watches(asked)),
        (PODS, false, 0) => Some(list(10, &first)),
        (PODS, false, _) => Some(list(20, &second)),
        _ => None,
    }
}

#[tokio::test]
async fn a_revision_that_is_forgotten_by_status_is_a_gap_and_then_what_changed() {
    let before = vec![object("a", 5), object("b", 6)];
    let after = vec![object("a", 5), object("b", 15), object("c", 18)];
    let (lines, server) = reported(
        5,
        lists(before, after, |asked| match asked.nth {
            0 => refused(410, "Expired", "too old"),
            _ => stream(&[], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(lines, ["Added a 5", "Added b 6", "gap: too old", "Modified b 15", "Added c 18"]);
    assert_eq!(revisions(&server), ["10", "20"]);
    assert_eq!(server.asked()[0].query["labelSelector"], "probity.dev/run=r");
}

#[tokio::test]
async fn a_revision_that_is_forgotten_by_event_is_a_gap_and_what_is_gone_is_reported() {
    let (lines, server) = reported(
        4,
        lists(vec![object("a", 5)], vec![], |asked| match asked.nth {
            0 => {
                let status = json!({ "kind": "Status", "code": 410, "message": "too old" });
                stream(&[event("MODIFIED", &object("a", 11)), event("ERROR", &status)], Piece::Hang)
            }
            _ => stream(&[], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(lines, ["Added a 5", "Modified a 11", "gap: too old", "Deleted a 11"]);
    assert_eq!(revisions(&server), ["10", "20"]);
}

#[tokio::test]
async fn a_quiet_watch_whose_revision_is_forgotten_lost_nothing_before_its_last_seconds() {
    let quiet = Duration::from_secs(7);
    let script = lists(vec![], vec![], move |asked| match asked.nth {
        0 => ScriptedAnswer::Pieces(vec![Piece::Pause(quiet)]),
        1 => {
            let status = json!({ "kind": "Status", "code": 410, "message": "too old" });
            stream(&[event("ERROR", &status)], Piece::Hang)
        }
        _ => stream(&[], Piece::Hang),
    });
    let lasted = first(script, |what| match what {
        Happening::Gap(gap) => Some(gap.to_us - gap.from_us),
        _ => None,
    })
    .await;
    assert!((4_900_000..6_900_000).contains(&lasted), "the gap lasted {lasted} us");
}

#[tokio::test]
async fn a_line_that_is_cut_in_its_middle_comes_once_and_is_not_a_gap() {
    let (lines, server) = reported(
        3,
        lists(vec![object("a", 5)], vec![], |asked| {
            let whole = event("ADDED", &object("b", 12));
            match asked.nth {
                0 => {
                    let half = whole[..whole.len() / 2].to_owned();
                    stream(&[event("MODIFIED", &object("a", 11)), half], Piece::Cut)
                }
                _ => stream(&[whole], Piece::Hang),
            }
        }),
    )
    .await;
    let sightings: Vec<_> = lines.iter().filter(|line| *line != "noise").collect();
    assert_eq!(sightings, ["Added a 5", "Modified a 11", "Added b 12"]);
    assert_eq!(revisions(&server), ["10", "11"]);
}

#[tokio::test]
async fn a_line_that_lacks_only_its_end_comes_once() {
    let (lines, server) = reported(
        1,
        lists(vec![], vec![], |asked| {
            let whole = event("ADDED", &object("b", 12));
            match asked.nth {
                0 => stream(&[whole.trim_end().to_owned()], Piece::Cut),
                1 => stream(&[whole.trim_end().to_owned()], Piece::Pause(Duration::ZERO)),
                _ => stream(&[whole], Piece::Hang),
            }
        }),
    )
    .await;
    assert_eq!(lines.iter().filter(|line| *line == "Added b 12").count(), 1, "{lines:?}");
    assert_eq!(revisions(&server), ["10", "10", "10"]);
}

#[tokio::test]
async fn a_watch_that_comes_in_drops_is_whole_in_the_end() {
    let (lines, _) = reported(
        2,
        lists(vec![], vec![], |_| {
            let text = event("ADDED", &object("größe", 12)) + &event("DELETED", &object("größe", 13));
            let mut pieces = Vec::new();
            for letter in text.chars() {
                pieces.push(Piece::Bytes(letter.to_string()));
                pieces.push(Piece::Pause(Duration::from_millis(2)));
            }
            pieces.push(Piece::Hang);
            ScriptedAnswer::Pieces(pieces)
        }),
    )
    .await;
    assert_eq!(lines, ["Added größe 12", "Deleted größe 13"]);
}

#[tokio::test]
async fn a_watch_that_ends_in_good_order_goes_on_from_its_bookmark() {
    let (lines, server) = reported(
        1,
        lists(vec![], vec![], |asked| match asked.nth {
            0 => ScriptedAnswer::Pieces(vec![Piece::Bytes(event("BOOKMARK", &object("", 17)))]),
            _ => stream(&[event("ADDED", &object("b", 18))], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(
        (lines, revisions(&server)),
        (vec!["Added b 18".to_owned()], vec!["10".to_owned(), "17".to_owned()])
    );
}

#[tokio::test]
async fn a_watch_that_is_resumed_late_is_noise_and_not_a_gap() {
    let (lines, server) = reported(
        2,
        lists(vec![], vec![], |asked| match asked.nth {
            0 => stream(&[], Piece::Cut),
            1 => refused(500, "InternalError", "not now"),
            _ => stream(&[event("ADDED", &object("b", 12))], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(lines, ["noise", "Added b 12"]);
    assert_eq!(revisions(&server), ["10", "10", "10"]);
}

/// What is picked first from what a watch of pods reports.
async fn first<T>(
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
    pick: impl Fn(Happening) -> Option<T>,
) -> T {
    let server = FakeApiServer::start(script).await;
    let client = server.client().await;
    let (out, mut incoming) = unbounded_channel();
    let _watch = watch(&client, "n", "Pod", None, RunClock::now(), out);
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), incoming.recv()).await.unwrap().unwrap();
        if let Incoming::Happening { what, .. } = next
            && let Some(picked) = pick(what)
        {
            return picked;
        }
    }
}

/// How long the noise lasted that a watch of pods reports first, in microseconds.
async fn first_noise(
    script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
) -> i64 {
    first(script, |what| match what {
        Happening::Noise(noise) => Some(noise.to_us - noise.from_us),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_watch_that_ended_in_order_was_not_interrupted_before_its_end() {
    let quiet = Duration::from_secs(2);
    let lasted = first_noise(lists(vec![], vec![], move |asked| match asked.nth {
        0 => ScriptedAnswer::Pieces(vec![
            Piece::Bytes(event("BOOKMARK", &object("", 17))),
            Piece::Pause(quiet),
        ]),
        1 => refused(500, "InternalError", "not now"),
        _ => stream(&[], Piece::Hang),
    }))
    .await;
    assert!(lasted < 2_000_000, "the quiet time before the end is not an interruption: {lasted} us");
}

#[tokio::test]
async fn a_server_that_is_away_for_long_is_noise_and_not_a_gap() {
    let (lines, server) = reported(
        2,
        lists(vec![], vec![], |asked| match asked.nth {
            // Nine requests, repetitions included, each time that it is tried.
            0..63 => ScriptedAnswer::RetryAfter(503, 0),
            _ => stream(&[event("ADDED", &object("b", 12))], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(lines, ["noise", "Added b 12"]);
    assert!(revisions(&server).iter().all(|revision| revision == "10"));
}

#[tokio::test]
async fn a_server_that_is_away_is_reported_once_until_it_is_back() {
    let (lines, _fake) = all_reported(
        2,
        lists(vec![], vec![], |asked| match asked.nth {
            0..27 => ScriptedAnswer::RetryAfter(503, 0),
            _ => stream(&[event("ADDED", &object("b", 12))], Piece::Hang),
        }),
    )
    .await;
    assert_eq!(lines, ["away", "noise", "back", "Added b 12"]);
}

#[tokio::test]
async fn a_revision_at_which_the_watch_always_breaks_is_given_up_as_a_gap() {
    let (lines, server) = reported(
        // It is resumed late five times, and then given up.
        7,
        lists(vec![], vec![object("b", 15)], |asked| match asked.query["resourceVersion"].as_str() {
            "10" => stream(&[], Piece::Cut),
            _ => stream(&[], Piece::Hang),
        }),
    )
    .await;
    let rest: Vec<_> = lines.iter().filter(|line| *line != "noise").collect();
    assert!(rest.len() == 2 && rest[0].starts_with("gap") && rest[1] == "Added b 15", "{lines:?}");
    assert_eq!(revisions(&server).last().map(String::as_str), Some("20"));
}

#[tokio::test]
async fn an_error_that_is_not_about_the_revision_is_not_a_gap() {
    let (lines, server) = reported(
        1,
        lists(vec![], vec![], |asked| match asked.nth {
            0 => stream(&[event("ERROR", &json!({ "code": 500, "message": "etcd" }))], Piece::Hang),
            _ => stream(&[event("ADDED", &object("b", 12))], Piece::Hang),
        }),
    )
    .await;
    assert!(
        lines.contains(&"Added b 12".to_owned()) && !lines.iter().any(|line| line.starts_with("gap")),
        "{lines:?}"
    );
    assert_eq!(revisions(&server), ["10", "10"]);
}

#[tokio::test]
async fn a_list_that_fails_for_a_while_comes_in_the_end() {
    let (lines, _) = reported(1, |asked| match (asked.is_watch(), asked.nth) {
        (true, _) => Some(stream(&[], Piece::Hang)),
        (false, 0 | 1) => Some(refused(500, "InternalError", "not now")),
        (false, _) => Some(list(10, &[object("a", 5)])),
    })
    .await;
    assert_eq!(lines, ["Added a 5"]);
}

#[tokio::test]
async fn a_kind_that_may_not_be_seen_is_a_gap_for_good() {
    let (lines, server) = reported(1, |_| Some(refused(403, "Forbidden", "you may not"))).await;
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(line.starts_with("gap for good") && line.contains("you may not"), "{line}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_token_that_is_not_accepted_for_a_moment_does_not_end_a_watch() {
    // Each time that it is tried: three requests, repetitions included.
    let (lines, server) = all_reported(3, |asked| match (asked.is_watch(), asked.nth) {
        (false, 0..6) => Some(refused(401, "Unauthorized", "who are you?")),
        (false, _) => Some(list(10, &[object("a", 5)])),
        (true, 0..18) => Some(refused(401, "Unauthorized", "who are you?")),
        (true, _) => Some(stream(&[event("ADDED", &object("b", 12))], Piece::Hang)),
    })
    .await;
    let seen: Vec<_> = lines.iter().filter(|line| *line != "noise").collect();
    assert_eq!(seen, ["away", "back", "Added a 5", "away", "back", "Added b 12"]);
    assert!(revisions(&server).iter().all(|revision| revision == "10"), "no revision is lost");
}
