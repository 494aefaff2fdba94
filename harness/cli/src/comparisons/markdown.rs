//! Comparisons in Markdown, for comments, wikis and the summaries of workflow steps. Texts from a cluster are escaped.

use probity_page::Link;
use probity_report::{Diff, Matrix, MatrixCell, MatrixRow, Moved, ReportFacts, Turn, Word};

use crate::markdown::{cell, tidy};
use crate::output::counted;

/// The maximum number of rows of a list that are shown. A list could be very long.
const SHOWN: usize = 200;

/// The matrix. The differences are expanded, and the list of all clauses by chapter is collapsed.
pub(crate) fn matrix(matrix: &Matrix, links: &[Option<Link>]) -> String {
    let mut text = format!("## Probity: {}\n\n", matrix.headline());
    let reports: Vec<(&ReportFacts, Option<&Link>)> = matrix
        .reports
        .iter()
        .enumerate()
        .map(|(at, one)| (one, links.get(at).and_then(Option::as_ref)))
        .collect();
    text += &facts(&reports);
    for note in &matrix.notes {
        text += &format!("\n- note: {}\n", cell(note));
    }
    let differing: Vec<&MatrixRow> = matrix.clauses.iter().filter(|row| row.differs).collect();
    if !differing.is_empty() {
        text += "\n### What differs\n\n";
        text += &table(matrix, &differing);
        text += &findings(matrix);
    }
    for (title, rows) in matrix.chapters() {
        text +=
            &format!("\n<details><summary>{} ({})</summary>\n\n", cell(title), counted(rows.len(), "clause"));
        text += &table(matrix, &rows);
        text += "\n</details>\n";
    }
    tidy(&text)
}

/// The facts about the reports, one row each.
fn facts(reports: &[(&ReportFacts, Option<&Link>)]) -> String {
    let mut text = "| report | clauses | profiles | Kubernetes | nodes | began | program |\n| --- | --- | --- | --- | --- | --- | --- |\n".to_owned();
    for (report, link) in reports {
        let name = match link {
            Some(link) => format!("[{}]({})", cell(&report.name), link.as_str()),
            None => cell(&report.name),
        };
        let profiles: Vec<String> = report
            .profiles
            .iter()
            .map(|of| format!("{} **{}**", of.profile, format!("{:?}", of.result).to_lowercase()))
            .collect();
        text += &format!(
            "| {name} | {} of {} | {} | {} | {} | {} | {} |\n",
            report.counts.in_words(),
            report.counts.total,
            profiles.join(", "),
            cell(&report.version()),
            cell(&report.nodes_in_words()),
            cell(&report.began_in_words()),
            cell(&report.program()),
        );
    }
    text
}

/// Rows of the matrix as a table.
fn table(matrix: &Matrix, rows: &[&MatrixRow]) -> String {
    let names: Vec<String> = matrix.reports.iter().map(|report| cell(&report.name)).collect();
    let mut text = format!(
        "| clause | level | {} |\n| --- | --- |{}\n",
        names.join(" | "),
        " --- |".repeat(names.len())
    );
    for row in rows {
        let cells: Vec<String> = row.cells.iter().map(verdict).collect();
        let level = format!("{:?}", row.level).to_lowercase();
        text += &format!("| {} | {level} | {} |\n", cell(row.id.as_str()), cells.join(" | "));
    }
    text
}

/// A verdict with its symbol, and its change in bold.
fn verdict(of: &MatrixCell) -> String {
    let Some(word) = of.verdict else { return "not in its book".to_owned() };
    let turn = match of.turn {
        Some(turn) => turn.sign().map_or(String::new(), |sign| format!(" **{sign} {}**", turn.in_words())),
        None => String::new(),
    };
    format!("{} {word}{turn}", word.sign())
}

/// The findings on clauses whose verdict became worse.
fn findings(matrix: &Matrix) -> String {
    let mut text = "\n".to_owned();
    for row in &matrix.clauses {
        for (report, found) in matrix.reports.iter().zip(&row.cells) {
            if let Some(turn) = found.turn.filter(|turn| turn.is_regression()) {
                let (id, name) = (cell(row.id.as_str()), cell(&report.name));
                text += &format!("- **{id}**, {} in {name}: {}\n", turn.in_words(), cell(&found.finding));
            }
        }
    }
    text
}

