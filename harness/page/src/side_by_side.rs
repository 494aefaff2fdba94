//! Many reports as one page: the changes of verdicts, the facts of each report, and a table with a column for each
//! report.
//!
//! Even without the script, the table can be limited to differences, and a link to a clause shows its details.

use probity_report::{Matrix, MatrixCell, MatrixRow, Turn, Word};

use crate::html::Html;
use crate::shell::{self, filter_search, filter_selects, icon};
use crate::sides::{self, Link};
use crate::words::{counted, level};
use crate::{COMPARING_SCRIPT, COMPARING_STYLE, measured};

/// How many clauses with a changed verdict are listed at the top.
const LISTED: usize = 10;

/// The number of reports from which the table scrolls sideways.
const MANY: usize = 6;

/// The filters apart from text and verdicts: the name for the script, and the name for users.
const SHOWS: [(&str, &str); 4] = [
    ("differs", "Only what differs"),
    ("regression", "Regressions"),
    ("recovery", "Recoveries"),
    ("missing", "Not in every book"),
];

/// The input of the page.
#[derive(Clone, Copy)]
pub struct MatrixPage<'p> {
    /// The matrix.
    pub matrix: &'p Matrix,
    /// The page of each report, if it is in the same folder.
    pub links: &'p [Option<Link>],
}

