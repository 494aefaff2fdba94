//! What the event about a failed probe tells: the status, not the body.

use std::collections::BTreeSet;

use probity_model::timeline::KubeEvent;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Stamp, Timeline};
use probity_script::answer::{Body, HttpAnswer};

use crate::reading::http::exchange::{HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::Reaction;

/// A body of fewer letters may stand in a message by chance.
const TELLING: usize = 6;

/// The failure event carries the status code, not the response body.
pub(super) fn omits_the_body(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let failures = Failures::of(&course);
        let Some(first) = failures.first else { continue };
        seen.applies();
        let about = format!("{} probe failed: ", course.word());
        let mine = |event: &&KubeEvent<'_>| {
            event.reason == "Unhealthy" && event.container == Some(course.container.name.as_str())
        };
        let (mut told, mut others) = (false, Vec::new());
        for event in course.pod.events.iter().filter(mine) {
            let Some((_, message)) = event.message.split_once(&about) else { continue };
            if let Some(body) = failures.bodies.iter().find(|body| message.contains(body.as_str())) {
                let finding = format!("the event says `{message}`, which has the body `{body}` in it");
                seen.violated(finding, [event.id]);
            } else if failures.codes.iter().any(|code| says(message, *code)) {
                told = true;
                seen.fine([event.id]);
            } else {
                others.push((event.id, message));
            }
        }
        let jury = Reaction::new(run, clause, &course);
        let Some((_, message)) = others.first().filter(|_| !told) else { continue };
        let id = course.exchanges[first].id;
        if jury.hidden(&course.exchanges[first].at, &Stamp::harness(run.ended_us)) {
            seen.doubt(Doubt::Gap, "the event that names the status may have been missed", [id]);
        } else if jury.shows_by_the_end(first) && !jury.crowded() {
            let codes = failures.codes.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let finding = format!("no event names the status ({codes}); the first says `{message}`");
            seen.violated(finding, others.iter().map(|(id, _)| *id).chain([id]));
        }
    }
}

/// Whether a message names this status, and not another number that begins or ends like it.
fn says(message: &str, code: u16) -> bool {
    message.split(|c: char| !c.is_ascii_digit()).any(|number| number == code.to_string())
}

/// The statuses with which the probes of a course failed.
struct Failures {
    /// The place of the first.
    first: Option<usize>,
    codes: BTreeSet<u16>,
    bodies: BTreeSet<String>,
}

impl Failures {
    fn of(course: &Exchanges<'_, '_>) -> Self {
        let mut failures = Self { first: None, codes: BTreeSet::new(), bodies: BTreeSet::new() };
        for (at, exchange) in course.exchanges.iter().enumerate() {
            let bad = exchange.outcome() == HttpOutcome::Bad;
            let Some(last) = exchange.last().filter(|_| bad) else { continue };
            failures.first.get_or_insert(at);
            failures.codes.extend(last.said.status());
            if let Some(HttpAnswer::Reply(reply)) = &last.told
                && let Some(Body::Text(text)) = &reply.body
                && text.len() >= TELLING
            {
                failures.bodies.insert(text.clone());
            }
        }
        failures
    }
}
