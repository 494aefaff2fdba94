#![expect(clippy::unwrap_used, reason = "tests")]

use std::borrow::Cow;

use probity_script::witness::{Fact, Mark, WitnessLine};
use proptest::prelude::*;

use super::super::intake::Intake;
use super::*;

fn at(ms: u64) -> Reading {
    Reading { mono_us: ms * 1_000, wall_us: 1_000_000 + ms * 1_000 }
}

fn hello(boot: &str, next: u64) -> Hello {
    Hello { v: 1, boot: boot.to_owned(), attempt: 0, hello: next, identity: [].into() }
}

fn text(boot: &str, seq: u64) -> String {
    let fact = Fact::Mark(Mark { name: format!("m{seq}"), by: "test".to_owned() });
    let line = WitnessLine { v: 1, boot: boot.to_owned(), attempt: 0, seq, mono_us: 5, wall_us: 6, fact };
    serde_json::to_string(&line).unwrap()
}

fn line(ledger: &mut Ledger, seat: &Seat, seq: u64, ms: u64) -> bool {
    let text = Cow::Owned(text(&seat.boot, seq));
    ledger.hear(seat, "p", &Said::Line { seq, text }, at(ms))
}

fn recorded(ledger: &Ledger) -> Vec<Recorded> {
    let bytes = ledger.since(0, usize::MAX).pieces.concat();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let recorded: Vec<Recorded> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let cursors: Vec<_> = recorded.iter().map(|entry| entry.cursor).collect();
    assert_eq!(cursors, (0..recorded.len() as u64).collect::<Vec<_>>());
    recorded
}

/// The entries in short: the kind, and the numbers that matter.
fn story(ledger: &Ledger) -> Vec<String> {
    let short = |entry: Recorded| match entry.entry {
        Entry::Joined { hello, .. } => format!("joined {}", hello.boot),
        Entry::Line(line) => format!("line {}", line.seq),
        Entry::Missing { first, lines, .. } => format!("missing {first}+{lines}"),
        Entry::Silent { last_mono_us, .. } => format!("silent since {last_mono_us}"),
        Entry::Resumed { silent_us, .. } => format!("resumed after {silent_us}"),
        Entry::Left { how, told, .. } => format!("left {how} told {told}"),
        Entry::Nonsense { bytes, .. } => format!("nonsense {bytes}"),
    };
    recorded(ledger).into_iter().map(short).collect()
}

#[test]
fn lines_are_passed_on_with_the_time_of_their_reception() {
    let mut ledger = Ledger::new(1 << 20);
    let (seat, want) = ledger.join(hello("a", 0), "10.0.0.1:5", at(1));
    assert_eq!(want, 0);
    assert!(line(&mut ledger, &seat, 0, 7));
    let entries = recorded(&ledger);
    assert_eq!((entries[1].received_mono_us, entries[1].received_wall_us), (7_000, 1_007_000));
    let Entry::Line(line) = &entries[1].entry else { panic!("{entries:?}") };
    assert_eq!(serde_json::to_string(line).unwrap(), text("a", 0));
    // What is written by hand is what the type would have written.
    let bytes = ledger.since(1, 1).pieces.concat();
    assert_eq!(String::from_utf8(bytes).unwrap(), serde_json::to_string(&entries[1]).unwrap() + "\n");
}

#[test]
fn holes_are_told_and_repetitions_dropped() {
    let mut ledger = Ledger::new(1 << 20);
    let (seat, _) = ledger.join(hello("a", 2), "p", at(0));
    for seq in [2, 3, 2, 3, 7, 8] {
        assert!(line(&mut ledger, &seat, seq, 1));
    }
    assert_eq!(
        story(&ledger),
        ["joined a", "missing 0+2", "line 2", "line 3", "missing 4+3", "line 7", "line 8"]
    );
    let counts = ledger.counts();
    assert_eq!((counts.lines, counts.missing, counts.duplicates), (4, 5, 2));
}

