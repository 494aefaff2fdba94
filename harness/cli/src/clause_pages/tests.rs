#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn pages() -> BTreeMap<String, String> {
    all(&Book::built_in().unwrap(), &ClauseIndex::open().unwrap()).unwrap()
}

/// The destinations of a page's links.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1);
    ends.filter_map(|rest| rest.split(')').next()).collect()
}

#[test]
fn there_is_a_page_for_each_chapter_and_it_has_all_of_its_clauses() {
    let pages = pages();
    assert_eq!(pages.len(), CHAPTERS.len() + 3);
    for chapter in CHAPTERS {
        for clause in chapter.catalogue().unwrap().iter() {
            let anchor = format!("<a id=\"{}\"></a>", clause.id);
            assert_eq!(pages[&format!("{}.md", chapter.name)].matches(&anchor).count(), 1, "{anchor}");
        }
    }
}

#[test]
fn specs_of_upstream_without_a_clause_have_the_reason_beside_them() {
    let index = ClauseIndex::open().unwrap();
    let pages = pages();
    for (first, _, check) in index.upstream.numbered() {
        let begin = format!("| <a id=\"{first}\"></a>");
        let row = pages["upstream.md"].lines().find(|line| line.starts_with(&begin)).unwrap();
        assert_eq!(row.contains("| None. "), check.clauses.is_empty(), "{row}");
    }
}

#[test]
fn every_link_between_pages_leads_to_an_anchor_that_exists() {
    let pages = pages();
    let mut followed = 0;
    for (name, text) in &pages {
        for link in links(text).into_iter().filter(|link| !link.contains("://") && !link.starts_with(ROOT)) {
            let (page, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = if page.is_empty() {
                text
            } else {
                pages.get(page).unwrap_or_else(|| panic!("{name}: {link}"))
            };
            assert!(
                anchor.is_empty() || page.contains(&format!("<a id=\"{anchor}\"></a>")),
                "{name}: {link}"
            );
            followed += 1;
        }
    }
    assert!(followed > 500, "{followed}");
}

#[test]
fn every_link_to_a_file_of_the_project_leads_to_one_that_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(ROOT);
    for (name, text) in &pages() {
        for link in links(text).into_iter().filter_map(|link| link.strip_prefix("../../")) {
            assert!(root.join(link).exists(), "{name}: {link}");
        }
    }
}
