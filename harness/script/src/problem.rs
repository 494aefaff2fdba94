//! Problems of a document, for users: the place, the error, and what was probably intended.
//!
//! The code that reads a document, such as a plan or a case, turns the error of the parser into a [`Problem`]. This
//! module finds the closest word and draws the excerpt. It depends on no parser and opens no files.

use std::fmt;

/// A place in a text, counted from 1 as in editors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// How many characters to underline, at least one.
    pub width: usize,
}

/// What is wrong with a document. A problem is displayed in several lines: a sentence, the excerpt, and the allowed
/// words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The document's name: a path, `standard input`, or the like.
    pub source: String,
    /// Where, if it is known.
    pub place: Option<Place>,
    /// The error, in one sentence.
    pub sentence: String,
    /// The wrong word, if it is one.
    pub word: Option<String>,
    /// The allowed word that is most similar to the wrong word.
    pub nearest: Option<String>,
    /// All words that are allowed there.
    pub allowed: Vec<String>,
    /// The line of the text, cut if it is too long, and the number of characters that precede the place in this line.
    excerpt: Option<(String, usize)>,
}

/// As the last part of a path, it leads to the key of a setting and not to its value. For problems with a setting that
/// should not be there at all.
pub const KEY: &str = "@key";

/// How many characters of a long line are shown on each side of the place.
const AROUND: usize = 60;

impl Problem {
    /// A problem of the document as a whole.
    #[must_use]
    pub fn whole(source: &str, sentence: impl Into<String>) -> Self {
        Self { source: source.to_owned(), sentence: sentence.into(), ..Self::default() }
    }

    /// Sets where in `text` the problem is.
    #[must_use]
    pub fn at(mut self, text: &str, place: Place) -> Self {
        self.excerpt = text.lines().nth(place.line.saturating_sub(1)).map(|line| excerpt(line, place.column));
        self.place = Some(place);
        self
    }

    /// Sets which word is wrong, and which words are allowed.
    #[must_use]
    pub fn word<'a>(mut self, wrong: &str, allowed: impl IntoIterator<Item = &'a str>) -> Self {
        self.allowed = allowed.into_iter().map(str::to_owned).collect();
        self.nearest = nearest(wrong, self.allowed.iter().map(String::as_str)).map(str::to_owned);
        self.word = Some(wrong.to_owned());
        self
    }

    /// The problem in one line: where, what, and what was probably intended.
    #[must_use]
    pub fn line(&self) -> String {
        let place =
            self.place.map(|at| format!(", line {}, column {}", at.line, at.column)).unwrap_or_default();
        let hint = self.nearest.as_ref().map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        format!("{}{place}: {}{hint}", self.source, self.sentence)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line())?;
        if let (Some(place), Some((line, before))) = (self.place, &self.excerpt) {
            let number = place.line.to_string();
            let (margin, carets) = (" ".repeat(number.len()), "^".repeat(place.width.clamp(1, AROUND)));
            write!(f, "\n{margin} |\n{number} | {line}\n{margin} | {}{carets}", " ".repeat(*before))?;
        }
        if !self.allowed.is_empty() {
            write!(f, "\nallowed here: {}", self.allowed.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// The part of a line around a column, with every character one column wide.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let length = line.chars().count();
    let before = column.saturating_sub(1).min(length);
    let from = if length <= 2 * AROUND { 0 } else { before.saturating_sub(AROUND) };
    let mut shown: String = line.chars().skip(from).take(2 * AROUND).map(visible).collect();
    let mut indent = before - from;
    if from > 0 {
        shown.insert(0, '…');
        indent += 1;
    }
    if length > from + 2 * AROUND {
        shown.push('…');
    }
    (shown, indent)
}

/// The word that is most similar to the wrong word, if any word is similar.
#[must_use]
pub fn nearest<'a>(wrong: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let wrong = plain(wrong);
    let far = |word: &str| strsim::damerau_levenshtein(&wrong, &plain(word));
    let most = (wrong.chars().count() / 3).max(1);
    // At the same distance, prefer the word with the same beginning, because people usually get the first letters right.
    let like = |word: &str| (strsim::jaro_winkler(&wrong, &plain(word)) * 1e6) as u64;
    words
        .into_iter()
        .filter(|word| far(word) <= most)
        .min_by_key(|word| (far(word), std::cmp::Reverse(like(word))))
}

/// The end of a sentence about an unknown word: the word that was probably intended; empty if no word is similar.
#[must_use]
pub fn did_you_mean<'a>(wrong: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, words).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Adds to a sentence the path of the part that it is about, as a JSON pointer from the value that is being read.
///
/// Serde passes on only sentences. [`unpin`] separates the two again.
#[must_use]
pub fn pin<S: fmt::Display>(sentence: &str, path: &[S]) -> String {
    let part = |part: &S| format!("/{}", part.to_string().replace('~', "~0").replace('/', "~1"));
    format!("{sentence} (at {})", path.iter().map(part).collect::<String>())
}

/// Splits the result of [`pin`] into the sentence and the path. A plain sentence has an empty path.
#[must_use]
pub fn unpin(message: &str) -> (&str, Vec<String>) {
    let pinned = message
        .strip_suffix(')')
        .and_then(|rest| rest.rfind(" (at /").map(|at| (&rest[..at], &rest[at + 6..])));
    match pinned {
        Some((sentence, path)) => {
            let part = |part: &str| part.replace("~1", "/").replace("~0", "~");
            (sentence, path.split('/').map(part).collect())
        }
        None => (message, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_or_none_is_offered() {
        let words = ["hang", "close", "reset", "garbage", "stall-after"];
        for (wrong, right) in [
            ("hnag", Some("hang")),
            ("Hang", Some("hang")),
            ("resett", Some("reset")),
            ("stall_after", Some("stall-after")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, words), right, "{wrong}");
        }
    }

    #[test]
    fn a_problem_shows_the_place_and_the_words() {
        let place = Place { line: 2, column: 7, width: 4 };
        let problem = Problem::whole("plan.yaml", "`hnag` is no answer")
            .at("paths:\n  /a: hnag\n", place)
            .word("hnag", ["hang", "close"]);
        let shown = "plan.yaml, line 2, column 7: `hnag` is no answer; did you mean `hang`?\n  |\n\
                     2 |   /a: hnag\n  |       ^^^^\nallowed here: hang, close";
        assert_eq!(problem.to_string(), shown);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}wrong{}", "a".repeat(500), "b".repeat(500));
        let problem = Problem::whole("-", "no").at(&text, Place { line: 1, column: 501, width: 5 });
        let shown = problem.to_string();
        let lines: Vec<_> = shown.lines().collect();
        let under = |line: &str, c: char| line.chars().position(|seen| seen == c);
        assert_eq!(under(lines[2], 'w'), under(lines[3], '^'), "{shown}");
        assert!(lines[2].chars().count() < 140, "{shown}");
    }

    #[test]
    fn a_pinned_sentence_comes_apart_as_it_was_put_together() {
        let pinned = pin("no (really)", &["paths", "/a~b/c", "0"]);
        assert_eq!(
            unpin(&pinned),
            ("no (really)", vec!["paths".to_owned(), "/a~b/c".to_owned(), "0".to_owned()])
        );
        assert_eq!(unpin("plain (sentence)"), ("plain (sentence)", Vec::new()));
    }
}
