#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::history::Way;
use probity_script::Endpoint;
use probity_script::witness::{Request, VERSION};

fn beat(boot: &str, at_us: u64) -> Heard {
    let request = Request {
        conn: 0,
        nth: 1,
        endpoint: Some(Endpoint::Of { listener: "web".to_owned(), name: "/ready".to_owned() }),
        probe: 1,
        hop: None,
        method: "GET".to_owned(),
        target: "/ready".to_owned(),
        protocol: "HTTP/1.1".to_owned(),
        headers: Vec::new(),
        body: 0,
        first_byte_us: at_us,
        service: None,
    };
    let line = WitnessLine {
        v: VERSION,
        boot: boot.to_owned(),
        attempt: 0,
        seq: 0,
        mono_us: at_us,
        wall_us: 0,
        fact: Fact::Request(request),
    };
    heard(Entry::Line(Box::new(line)))
}

fn heard(entry: Entry) -> Heard {
    Heard {
        pod: "probity-metronome-node1".to_owned(),
        uid: String::new(),
        container: "metronome".to_owned(),
        node: "node1".to_owned(),
        by: Way::Recorder,
        received_us: None,
        entry,
    }
}

/// The noise that a reader reports for beats at these times on the node's clock.
fn told(beats: &[u64]) -> Vec<Noise> {
    let mut ear = MetronomeReader::new(1_000_000);
    beats.iter().filter_map(|at| ear.hear(0, &beat("a", *at))).collect()
}

#[test]
fn a_steady_beat_is_no_noise() {
    assert_eq!(told(&[5_000_000, 6_000_700, 7_000_000, 8_099_000]), []);
}

#[test]
fn a_late_beat_is_noise_from_when_it_was_due_until_it_came() {
    let noise = Noise {
        by: Listener::Metronome,
        clock: Clock::Node("node1".to_owned()),
        from_us: 7_000_000,
        to_us: 10_000_000,
    };
    assert_eq!(told(&[5_000_000, 6_000_000, 10_000_000, 11_000_000]), [noise]);
}

#[test]
fn a_restart_is_no_noise() {
    let mut ear = MetronomeReader::new(1_000_000);
    assert_eq!(ear.hear(0, &beat("a", 1_000_000)), None);
    assert_eq!(ear.hear(0, &beat("b", 9_000_000)), None);
}

#[test]
fn a_saturated_node_is_noise_of_its_own() {
    let Entry::Line(mut line) = beat("a", 5_000_000).entry else { panic!("no line") };
    line.fact = Fact::Saturated(Saturated { for_us: 750_000, overloaded: false });
    let told = MetronomeReader::new(1_000_000).hear(0, &heard(Entry::Line(line))).unwrap();
    assert_eq!((told.by, told.from_us, told.to_us), (Listener::Node, 4_250_000, 5_000_000));
}

#[test]
fn lost_lines_are_no_noise() {
    let mut ear = MetronomeReader::new(1_000_000);
    assert_eq!(ear.hear(0, &beat("a", 1_000_000)), None);
    let missing = Entry::Missing { boot: "a".to_owned(), first: 3, lines: 20 };
    assert_eq!(ear.hear(0, &heard(missing)), None);
    assert_eq!(ear.hear(0, &beat("a", 9_000_000)), None);
}

#[test]
fn a_beat_that_is_still_overdue_is_noise_already() {
    let mut ear = MetronomeReader::new(1_000_000);
    assert_eq!(ear.hear(500_000, &beat("a", 1_000_000)), None);
    assert_eq!(ear.overdue(1_700_000, 200_000), []);
    let noise = ear.overdue(4_700_000, 200_000);
    let spans: Vec<_> = noise.iter().map(|noise| (noise.from_us, noise.to_us)).collect();
    assert_eq!(spans, [(2_000_000, 5_000_000)]);
}
