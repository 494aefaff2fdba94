//! The common parts of all pages: the head with the policy, the bar at the top, and the icon of a verdict.

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

/// The icon of a verdict, for readers who cannot distinguish its color.
pub(crate) fn icon(page: &mut Html, word: &str) {
    page.put("<svg class=\"icon {}\" aria-hidden=\"true\"><use href=\"#i-{}\"/></svg>", &[&word, &word]);
}
