//! The details of a clause: the promise and the finding, the evidence in words, facets, measurements, cases, and the
//! command that judges again.

use std::collections::BTreeMap;

use probity_model::Level;
use probity_report::{ClauseReport, EvidenceRef, Word, again};

use crate::html::Html;
use crate::index::{Index, Marks};
use crate::measured::{self, put_case, put_link};
use crate::shell::icon;
use crate::words::{counted, sight};

/// How many events are described in words if the clause holds. The others are only marked in the timeline.
const TOLD: usize = 4;

/// How many other histories are named if the clause holds.
const ALSO: usize = 3;

/// How many cases are named that do not target the clause.
const NAMED: usize = 12;

/// The details.
pub(crate) fn html(index: &Index<'_>, clause: &ClauseReport) -> Html {
    let mut page = Html::default();
    page.raw("<div class=\"columns\">\n<div class=\"main\">\n");
    promise(&mut page, index, clause);
    evidence(&mut page, index, clause);
    page.add(&measured::section(index, clause));
    page.raw("</div>\n<div class=\"side\">\n");
    facets(&mut page, clause);
    judged_in(&mut page, index, clause);
    command(&mut page, again(clause));
    page.raw("</div>\n</div>\n");
    timeline(&mut page, index, &index.marks(clause));
    page
}

fn promise(page: &mut Html, index: &Index<'_>, clause: &ClauseReport) {
    if !clause.finding.is_empty() {
        page.put("<p class=\"finding {}\">", &[&clause.verdict]);
        icon(page, clause.verdict.as_str());
        page.put("<span><b>{}</b> {}</span></p>\n", &[&clause.verdict, &clause.finding]);
    }
    let must = match clause.level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::Advice => "Advice",
    };
    page.put("<h4>Promised</h4>\n<p>{} <span class=\"quiet\">({})</span></p>\n", &[&clause.text, &must]);
    let anchor = clause.source.anchor.as_ref().map(|anchor| format!(": {anchor}")).unwrap_or_default();
    page.put(
        "<p class=\"quiet\">{}, {}{}</p>\n",
        &[&clause.source.document, &clause.source.edition, &anchor],
    );
    if let Some(actual) = &clause.actual {
        page.put("<h4>Known upstream deviation</h4>\n<p>{}</p>\n", &[actual]);
    }
    if let Some(cause) = &clause.follows_from {
        page.put("<p>It likely follows from <a href=\"#{}\">{}</a>.</p>\n", &[cause, cause]);
    }
    let effects: Vec<_> =
        index.report.clauses.iter().filter(|one| one.follows_from.as_ref() == Some(&clause.id)).collect();
    if !effects.is_empty() {
        page.raw("<p>Other violations that likely follow from this one:");
        for effect in effects {
            page.put(" <a href=\"#{}\">{}</a>", &[&effect.id, &effect.id]);
        }
        page.raw("</p>\n");
    }
}

/// The events of the deciding history in words. If the clause does not hold, the events of other histories are shown,
/// too. If it holds, only the names of other histories are shown.
fn evidence(page: &mut Html, index: &Index<'_>, clause: &ClauseReport) {
    if clause.evidence.is_empty() {
        return;
    }
    page.raw("<h4>Evidence</h4>\n");
    let told = if clause.verdict == Word::Holds { 1 } else { clause.evidence.len() };
    for found in &clause.evidence[..told] {
        page.raw("<p class=\"quiet\">In ");
        put_file(index, page, found);
        page.raw("</p>\n");
        put_events(page, index, found, if clause.verdict == Word::Holds { TOLD } else { found.events.len() });
    }
    if told < clause.evidence.len() {
        page.raw("<p class=\"quiet\">Also seen in ");
        for (at, found) in clause.evidence[told..].iter().take(ALSO).enumerate() {
            page.raw(if at > 0 { ", " } else { "" });
            put_file(index, page, found);
        }
        let more = clause.evidence.len().saturating_sub(told + ALSO);
        if more > 0 {
            page.put(" and {}, marked in their timelines", &[&counted(more, "more case")]);
        }
        page.raw("</p>\n");
    }
}

