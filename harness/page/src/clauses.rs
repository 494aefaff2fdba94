//! The table of clauses: a row for each clause, and under it a row with its details, which the script collapses.

use probity_model::facets::Sight;
use probity_report::{BookChapter, ClauseReport, Word};

use crate::clause_detail;
use crate::html::Html;
use crate::index::Index;
use crate::measured;
use crate::shell::{filter_search, filter_selects, icon};
use crate::words::{counted, level};

/// The section with the table. The filters are hidden in the page until the script shows them.
pub(crate) fn html(index: &Index<'_>) -> Html {
    let mut page = Html::default();
    page.raw("<section id=\"clauses\" aria-labelledby=\"clauses-title\">\n<div class=\"head\"><h2 id=\"clauses-title\">Clauses</h2>")
        .raw("<p class=\"count\" role=\"status\"></p></div>\n");
    let groups = BookChapter::group(index.chapters, &index.report.clauses, |clause| &clause.id);
    filters(&mut page, index, &groups);
    page.raw("<table class=\"list\" id=\"clause-table\">\n<caption class=\"unseen\">Clauses by chapter, with their verdicts</caption>\n")
        .raw("<thead><tr><th scope=\"col\">Verdict</th><th scope=\"col\">Clause</th><th scope=\"col\">Level</th>")
        .raw("<th scope=\"col\">Measured, bound</th><th scope=\"col\">Facets</th></tr></thead>\n");
    for (at, (title, clauses)) in groups.iter().enumerate() {
        page.put(
            "<tbody data-chapter=\"{}\">\n<tr class=\"chapter\"><th colspan=\"5\" scope=\"rowgroup\">",
            &[&at],
        )
        .put("{} <span>{}</span></th></tr>\n", &[title, &tally(clauses)]);
        for clause in clauses {
            row(&mut page, clause);
            page.put(
                "<tr class=\"detail\"><td colspan=\"5\"><div class=\"body\" id=\"of-{}\">\n",
                &[&clause.id],
            );
            page.add(&clause_detail::html(index, clause)).raw("</div></td></tr>\n");
        }
        page.raw("</tbody>\n");
    }
    page.raw("</table>\n<p class=\"none\" hidden>No clause passes the filters. <button type=\"button\" class=\"reset\">")
        .raw("Show all</button></p>\n</section>\n");
    page
}

/// How many clauses of a chapter have each verdict.
fn tally(clauses: &[&ClauseReport]) -> String {
    let count = |word: Word| clauses.iter().filter(|clause| clause.verdict == word).count();
    let counts = Word::ALL.into_iter().filter(|word| count(*word) > 0);
    let words: Vec<String> = counts.map(|word| format!("{} {word}", count(word))).collect();
    words.join(", ")
}

fn filters(page: &mut Html, index: &Index<'_>, groups: &[(String, Vec<&ClauseReport>)]) {
    filter_search(page, "Filter the clauses", true);
    page.raw("<fieldset><legend class=\"unseen\">Verdicts</legend>");
    let counts = &index.report.result.clauses;
    for word in Word::ALL.into_iter().filter(|word| counts.get(*word) > 0) {
        page.put("<label class=\"chip\"><input type=\"checkbox\" name=\"verdict\" value=\"{}\">", &[&word]);
        icon(page, word.as_str());
        page.put("{} <b>{}</b></label>", &[&word, &counts.get(word)]);
    }
    page.raw("</fieldset>\n");
    let groups = groups.iter().map(|(title, clauses)| (title.as_str(), clauses.len()));
    filter_selects(page, "Chapter", "All chapters", groups);
}

fn row(page: &mut Html, clause: &ClauseReport) {
    let (id, level) = (&clause.id, level(clause.level));
    page.put(
        "<tr class=\"row\" id=\"{}\" data-verdict=\"{}\" data-level=\"{}\"><td class=\"verdict\">",
        &[id, &clause.verdict, &level],
    );
    icon(page, clause.verdict.as_str());
    page.put("<span class=\"{}\">{}</span></td>", &[&clause.verdict, &clause.verdict])
        .put("<th scope=\"row\"><a class=\"open\" href=\"#{}\">{}</a><p>{}</p></th>", &[id, id, &clause.text])
        .put("<td class=\"level\">{}</td><td class=\"number\">", &[&level.to_uppercase()])
        .add(&measured::cell(clause))
        .raw("</td><td class=\"facets\">");
    let total = clause.facets.len();
    let unseen = clause.facets.iter().filter(|facet| facet.seen == Sight::Unseen).count();
    if total > 0 {
        let missing = if unseen == 0 { "all" } else { "some" };
        page.put(
            "<span class=\"{}\" title=\"{} not seen\">{} of {}<span class=\"unseen\"> seen</span></span>",
            &[&missing, &counted(unseen, "facet"), &(total - unseen), &total],
        );
    }
    page.raw("</td></tr>\n");
}
