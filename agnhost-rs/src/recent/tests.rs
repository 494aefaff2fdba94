#![expect(clippy::unwrap_used, reason = "tests")]
use proptest::prelude::*;

use super::*;

fn text(since: &LinesSince) -> String {
    since.pieces.iter().map(|piece| String::from_utf8(piece.to_vec()).unwrap()).collect()
}

fn filled(most: usize, count: u64) -> RecentLines {
    let mut memory = RecentLines::new(most);
    (0..count).for_each(|_| push(&mut memory, 0));
    memory
}

fn push(memory: &mut RecentLines, padding: usize) {
    memory.push(|cursor, buffer| {
        buffer.extend_from_slice(format!("{cursor}{}\n", "x".repeat(padding)).as_bytes());
    });
}

#[test]
fn readers_get_what_they_have_not_seen() {
    let memory = filled(1 << 20, 5);
    let since = memory.since(3, 100);
    assert_eq!((text(&since).as_str(), since.first, since.next), ("3\n4\n", 3, 5));
    assert_eq!(memory.since(5, 100), LinesSince { first: 5, next: 5, pieces: vec![] });
}

#[test]
fn a_bounded_answer_goes_on_where_it_stopped() {
    let memory = filled(1 << 20, 5);
    let since = memory.since(0, 5);
    assert_eq!((text(&since).as_str(), since.next), ("0\n1\n", 2));
    assert_eq!(memory.since(2, 1).next, 3, "one entry is given even if it is too long");
}

#[test]
fn the_oldest_are_forgotten_and_the_reader_is_told_where_the_memory_begins() {
    let memory = filled(64 * 1024, 100_000);
    assert!(memory.first() > 0 && memory.held() <= 64 * 1024, "{} {}", memory.first(), memory.held());
    let since = memory.since(7, 20);
    assert_eq!(since.first, memory.first());
    assert!(text(&since).starts_with(&format!("{}\n", memory.first())));
}

#[test]
fn an_entry_larger_than_a_chunk_is_kept_whole() {
    let mut memory = RecentLines::new(64 * 1024);
    push(&mut memory, 0);
    push(&mut memory, 30_000);
    push(&mut memory, 0);
    let since = memory.since(0, usize::MAX);
    assert_eq!((since.first, since.next), (0, 3));
    assert_eq!(text(&since).lines().map(str::len).collect::<Vec<_>>(), [1, 30_001, 1]);
}

proptest! {
    #[test]
    fn reading_on_and_on_gives_every_entry_once(
        paddings in prop::collection::vec(0_usize..3_000, 0..200),
        most in 1_usize..20_000,
    ) {
        let mut memory = RecentLines::new(32 << 20);
        paddings.iter().for_each(|padding| push(&mut memory, *padding));
        let mut cursor = 0;
        let mut all = String::new();
        while cursor < memory.next() {
            let since = memory.since(cursor, most);
            prop_assert_eq!(since.first, cursor);
            prop_assert!(since.next > cursor);
            prop_assert!(since.len() <= most || since.next == cursor + 1);
            all.push_str(&text(&since));
            cursor = since.next;
        }
        let numbers: Vec<_> = all.lines().map(|line| line.trim_end_matches('x').to_owned()).collect();
        prop_assert_eq!(numbers, (0..paddings.len()).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn whatever_comes_the_bound_holds_but_for_the_newest_chunk(
        paddings in prop::collection::vec(0_usize..9_000, 0..300),
    ) {
        let mut memory = RecentLines::new(100_000);
        for padding in paddings {
            push(&mut memory, padding);
            prop_assert!(memory.held() <= 100_000);
            let newest = memory.since(memory.next() - 1, 1);
            prop_assert!(text(&newest).starts_with(&newest.first.to_string()));
        }
    }
}
