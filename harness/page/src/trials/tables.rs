//! The tables of a trial: everything that the bands of its timeline show, in words.

use probity_model::measure::seconds;

use super::requests::{ClientRequest, periods};
use super::section::LONGEST;
use super::{Trial, TrialRow};
use crate::html::Html;
use crate::shell::icon;
use crate::words::cut;

/// How many periods of requests are listed. Under an overload, the results alternate all the time.
const PERIODS: usize = 24;

/// The table of the promises, each next to its observation.
pub(super) fn promises(trial: &Trial) -> Html {
    let mut table = Html::default();
    table
        .raw("<h4>Promised and observed</h4>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" ")
        .put("aria-label=\"Promises under the fault {}\">", &[&trial.fault])
        .raw("<table class=\"plain promises\">\n")
        .put("<caption class=\"unseen\">Promises and observations: {}</caption>\n", &[&trial.fault])
        .raw("<thead><tr><th scope=\"col\">Quantity</th><th scope=\"col\">Promised</th><th scope=\"col\">Observed</th>")
        .raw("<th scope=\"col\">Result</th><th scope=\"col\">Evidence</th></tr></thead>\n<tbody>\n");
    for row in &trial.rows {
        put_row(&mut table, row);
    }
    table.raw("</tbody></table></div>\n");
    table
}

fn put_row(table: &mut Html, row: &TrialRow) {
    let standing = row.standing;
    let numbers: Vec<String> = row.events.iter().map(ToString::to_string).collect();
    let remark =
        if row.remark.is_empty() { String::new() } else { format!(", {}", cut(&row.remark, LONGEST)) };
    table
        .put("<tr><th scope=\"row\">{}</th>", &[&cut(&row.quantity, LONGEST)])
        .put("<td>{}</td><td>{}</td><td>", &[&cut(&row.promise, LONGEST), &cut(&row.observed, LONGEST)]);
    icon(table, standing.color());
    table
        .put("<b class=\"{}\">{}</b>{}", &[&standing.color(), &standing.word(), &remark])
        .put("<p class=\"quiet\">{}</p></td>", &[&cut(&row.formula, LONGEST)])
        .put("<td>{}</td></tr>\n", &[&numbers.join(", ")]);
}

/// The table of the requests: what the clients got, and when.
pub(super) fn put_periods(page: &mut Html, trial: &Trial, requests: &[ClientRequest]) {
    let periods = periods(requests);
    if periods.is_empty() {
        return;
    }
    page.raw("<h4>Requests of the clients</h4>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" ")
        .put("aria-label=\"Requests under the fault {}\"><table class=\"plain\">\n", &[&trial.fault])
        .put("<caption class=\"unseen\">Requests of the clients: {}</caption>\n", &[&trial.fault])
        .raw("<thead><tr><th scope=\"col\">From</th><th scope=\"col\">Until</th><th scope=\"col\">Requests</th>")
        .raw("<th scope=\"col\">Result</th></tr></thead>\n<tbody>\n");
    for period in periods.iter().take(PERIODS) {
        page.put(
            "<tr><td>+{}</td><td>+{}</td><td>{}</td><td>{}</td></tr>\n",
            &[&seconds(period.from), &seconds(period.until), &period.count, &period.outcome.words()],
        );
    }
    page.raw("</tbody></table></div>\n");
    let more = periods.len().saturating_sub(PERIODS);
    if more > 0 {
        page.put(
            "<p class=\"quiet\">The results change {} more times; the timeline shows all.</p>\n",
            &[&more],
        );
    }
}
