#![expect(clippy::unwrap_used, reason = "tests")]

use std::borrow::Cow;

use probity_script::witness::{Fact, Greeting, Mark, WitnessLine};
use proptest::prelude::*;

use super::super::messages::MessageParser;
use super::*;
use crate::token::Token;

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

fn line(merged: &mut MergedStream, claim: &ConnectionClaim, seq: u64, ms: u64) -> bool {
    let text = Cow::Owned(text(&claim.boot, seq));
    merged.hear(claim, "p", &TargetMessage::Line { seq, text }, at(ms))
}

fn recorded(merged: &MergedStream) -> Vec<Recorded> {
    let bytes = merged.since(0, usize::MAX).pieces.concat();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let recorded: Vec<Recorded> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let cursors: Vec<_> = recorded.iter().map(|entry| entry.cursor).collect();
    assert_eq!(cursors, (0..recorded.len() as u64).collect::<Vec<_>>());
    recorded
}

/// The entries in short: the kind, and the important numbers.
fn story(merged: &MergedStream) -> Vec<String> {
    let short = |entry: Recorded| match entry.entry {
        Entry::Joined { hello, .. } => format!("joined {}", hello.boot),
        Entry::Line(line) => format!("line {}", line.seq),
        Entry::Missing { first, lines, .. } => format!("missing {first}+{lines}"),
        Entry::Silent { last_mono_us, .. } => format!("silent since {last_mono_us}"),
        Entry::Resumed { silent_us, .. } => format!("resumed after {silent_us}"),
        Entry::Left { how, told, .. } => format!("left {how} told {told}"),
        Entry::Nonsense { bytes, .. } => format!("nonsense {bytes}"),
    };
    recorded(merged).into_iter().map(short).collect()
}

#[test]
fn lines_are_passed_on_with_the_time_of_their_reception() {
    let mut merged = MergedStream::new(1 << 20);
    let (claim, want) = merged.join(hello("a", 0), "10.0.0.1:5", at(1));
    assert_eq!(want, 0);
    assert!(line(&mut merged, &claim, 0, 7));
    let entries = recorded(&merged);
    assert_eq!((entries[1].received_mono_us, entries[1].received_wall_us), (7_000, 1_007_000));
    let Entry::Line(line) = &entries[1].entry else { panic!("{entries:?}") };
    assert_eq!(serde_json::to_string(line).unwrap(), text("a", 0));
    // The handwritten serialization is the same as that of the type.
    let bytes = merged.since(1, 1).pieces.concat();
    assert_eq!(String::from_utf8(bytes).unwrap(), serde_json::to_string(&entries[1]).unwrap() + "\n");
}

#[test]
fn holes_are_told_and_repetitions_dropped() {
    let mut merged = MergedStream::new(1 << 20);
    let (claim, _) = merged.join(hello("a", 2), "p", at(0));
    for seq in [2, 3, 2, 3, 7, 8] {
        assert!(line(&mut merged, &claim, seq, 1));
    }
    assert_eq!(
        story(&merged),
        ["joined a", "missing 0+2", "line 2", "line 3", "missing 4+3", "line 7", "line 8"]
    );
    let counts = merged.counts();
    assert_eq!((counts.lines, counts.missing, counts.duplicates), (4, 5, 2));
}

#[test]
fn a_life_goes_on_where_it_stopped() {
    let mut merged = MergedStream::new(1 << 20);
    let (claim, _) = merged.join(hello("a", 0), "p", at(0));
    line(&mut merged, &claim, 0, 1);
    merged.hear(&claim, "p", &TargetMessage::Beat { next: 5 }, at(2));
    merged.leave(&claim, "reset", at(3));
    assert!(!line(&mut merged, &claim, 1, 4), "nobody speaks after leaving");
    let (claim, want) = merged.join(hello("a", 6), "p", at(5));
    assert_eq!(want, 1);
    assert!(line(&mut merged, &claim, 1, 6));
    assert_eq!(story(&merged), ["joined a", "line 0", "left reset told 5", "joined a", "line 1"]);
    let Entry::Left { last_mono_us, .. } = &recorded(&merged)[2].entry else { panic!() };
    assert_eq!(*last_mono_us, 2_000);
}

#[test]
fn a_second_connection_takes_the_seat_of_a_half_open_one() {
    let mut merged = MergedStream::new(1 << 20);
    let (old, _) = merged.join(hello("a", 0), "p", at(0));
    line(&mut merged, &old, 0, 1);
    let (new, want) = merged.join(hello("a", 1), "q", at(2));
    assert_eq!(want, 1);
    assert!(!line(&mut merged, &old, 1, 3));
    merged.leave(&old, "closed", at(4));
    assert!(line(&mut merged, &new, 1, 5));
    assert_eq!(
        story(&merged),
        ["joined a", "line 0", "left replaced by a new connection told 1", "joined a", "line 1"]
    );
}

#[test]
fn silence_is_told_once_and_so_is_its_end() {
    let mut merged = MergedStream::new(1 << 20);
    let (claim, _) = merged.join(hello("a", 0), "p", at(0));
    for ms in (0..1_000).step_by(50) {
        merged.sweep(at(ms));
    }
    merged.hear(&claim, "p", &TargetMessage::Beat { next: 0 }, at(1_000));
    assert_eq!(story(&merged), ["joined a", "silent since 0", "resumed after 1000000"]);
    assert_eq!(recorded(&merged)[1].received_mono_us, 550_000);
}