#[test]
fn a_life_goes_on_where_it_stopped() {
    let mut ledger = Ledger::new(1 << 20);
    let (seat, _) = ledger.join(hello("a", 0), "p", at(0));
    line(&mut ledger, &seat, 0, 1);
    ledger.hear(&seat, "p", &Said::Beat { next: 5 }, at(2));
    ledger.leave(&seat, "reset", at(3));
    assert!(!line(&mut ledger, &seat, 1, 4), "nobody speaks after leaving");
    let (seat, want) = ledger.join(hello("a", 6), "p", at(5));
    assert_eq!(want, 1);
    assert!(line(&mut ledger, &seat, 1, 6));
    assert_eq!(story(&ledger), ["joined a", "line 0", "left reset told 5", "joined a", "line 1"]);
    let Entry::Left { last_mono_us, .. } = &recorded(&ledger)[2].entry else { panic!() };
    assert_eq!(*last_mono_us, 2_000);
}

#[test]
fn a_second_connection_takes_the_seat_of_a_half_open_one() {
    let mut ledger = Ledger::new(1 << 20);
    let (old, _) = ledger.join(hello("a", 0), "p", at(0));
    line(&mut ledger, &old, 0, 1);
    let (new, want) = ledger.join(hello("a", 1), "q", at(2));
    assert_eq!(want, 1);
    assert!(!line(&mut ledger, &old, 1, 3));
    ledger.leave(&old, "closed", at(4));
    assert!(line(&mut ledger, &new, 1, 5));
    assert_eq!(
        story(&ledger),
        ["joined a", "line 0", "left replaced by a new connection told 1", "joined a", "line 1"]
    );
}

#[test]
fn silence_is_told_once_and_so_is_its_end() {
    let mut ledger = Ledger::new(1 << 20);
    let (seat, _) = ledger.join(hello("a", 0), "p", at(0));
    for ms in (0..1_000).step_by(50) {
        ledger.sweep(at(ms));
    }
    ledger.hear(&seat, "p", &Said::Beat { next: 0 }, at(1_000));
    assert_eq!(story(&ledger), ["joined a", "silent since 0", "resumed after 1000000"]);
    assert_eq!(recorded(&ledger)[1].received_mono_us, 550_000);
}

#[test]
fn our_own_stall_is_nobodys_silence() {
    let mut ledger = Ledger::new(1 << 20);
    let (seat, _) = ledger.join(hello("a", 0), "p", at(0));
    ledger.sweep(at(50));
    ledger.sweep(at(800));
    assert_eq!(story(&ledger), ["joined a"]);
    ledger.hear(&seat, "p", &Said::Beat { next: 0 }, at(801));
    for ms in (850..=1_450).step_by(50) {
        ledger.sweep(at(ms));
    }
    assert_eq!(story(&ledger), ["joined a", "silent since 801000"]);
    assert_eq!((ledger.counts().stalls, ledger.counts().worst_stall_us), (1, 700_000));
}

#[test]
fn a_line_that_is_refused_twice_is_given_up() {
    let mut ledger = Ledger::new(1 << 20);
    let nonsense = Said::Nonsense(Nonsense { bytes: 9, error: "bad".to_owned() });
    let mut wants = Vec::new();
    for _ in 0..3 {
        let (seat, want) = ledger.join(hello("a", 9), "p", at(0));
        wants.push(want);
        assert!(!ledger.hear(&seat, "p", &nonsense, at(0)));
    }
    assert_eq!(wants, [0, 0, 1]);
    assert!(story(&ledger).contains(&"missing 0+1".to_owned()));
}

