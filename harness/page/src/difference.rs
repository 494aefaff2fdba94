//! What changed between two reports, as one page: verdicts, measured numbers and facets, in the same table as in
//! `report.html`.

mod rows;

use probity_report::{Diff, Report, Turn};

use crate::html::Html;
use crate::shell::{self, filter_search, filter_selects, icon};
use crate::sides::{self, Link};
use crate::words::{counted, level};
use crate::{COMPARING_SCRIPT, COMPARING_STYLE};

use rows::{ChangeGroup, ChangeRow};

/// How many clauses each list at the top has.
const LISTED: usize = 10;

/// The input of the page.
#[derive(Clone, Copy)]
pub struct DiffPage<'p> {
    /// What changed.
    pub diff: &'p Diff,
    /// The older report.
    pub older: &'p Report,
    /// The newer report.
    pub newer: &'p Report,
    /// The pages of the older and the newer report, if they are in the same folders as the reports.
    pub links: &'p [Option<Link>; 2],
}

impl DiffPage<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let (diff, mut page) = (self.diff, Html::default());
        let title = format!("from {} to {}", diff.older.name, diff.newer.name);
        shell::head(&mut page, &title, COMPARING_STYLE, COMPARING_SCRIPT);
        let parts = [("clauses", "Changes"), ("reports", "Reports"), ("legend", "Verdicts")];
        shell::bar(&mut page, &title, &parts);
        page.raw("<div class=\"summary\">\n");
        self.sum(&mut page);
        self.findings(&mut page);
        page.raw("</div>\n</header>\n<main id=\"main\">\n");
        page.add(&sides::html(&[&diff.older, &diff.newer], self.links));
        self.table(&mut page, &rows::groups(diff, self.older, self.newer));
        page.add(&sides::legend()).raw("</main>\n</body>\n</html>\n");
        page.into_text()
    }

    fn sum(&self, page: &mut Html) {
        let diff = self.diff;
        let (color, title) = match diff.new_violations().count() {
            0 => ("holds", "No new violation".to_owned()),
            many => ("violated", counted(many, "new violation")),
        };
        page.put(
            "<section class=\"verdict {}\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">",
            &[&color],
        );
        icon(page, color);
        page.put(
            "{}</h1>\n<p class=\"headline\">From {} to {}: ",
            &[&title, &diff.older.name, &diff.newer.name],
        )
        .put("{}.</p>\n</section>\n<dl class=\"facts\">\n", &[&diff.headline()]);
        for (name, count) in [
            ("New violations", diff.new_violations().count()),
            ("Violations ended", diff.count(Turn::ViolationEnded)),
            ("New divergences", diff.count(Turn::NewDivergence)),
            ("Divergences ended", diff.count(Turn::DivergenceEnded)),
            ("No longer decided", diff.count(Turn::NoLongerDecided)),
            ("Same verdict", diff.unchanged),
            ("Numbers moved", diff.measured.len()),
            ("Numbers steady", diff.steady),
        ] {
            page.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[&name, &count]);
        }
        page.raw("</dl>\n");
    }

    fn findings(&self, page: &mut Html) {
        let item = |id: &dyn std::fmt::Display, word: &'static str, finding: &str| {
            let mut item = Html::default();
            icon(&mut item, word);
            item.put("<a href=\"#{}\">{}</a> {}", &[id, id, &finding]);
            item
        };
        let new: Vec<Html> =
            self.diff.new_violations().map(|(id, finding)| item(id, "violated", finding)).collect();
        let ended = self.diff.changed.iter().filter(|moved| moved.turn == Turn::ViolationEnded);
        let ended: Vec<Html> =
            ended.map(|moved| item(&moved.id, moved.to.as_str(), &moved.finding)).collect();
        page.raw("<section class=\"findings\">\n");
        sides::list(page, "Violated now, but not before", &new, LISTED);
        sides::list(page, "Violated before, but not now", &ended, LISTED);
        let (older, newer) = (self.diff.older.book_in_words(), self.diff.newer.book_in_words());
        if older != newer {
            page.put(
                "<p class=\"note\">Note: the reports are based on different books ({}; {}), so verdicts may differ for that reason.</p>\n",
                &[&older, &newer],
            );
        }
        page.raw("</section>\n");
    }

    fn table(&self, page: &mut Html, groups: &[ChangeGroup<'_>]) {
        page.raw("<section id=\"clauses\" aria-labelledby=\"clauses-title\">\n<div class=\"head\"><h2 id=\"clauses-title\">Changes</h2>");
        if groups.is_empty() {
            page.raw("<p>Nothing changed.</p></div>\n</section>\n");
            return;
        }
        page.raw("<p class=\"count\" role=\"status\"></p></div>\n");
        filter_search(page, "Filter the changes", true);
        let options = groups.iter().map(|group| (group.title, group.rows.len()));
        filter_selects(page, "Kind of change", "All changes", options);
        page.raw("<table class=\"list changes\" id=\"clause-table\">\n<caption class=\"unseen\">Clauses by what changed</caption>\n")
            .raw("<thead><tr><th scope=\"col\">Before, now</th><th scope=\"col\">Clause</th><th scope=\"col\">Level</th>")
            .raw("<th scope=\"col\">Measured before, now</th><th scope=\"col\">Facets</th></tr></thead>\n");
        for (at, group) in groups.iter().enumerate() {
            page.put(
                "<tbody data-chapter=\"{}\">\n<tr class=\"chapter\"><th colspan=\"5\" scope=\"rowgroup\">",
                &[&at],
            )
            .put("{} <span>{}</span></th></tr>\n", &[&group.title, &counted(group.rows.len(), "clause")]);
            for row in &group.rows {
                self.row(page, row);
            }
            page.raw("</tbody>\n");
        }
        page.raw("</table>\n<p class=\"none\" hidden>No clause passes the filters. <button type=\"button\" class=\"reset\">")
            .raw("Show all</button></p>\n</section>\n");
    }

    fn row(&self, page: &mut Html, row: &ChangeRow<'_>) {
        let (id, level) = (&row.clause().id, level(row.clause().level));
        let now = row.newer.map_or("", |clause| clause.verdict.as_str());
        page.put("<tr class=\"row\" id=\"{}\" data-verdict=\"{}\" data-level=\"{}\">", &[id, &now, &level]);
        row.verdicts(page);
        page.put(
            "<th scope=\"row\"><a class=\"open\" href=\"#{}\">{}</a><p>{}</p></th>",
            &[id, id, &row.clause().text],
        )
        .put("<td class=\"level\">{}</td><td class=\"number\">", &[&level.to_uppercase()]);
        row.numbers(page);
        page.raw("</td><td class=\"facets\">");
        if let Some(facets) = row.facets {
            page.put("{}", &[&counted(facets.facets.len(), "change")]);
        }
        page.put(
            "</td></tr>\n<tr class=\"detail\"><td colspan=\"5\"><div class=\"body\" id=\"of-{}\">\n",
            &[id],
        );
        row.detail(page, [&self.diff.older, &self.diff.newer], self.links);
        page.raw("</div></td></tr>\n");
    }
}
