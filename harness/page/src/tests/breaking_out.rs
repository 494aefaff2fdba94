//! Text from a hostile cluster must stay text everywhere in the page.

use probity_sample::MARKUP;

use super::{between, data, page_of, run};

/// The tags that the page uses.
const TAGS: &[&str] = &[
    "!doctype", "a", "b", "body", "button", "caption", "circle", "code", "dd", "defs", "details", "div",
    "dl", "dt", "fieldset", "form", "h1", "h2", "h3", "h4", "head", "header", "html", "input", "kbd",
    "label", "legend", "li", "main", "meta", "nav", "ol", "option", "p", "path", "pre", "rect", "script",
    "section", "select", "small", "span", "style", "summary", "svg", "symbol", "table", "tbody", "td", "th",
    "thead", "title", "tr", "ul", "use",
];

/// Everything in a page that a browser would take for a tag, with its attributes. Style and script are left out.
fn tags(page: &str) -> Vec<String> {
    let (style, script) = (between(page, "<style>", "</style>"), between(page, "<script>", "</script>"));
    let bare = page.replace(style, "").replace(script, "");
    bare.split('<').skip(1).map(|tag| tag[..tag.find('>').unwrap()].to_owned()).collect()
}

/// Asserts that everything that a browser takes for a tag or an attribute was written by this crate.
pub(super) fn assert_no_markup_of_others(page: &str, scripts: usize) {
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (scripts, scripts));
    for tag in tags(page) {
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap().to_owned();
        assert!(!name.is_empty() && TAGS.contains(&name.as_str()), "{tag}");
        // Quoted values cannot contain a quote, so everything outside them was written by this crate.
        let outside: String = tag.split('"').step_by(2).collect();
        assert!(
            !outside.contains("onclick") && !outside.contains("onerror") && !outside.contains("src="),
            "{tag}"
        );
    }
}

#[test]
fn there_is_no_tag_and_no_attribute_but_our_own() {
    assert_no_markup_of_others(&page_of(&run()), 2);
}

#[test]
fn the_data_is_no_text() {
    let page = page_of(&run());
    let packed = between(&page, "id=\"data\">", "</script>");
    assert!(packed.chars().all(|c| c.is_ascii_alphanumeric() || "+/=".contains(c)));
    assert!(
        data(&page).iter().any(|(_, case)| case.to_string().contains("alert(1)")),
        "it is in there, as data"
    );
}

#[test]
fn hostile_words_are_shown_as_they_are() {
    let page = page_of(&run());
    let shown = MARKUP
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;");
    assert!(page.contains(&shown) && !page.contains(MARKUP));
}
