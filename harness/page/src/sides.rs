//! The reports that a page compares: their facts side by side, and the links to their own pages.

use std::fmt::Write as _;

use probity_report::{ReportFacts, Word};

use crate::bars;
use crate::html::Html;
use crate::shell::icon;
use crate::words::{counted, outcome, span};

/// A link to another page: a relative path in which only the slashes between folders have a meaning for a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// The link to a path, which is relative to the page and has slashes between its folders.
    #[must_use]
    pub fn relative(path: &str) -> Self {
        // Without a leading folder, a browser would take `a:b` for an absolute address.
        let mut link = if path.starts_with("../") { String::new() } else { "./".to_owned() };
        for byte in path.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    link.push(char::from(byte));
                }
                byte => {
                    let _ = write!(link, "%{byte:02X}");
                }
            }
        }
        Self(link)
    }

    /// The link as a relative URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The section with the facts of each report. `links` has a link for each report that has a page.
pub(crate) fn html(reports: &[&ReportFacts], links: &[Option<Link>]) -> Html {
    let mut page = Html::default();
    page.raw("<section id=\"reports\" aria-labelledby=\"reports-title\">\n<div class=\"head\"><h2 id=\"reports-title\">Reports</h2></div>\n")
        .raw("<ol class=\"reports\">\n");
    for (at, report) in reports.iter().enumerate() {
        page.raw("<li>");
        card(&mut page, report, links.get(at).and_then(Option::as_ref));
        page.raw("</li>\n");
    }
    page.raw("</ol>\n</section>\n");
    page
}

fn card(page: &mut Html, report: &ReportFacts, link: Option<&Link>) {
    page.raw("<h3>");
    match link {
        Some(link) => page.put("<a href=\"{}\">{}</a>", &[&link.as_str(), &report.name]),
        None => page.put("{}", &[&report.name]),
    };
    page.raw("</h3>\n").add(&bars::shares(&report.counts)).raw("<ul class=\"legend\">");
    for word in Word::ALL.into_iter().filter(|word| report.counts.get(*word) > 0) {
        page.raw("<li>");
        icon(page, word.as_str());
        page.put("<b>{}</b> {}</li>", &[&report.counts.get(word), &word]);
    }
    page.raw("</ul>\n<dl class=\"facts\">\n");
    for (name, value) in facts(report) {
        page.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[&name, &value]);
    }
    for profile in &report.profiles {
        let (word, color) = outcome(profile.result);
        page.put("<div><dt>Profile {}</dt><dd class=\"{}\">", &[&profile.profile, &color]);
        icon(page, color);
        page.put("{} <span>{}</span></dd></div>\n", &[&word, &profile.why]);
    }
    page.raw("</dl>\n");
}

/// The facts that have a value.
fn facts(report: &ReportFacts) -> Vec<(String, String)> {
    let kubelets = report.nodes.iter().map(|(node, kubelet)| format!("{node}: {kubelet}"));
    let runtimes = report.runtimes.iter().cloned().collect::<Vec<_>>().join(", ");
    let took = report.took_us.map_or_else(|| "it did not finish".to_owned(), span);
    let noise = match report.overloaded_percent {
        0 => String::new(),
        percent => format!("{percent}% of the time a node was overloaded"),
    };
    let own = [
        ("API server", report.server.clone()),
        ("Cluster", report.cluster.clone()),
        ("Kubelets", kubelets.collect::<Vec<_>>().join(", ")),
        ("Runtime", runtimes),
        ("Began", report.began_in_words()),
        ("Took", took),
        ("Noise", noise),
        ("Program", report.program()),
        ("Book", report.book_in_words()),
        ("Run", report.run_id.clone()),
    ];
    let labels = report.labels.iter().map(|(name, value)| (name.clone(), value.clone()));
    let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
    own.chain(labels).filter(|(_, value)| !value.is_empty()).collect()
}

/// A list of at most `most` findings, with its title. Writes nothing if there are none.
pub(crate) fn list(page: &mut Html, title: &str, items: &[Html], most: usize) {
    if items.is_empty() {
        return;
    }
    page.put("<h2>{}</h2>\n<ul>\n", &[&title]);
    for item in items.iter().take(most) {
        page.raw("<li>").add(item).raw("</li>\n");
    }
    let more = items.len().saturating_sub(most);
    if more > 0 {
        page.put("<li><a href=\"#clauses\">and {}</a></li>\n", &[&counted(more, "more clause")]);
    }
    page.raw("</ul>\n");
}

/// The meaning of the verdicts, for new readers.
pub(crate) fn legend() -> Html {
    let mut page = Html::default();
    page.raw("<section id=\"legend\" aria-labelledby=\"legend-title\">\n<div class=\"head\"><h2 id=\"legend-title\">Verdicts</h2></div>\n")
        .raw("<dl class=\"facts\">\n");
    for (word, meaning) in [
        (
            Word::Violated,
            "The behavior contradicts the documentation and matches no known deviation of upstream.",
        ),
        (Word::Error, "The cluster, the harness or a file failed. This says nothing about the promise."),
        (
            Word::Inconclusive,
            "It ran, but the evidence does not decide it, or some facets of the clause were not observed.",
        ),
        (
            Word::Diverges,
            "The behavior contradicts the documentation and matches a known deviation of upstream.",
        ),
        (Word::Holds, "The promise was kept, and evidence shows it."),
        (Word::Skipped, "It did not run."),
    ] {
        page.raw("<div><dt>");
        icon(&mut page, word.as_str());
        page.put("{}</dt><dd>{}</dd></div>\n", &[&word, &meaning]);
    }
    page.raw("</dl>\n</section>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::Link;

    #[test]
    fn a_link_never_leaves_for_another_place() {
        for (path, link) in [
            ("report.html", "./report.html"),
            ("../a/report.html", "../a/report.html"),
            ("javascript:alert(1)/x", "./javascript%3Aalert%281%29/x"),
            ("//host/x", ".///host/x"),
            ("a b#c?d%\"/é", "./a%20b%23c%3Fd%25%22/%C3%A9"),
        ] {
            assert_eq!(Link::relative(path).as_str(), link);
        }
    }
}
