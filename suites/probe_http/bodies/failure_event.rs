//! What the event about a failed probe reports: the status, not the body.

use std::collections::BTreeSet;

use probity_model::timeline::KubeEvent;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::answer::{Body, HttpAnswer};

use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::Reaction;

/// The failure event carries the status code, not the response body.
pub(super) fn omits_the_body(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let is_bad = |exchange: &Exchange<'_, '_>| exchange.outcome() == HttpOutcome::Bad;
        let Some(first) = course.exchanges.iter().position(is_bad) else { continue };
        let failures = Failures::of(&course, clause.tolerance_times("letters"));
        let about = format!("{} probe failed: ", course.word());
        let mine = |event: &&KubeEvent<'_>| event.is_of(&course.container.name, "Unhealthy");
        let (mut named, mut others) = (false, Vec::new());
        for event in course.pod.events.iter().filter(mine) {
            let Some((_, message)) = event.message.split_once(&about) else { continue };
            if let Some(body) = failures.bodies.iter().find(|body| message.contains(body.as_str())) {
                let finding = format!("the event says `{message}`, which contains the body `{body}`");
                seen.violated(finding, [event.id]);
            } else if failures.codes.iter().any(|code| says(message, *code)) {
                named = true;
                seen.fine([event.id]);
            } else {
                others.push((event.id, message));
            }
        }
        let Some((_, message)) = others.first().filter(|_| !named) else { continue };
        let reaction = Reaction::new(run, clause, &course);
        let id = course.exchanges[first].id;
        let sent = statuses(run, &course, clause);
        let invented =
            |(_, message): &&(EventId, &str)| told(message).is_some_and(|code| !sent.contains(&code));
        let invented = others.iter().find(invented);
        if reaction.hidden(&course.exchanges[first].at, &run.end()) {
            seen.doubt(Doubt::Gap, "the event that names the status may have been missed", [id]);
        } else if let Some((event, message)) = invented {
            let finding = format!("an event says `{message}`, but no probe received that answer");
            seen.violated(finding, [*event, id]);
        } else if reaction.shows_by_the_end(first) && !reaction.is_crowded(&course.exchanges[first]) {
            let codes = failures.codes.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let finding = format!("no event names the status ({codes}); the first says `{message}`");
            seen.violated(finding, others.iter().map(|(id, _)| *id).chain([id]));
        }
    }
}

/// Whether a message contains this status, and not a longer number that contains it.
fn says(message: &str, code: u16) -> bool {
    message.split(|c: char| !c.is_ascii_digit()).any(|number| number == code.to_string())
}

/// The status in a kubelet's message about a failed probe.
fn told(message: &str) -> Option<u16> {
    let (_, code) = message.split_once("statuscode: ")?;
    code.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The statuses with which probes of the same kind failed, in all lives of a container.
fn statuses(run: &Timeline<'_>, course: &Exchanges<'_, '_>, clause: &Clause) -> BTreeSet<u16> {
    let is_same = |other: &Exchanges<'_, '_>| {
        (other.word(), &other.pod.name, &other.container.name)
            == (course.word(), &course.pod.name, &course.container.name)
    };
    let letters = clause.tolerance_times("letters");
    exchanges(run).into_iter().filter(is_same).flat_map(|other| Failures::of(&other, letters).codes).collect()
}

/// The statuses with which the probes of a course failed, and the bodies that can be recognized in a message.
struct Failures {
    codes: BTreeSet<u16>,
    bodies: BTreeSet<String>,
}

impl Failures {
    fn of(course: &Exchanges<'_, '_>, letters: usize) -> Self {
        let mut failures = Self { codes: BTreeSet::new(), bodies: BTreeSet::new() };
        let bad = course.exchanges.iter().filter(|exchange| exchange.outcome() == HttpOutcome::Bad);
        for last in bad.filter_map(|exchange| exchange.last()) {
            failures.codes.extend(last.said.status());
            if let Some(HttpAnswer::Reply(reply)) = &last.planned
                && let Some(Body::Text(text)) = &reply.body
                && text.len() >= letters
            {
                failures.bodies.insert(text.clone());
            }
        }
        failures
    }
}
