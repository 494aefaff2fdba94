//! The certificate of a run: the level, the cluster and the book, and the obstacles to the next level.

use probity_report::{Certificate, ConformanceLevel, Exception, Kubelets, Obstacle, began_in_words};

use crate::html::Html;
use crate::index::Index;
use crate::words::counted;

/// How many names of clauses or cases the page shows for a reason. `report.json` has all of them.
const NAMED: usize = 40;

/// The level at the top of the page.
pub(crate) fn fact(top: &mut Html, index: &Index<'_>) {
    let Some(certificate) = &index.report.certificate else { return };
    let said = certificate.of_level(certificate.level).map(|level| level.sentence()).unwrap_or_default();
    let color = match certificate.level {
        ConformanceLevel::None => "skipped",
        ConformanceLevel::Core | ConformanceLevel::Extended => "holds",
    };
    top.put(
        "<div><dt>Conformance level</dt><dd class=\"{}\"><a href=\"#certificate\">{}</a> <span>{}</span></dd></div>\n",
        &[&color, &certificate.level, &said],
    );
}

/// The certificate as a part of the section about the run.
pub(crate) fn html(index: &Index<'_>) -> Html {
    let mut page = Html::default();
    let Some(certificate) = &index.report.certificate else { return page };
    page.put(
        "<h3 id=\"certificate\">Certificate: {}</h3>\n<dl class=\"facts\">\n",
        &[&certificate.level_in_words()],
    );
    for (name, value) in facts(certificate) {
        page.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[&name, &value]);
    }
    page.raw("</dl>\n");
    for level in &certificate.levels {
        let reached = if level.reached { "reached" } else { "not reached" };
        page.put("<h4>{}: {}</h4>\n<p>{}.</p>\n", &[&level.level, &reached, &capital(&level.sentence())]);
        page.raw("<ul>\n");
        for obstacle in &level.obstacles {
            page.put("<li>{}</li>\n", &[&said(obstacle)]);
        }
        for exception in &level.exceptions {
            let Exception { clause, why, .. } = exception;
            page.put(
                "<li>cannot be shown on this cluster: <a href=\"#{}\">{}</a> ({})</li>\n",
                &[clause, clause, why],
            );
        }
        if !level.not_promised.is_empty() {
            let count = counted(level.not_promised.len(), "clause");
            page.put("<li>{} not promised for this version of Kubernetes</li>\n", &[&count]);
        }
        for clause in &level.should_violated {
            page.put("<li>SHOULD clause violated: <a href=\"#{}\">{}</a></li>\n", &[clause, clause]);
        }
        page.raw("</ul>\n");
    }
    page.raw("<p>Anyone can check this with the folder of the run: <code>probity verify .</code></p>\n");
    page
}

fn facts(certificate: &Certificate) -> Vec<(&'static str, String)> {
    let Certificate { subject, book, program, began, histories, .. } = certificate;
    let kubelets: Vec<String> = subject.kubelets.iter().map(Kubelets::in_words).collect();
    let mut facts = vec![
        ("API server", subject.server.clone()),
        ("Kubelets", kubelets.join("; ")),
        ("Book", format!("{} {} {}", book.name, book.version, book.digest)),
        ("Program", format!("{} {} {}", program.name, program.version, program.commit)),
        ("Began", began_in_words(began)),
        ("Histories", format!("{}, with their digests in report.json", counted(histories.len(), "file"))),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// The reason, with at most `NAMED` names.
fn said(obstacle: &Obstacle) -> String {
    let clauses = obstacle.clauses.iter().map(ToString::to_string);
    let names: Vec<String> = clauses.chain(obstacle.cases.iter().map(ToString::to_string)).collect();
    if names.is_empty() {
        return obstacle.why.clone();
    }
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => format!("{}: {shown}", obstacle.why),
        more => format!("{}: {shown} and {more} more", obstacle.why),
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
