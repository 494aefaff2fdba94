//! The texts of a request's head in one piece of memory: method, target, and the header lines in order.

/// The texts of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadText {
    text: String,
    /// Where each text ends: the method's, the target's, and then those of names and values in turn.
    ends: Vec<usize>,
}

impl HeadText {
    /// A head without header lines. `room` is the approximate length of its texts and number of its lines.
    pub(super) fn new(method: &str, target: &str, room: (usize, usize)) -> Self {
        let mut head = Self { text: String::with_capacity(room.0), ends: Vec::with_capacity(2 + 2 * room.1) };
        head.push(method);
        head.push(target);
        head
    }

    /// Adds a header line.
    pub(super) fn push_line(&mut self, name: &str, value: &[u8]) {
        self.push(name);
        match std::str::from_utf8(value) {
            Ok(value) => self.push(value),
            Err(_) => self.push(&String::from_utf8_lossy(value)),
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    fn part(&self, at: usize) -> &str {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[begin..self.ends[at]]
    }

    /// The method.
    pub(super) fn method(&self) -> &str {
        self.part(0)
    }

    /// The request target.
    pub(super) fn target(&self) -> &str {
        self.part(1)
    }

    /// The header lines in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        (2..self.ends.len()).step_by(2).map(|at| (self.part(at), self.part(at + 1)))
    }

    /// All values of a header, in order. The lengths are compared first, because most names differ in length.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_meant = move |at: &usize| {
            self.ends[*at] - self.ends[at - 1] == name.len() && self.part(*at).eq_ignore_ascii_case(name)
        };
        (2..self.ends.len()).step_by(2).filter(is_meant).map(|at| self.part(at + 1))
    }
}
