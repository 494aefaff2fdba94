//! The rows of the table of changes: each clause once, in the group of its most important change.

use probity_model::ClauseId;
use probity_report::{
    ClauseReport, Diff, MovedFacets, MovedMeasurement, Report, ReportFacts, Turn, Word, again, sight_in_words,
};

use crate::clause_detail::command;
use crate::html::Html;
use crate::measured;
use crate::shell::icon;
use crate::side_by_side::put_turn;
use crate::sides::Link;

/// Clauses with the same kind of change.
pub(super) struct ChangeGroup<'p> {
    /// The kind of change.
    pub(super) title: &'static str,
    /// The clauses.
    pub(super) rows: Vec<ChangeRow<'p>>,
}

/// A clause with a change. At least one of the reports has it.
#[derive(Clone, Copy)]
pub(super) struct ChangeRow<'p> {
    either: &'p ClauseReport,
    /// The older report's entry.
    pub(super) older: Option<&'p ClauseReport>,
    /// The newer report's entry.
    pub(super) newer: Option<&'p ClauseReport>,
    measured: Option<&'p MovedMeasurement>,
    /// The facets whose result changed.
    pub(super) facets: Option<&'p MovedFacets>,
}

/// The titles of the groups, in order.
const TITLES: [&str; 10] = [
    "New violations",
    "New divergences",
    "No longer decided",
    "Violations that ended",
    "Divergences that ended",
    "Other verdicts",
    "Only in the newer report",
    "Only in the older report",
    "Same verdict, different numbers",
    "Same verdict, different facets",
];

/// The groups that have clauses.
pub(super) fn groups<'p>(diff: &'p Diff, older: &'p Report, newer: &'p Report) -> Vec<ChangeGroup<'p>> {
    let mut rows: Vec<Vec<ChangeRow<'p>>> = TITLES.iter().map(|_| Vec::new()).collect();
    let mut put = |group: usize, id: &ClauseId| {
        let known = rows.iter().flatten().any(|row| row.either.id == *id);
        let row = row(diff, older, newer, id).filter(|_| !known);
        if let (Some(group), Some(row)) = (rows.get_mut(group), row) {
            group.push(row);
        }
    };
    for moved in &diff.changed {
        put(group_of(moved.turn), &moved.id);
    }
    for found in &diff.added {
        put(if found.verdict == Word::Violated { 0 } else { 6 }, &found.id);
    }
    diff.dropped.iter().for_each(|found| put(7, &found.id));
    diff.measured.iter().for_each(|moved| put(8, &moved.id));
    diff.facets.iter().for_each(|moved| put(9, &moved.id));
    let groups = TITLES.into_iter().zip(rows).map(|(title, rows)| ChangeGroup { title, rows });
    groups.filter(|group| !group.rows.is_empty()).collect()
}

fn group_of(turn: Turn) -> usize {
    match turn {
        Turn::NewViolation => 0,
        Turn::NewDivergence => 1,
        Turn::NoLongerDecided => 2,
        Turn::ViolationEnded => 3,
        Turn::DivergenceEnded => 4,
        Turn::StillUndecided | Turn::NowDecided => 5,
    }
}

fn row<'p>(diff: &'p Diff, older: &'p Report, newer: &'p Report, id: &ClauseId) -> Option<ChangeRow<'p>> {
    let (older, newer) = (older.clause(id), newer.clause(id));
    Some(ChangeRow {
        either: newer.or(older)?,
        older,
        newer,
        measured: diff.measured.iter().find(|moved| moved.id == *id),
        facets: diff.facets.iter().find(|moved| moved.id == *id),
    })
}

