//! The table of cases: a row for each and, below it, its verdicts, its expectations and its timeline.

use probity_model::{Judgement, Verdict};
use probity_report::{CaseReport, Word};

use crate::clause_detail::{command, timeline};
use crate::html::Html;
use crate::index::{CaseEntry, Index, Marks};
use crate::shell::icon;
use crate::words::{counted, span};

/// The section with the table.
pub(crate) fn html(index: &Index<'_>) -> Html {
    let mut page = Html::default();
    page.raw("<section id=\"cases\" aria-labelledby=\"cases-title\">\n<div class=\"head\"><h2 id=\"cases-title\">Cases</h2>")
        .put("<p class=\"quiet\">{}</p></div>\n", &[&index.report.result.cases.in_words()])
        .raw("<table class=\"list\" id=\"case-table\">\n<caption class=\"unseen\">Cases, in the order of the run</caption>\n")
        .raw("<thead><tr><th scope=\"col\">Verdict</th><th scope=\"col\">Case</th><th scope=\"col\">Profile</th>")
        .raw("<th scope=\"col\">Took</th><th scope=\"col\">Clauses</th></tr></thead>\n<tbody>\n");
    let longest = index.cases.iter().filter_map(|case| took(case.report)).max().unwrap_or(0);
    for (at, case) in index.cases.iter().enumerate() {
        row(&mut page, case, longest);
        page.raw("<tr class=\"detail\"><td colspan=\"5\"><div class=\"body\">\n");
        page.add(&detail(index, at, case)).raw("</div></td></tr>\n");
    }
    page.raw("</tbody></table>\n</section>\n");
    page
}

fn took(case: &CaseReport) -> Option<i64> {
    case.began_us.zip(case.ended_us).map(|(began, ended)| ended - began)
}

fn row(page: &mut Html, case: &CaseEntry<'_>, longest: i64) {
    let report = case.report;
    page.put("<tr class=\"row\" id=\"{}\"><td class=\"verdict\">", &[&case.anchor]);
    icon(page, report.verdict.as_str());
    page.put("<span class=\"{}\">{}</span></td>", &[&report.verdict, &report.verdict])
        .put("<th scope=\"row\"><a class=\"open\" href=\"#{}\">{}</a>", &[&case.anchor, &case.name])
        .put("<p>{}</p></th>", &[&report.finding])
        .put("<td class=\"level\">{}</td><td class=\"number\">", &[&report.profile]);
    if let Some(took) = took(report) {
        let part = took.saturating_mul(1000) / longest.max(1);
        page.raw(
            "<svg class=\"strip\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        )
        .put("<rect class=\"took\" y=\"7\" width=\"{}\" height=\"6\"/></svg>", &[&part])
        .put("<span class=\"measure\">{}</span>", &[&span(took)]);
    }
    page.put("</td><td class=\"facets\">{}</td></tr>\n", &[&report.judgements.len()]);
}

fn detail(index: &Index<'_>, at: usize, case: &CaseEntry<'_>) -> Html {
    let mut page = Html::default();
    let report = case.report;
    page.raw("<div class=\"columns\">\n<div class=\"main\">\n");
    if let Some(trial) = index.trial_of(at) {
        page.raw("<p>This case is a trial of probe settings: ");
        page.put("<a href=\"#trial/{}\">promises and observations</a></p>\n", &[&trial.fault]);
    }
    expectations(&mut page, report);
    judged(&mut page, report);
    page.raw("</div>\n<div class=\"side\">\n");
    page.put("<h4>Files</h4>\n<p>Written in <code>{}</code></p>\n", &[&report.source]);
    if let Some(history) = &report.history {
        page.put(
            "<p>Recorded in <code>{}</code>, {}</p>\n",
            &[&history.file, &counted(history.events, "event")],
        );
        command(&mut page, Some(format!("probity judge {}", history.file)));
    }
    page.raw("</div>\n</div>\n");
    if !case.is_drawn {
        page.raw("<p class=\"quiet\">There is no history of this case to draw.</p>\n");
    } else {
        timeline(&mut page, index, &[Marks { case: at, events: index.marks_of_case(at) }]);
        page.put("<div class=\"manifests\" data-case=\"{}\"></div>\n", &[&at]);
    }
    page
}

fn expectations(page: &mut Html, case: &CaseReport) {
    if case.expected.is_empty() {
        return;
    }
    page.raw("<h4>Expected</h4>\n<ul class=\"judged\">\n");
    for expected in &case.expected {
        page.raw("<li>");
        icon(page, expected.verdict.word());
        page.put(
            "{} <span class=\"quiet\">{} {}</span></li>\n",
            &[&expected.what, &expected.verdict.word(), &expected.verdict.sentence()],
        );
    }
    page.raw("</ul>\n");
}

/// The clauses that the case was written for, then other clauses that do not hold in the case, then the number of other
/// clauses that hold.
fn judged(page: &mut Html, case: &CaseReport) {
    let is_unlike = |one: &&Judgement| !one.intended && !matches!(one.verdict, Verdict::Holds { .. });
    let meant: Vec<_> = case.judgements.iter().filter(|one| one.intended).collect();
    let unlike: Vec<_> = case.judgements.iter().filter(is_unlike).collect();
    let others = case.judgements.len() - meant.len() - unlike.len();
    for (title, judgements) in [("Written for", &meant), ("Also judged in this case", &unlike)] {
        if judgements.is_empty() {
            continue;
        }
        page.put("<h4>{}</h4>\n<ul class=\"judged\">\n", &[&title]);
        for one in judgements {
            page.raw("<li>");
            icon(page, Word::of(&one.verdict).as_str());
            page.put(
                "<a href=\"#{}\">{}</a> <span class=\"quiet\">{}",
                &[&one.clause, &one.clause, &one.verdict.word()],
            );
            let sentence = one.verdict.sentence();
            page.put("{}{}</span></li>\n", &[&if sentence.is_empty() { "" } else { ": " }, &sentence]);
        }
        page.raw("</ul>\n");
    }
    if others > 0 {
        page.put(
            "<p class=\"quiet\">{} that this case does not target also hold in it.</p>\n",
            &[&counted(others, "clause")],
        );
    }
}