#[test]
fn the_ledger_does_not_grow_with_those_who_left() {
    let mut ledger = Ledger::new(1 << 16);
    let (faithful, _) = ledger.join(hello("faithful", 0), "p", at(0));
    for n in 0..MOST_DEPARTED + 500 {
        let (seat, _) = ledger.join(hello(&format!("b{n}"), 0), "p", at(0));
        ledger.leave(&seat, "closed", at(0));
    }
    assert_eq!(ledger.targets().len(), MOST_DEPARTED + 1);
    assert!(line(&mut ledger, &faithful, 0, 1));
    for n in 0..200 {
        let mut hello = hello(&format!("c{n}"), 0);
        hello.identity.insert("POD_NAME".to_owned(), "x".repeat(200_000));
        let (seat, _) = ledger.join(hello, "p", at(0));
        ledger.leave(&seat, "closed", at(0));
    }
    assert!(ledger.departed_bytes <= MOST_DEPARTED_BYTES);
    let left: usize = ledger.targets.values().filter(|target| !target.connected).map(Target::weight).sum();
    assert_eq!(left, ledger.departed_bytes);
    assert!(line(&mut ledger, &faithful, 1, 1));
}

#[derive(Clone, Debug)]
enum Step {
    Line(u64),
    Beat(u64),
    Leave,
    Bad,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0_u64..30).prop_map(Step::Line),
        2 => (0_u64..40).prop_map(Step::Beat),
        1 => Just(Step::Leave),
        1 => Just(Step::Bad),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    /// Whatever a target does, each of its numbers is told at most once, in order, as a line or as missing.
    #[test]
    fn every_number_is_a_line_or_missing_and_never_both(steps in steps()) {
        let mut ledger = Ledger::new(1 << 20);
        let mut seat = None;
        for step in steps {
            let current = match seat.take() {
                Some(seat) => seat,
                None => ledger.join(hello("a", 0), "p", at(0)).0,
            };
            let stays = match step {
                Step::Line(seq) => line(&mut ledger, &current, seq, 1),
                Step::Beat(next) => ledger.hear(&current, "p", &Said::Beat { next }, at(1)),
                Step::Leave => {
                    ledger.leave(&current, "closed", at(1));
                    false
                }
                Step::Bad => {
                    let nonsense = Nonsense { bytes: 1, error: "bad".to_owned() };
                    ledger.hear(&current, "p", &Said::Nonsense(nonsense), at(1))
                }
            };
            seat = stays.then_some(current);
        }
        let mut due = 0;
        for entry in recorded(&ledger) {
            match entry.entry {
                Entry::Line(line) => {
                    prop_assert_eq!(line.seq, due);
                    due += 1;
                }
                Entry::Missing { first, lines, .. } => {
                    prop_assert_eq!(first, due);
                    due += lines;
                }
                _ => {}
            }
        }
        let counts = ledger.counts();
        prop_assert_eq!(counts.lines + counts.missing, due);
    }

    /// Cutting the bytes differently gives the same stream, byte for byte.
    #[test]
    fn the_stream_does_not_depend_on_how_bytes_were_cut(
        seqs in prop::collection::vec(0_u64..20, 0..20),
        size in 1_usize..200,
    ) {
        let mut bytes = serde_json::to_vec(&hello("a", 0)).unwrap();
        seqs.iter().for_each(|seq| bytes.extend(format!("\n{}", text("a", *seq)).as_bytes()));
        bytes.push(b'\n');
        let run = |size: usize| {
            let (mut intake, mut ledger, mut seat) = (Intake::new(), Ledger::new(1 << 20), None);
            for piece in bytes.chunks(size) {
                for said in intake.feed(piece) {
                    match (&said, &seat) {
                        (Said::Hello(hello), _) => seat = Some(ledger.join((**hello).clone(), "p", at(0)).0),
                        (said, Some(seat)) => assert!(ledger.hear(seat, "p", said, at(0))),
                        (said, None) => panic!("{said:?} before the greeting"),
                    }
                }
            }
            ledger.since(0, usize::MAX).pieces.concat()
        };
        prop_assert_eq!(run(size), run(usize::MAX));
    }
}