impl<'p> ChangeRow<'p> {
    /// The clause, from the newer report if it has it.
    pub(super) fn clause(&self) -> &'p ClauseReport {
        self.either
    }

    /// The cell with both verdicts, or one verdict if they are the same.
    pub(super) fn verdicts(&self, page: &mut Html) {
        page.raw("<td class=\"verdict\">");
        match (self.older, self.newer) {
            (Some(older), Some(newer)) if older.verdict == newer.verdict => word(page, "", newer.verdict),
            (older, newer) => {
                for (when, clause) in [("before", older), ("now", newer)] {
                    match clause {
                        Some(clause) => word(page, when, clause.verdict),
                        None => {
                            page.put(
                                "<span class=\"said\"><small>{}</small> not in its book</span>",
                                &[&when],
                            );
                        }
                    }
                }
            }
        }
        page.raw("</td>");
    }

    /// The cell with the measurement that changed: before and now, each beside its bound.
    pub(super) fn numbers(&self, page: &mut Html) {
        if let Some(moved) = self.measured {
            for (when, measured) in [("before", &moved.from), ("now", &moved.to)] {
                page.put("<span class=\"unseen\">{}</span>", &[&when]).add(&measured::beside_bound(measured));
            }
        }
    }

    /// The details from both reports.
    pub(super) fn detail(&self, page: &mut Html, names: [&ReportFacts; 2], links: &[Option<Link>; 2]) {
        page.put("<h4>Promised</h4>\n<p>{}</p>\n<ol class=\"sides\">\n", &[&self.either.text]);
        let turn =
            self.older.zip(self.newer).and_then(|(older, newer)| Turn::between(older.verdict, newer.verdict));
        let sides = [("Before", self.older, None), ("Now", self.newer, turn)];
        for ((facts, link), (when, clause, turn)) in names.into_iter().zip(links).zip(sides) {
            page.put("<li><h4>{}: {}</h4>\n", &[&when, &facts.name]);
            match clause {
                Some(clause) => self.side(page, clause, link.as_ref(), turn),
                None => {
                    page.raw("<p>Its book does not have the clause.</p>\n");
                }
            }
            page.raw("</li>\n");
        }
        page.raw("</ol>\n");
        self.moved(page);
        if let Some(facets) = self.facets {
            page.raw("<h4>Facets</h4>\n<ul class=\"judged\">\n");
            for moved in &facets.facets {
                let sight = |of| Option::map_or(of, "not asked", sight_in_words);
                page.put("<li>{}: {}, now {}</li>\n", &[&moved.facet, &sight(moved.from), &sight(moved.to)]);
            }
            page.raw("</ul>\n");
        }
    }

    fn side(&self, page: &mut Html, clause: &ClauseReport, link: Option<&Link>, turn: Option<Turn>) {
        page.raw("<p class=\"said\">");
        icon(page, clause.verdict.as_str());
        match link {
            Some(link) => page.put(
                "<a class=\"{}\" href=\"{}#{}\">{}</a>",
                &[&clause.verdict, &link.as_str(), &clause.id, &clause.verdict],
            ),
            None => page.put("<span class=\"{}\">{}</span>", &[&clause.verdict, &clause.verdict]),
        };
        put_turn(page, turn);
        page.raw("</p>\n");
        if !clause.finding.is_empty() {
            page.put("<p>{}</p>\n", &[&clause.finding]);
        }
        if let Some(found) = clause.evidence.first().filter(|_| clause.verdict != Word::Holds) {
            page.put("<p class=\"quiet\">In {}</p>\n<ol class=\"events\">\n", &[&found.case]);
            for event in &found.events {
                page.put("<li><code>{}</code> {}</li>\n", &[&event.id, &event.what]);
            }
            page.raw("</ol>\n");
            command(page, again(clause));
        }
        measured::spread(page, clause.spread);
    }

    /// The measurement that changed, in words.
    fn moved(&self, page: &mut Html) {
        let Some(moved) = self.measured else { return };
        page.put("<h4>Measured in {}: {}</h4>\n<ul class=\"measured\">\n", &[&moved.case, &moved.quantity]);
        for (when, measured) in [("Before", &moved.from), ("Now", &moved.to)] {
            page.put("<li>{}: <span class=\"words\">{}</span></li>\n", &[&when, &measured.in_words()]);
        }
        page.raw("</ul>\n");
        let direction = if moved.is_closer() {
            "nearer to its bound, or further beyond it"
        } else {
            "away from its bound"
        };
        page.put(
            "<p class=\"quiet\">It changed by {}% of its bound, {}.</p>\n",
            &[&moved.percent, &direction],
        );
        if moved.more > 0 {
            page.put("<p class=\"quiet\">More numbers of the clause that changed: {}.</p>\n", &[&moved.more]);
        }
    }
}

/// A verdict, with the time that it is from.
fn word(page: &mut Html, when: &str, verdict: Word) {
    page.raw("<span class=\"said\">");
    if !when.is_empty() {
        page.put("<small>{}</small> ", &[&when]);
    }
    icon(page, verdict.as_str());
    page.put("<span class=\"{}\">{}</span></span>", &[&verdict, &verdict]);
}
