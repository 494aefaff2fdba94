//! Text for terminals and pipes: output and layout.
//!
//! A reader that has closed the pipe (`probity list | head`) is not a failure.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

pub(crate) use probity_script::problem::did_you_mean;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

use crate::exit_status::{Exit, Failure};

/// Writes a text to standard output.
/// Fails if it cannot be written, unless the reader has closed the pipe.
pub(crate) fn out(text: &str) -> Result<Exit, Failure> {
    bytes(visible(text).as_bytes())
}

/// A text without characters that control a terminal. Much of the output comes from a cluster or from other people's
/// files. Control characters in it could erase lines above it, or hide what it says.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let acts = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(acts) { Cow::Owned(text.replace(acts, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Writes bytes to standard output.
/// Fails if they cannot be written, unless the reader has closed the pipe.
pub(crate) fn bytes(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut stream = io::stdout().lock();
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("failed to write to standard output: {error}")))
        }
        _ => Ok(Exit::Success),
    }
}

/// Writes a text to standard error. An error in writing is ignored, because the exit status still shows how the command
/// ended.
pub(crate) fn err(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(visible(text).as_bytes()).and_then(|()| stream.flush());
}

/// A text as lines of at most `width` characters, each after `indent`. Words stay whole.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let options = Options::new(indent.len() + width).initial_indent(indent).subsequent_indent(indent);
    let options = options.word_splitter(WordSplitter::NoHyphenation).break_words(false);
    textwrap::fill(&one_line(text), options) + "\n"
}

/// A wrapped text after its name: `  promised   Nobody …`. Each name is padded to `width` characters.
pub(crate) fn named(name: &str, width: usize, text: &str) -> String {
    let indent = " ".repeat(width + 4);
    format!("  {name:<width$}  {}", wrapped(text, &indent, 116 - width).trim_start())
}

/// A text up to the end of its first sentence, in one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rows as a table. Every column except the last is as wide as its widest cell.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The word that stands for a value in files, such as `node-verbs`.
pub(crate) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A number of things: `1 case`, `2 cases`.
pub(crate) fn counted(number: impl ToString, what: &str) -> String {
    let number = number.to_string();
    format!("{number} {what}{}", if number == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        assert_eq!(visible("a\tb\nc é"), "a\tb\nc é");
        let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\rholds\u{9b}1m\u{202e}x";
        assert_eq!(visible(hostile), "�]0;title��[2J�holds�1m�x");
    }

    #[test]
    fn words_stay_whole_and_lines_short() {
        assert_eq!(wrapped("one two three four", "  ", 9), "  one two\n  three\n  four\n");
        assert_eq!(wrapped("unbreakable", "", 3), "unbreakable\n");
    }

    #[test]
    fn a_first_sentence_ends_at_its_full_stop_and_not_within_a_word() {
        assert_eq!(first_sentence("Since 1.27 it\n  holds. More."), "Since 1.27 it holds.");
        assert_eq!(first_sentence("No end"), "No end");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "b"], ["long", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "a     b\nlong\n");
    }
}
