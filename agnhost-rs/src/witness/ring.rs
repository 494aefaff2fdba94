//! The witness's memory: the newest lines, up to a bound, for readers that come late.

use std::collections::VecDeque;

/// A bounded memory of lines in one buffer.
pub(super) struct Ring {
    bytes: VecDeque<u8>,
    /// The end of each remembered line, counted in bytes since the beginning of time.
    ends: VecDeque<u64>,
    first: u64,
    dropped: u64,
    most: usize,
}

/// What a reader gets that asked for lines from a number on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// The number of the first line that is given; larger than asked for if older ones are forgotten.
    pub first: u64,
    /// The number to ask for next.
    pub next: u64,
    /// The lines, each with its line break.
    pub lines: Vec<u8>,
}

impl Ring {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: VecDeque::new(), ends: VecDeque::new(), first: 0, dropped: 0, most }
    }

    pub(super) fn push(&mut self, seq: u64, line: &[u8]) {
        if self.ends.is_empty() {
            self.first = seq;
        }
        self.bytes.extend(line);
        self.ends.push_back(self.dropped + self.bytes.len() as u64);
        while self.bytes.len() > self.most && self.ends.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(end) = self.ends.pop_front() {
            self.bytes.drain(..(end - self.dropped) as usize);
            self.dropped = end;
            self.first += 1;
        }
    }

    pub(super) fn since(&self, seq: u64, most: usize) -> Since {
        let skip = seq.saturating_sub(self.first).min(self.ends.len() as u64) as usize;
        let begin = if skip == 0 { self.dropped } else { self.ends[skip - 1] };
        let fits = |end: &&u64| **end - begin <= most as u64;
        let mut count = self.ends.iter().skip(skip).take_while(fits).count();
        if count == 0 && skip < self.ends.len() {
            count = 1;
        }
        let end = if count == 0 { begin } else { self.ends[skip + count - 1] };
        let range = (begin - self.dropped) as usize..(end - self.dropped) as usize;
        let first = self.first + skip as u64;
        Since { first, next: first + count as u64, lines: self.bytes.range(range).copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(since: &Since) -> String {
        String::from_utf8_lossy(&since.lines).into_owned()
    }

    #[test]
    fn readers_get_what_they_have_not_seen() {
        let mut ring = Ring::new(1000);
        (0..5).for_each(|seq| ring.push(seq, format!("{seq}\n").as_bytes()));
        let since = ring.since(3, 100);
        assert_eq!((text(&since).as_str(), since.first, since.next), ("3\n4\n", 3, 5));
        let since = ring.since(5, 100);
        assert_eq!((text(&since).as_str(), since.first, since.next), ("", 5, 5));
    }

    #[test]
    fn the_oldest_are_forgotten_and_the_reader_is_told_where_it_begins() {
        let mut ring = Ring::new(6);
        (0..5).for_each(|seq| ring.push(seq, format!("{seq}\n").as_bytes()));
        let since = ring.since(0, 100);
        assert_eq!((text(&since).as_str(), since.first, since.next), ("2\n3\n4\n", 2, 5));
    }

    #[test]
    fn a_bounded_answer_goes_on_where_it_stopped() {
        let mut ring = Ring::new(1000);
        (0..5).for_each(|seq| ring.push(seq, format!("{seq}\n").as_bytes()));
        let since = ring.since(0, 5);
        assert_eq!((text(&since).as_str(), since.next), ("0\n1\n", 2));
        assert_eq!(ring.since(2, 1).next, 3, "one line is given even if it is too long");
    }
}
