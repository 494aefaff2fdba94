//! The common parts of all pages: the head with the policy, the bar at the top, the form with the filters, and the icon
//! of a verdict.

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use crate::html::Html;

/// The head: the policy, the style and the script. The script is in the head, so that the page never shows content that
/// the script hides immediately.
pub(crate) fn head(page: &mut Html, title: &str, style: &'static str, script: &'static str) {
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text.as_bytes()));
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n").put(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; \
         style-src 'sha256-{}'; script-src 'sha256-{}'\">\n",
        &[&digest(style), &digest(script)],
    );
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    page.put("<title>Probity: {}</title>\n", &[&title]);
    page.raw("<style>").raw(style).raw("</style>\n<script>").raw(script).raw("</script>\n</head>\n<body>\n");
    page.raw(include_str!("icons.svg"));
}

/// The bar: the name of the page, and links to its parts, which begin with the clauses. Leaves `header` open.
pub(crate) fn bar(top: &mut Html, name: &str, parts: &[(&'static str, &'static str)]) {
    top.raw("<a class=\"skip\" href=\"#clauses\">Skip to the clauses</a>\n<header>\n")
        .raw("<div class=\"bar\"><p class=\"brand\"><svg aria-hidden=\"true\"><use href=\"#i-brand\"/></svg>Probity</p>")
        .put("<p class=\"run\">{}</p>", &[&name])
        .raw("<nav aria-label=\"Parts of the page\">");
    for (anchor, title) in parts {
        top.put("<a href=\"#{}\">{}</a>", &[anchor, title]);
    }
    top.raw("</nav><span class=\"tools\"></span></div>\n");
}

/// The beginning of the form with the filters: the search field. `hidden` hides the form until the script shows it.
pub(crate) fn filter_search(page: &mut Html, label: &str, hidden: bool) {
    page.put("<form class=\"filters\" id=\"filters\" role=\"search\" aria-label=\"{}\"", &[&label])
        .raw(if hidden { " hidden>\n" } else { ">\n" })
        .raw("<label class=\"search\"><span class=\"unseen\">Text</span><input type=\"search\" name=\"text\" ")
        .raw("placeholder=\"Search ids, texts and findings\" autocomplete=\"off\" spellcheck=\"false\"><kbd>/</kbd></label>\n");
}

/// The end of the form with the filters: the choice of one of the groups of rows, which have these titles and sizes, and
/// of a level.
pub(crate) fn filter_selects<'g>(
    page: &mut Html,
    legend: &str,
    all: &str,
    groups: impl Iterator<Item = (&'g str, usize)>,
) {
    page.put(
        "<label><span class=\"unseen\">{}</span><select name=\"chapter\"><option value=\"\">{}</option>",
        &[&legend, &all],
    );
    for (at, (title, count)) in groups.enumerate() {
        page.put("<option value=\"{}\">{} ({})</option>", &[&at, &title, &count]);
    }
    page.raw("</select></label>\n<label><span class=\"unseen\">Level</span><select name=\"level\"><option value=\"\">All levels</option>")
        .raw("<option value=\"must\">MUST</option><option value=\"should\">SHOULD</option></select></label>\n")
        .raw("<button type=\"reset\">Reset</button>\n</form>\n");
}

/// The icon of a verdict, for readers who cannot distinguish its color.
pub(crate) fn icon(page: &mut Html, word: &str) {
    page.put("<svg class=\"icon {}\" aria-hidden=\"true\"><use href=\"#i-{}\"/></svg>", &[&word, &word]);
}