impl MatrixPage<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = Html::default();
        let matrix = self.matrix;
        shell::head(&mut page, &matrix.headline(), COMPARING_STYLE, COMPARING_SCRIPT);
        let parts = [("clauses", "Clauses"), ("reports", "Reports"), ("legend", "Verdicts")];
        shell::bar(&mut page, &counted(matrix.reports.len(), "report"), &parts);
        page.raw("<div class=\"summary\">\n");
        sum(&mut page, matrix);
        self.findings(&mut page);
        page.raw("</div>\n</header>\n<main id=\"main\">\n");
        let reports: Vec<_> = matrix.reports.iter().collect();
        page.add(&sides::html(&reports, self.links));
        self.table(&mut page);
        page.add(&sides::legend()).raw("</main>\n</body>\n</html>\n");
        page.into_text()
    }

    fn findings(&self, page: &mut Html) {
        let worse = self.turned(Turn::is_regression);
        page.raw("<section class=\"findings\">\n");
        sides::list(page, "What got worse", &worse, LISTED);
        sides::list(page, "What got better", &self.turned(Turn::is_recovery), LISTED);
        for note in &self.matrix.notes {
            page.put("<p class=\"note\">Note: {}.</p>\n", &[note]);
        }
        page.raw("</section>\n");
    }

    /// An item for each clause with such a change of verdict, with the report in which the verdict changed.
    fn turned(&self, is: fn(Turn) -> bool) -> Vec<Html> {
        let mut items = Vec::new();
        for row in &self.matrix.clauses {
            for (report, cell) in self.matrix.reports.iter().zip(&row.cells) {
                let (Some(turn), Some(verdict)) = (cell.turn.filter(|turn| is(*turn)), cell.verdict) else {
                    continue;
                };
                let mut item = Html::default();
                icon(&mut item, verdict.as_str());
                item.put("<a href=\"#{}\">{}</a> ", &[&row.id, &row.id])
                    .put("{} in {} <span>{}</span>", &[&turn.in_words(), &report.name, &cell.finding]);
                items.push(item);
            }
        }
        items
    }

    fn table(&self, page: &mut Html) {
        let matrix = self.matrix;
        page.raw("<section id=\"clauses\" aria-labelledby=\"clauses-title\">\n<div class=\"head\"><h2 id=\"clauses-title\">Clauses</h2>")
            .raw("<p class=\"count\" role=\"status\"></p></div>\n");
        let chapters = matrix.chapters();
        filters(page, matrix, &chapters);
        let is_many = matrix.reports.len() >= MANY;
        page.raw(if is_many {
            "<div class=\"sideways\" tabindex=\"0\" role=\"region\" aria-label=\"Matrix\">\n<table class=\"list matrix many\" id=\"clause-table\">\n"
        } else {
            "<div>\n<table class=\"list matrix\" id=\"clause-table\">\n"
        });
        page.raw("<caption class=\"unseen\">Clauses by chapter, with the verdict of each report</caption>\n")
            .raw("<thead><tr><th scope=\"col\">Clause</th><th scope=\"col\">Level</th>");
        for (at, report) in matrix.reports.iter().enumerate() {
            page.raw("<th scope=\"col\">");
            match self.link(at) {
                Some(link) => page.put("<a href=\"{}\">{}</a>", &[&link.as_str(), &report.name]),
                None => page.put("{}", &[&report.name]),
            };
            page.raw("</th>");
        }
        page.raw("</tr></thead>\n");
        let columns = matrix.reports.len() + 2;
        for (at, (title, rows)) in chapters.iter().enumerate() {
            page.put(
                "<tbody data-chapter=\"{}\">\n<tr class=\"chapter\"><th colspan=\"{}\" scope=\"rowgroup\">",
                &[&at, &columns],
            )
            .put("{} <span>{}</span></th></tr>\n", &[title, &tally(rows)]);
            for row in rows {
                self.row(page, row);
                page.put(
                    "<tr class=\"detail\"><td colspan=\"{}\"><div class=\"body\" id=\"of-{}\">\n",
                    &[&columns, &row.id],
                );
                self.detail(page, row);
                page.raw("</div></td></tr>\n");
            }
            page.raw("</tbody>\n");
        }
        page.raw("</table>\n</div>\n<p class=\"none\" hidden>No clause passes the filters. <button type=\"button\" class=\"reset\">")
            .raw("Show all</button></p>\n</section>\n");
    }

    fn link(&self, at: usize) -> Option<&Link> {
        self.links.get(at)?.as_ref()
    }

    fn row(&self, page: &mut Html, row: &MatrixRow) {
        let level = level(row.level);
        let said = |word: &Word| row.cells.iter().any(|cell| cell.verdict == Some(*word));
        let verdicts: Vec<&str> =
            Word::ALL.iter().filter(|word| said(word)).map(|word| word.as_str()).collect();
        let shows: Vec<&str> =
            SHOWS.into_iter().map(|(name, _)| name).filter(|name| is_shown(row, name)).collect();
        page.put(
            "<tr class=\"row\" id=\"{}\" data-verdict=\"{}\" data-level=\"{}\" data-shows=\"{}\">",
            &[&row.id, &verdicts.join(" "), &level, &shows.join(" ")],
        );
        page.put(
            "<th scope=\"row\"><a class=\"open\" href=\"#{}\">{}</a><p>{}</p></th>",
            &[&row.id, &row.id, &row.text],
        )
        .put("<td class=\"level\">{}</td>", &[&level.to_uppercase()]);
        for (at, cell) in row.cells.iter().enumerate() {
            let name = self.matrix.reports.get(at).map_or("", |report| report.name.as_str());
            page.put("<td class=\"cell {}\" data-report=\"{}\">", &[&turn_class(cell), &name]);
            self.verdict(page, row, at, cell);
            page.raw("</td>");
        }
        page.raw("</tr>\n");
    }

    /// The verdict in its cell. If the report's own page is in its folder, the verdict is a link to the clause in that
    /// page.
    fn verdict(&self, page: &mut Html, row: &MatrixRow, at: usize, cell: &MatrixCell) {
        let Some(verdict) = cell.verdict else {
            page.raw("<span class=\"absent\">not in its book</span>");
            return;
        };
        let name = self.matrix.reports.get(at).map_or("", |report| report.name.as_str());
        icon(page, verdict.as_str());
        match self.link(at) {
            Some(link) => page.put(
                "<a class=\"{}\" href=\"{}#{}\">{}<span class=\"unseen\"> in {}</span></a>",
                &[&verdict, &link.as_str(), &row.id, &verdict, &name],
            ),
            None => page.put("<span class=\"{}\">{}</span>", &[&verdict, &verdict]),
        };
        put_turn(page, cell.turn);
    }

    fn detail(&self, page: &mut Html, row: &MatrixRow) {
        page.put(
            "<h4>Promised</h4>\n<p>{} <span class=\"quiet\">({})</span></p>\n",
            &[&row.text, &level(row.level).to_uppercase()],
        )
        .raw("<ol class=\"sides\">\n");
        for (at, (report, cell)) in self.matrix.reports.iter().zip(&row.cells).enumerate() {
            page.put("<li><h4>{}</h4>\n<p class=\"said\">", &[&report.name]);
            self.verdict(page, row, at, cell);
            page.raw("</p>\n");
            if !cell.finding.is_empty() {
                page.put("<p>{}</p>\n", &[&cell.finding]);
            }
            if let Some(found) = &cell.measured {
                page.raw("<p class=\"number\">").add(&measured::beside_bound(&found.measured)).raw("</p>\n");
                page.put(
                    "<p class=\"quiet\">{}: {}, in {}</p>\n",
                    &[&found.measured.quantity, &found.measured.in_words(), &found.case],
                );
            }
            measured::spread(page, cell.spread);
            if !cell.unseen.is_empty() {
                let unseen: Vec<String> =
                    cell.unseen.iter().map(|of| format!("{} {}", of.of, of.value)).collect();
                page.put("<p class=\"quiet\">Not seen: {}</p>\n", &[&unseen.join(", ")]);
            }
            page.raw("</li>\n");
        }
        page.raw("</ol>\n");
    }
}

