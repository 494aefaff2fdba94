//! The sentences of the book as Markdown: markup is escaped, names of fields are formatted as code, and names of clauses
//! and upstream issues become links.

use probity_case::Case;
use probity_model::ClauseId;
use probity_suites::Chapter;

use super::PageContext;
use crate::markdown::escaped;

impl PageContext<'_> {
    /// Sentences as Markdown, in one line.
    pub(super) fn prose(&self, text: &str) -> String {
        let words: Vec<String> = text.split_whitespace().map(|word| self.word(word)).collect();
        words.join(" ")
    }

    /// The same text as full sentences: they begin with a capital letter, unless they begin with a name, and end with a
    /// period.
    pub(super) fn sentences(&self, text: &str) -> String {
        let text = text.trim();
        let first = text.split_whitespace().next().unwrap_or_default();
        let mut letters = text.chars();
        let mut said = match letters.next() {
            Some(letter)
                if !first.contains(|c: char| c.is_ascii_uppercase())
                    && first.parse::<ClauseId>().is_err() =>
            {
                format!("{}{}", letter.to_uppercase(), letters.as_str())
            }
            _ => text.to_owned(),
        };
        if !said.ends_with(['.', '?', '!']) {
            said.push('.');
        }
        self.prose(&said)
    }

    fn word(&self, word: &str) -> String {
        let begin = word.len() - word.trim_start_matches(['(', '"', '\'']).len();
        let end = word.trim_end_matches(['.', ',', ';', ':', ')', '"', '\'', '?', '!']).len().max(begin);
        let (before, core, after) = (&word[..begin], &word[begin..end], &word[end..]);
        let core = if let Some(link) = core.parse().ok().and_then(|id: ClauseId| self.link(&id)) {
            link
        } else if let Some(issue) = core.strip_prefix("kubernetes/kubernetes#") {
            format!("[{core}](https://github.com/kubernetes/kubernetes/issues/{issue})")
        } else if is_field(core) {
            format!("`{core}`")
        } else {
            escaped(core)
        };
        format!("{}{core}{}", escaped(before), escaped(after))
    }

    /// A link to a clause, if it exists.
    pub(super) fn link(&self, id: &ClauseId) -> Option<String> {
        let chapter = self.index.chapter(id)?;
        Some(format!("[`{id}`]({}.md#{id})", chapter.name))
    }

    /// Links to clauses, separated by commas.
    pub(super) fn links(&self, ids: &[ClauseId]) -> String {
        ids.iter().filter_map(|id| self.link(id)).collect::<Vec<_>>().join(", ")
    }
}

/// The name of a case without the values from its matrix.
pub(super) fn base(case: &Case) -> &str {
    let name = case.name.0.as_str();
    let parts = name.split('/').take_while(|part| !part.contains('='));
    let length = parts.map(|part| part.len() + 1).sum::<usize>().saturating_sub(1);
    &name[..length]
}

/// The anchor of a case on the page of its chapter.
pub(super) fn anchor(base: &str) -> String {
    format!("case-{}", base.rsplit('/').next().unwrap_or(base))
}

/// A link to a case on the page of its chapter.
pub(super) fn case(base: &str) -> String {
    let chapter = base.split('/').next().unwrap_or(base);
    format!("[`{base}`]({chapter}.md#{})", anchor(base))
}

/// The top of a page: what it is generated from, and its title.
pub(super) fn top(from: &str, title: &str) -> String {
    format!("{} from {from}. Edit {from}, not this page. -->\n\n# {title}\n\n", super::MADE)
}

/// The path of the file with the clauses of a chapter.
pub(super) fn written(chapter: &Chapter) -> String {
    format!("{}/suites/{}/clauses.yaml", super::ROOT, chapter.name)
}

/// The numbers of the upstream specs from the first to the last, with links to their lines on the page.
pub(super) fn specs(first: usize, last: usize) -> String {
    let said = match last - first {
        0 => format!("{first}"),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    format!("[{said}](upstream.md#{first})")
}

/// Whether a word is the name of a field, such as `periodSeconds`, or a path of such names.
fn is_field(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "[].".contains(c);
    word.len() > 5
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.contains(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_lowercase())
        && word.chars().all(inner)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::cases::book::Book;
    use crate::clause_facts::ClauseIndex;

    #[test]
    fn a_sentence_stays_one_and_what_it_names_is_seen() {
        let (book, index) = (Book::built_in().unwrap(), ClauseIndex::open().unwrap());
        let context = PageContext { book: &book, index: &index, clauses: Vec::new() };
        let said = |text: &str| context.prose(text);
        assert_eq!(said("a|b\n  <b> (*c*)"), "a\\|b &lt;b&gt; (\\*c\\*)");
        assert_eq!(
            said("gRPC by (periodSeconds), containerStatuses[].started: it"),
            "gRPC by (`periodSeconds`), `containerStatuses[].started`: it"
        );
        assert_eq!(
            said("see probe.tcp.no-payload. And probe.tcp.none"),
            "see [`probe.tcp.no-payload`](probe_tcp.md#probe.tcp.no-payload). And probe.tcp.none"
        );
        assert_eq!(
            said("of kubernetes/kubernetes#1:"),
            "of [kubernetes/kubernetes#1](https://github.com/kubernetes/kubernetes/issues/1):"
        );
        assert_eq!(context.sentences("exec probes"), "Exec probes.");
        assert_eq!(context.sentences("gRPC is."), "gRPC is.");
        assert_eq!(context.sentences("periodSeconds is."), "`periodSeconds` is.");
    }

    #[test]
    fn a_case_is_named_without_what_its_matrix_filled_in() {
        let text = "case: a/b\nstory: x\nmatrix: { kind: [one, two] }\n\
                    pod: { spec: { containers: [{ name: '${kind}' }] } }\n";
        let cases = Case::read("case", text).unwrap();
        assert_eq!((cases.len(), base(&cases[1])), (2, "a/b"));
        assert_eq!(case("a/b"), "[`a/b`](a.md#case-b)");
    }
}