/// The difference. New and ended violations are expanded; changed numbers and facets are collapsed.
pub(crate) fn diff(diff: &Diff) -> String {
    let title = match diff.new_violations().count() {
        0 => "no new violation".to_owned(),
        many => counted(many, "new violation"),
    };
    let mut text = format!("## Probity: {title} ({})\n\n", diff.headline());
    text += &facts(&[(&diff.older, None), (&diff.newer, None)]);
    let mut open = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            text += &format!(
                "\n### {title}\n\n| clause | before | now | seen |\n| --- | --- | --- | --- |\n{}",
                rows.concat()
            );
        }
    };
    let changed =
        |is: fn(Turn) -> bool| diff.changed.iter().filter(move |moved| is(moved.turn)).map(moved_row);
    let added = diff.added.iter().filter(|found| found.verdict == Word::Violated);
    let added =
        added.map(|found| row(found.id.as_str(), "not in its book", &signed(found.verdict), &found.finding));
    open("New violations", changed(|turn| turn == Turn::NewViolation).chain(added).collect());
    open("Violations that ended", changed(|turn| turn == Turn::ViolationEnded).collect());
    let is_other = |turn| !matches!(turn, Turn::NewViolation | Turn::ViolationEnded);
    open("Other changes of verdict", changed(is_other).collect());
    text += &folded(diff);
    tidy(&text)
}

fn folded(diff: &Diff) -> String {
    let mut text = String::new();
    let mut fold = |title: String, head: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            let more = rows.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!("\n{more} more are omitted here\n") } else { String::new() };
            let rows = rows[..rows.len().min(SHOWN)].concat();
            text += &format!("\n<details><summary>{title}</summary>\n\n{head}{rows}{more}\n</details>\n");
        }
    };
    let measured: Vec<String> = diff
        .measured
        .iter()
        .map(|of| {
            let quantity = cell(&of.quantity);
            let (id, from, to) =
                (cell(of.id.as_str()), of.from.observed_in_words(), of.to.observed_in_words());
            format!(
                "| {id} | {quantity} | {from} | {to} | {} | {} |\n",
                cell(&of.bounds_in_words()),
                cell(&of.case.0)
            )
        })
        .collect();
    let head = "| clause | quantity | before | now | bound | case |\n| --- | --- | --- | --- | --- | --- |\n";
    fold(format!("{} with changed numbers", counted(measured.len(), "clause")), head, measured);
    let facets: Vec<String> = diff
        .facets
        .iter()
        .flat_map(|of| {
            of.facets
                .iter()
                .map(|facet| format!("| {} | {} |\n", cell(of.id.as_str()), cell(&facet.in_words())))
        })
        .collect();
    fold(counted(facets.len(), "changed facet"), "| clause | facet |\n| --- | --- |\n", facets);
    let only: Vec<String> = [(&diff.added, true), (&diff.dropped, false)]
        .into_iter()
        .flat_map(|(found, is_new)| found.iter().map(move |of| (of, is_new)))
        .map(|(of, is_new)| {
            let (here, there) = (signed(of.verdict), "not in its book".to_owned());
            let (before, now) = if is_new { (there, here) } else { (here, there) };
            row(of.id.as_str(), &before, &now, &of.finding)
        })
        .collect();
    let head = "| clause | before | now | seen |\n| --- | --- | --- | --- |\n";
    fold(format!("{} only in one of the books", counted(only.len(), "clause")), head, only);
    text
}

fn moved_row(moved: &Moved) -> String {
    row(moved.id.as_str(), &signed(moved.from), &signed(moved.to), &moved.finding)
}

fn row(id: &str, before: &str, now: &str, finding: &str) -> String {
    format!("| {} | {before} | {now} | {} |\n", cell(id), cell(finding))
}

fn signed(word: Word) -> String {
    format!("{} {word}", word.sign())
}