/// A change of verdict, as a mark with words.
pub(crate) fn put_turn(page: &mut Html, turn: Option<Turn>) {
    if let Some(turn) = turn {
        page.put(
            " <span class=\"turn {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
            &[&class_of(turn), &turn.sign().unwrap_or_default(), &turn.in_words()],
        );
    }
}

fn class_of(turn: Turn) -> &'static str {
    match turn {
        _ if turn.is_regression() => "worse",
        _ if turn.is_recovery() => "better",
        _ => "other",
    }
}

fn turn_class(cell: &MatrixCell) -> &'static str {
    cell.turn.map_or("", class_of)
}

fn is_shown(row: &MatrixRow, name: &str) -> bool {
    match name {
        "differs" => row.differs,
        "regression" => row.is_regression(),
        "recovery" => row.is_recovery(),
        _ => row.is_missing_somewhere(),
    }
}

/// The overall result at the top of the page.
fn sum(page: &mut Html, matrix: &Matrix) {
    let counts = matrix.counts;
    let (color, title) = match counts.regressions {
        0 => ("holds", "No regression".to_owned()),
        many => ("violated", counted(many, "regression")),
    };
    page.put("<section class=\"verdict {}\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">", &[&color]);
    icon(page, color);
    page.put(
        "{}</h1>\n<p class=\"headline\">{}.</p>\n</section>\n<dl class=\"facts\">\n",
        &[&title, &matrix.headline()],
    );
    for (name, count) in [
        ("Clauses", counts.clauses),
        ("Differ", counts.differing),
        ("Regressions", counts.regressions),
        ("Recoveries", counts.recoveries),
        ("Not in every book", counts.missing),
    ] {
        page.put("<div><dt>{}</dt><dd>{}</dd></div>\n", &[&name, &count]);
    }
    page.raw("</dl>\n");
}

/// The number of clauses of a chapter, and for how many of them the reports differ.
fn tally(rows: &[&MatrixRow]) -> String {
    let differ = rows.iter().filter(|row| row.differs).count();
    let all = counted(rows.len(), "clause");
    if differ == 0 { all } else { format!("{all}, {differ} not the same in all reports") }
}

/// The filters. The filters for differences work without the script. The script shows all other filters.
fn filters(page: &mut Html, matrix: &Matrix, chapters: &[(&str, Vec<&MatrixRow>)]) {
    filter_search(page, "Filter the clauses", false);
    page.raw("<fieldset class=\"always\"><legend class=\"unseen\">Differences</legend>");
    let count = |is: &dyn Fn(&MatrixRow) -> bool| matrix.clauses.iter().filter(|row| is(row)).count();
    for (name, words) in SHOWS {
        let count = count(&|row| is_shown(row, name));
        if count > 0 || name == "differs" {
            page.put("<label class=\"chip\"><input type=\"checkbox\" name=\"shows\" value=\"{}\">{} <b>{}</b></label>", &[&name, &words, &count]);
        }
    }
    page.raw("</fieldset>\n<fieldset><legend class=\"unseen\">Verdicts of any report</legend>");
    for word in Word::ALL {
        let count = count(&|row| row.cells.iter().any(|cell| cell.verdict == Some(word)));
        if count > 0 {
            page.put(
                "<label class=\"chip\"><input type=\"checkbox\" name=\"verdict\" value=\"{}\">",
                &[&word],
            );
            icon(page, word.as_str());
            page.put("{} <b>{}</b></label>", &[&word, &count]);
        }
    }
    page.raw("</fieldset>\n");
    let chapters = chapters.iter().map(|(title, rows)| (*title, rows.len()));
    filter_selects(page, "Chapter", "All chapters", chapters);
}
