#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use http::HeaderMap;
use probity_script::witness::VERSION;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

fn stream() -> (RecorderStream, UnboundedReceiver<Incoming>) {
    let (out, reported) = unbounded_channel();
    (RecorderStream::new(RunClock::now(), out), reported)
}

/// A portion of a recorder's stream.
fn portion(recorder: &str, first: u64, entries: &[Entry]) -> ForwardedResponse {
    let mut headers = HeaderMap::new();
    let next = first + entries.len() as u64;
    for (name, value) in [
        ("probity-recorder", recorder.to_owned()),
        ("probity-first", first.to_string()),
        ("probity-next", next.to_string()),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let lines = entries.iter().zip(first..).map(|(entry, cursor)| {
        let recorded =
            Recorded { v: VERSION, cursor, received_mono_us: 7, received_wall_us: 8, entry: entry.clone() };
        serde_json::to_string(&recorded).unwrap() + "\n"
    });
    ForwardedResponse { status: 200, headers, body: lines.collect::<String>().into() }
}

fn joined(boot: &str, pod: &str) -> Entry {
    let identity =
        [("POD_NAME".to_owned(), pod.to_owned()), ("CONTAINER_NAME".to_owned(), "target".to_owned())];
    let hello = Hello { v: VERSION, boot: boot.to_owned(), attempt: 0, hello: 0, identity: identity.into() };
    Entry::Joined { hello, peer: "10.0.0.7:4000".to_owned() }
}

fn left(boot: &str) -> Entry {
    Entry::Left { boot: boot.to_owned(), how: "reset".to_owned(), last_mono_us: 5, told: 3 }
}

/// What was reported, as short lines.
fn lines(mut reported: UnboundedReceiver<Incoming>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Ok(incoming) = reported.try_recv() {
        lines.push(match incoming {
            Incoming::Happening { what: Happening::Witness(heard), .. } => {
                format!("{}/{}", heard.pod, heard.container)
            }
            Incoming::Happening { what: Happening::Gap(gap), .. } => format!("gap: {}", gap.why),
            other => panic!("{other:?}"),
        });
    }
    lines
}

#[test]
fn each_entry_is_reported_with_its_container() {
    let (mut stream, reported) = stream();
    assert!(!stream.portion(&portion("x", 0, &[joined("a", "one"), joined("b", "two"), left("a")])));
    assert_eq!(lines(reported), ["one/target", "two/target", "one/target"]);
    assert_eq!(stream.cursor, 3);
}

#[test]
fn a_greeting_of_an_earlier_portion_is_remembered() {
    let (mut stream, reported) = stream();
    stream.portion(&portion("x", 0, &[joined("a", "one")]));
    stream.portion(&portion("x", 1, &[left("a")]));
    assert_eq!(lines(reported), ["one/target", "one/target"]);
}

#[test]
fn a_forgotten_cursor_is_a_gap_and_greetings_are_asked_for() {
    let (mut stream, reported) = stream();
    stream.portion(&portion("x", 0, &[joined("a", "one")]));
    assert!(stream.portion(&portion("x", 9, &[left("a")])));
    assert_eq!(lines(reported)[1], "gap: the recorder discarded 8 entries before they were read");
}

#[test]
fn a_restarted_recorder_is_a_gap_and_is_read_from_its_beginning() {
    let (mut stream, reported) = stream();
    stream.portion(&portion("x", 0, &[joined("a", "one")]));
    stream.portion(&portion("y", 1, &[left("a")]));
    assert_eq!(stream.cursor, 0);
    stream.portion(&portion("y", 0, &[joined("b", "two")]));
    assert_eq!(
        lines(reported),
        ["one/target", "gap: the recorder restarted and lost the lines that it had stored", "two/target"]
    );
}

#[test]
fn a_stranger_is_a_gap_once_and_its_entries_have_no_pod() {
    let (mut stream, reported) = stream();
    stream.portion(&portion("x", 0, &[left("s"), left("s")]));
    let lines = lines(reported);
    assert!(lines[0].starts_with("gap") && lines[1..] == ["/", "/"], "{lines:?}");
}

#[test]
fn nonsense_is_its_senders() {
    let (mut stream, reported) = stream();
    let nonsense =
        Entry::Nonsense { peer: "10.0.0.7:4000".to_owned(), bytes: 3, error: "no JSON".to_owned() };
    stream.portion(&portion("x", 0, &[joined("a", "one"), nonsense]));
    assert_eq!(lines(reported), ["one/target", "one/target"]);
}
