//! Texts of a cluster in Markdown: nothing in them means anything, and none is longer than it should be.

/// How long a single text may get, in characters: more belongs into the report.
const LONGEST_CELL: usize = 600;

/// Text for a cell or a line of Markdown: one line, and nothing in it means anything. HTML is escaped later.
pub(super) fn cell(text: &str) -> String {
    let mut plain = String::new();
    for (at, c) in text.chars().enumerate() {
        match c {
            _ if at >= LONGEST_CELL => {
                plain.push('…');
                break;
            }
            '\n' | '\r' | '\t' => plain.push(' '),
            c if c.is_control() => plain.push('\u{fffd}'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => {
                plain.push('\\');
                plain.push(c);
            }
            '@' => plain.push_str("@\u{200b}"),
            c => plain.push(c),
        }
    }
    plain
}

/// Text for a block of preformatted lines, each of a bearable length.
pub(super) fn lines(text: &str) -> String {
    let line = |line: &str| -> String {
        let plain = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
        let long = line.chars().count() > LONGEST_CELL;
        plain.take(LONGEST_CELL).chain(long.then_some('…')).collect()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// At most one empty line in a row, and none at the end.
pub(super) fn tidy(text: &str) -> String {
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

/// The last resort, for warnings beyond measure: nothing is left open in it.
pub(super) fn cut(mut text: String, longest: usize) -> String {
    let note = "\n\ncut here: all is in `report.json`.\n";
    let mut end = longest.saturating_sub(note.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text + note
}