fn put_events(page: &mut Html, index: &Index<'_>, found: &EvidenceRef, most: usize) {
    match index.case_of_file(&found.history) {
        Some(case) => page.put("<ol class=\"events\" data-case=\"{}\">\n", &[&case]),
        None => page.raw("<ol class=\"events\">\n"),
    };
    for event in found.events.iter().take(most) {
        page.put("<li data-event=\"{}\"><code>{}</code> {}</li>\n", &[&event.id.0, &event.id, &event.what]);
    }
    let more = found.more + found.events.len().saturating_sub(most);
    if more > 0 {
        page.put("<li>and {} more, marked in the timeline</li>\n", &[&more]);
    }
    page.raw("</ol>\n");
}

/// A link to the case of a history.
fn put_file(index: &Index<'_>, page: &mut Html, found: &EvidenceRef) {
    put_link(index, page, index.case_of_file(&found.history), &found.case);
}

/// The facets by dimension, each with its result.
fn facets(page: &mut Html, clause: &ClauseReport) {
    if clause.facets.is_empty() {
        return;
    }
    let mut dimensions: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for facet in &clause.facets {
        dimensions.entry(&facet.of).or_default().push(facet);
    }
    page.raw("<h4>Facets</h4>\n<dl class=\"dimensions\">\n");
    for (dimension, facets) in dimensions {
        page.put("<div><dt>{}</dt><dd>", &[&dimension]);
        for facet in facets {
            let (word, color) = sight(facet.seen);
            page.put("<span class=\"facet {}\">", &[&color]);
            icon(page, color);
            page.put("{}<span class=\"unseen\">: {}</span></span> ", &[&facet.value, &word]);
        }
        page.raw("</dd></div>\n");
    }
    page.raw("</dl>\n");
}

/// The cases that were written for the clause, cases with another verdict, and the number of other cases that agree.
fn judged_in(page: &mut Html, index: &Index<'_>, clause: &ClauseReport) {
    if clause.judged_in.is_empty() {
        page.raw("<p class=\"quiet\">No case of this run shows anything about this clause.</p>\n");
        return;
    }
    page.raw("<h4>Judged in</h4>\n<ul class=\"judged\">\n");
    let unlike = |judged: &&probity_report::JudgedIn| !judged.intended && judged.verdict != Word::Holds;
    let meant = clause.judged_in.iter().filter(|judged| judged.intended);
    let named: Vec<_> = meant.chain(clause.judged_in.iter().filter(unlike).take(NAMED)).collect();
    for judged in &named {
        page.raw("<li>");
        icon(page, judged.verdict.as_str());
        put_case(index, page, &judged.case.0);
        let besides = if judged.intended { "" } else { ", which does not target it" };
        page.put(" <span class=\"quiet\">{}{}</span></li>\n", &[&judged.verdict, &besides]);
    }
    let others = clause.judged_in.len() - named.len();
    if others > 0 {
        page.put(
            "<li class=\"quiet\">and in {} that {} not written for this clause</li>\n",
            &[&counted(others, "other case"), &if others == 1 { "was" } else { "were" }],
        );
    }
    page.raw("</ul>\n");
    if clause.also_undecided_in.is_empty() {
        return;
    }
    let undecided = counted(clause.also_undecided_in.len(), "case");
    page.put("<details><summary>Undecided in {}, which does not count</summary>\n", &[&undecided]);
    for other in &clause.also_undecided_in {
        page.raw("<p>");
        put_case(index, page, &other.case.0);
        page.put(": {}</p>\n", &[&other.why]);
    }
    page.raw("</details>\n");
}

/// The command that judges again.
pub(crate) fn command(page: &mut Html, command: Option<String>) {
    if let Some(command) = command {
        page.put(
            "<h4>Judge again, in the run's folder</h4>\n<pre class=\"command\"><code>{}</code></pre>\n",
            &[&command],
        );
    }
}

/// The place for a timeline. It names the cases, the deciding case first, each with the events to mark in it.
pub(crate) fn timeline(page: &mut Html, index: &Index<'_>, marks: &[Marks]) {
    let shown: Vec<String> = marks
        .iter()
        .filter(|marks| index.cases.get(marks.case).is_some_and(|case| case.is_drawn))
        .map(|marks| {
            let events: Vec<String> = marks.events.iter().map(|id| id.0.to_string()).collect();
            format!("{}:{}", marks.case, events.join(" "))
        })
        .collect();
    if !shown.is_empty() {
        page.put("<div class=\"timeline\" data-marks=\"{}\"><p class=\"quiet\">", &[&shown.join(";")])
            .raw("A script draws the timeline; the evidence is listed above.</p></div>\n");
    }
}
