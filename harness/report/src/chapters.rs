//! The chapters of the book: how clauses are grouped for readers.

use std::collections::BTreeSet;

use probity_model::ClauseId;

/// The title of the group of clauses without a chapter, such as clauses of a newer book.
const OTHERS: &str = "Other clauses";

/// The facts about a chapter of the book that reports need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookChapter {
    /// Its subject.
    pub title: String,
    /// Its clauses.
    pub clauses: Vec<ClauseId>,
}

impl BookChapter {
    /// Items by chapter, in the order of the book. Items without a chapter are last. Within a chapter, items keep their
    /// order. Empty chapters are left out.
    pub fn group<'t, T>(
        chapters: &[Self],
        items: &'t [T],
        id: impl Fn(&T) -> &ClauseId,
    ) -> Vec<(String, Vec<&'t T>)> {
        let mut groups: Vec<(String, Vec<&T>)> = Vec::new();
        let mut named: BTreeSet<&ClauseId> = BTreeSet::new();
        for chapter in chapters {
            let ids: BTreeSet<&ClauseId> = chapter.clauses.iter().collect();
            groups
                .push((chapter.title.clone(), items.iter().filter(|item| ids.contains(id(item))).collect()));
            named.extend(ids);
        }
        groups.push((OTHERS.to_owned(), items.iter().filter(|item| !named.contains(id(item))).collect()));
        groups.retain(|(_, items)| !items.is_empty());
        groups
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn chapters_keep_the_order_of_the_book_and_strangers_stand_last() {
        let ids = |names: &[&str]| -> Vec<ClauseId> { names.iter().map(|id| id.parse().unwrap()).collect() };
        let chapter =
            |title: &str, names: &[&str]| BookChapter { title: title.to_owned(), clauses: ids(names) };
        let chapters = [chapter("One", &["a.one"]), chapter("Empty", &["x.y"]), chapter("Two", &["b.two"])];
        let items = ids(&["c.three", "b.two", "a.one"]);
        let groups = BookChapter::group(&chapters, &items, |id| id);
        let titles: Vec<_> = groups.iter().map(|(title, items)| format!("{title}: {}", items[0])).collect();
        assert_eq!(titles, ["One: a.one", "Two: b.two", "Other clauses: c.three"]);
    }
}
