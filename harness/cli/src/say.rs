//! Text for people and pipes. A reader that went away (`probity list | head`) is no failure.

use std::io::{self, ErrorKind, Write};

use crate::exit::{Exit, Failure};

/// Writes to standard output, all of it.
///
/// # Errors
///
/// If it cannot be written, unless nobody reads any more.
pub(crate) fn out(text: &str) -> Result<Exit, Failure> {
    bytes(text.as_bytes())
}

/// Writes what is no text to standard output.
///
/// # Errors
///
/// If it cannot be written, unless nobody reads any more.
pub(crate) fn bytes(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut stream = io::stdout().lock();
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("failed to write to standard output: {error}")))
        }
        _ => Ok(Exit::Success),
    }
}

/// Writes to standard error. If nobody can be told, the exit status still tells.
pub(crate) fn err(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// A text as lines of at most `width` characters, each behind `indent`. Words stay whole.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// A text up to the end of its first sentence, in one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// Rows as a table: every column but the last as wide as its widest cell.
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

#[cfg(test)]
mod tests {
    use super::*;

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
