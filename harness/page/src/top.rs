//! The top of the page, on one screen: the result of the run, where it ran, and the violations.

use std::collections::BTreeMap;

use probity_report::{ClauseReport, Word, began_in_words};

use crate::bars;
use crate::certificate;
use crate::html::Html;
use crate::index::Index;
use crate::shell::{self, icon};
use crate::trials;
use crate::words::{self, counted, span};

/// How many findings of a verdict the top lists.
const LISTED: usize = 6;

/// The top.
pub(crate) fn html(index: &Index<'_>) -> Html {
    let mut top = Html::default();
    let trials = index.trials.map(|_| ("trials", "Trials"));
    let parts = [("clauses", "Clauses"), ("cases", "Cases"), ("run", "Run")];
    let parts: Vec<_> = trials.into_iter().chain(parts).collect();
    shell::bar(&mut top, &index.report.run_id, &parts);
    top.raw("<div class=\"summary\">\n");
    verdict(&mut top, index);
    facts(&mut top, index);
    findings(&mut top, index);
    top.raw("</div>\n</header>\n");
    top
}

fn verdict(top: &mut Html, index: &Index<'_>) {
    let (word, color) = words::exit(index.exit);
    let counts = &index.report.result.clauses;
    top.put("<section class=\"verdict {}\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">", &[&color]);
    icon(top, color);
    top.put("{}</h1>\n", &[&word]);
    let took = index.report.usage.map(|usage| format!(" took {}", span(usage.wall_us))).unwrap_or_default();
    let (clauses, cases) =
        (counted(as_usize(counts.total), "clause"), counted(index.report.cases.len(), "case"));
    top.put("<p class=\"headline\">{} of {} hold; {}{}.</p>\n", &[&counts.holds, &clauses, &cases, &took]);
    top.add(&bars::shares(counts)).raw("<ul class=\"legend\">");
    for word in Word::ALL.into_iter().filter(|word| counts.get(*word) > 0) {
        top.put("<li><a href=\"#clauses\" data-only=\"{}\">", &[&word]);
        icon(top, word.as_str());
        top.put("<b>{}</b> {}</a></li>", &[&counts.get(word), &word]);
    }
    top.raw("</ul>\n</section>\n");
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn facts(top: &mut Html, index: &Index<'_>) {
    let report = index.report;
    top.raw("<dl class=\"facts\">\n");
    if let Some(ground) = &report.environment {
        top.put(
            "<div><dt>Cluster</dt><dd>{} <span>API server {}</span></dd></div>\n",
            &[&ground.context, &ground.server],
        );
        let mut kubelets: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
        for node in ground.nodes.values() {
            *kubelets.entry((&node.kubelet, &node.runtime, &node.architecture)).or_default() += 1;
        }
        top.raw("<div><dt>Kubelets</dt><dd>");
        for ((kubelet, runtime, architecture), nodes) in &kubelets {
            let kubelet = if kubelet.is_empty() { "unknown" } else { *kubelet };
            top.put(
                "{} <span>{}, {}, {}</span> ",
                &[&kubelet, &counted(*nodes, "node"), runtime, architecture],
            );
        }
        top.raw(if kubelets.is_empty() {
            "no permission to read nodes</dd></div>\n"
        } else {
            "</dd></div>\n"
        });
    }
    for profile in &report.result.profiles {
        let (word, color) = words::outcome(profile.result);
        top.put("<div><dt>Profile {}</dt><dd class=\"{}\">", &[&profile.profile, &color]);
        icon(top, color);
        top.put("{} <span>{}</span></dd></div>\n", &[&word, &profile.why]);
    }
    trials::fact(top, index);
    certificate::fact(top, index);
    top.put("<div><dt>Began</dt><dd>{}</dd></div>\n", &[&began_in_words(&report.began)]);
    if report.result.overloaded_percent > 0 {
        let percent = report.result.overloaded_percent;
        top.put(
            "<div><dt>Noise</dt><dd>{}% <span>of the time a node was overloaded</span></dd></div>\n",
            &[&percent],
        );
    }
    for (name, value) in &report.labels {
        top.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[name, value]);
    }
    top.raw("</dl>\n");
}

/// The violations and failures or, if there are none, the undecided findings; then warnings, and objects that were left
/// behind.
fn findings(top: &mut Html, index: &Index<'_>) {
    let report = index.report;
    let open = |word: Word| report.causes_of(word).collect::<Vec<_>>();
    let (violated, failed) = (open(Word::Violated), open(Word::Error));
    top.raw("<section class=\"findings\">\n");
    if violated.is_empty() && failed.is_empty() {
        top.raw("<h2>Nothing is violated</h2>\n");
        list(top, index, "Not decided", &open(Word::Inconclusive));
    } else {
        list(top, index, "What is violated", &violated);
        list(top, index, "What failed", &failed);
    }
    for case in index.cases.iter().filter(|case| is_finding_of_its_own(case.report)) {
        top.put(
            "<p class=\"note violated\">Case <a href=\"#{}\">{}</a>: {}</p>\n",
            &[&case.anchor, &case.name, &case.report.finding],
        );
    }
    for warning in &report.warnings {
        top.put("<p class=\"note\">{}</p>\n", &[warning]);
    }
    for left in &report.leftovers {
        top.put("<p class=\"note error\">Left behind: {} ({})</p>\n", &[&left.what, &left.why]);
    }
    top.raw("</section>\n");
}

/// Whether an expectation of the case itself was violated, which no clause covers.
fn is_finding_of_its_own(case: &probity_report::CaseReport) -> bool {
    case.expected.iter().any(|expected| Word::of(&expected.verdict) == Word::Violated)
}

fn list(top: &mut Html, index: &Index<'_>, title: &str, clauses: &[&ClauseReport]) {
    if clauses.is_empty() {
        return;
    }
    top.put("<h2>{}</h2>\n<ul>\n", &[&title]);
    for clause in clauses.iter().take(LISTED) {
        top.raw("<li>");
        icon(top, clause.verdict.as_str());
        top.put("<a href=\"#{}\">{}</a> {}", &[&clause.id, &clause.id, &clause.finding]);
        let follow =
            index.report.clauses.iter().filter(|one| one.follows_from.as_ref() == Some(&clause.id)).count();
        if follow > 0 {
            top.put(" <span>As a likely result: {} more.</span>", &[&follow]);
        }
        top.raw("</li>\n");
    }
    if clauses.len() > LISTED {
        top.put("<li><a href=\"#clauses\">and {} more</a></li>\n", &[&(clauses.len() - LISTED)]);
    }
    top.raw("</ul>\n");
}
