//! Builds HTML.
//!
//! Markup is `'static`, so it is written in this crate. Every other text is escaped. The types ensure that text from a
//! cluster cannot become markup.

use std::fmt::{Display, Write as _};

/// A part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Html(String);

impl Html {
    /// Adds markup with `{}` for each text. Texts are escaped for both content and quoted attributes.
    pub(crate) fn put(&mut self, markup: &'static str, texts: &[&dyn Display]) -> &mut Self {
        debug_assert_eq!(markup.matches("{}").count(), texts.len(), "{markup}");
        let mut texts = texts.iter();
        for (at, part) in markup.split("{}").enumerate() {
            if at > 0
                && let Some(text) = texts.next()
            {
                escape(&mut self.0, &text.to_string());
            }
            self.0.push_str(part);
        }
        self
    }

    /// Adds only markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds another part.
    pub(crate) fn add(&mut self, part: &Self) -> &mut Self {
        self.0.push_str(&part.0);
        self
    }

    /// The length of the part, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The text of the page.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Escapes a text, so that no character has a meaning in HTML. Control characters are replaced with visible characters.
/// Characters that change the direction of writing are replaced, too, because a text could use them to hide its
/// content.
fn escape(page: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            '\n' | '\t' => page.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                let _ = write!(page, "\\u{:04x}", u32::from(c));
            }
            c if c.is_control() => page.push('\u{fffd}'),
            c => page.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut page = Html::default();
        page.put("<p title=\"{}\">", &[&text]);
        page.into_text()
    }

    #[test]
    fn a_text_is_only_text_in_content_and_in_attributes() {
        assert_eq!(of("a\" onclick='x()'"), "<p title=\"a&quot; onclick=&#39;x()&#39;\">");
        assert_eq!(of("</p><script>&amp;"), "<p title=\"&lt;/p&gt;&lt;script&gt;&amp;amp;\">");
    }

    #[test]
    fn what_steers_a_terminal_or_turns_the_writing_is_shown() {
        assert_eq!(of("a\u{1b}[31m\0"), "<p title=\"a\u{fffd}[31m\u{fffd}\">");
        assert_eq!(of("\u{202e}abc"), "<p title=\"\\u202eabc\">");
    }

    #[test]
    fn braces_in_a_text_are_no_place_for_the_next() {
        let mut page = Html::default();
        page.put("{}-{}", &[&"{}", &1]);
        assert_eq!(page.into_text(), "{}-1");
    }
}
