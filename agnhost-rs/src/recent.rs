//! The newest lines of a stream, up to a bound, in shared chunks. The witness and the recorder's merged stream use it.
//!
//! A line is bytes that end with a line break. Cursors count the lines from 0 without gaps. A reader gets the chunks
//! themselves and not copies, so that it holds the lock only for a moment. Whole chunks are dropped, the oldest first. A
//! reader that requests a dropped line gets the position of the oldest available one.

use std::collections::VecDeque;

use bytes::Bytes;

/// The maximum size of a chunk, unless a single line is larger.
const LARGEST_CHUNK: usize = 256 * 1024;
/// The minimum size of a chunk, even in a small memory.
const SMALLEST_CHUNK: usize = 4 * 1024;
/// A chunk with less room than this is full. Most lines are shorter, so chunks seldom need to grow.
const ROOM: usize = 2 * 1024;

/// A limited memory of lines.
pub struct RecentLines {
    full: VecDeque<Chunk>,
    open: Vec<u8>,
    open_first: u64,
    open_ends: Vec<u32>,
    held: usize,
    most: usize,
    chunk: usize,
}

/// Lines that no longer change.
struct Chunk {
    first: u64,
    bytes: Bytes,
    ends: Vec<u32>,
    weight: usize,
}

/// The lines from a cursor on that are still in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesSince {
    /// The cursor of the first line here. It is larger than requested if older lines were dropped.
    pub first: u64,
    /// The cursor to request next.
    pub next: u64,
    /// The lines, in order. Each piece ends with a line break.
    pub pieces: Vec<Bytes>,
}

impl LinesSince {
    /// The lines in one piece.
    #[must_use]
    pub fn concat(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Whether there is no line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

impl RecentLines {
    /// A memory of this many bytes, including bookkeeping.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let chunk = (most / 16).clamp(SMALLEST_CHUNK, LARGEST_CHUNK);
        let (open, open_ends) = (Vec::new(), Vec::new());
        Self { full: VecDeque::new(), open, open_first: 0, open_ends, held: 0, most, chunk }
    }

    /// The cursor of the next line.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.open_first + self.open_ends.len() as u64
    }

    /// The cursor of the oldest remembered line.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.full.front().map_or(self.open_first, |chunk| chunk.first)
    }

    /// How many bytes the memory takes.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held + weight(&self.open, &self.open_ends)
    }

    /// Adds a line, which `write` appends to the buffer. `write` gets the cursor of the line.
    pub fn push(&mut self, write: impl FnOnce(u64, &mut Vec<u8>)) {
        if self.open.capacity() == 0 {
            self.open.reserve_exact(self.chunk);
        }
        let cursor = self.next();
        write(cursor, &mut self.open);
        // A line has little more than 1 MiB, far below 4 GiB.
        self.open_ends.push(u32::try_from(self.open.len()).unwrap_or(u32::MAX));
        if self.open.len() + ROOM > self.chunk {
            self.close_chunk();
        }
        while self.held() > self.most {
            let Some(oldest) = self.full.pop_front() else { break };
            self.held -= oldest.weight;
        }
    }

    fn close_chunk(&mut self) {
        let first = self.open_first;
        self.open_first = self.next();
        let (bytes, ends) = (std::mem::take(&mut self.open), std::mem::take(&mut self.open_ends));
        let weight = weight(&bytes, &ends);
        self.held += weight;
        self.full.push_back(Chunk { first, bytes: bytes.into(), ends, weight });
    }

    /// The lines in memory from a cursor on: at most this many bytes, but at least one line if there is one.
    #[must_use]
    pub fn since(&self, cursor: u64, most: usize) -> LinesSince {
        let begin = cursor.clamp(self.first(), self.next());
        let mut since = LinesSince { first: begin, next: begin, pieces: Vec::new() };
        let mut left = most;
        let reached = self.full.partition_point(|chunk| chunk.first <= begin).saturating_sub(1);
        for chunk in self.full.iter().skip(reached) {
            let next = chunk.first + chunk.ends.len() as u64;
            if since.next >= next {
                continue;
            }
            let (range, count) = cut(&chunk.ends, since.next - chunk.first, left, since.is_empty());
            left = left.saturating_sub(range.len());
            since.next += count;
            if count > 0 {
                since.pieces.push(chunk.bytes.slice(range));
            }
            if since.next < next {
                return since;
            }
        }
        let (range, count) = cut(&self.open_ends, since.next - self.open_first, left, since.is_empty());
        since.next += count;
        if count > 0 {
            since.pieces.push(Bytes::copy_from_slice(&self.open[range]));
        }
        since
    }
}

fn weight(bytes: &Vec<u8>, ends: &Vec<u32>) -> usize {
    bytes.capacity() + ends.capacity() * size_of::<u32>() + size_of::<Chunk>()
}

/// The range of the bytes of a chunk that fit, from the line with number `skip` on, and the number of these lines.
fn cut(ends: &[u32], skip: u64, most: usize, at_least_one: bool) -> (std::ops::Range<usize>, u64) {
    let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(ends.len());
    let begin = if skip == 0 { 0 } else { ends[skip - 1] as usize };
    let mut stop = skip + ends[skip..].partition_point(|end| *end as usize - begin <= most);
    if stop == skip && at_least_one && skip < ends.len() {
        stop = skip + 1;
    }
    let end = if stop == skip { begin } else { ends[stop - 1] as usize };
    (begin..end, (stop - skip) as u64)
}

#[cfg(test)]
mod tests;
