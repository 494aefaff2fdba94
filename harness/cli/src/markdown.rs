//! Escapes texts so that no character has a meaning in Markdown or HTML. Texts from a cluster are also cut to a
//! readable length.

/// The maximum length of a single text, in characters. Longer texts belong in the report.
const LONGEST_CELL: usize = 600;

/// Text for a cell or a line of Markdown: one line, in which no character has a special meaning.
pub(crate) fn cell(text: &str) -> String {
    let mut plain = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if at >= LONGEST_CELL => {
                plain.push('…');
                break;
            }
            '\n' | '\r' | '\t' => plain.push(' '),
            c if c.is_control() => plain.push('\u{fffd}'),
            '@' => plain.push_str("@\u{200b}"),
            c => escape(&mut plain, c),
        }
    }
    plain
}

/// Writes a character so that it has no meaning in Markdown and HTML.
fn escape(plain: &mut String, c: char) {
    if "\\`*_[]|~#$".contains(c) {
        plain.push('\\');
    }
    html(plain, c);
}

/// A text of the book or of this program, without a length limit.
pub(crate) fn escaped(word: &str) -> String {
    let mut plain = String::new();
    word.chars().for_each(|c| escape(&mut plain, c));
    plain
}

/// Text for a preformatted block, in which each line has a readable length.
pub(crate) fn lines(text: &str) -> String {
    let line = |line: &str| -> String {
        let mut plain = String::new();
        for c in line.chars().take(LONGEST_CELL) {
            html(&mut plain, if c.is_control() { '\u{fffd}' } else { c });
        }
        if line.chars().nth(LONGEST_CELL).is_some() {
            plain.push('…');
        }
        plain
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Writes a character with its HTML escape.
fn html(plain: &mut String, c: char) {
    match c {
        '&' => plain.push_str("&amp;"),
        '<' => plain.push_str("&lt;"),
        '>' => plain.push_str("&gt;"),
        c => plain.push(c),
    }
}

/// At most one empty line in a row, and none at the end.
pub(crate) fn tidy(text: &str) -> String {
    let mut tidied = String::new();
    let mut empty = false;
    for line in text.trim().lines().map(str::trim_end) {
        if !(line.is_empty() && empty) {
            tidied.push_str(line);
            tidied.push('\n');
        }
        empty = line.is_empty();
    }
    tidied
}

/// Cuts a text that is far too long, without leaving a block open.
pub(crate) fn cut(mut text: String, longest: usize) -> String {
    let note = "\n\nTruncated: `report.json` has everything.\n";
    let mut end = longest.saturating_sub(note.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text + note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_anything() {
        assert_eq!(
            cell("a|b\n<b>`c`</b> [d](e) &amp;"),
            "a\\|b &lt;b&gt;\\`c\\`&lt;/b&gt; \\[d\\](e) &amp;amp;"
        );
        assert_eq!(lines("</pre>\n\u{1b}[31m*x*"), "&lt;/pre&gt;\n\u{fffd}[31m*x*");
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        let long = "é".repeat(LONGEST_CELL + 1);
        assert_eq!(cell(&long).chars().count(), LONGEST_CELL + 1);
        assert!(lines(&long).ends_with("é…"));
        assert_eq!(lines(&"é".repeat(LONGEST_CELL)).chars().count(), LONGEST_CELL);
        assert!(cut("é".repeat(100), 100).len() <= 100);
    }
}