#[test]
fn our_own_stall_is_nobodys_silence() {
    let mut merged = MergedStream::new(1 << 20);
    let (claim, _) = merged.join(hello("a", 0), "p", at(0));
    merged.sweep(at(50));
    merged.sweep(at(800));
    assert_eq!(story(&merged), ["joined a"]);
    merged.hear(&claim, "p", &TargetMessage::Beat { next: 0 }, at(801));
    for ms in (850..=1_450).step_by(50) {
        merged.sweep(at(ms));
    }
    assert_eq!(story(&merged), ["joined a", "silent since 801000"]);
    assert_eq!((merged.counts().stalls, merged.counts().worst_stall_us), (1, 700_000));
}

#[test]
fn a_line_that_is_refused_twice_is_given_up() {
    let mut merged = MergedStream::new(1 << 20);
    let nonsense = TargetMessage::Nonsense(Nonsense { bytes: 9, error: "bad".to_owned() });
    let mut wants = Vec::new();
    for _ in 0..3 {
        let (claim, want) = merged.join(hello("a", 9), "p", at(0));
        wants.push(want);
        assert!(!merged.hear(&claim, "p", &nonsense, at(0)));
    }
    assert_eq!(wants, [0, 0, 1]);
    assert!(story(&merged).contains(&"missing 0+1".to_owned()));
}

#[test]
fn the_ledger_does_not_grow_with_those_who_left() {
    let mut merged = MergedStream::new(1 << 16);
    let (faithful, _) = merged.join(hello("faithful", 0), "p", at(0));
    for n in 0..MOST_DEPARTED + 500 {
        let (claim, _) = merged.join(hello(&format!("b{n}"), 0), "p", at(0));
        merged.leave(&claim, "closed", at(0));
    }
    assert_eq!(merged.targets().len(), MOST_DEPARTED + 1);
    assert!(line(&mut merged, &faithful, 0, 1));
    for n in 0..200 {
        let mut hello = hello(&format!("c{n}"), 0);
        hello.identity.insert("POD_NAME".to_owned(), "x".repeat(200_000));
        let (claim, _) = merged.join(hello, "p", at(0));
        merged.leave(&claim, "closed", at(0));
    }
    assert!(merged.departed_bytes <= MOST_DEPARTED_BYTES);
    let left: usize = merged.targets.values().filter(|target| !target.connected).map(Target::weight).sum();
    assert_eq!(left, merged.departed_bytes);
    assert!(line(&mut merged, &faithful, 1, 1));
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
    /// Whatever a target does, each of its numbers occurs at most once, in order, as a line or as missing.
    #[test]
    fn every_number_is_a_line_or_missing_and_never_both(steps in steps()) {
        let mut merged = MergedStream::new(1 << 20);
        let mut claim = None;
        for step in steps {
            let current = match claim.take() {
                Some(claim) => claim,
                None => merged.join(hello("a", 0), "p", at(0)).0,
            };
            let stays = match step {
                Step::Line(seq) => line(&mut merged, &current, seq, 1),
                Step::Beat(next) => merged.hear(&current, "p", &TargetMessage::Beat { next }, at(1)),
                Step::Leave => {
                    merged.leave(&current, "closed", at(1));
                    false
                }
                Step::Bad => {
                    let nonsense = Nonsense { bytes: 1, error: "bad".to_owned() };
                    merged.hear(&current, "p", &TargetMessage::Nonsense(nonsense), at(1))
                }
            };
            claim = stays.then_some(current);
        }
        let mut due = 0;
        for entry in recorded(&merged) {
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
        let counts = merged.counts();
        prop_assert_eq!(counts.lines + counts.missing, due);
    }

    /// Splitting the bytes differently gives the same stream, byte for byte.
    #[test]
    fn the_stream_does_not_depend_on_how_bytes_were_cut(
        seqs in prop::collection::vec(0_u64..20, 0..20),
        size in 1_usize..200,
    ) {
        let greeting = Greeting { hello: hello("a", 0), token: "s3cret".to_owned() };
        let mut bytes = serde_json::to_vec(&greeting).unwrap();
        seqs.iter().for_each(|seq| bytes.extend(format!("\n{}", text("a", *seq)).as_bytes()));
        bytes.push(b'\n');
        let run = |size: usize| {
            let mut parser = MessageParser::new(Token::new("s3cret").unwrap());
            let (mut merged, mut claim) = (MergedStream::new(1 << 20), None);
            for piece in bytes.chunks(size) {
                for said in parser.feed(piece) {
                    match (&said, &claim) {
                        (TargetMessage::Hello(hello), _) => claim = Some(merged.join((**hello).clone(), "p", at(0)).0),
                        (said, Some(claim)) => assert!(merged.hear(claim, "p", said, at(0))),
                        (said, None) => panic!("{said:?} before the greeting"),
                    }
                }
            }
            merged.since(0, usize::MAX).pieces.concat()
        };
        prop_assert_eq!(run(size), run(usize::MAX));
    }
}
