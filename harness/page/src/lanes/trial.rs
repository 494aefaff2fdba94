//! The lanes of a trial: the requests of the clients and, for each quantity, a band with the promised course of events and a
//! band with what was observed.
//!
//! A promise counts from an event: the beginning of the fault, or a restart. Its band begins at this event, so it lies over
//! the requests that were sent meanwhile.

use probity_model::timeline::Attempt;
use probity_model::{EventId, Timeline};
use probity_script::witness::Fact;

use super::{Item, Lane, LaneGroup, Look, heard, when};
use crate::trials::requests::{self, ClientRequest};
use crate::trials::{Course, Drawing, Trial, TrialRow};

/// The lanes of a trial.
pub(super) fn group(run: &Timeline<'_>, trial: &Trial) -> LaneGroup {
    let requests = requests::of(run);
    let onset = trial.onset.map(|id| {
        let text = format!("{}: {}", trial.fault, trial.story);
        Item::point(instant(run, id), Look::Plain, text, id)
    });
    let sent = requests.iter().map(|request| {
        let text = format!("{}: {}", request.outcome.words(), request.text);
        Item::point(request.at, request.outcome.look(), text, request.id)
    });
    let mut lanes =
        vec![Lane::new("fault", onset.into_iter().collect()), Lane::new("client requests", sent.collect())];
    for row in trial.rows.iter().filter(|row| row.drawing != Drawing::Nothing) {
        let name = short(&row.quantity);
        lanes.push(Lane::new(format!("promised: {name}"), promised(run, trial, row)));
        lanes.push(Lane::new(format!("observed: {name}"), observed(run, trial, row, &requests)));
    }
    LaneGroup { name: format!("Trial {}", trial.fault), lanes }
}

/// The quantity as it fits beside a lane.
fn short(quantity: &str) -> &str {
    quantity.trim_end_matches(" after").trim_end_matches(" for clients")
}

/// The promised course of events, from the event from which the promise counts.
fn promised(run: &Timeline<'_>, trial: &Trial, row: &TrialRow) -> Vec<Item> {
    let first = row.events.first().copied();
    let counted_from = match row.course {
        Course::Change { .. } => first.or(trial.onset),
        Course::Open | Course::Unchanged { .. } => trial.onset.or(first),
    };
    let Some(event) = counted_from else { return Vec::new() };
    let mut items = course(row, instant(run, event), run.ended_us);
    if let Some(first) = items.first_mut() {
        first.events.push(event);
    }
    items
}

/// The promised states in order: the state before the change, the time of the change, and the time that the cluster's own
/// work may take. Nothing is drawn beyond the end of the case.
fn course(row: &TrialRow, at: i64, end: i64) -> Vec<Item> {
    let item = |from, until, look, text: &str| Item::span(from, until, look, text, Vec::new());
    let Course::Change { before, change, from, until, late } = row.course else {
        let state = match row.course {
            Course::Unchanged { state } => state,
            _ => "nothing is promised",
        };
        return vec![item(at, end, Look::Faint, &format!("{state}: {}", row.formula))];
    };
    let [from, until, last] = [from, until, until.saturating_add(late)].map(|us| at.saturating_add(us));
    let promise = format!("{change}: {}, {}", row.promise, row.formula);
    let spans = [
        (at, from, Look::Faint, before),
        (from, until, Look::Life, promise.as_str()),
        (until, last, Look::Faint, "allowed for the cluster's own work"),
    ];
    spans
        .into_iter()
        .filter(|(from, until, look, _)| *from < end && (until > from || *look == Look::Life))
        .map(|(from, until, look, text)| item(from, until.min(end), look, text))
        .collect()
}

/// What was observed.
fn observed(run: &Timeline<'_>, trial: &Trial, row: &TrialRow, requests: &[ClientRequest]) -> Vec<Item> {
    let remark = if row.remark.is_empty() { String::new() } else { format!(", {}", row.remark) };
    let text = format!("{} {}: {}{remark}", row.quantity, row.observed, row.standing.word());
    let look = row.standing.look();
    let Some(first) = row.events.first() else {
        // Nothing happened, so no event shows it.
        let whole = |id| Item::span(instant(run, id), run.ended_us, look, &text, Vec::new());
        return trial.onset.map(whole).into_iter().collect();
    };
    let from = instant(run, *first);
    if row.drawing == Drawing::Outages {
        let outages = requests::outages(requests, from).into_iter();
        return outages
            .map(|outage| Item::span(outage.from, outage.until, look, &text, outage.events))
            .collect();
    }
    let until = row.events.get(1).map_or(run.ended_us, |last| instant(run, *last));
    vec![Item::span(from, until, look, text, row.events.clone())]
}

/// When the thing happened that an event reports. For a request of a client, when it was sent.
fn instant(run: &Timeline<'_>, id: EventId) -> i64 {
    let of_attempt = |attempt: &Attempt<'_>| {
        let ends = [Some(&attempt.began), attempt.ended.as_ref()];
        if let Some(at) = ends.into_iter().flatten().find(|at| at.id == id) {
            return Some(when(run, &at.stamp, id));
        }
        let line = attempt.lines.iter().find(|line| line.id == id)?;
        Some(match &line.line.fact {
            Fact::Call(call) => when(run, &requests::sent(line, call), id),
            _ => when(run, &line.at, id),
        })
    };
    let mut attempts = run.containers().flat_map(|(_, container)| &container.attempts);
    let revisions = run.pods.iter().flat_map(|pod| &pod.revisions);
    let revision = || revisions.clone().find(|revision| revision.id == id).map(|seen| seen.at.at.lo);
    let deed = || run.deeds.iter().find(|(of, _)| *of == id).map(|(_, deed)| deed.began_us);
    attempts.find_map(of_attempt).or_else(revision).or_else(deed).unwrap_or_else(|| heard(run, id))
}
