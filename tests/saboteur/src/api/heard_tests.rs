use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::{Ear, HeardLine, Lines, Waiting};
use crate::api::shadow::Shadows;
use crate::board::Board;

fn ear(fault: &str) -> Ear {
    let board = Board::default();
    let defect = format!("{{ name: d, on: {{ namespace: run-1 }}, fault: {{ api: {{ heard: {fault} }} }} }}");
    match serde_saphyr::from_str(&defect) {
        Ok(defect) => board.put(defect),
        Err(error) => panic!("{error}"),
    }
    Ear { board, shadows: Shadows::default() }
}

fn line(kind: &str, namespace: &str, deleting: bool) -> Bytes {
    let deletion = if deleting { r#","deletionTimestamp":"2026-01-01T00:00:00Z""# } else { "" };
    // Two spaces: the bytes must pass unchanged.
    Bytes::from(format!(
        "{{\"type\":  \"{kind}\",\"object\":{{\"metadata\":{{\"namespace\":\"{namespace}\",\"name\":\"probe\"{deletion}}}}}}}\n"
    ))
}

#[test]
fn a_line_that_nothing_strikes_passes_byte_for_byte() {
    let ear = ear("{ does: never }");
    let other = line("ADDED", "run-2", false);
    assert_eq!(ear.hear(other.clone()).bytes, Some(other));
    let bookmark = Bytes::from("{\"type\":\"BOOKMARK\",\"object\":{}}\n");
    assert_eq!(
        ear.hear(bookmark.clone()),
        HeardLine { pod: None, bytes: Some(bookmark), late: Duration::ZERO }
    );
}

#[test]
fn only_the_news_that_are_meant_are_late_or_lost() {
    let ear = ear("{ news: [deleting, deleted], does: { late: { by: 5s } } }");
    assert_eq!(ear.hear(line("MODIFIED", "run-1", false)).late, Duration::ZERO);
    assert_eq!(ear.hear(line("MODIFIED", "run-1", true)).late, Duration::from_secs(5));
    assert_eq!(ear.hear(line("DELETED", "run-1", true)).late, Duration::from_secs(5));
}

#[test]
fn a_pod_that_is_never_heard_of_is_not_in_the_list_either() {
    let ear = ear("{ news: [added], does: never }");
    let list = br#"{"items":[{"metadata":{"namespace":"run-1","name":"a"}},{"metadata":{"namespace":"run-2","name":"b"}}]}"#;
    let heard = ear.hear_list(list).unwrap_or_default();
    assert_eq!(
        String::from_utf8_lossy(&heard),
        r#"{"items":[{"metadata":{"name":"b","namespace":"run-2"}}]}"#
    );
    assert_eq!(ear.hear_list(br#"{"items":[{"metadata":{"namespace":"run-2","name":"b"}}]}"#), None);
}

#[test]
fn the_kubelet_hears_of_another_specification_wherever_it_hears_of_the_pod() {
    let ear = ear(
        "{ does: { alter: { containers: [{ if: { name: main }, set: { env/0/value: other } }], pod: [{ set: { spec/hostname: other } }] } } }",
    );
    let pod = r#"{"metadata":{"name":"a","namespace":"run-1"},"spec":{"containers":[{"env":[{"name":"A","value":"VALUE"}],"name":"main"}],"hostname":"VALUE"}}"#;
    let altered = pod.replace("VALUE", "other");
    let line = ear.hear(Bytes::from(format!("{{\"object\":{pod},\"type\":\"ADDED\"}}\n"))).bytes;
    assert_eq!(line, Some(Bytes::from(format!("{{\"object\":{altered},\"type\":\"ADDED\"}}\n"))));
    let list = ear.hear_list(format!("{{\"items\":[{pod}]}}").as_bytes()).unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&list), format!("{{\"items\":[{altered}]}}"));
}

#[test]
fn later_news_of_a_pod_wait_behind_those_that_are_late() {
    let now = Instant::now();
    let news = |pod: &str, text: &'static str, late: u64| HeardLine {
        pod: Some(("run-1".to_owned(), pod.to_owned())),
        bytes: Some(Bytes::from_static(text.as_bytes())),
        late: Duration::from_secs(late),
    };
    let mut waiting = Waiting::default();
    assert_eq!(waiting.add(news("a", "a1", 3), now), None);
    assert_eq!(waiting.add(news("a", "a2", 0), now), None);
    assert_eq!(waiting.add(news("b", "b1", 0), now), Some(Bytes::from("b1")));
    assert_eq!(waiting.next(now), None);
    let later = now + Duration::from_secs(3);
    assert_eq!(waiting.next(later), Some(Bytes::from("a1")));
    assert_eq!(waiting.next(later), Some(Bytes::from("a2")));
    assert_eq!(
        waiting.add(news("a", "a3", 0), later),
        Some(Bytes::from("a3")),
        "nothing is left to wait for"
    );
}

#[test]
fn lines_are_found_wherever_the_stream_is_cut() {
    let mut lines = Lines::default();
    assert_eq!(lines.add(b"on"), [] as [Bytes; 0]);
    assert_eq!(lines.add(b"e\ntwo\nth"), [Bytes::from("one\n"), Bytes::from("two\n")]);
    assert_eq!(lines.rest(), Bytes::from("th"));
}
