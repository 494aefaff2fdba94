//! The event about a failed probe reports the status and not the body.

use std::collections::BTreeSet;

use probity_model::mechanisms::UNDER_WAY;
use probity_model::timeline::{Asked, KubeEvent};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::answer::{Body, HttpAnswer};

use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// The failure event contains the status code, but not the response body.
pub(super) fn omits_the_body(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = exchanges(run);
    for course in &all {
        let is_bad = |exchange: &Exchange<'_, '_>| exchange.outcome() == HttpOutcome::Bad;
        let Some(first) = course.exchanges.iter().position(is_bad) else { continue };
        let failures = Failures::of(course, clause.tolerance_times("letters"));
        let about = format!("{} probe failed: ", course.word());
        let mine = |event: &&KubeEvent<'_>| event.is_of(&course.container.name, "Unhealthy");
        let (mut named, mut others) = (false, Vec::new());
        // The case may end before the record of a response arrives.
        let settled = |event: &KubeEvent<'_>| run.at_least(&event.at, &run.end()) > UNDER_WAY;
        for event in course.pod.events.iter().filter(mine) {
            let Some((_, message)) = event.message.split_once(&about) else { continue };
            if let Some(body) = failures.bodies.iter().find(|body| message.contains(body.as_str())) {
                let finding = format!("the event says `{message}`, which contains the body `{body}`");
                seen.violated(finding, [event.id]);
            } else if failures.codes.iter().any(|code| says(message, *code)) {
                named = true;
                seen.fine([event.id]);
            } else {
                others.push((event, message));
            }
        }
        let Some((_, message)) = others.first() else { continue };
        let reaction = Reaction::new(run, clause, course);
        let id = course.exchanges[first].id;
        let sent = statuses(&all, course);
        let is_invented = |(event, message): &&(&KubeEvent<'_>, &str)| {
            settled(event) && told(message).is_some_and(|code| !sent.contains(&code))
        };
        let invented = others.iter().find(is_invented);
        if named && invented.is_none() {
            continue;
        }
        if reaction.hidden(&course.exchanges[first].at, &run.end()) {
            seen.doubt(Doubt::Gap, "the event that names the status may have been missed", [id]);
        } else if let Some((event, message)) = invented {
            let finding = format!("an event says `{message}`, but no probe received that answer");
            seen.violated(finding, [event.id, id]);
        } else if reaction.shows_by_the_end(first) && !reaction.is_crowded(&course.exchanges[first]) {
            let codes = failures.codes.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
            let finding = format!("no event names the status ({codes}); the first event says `{message}`");
            let events = others.iter().map(|(event, _)| event.id).chain([id]);
            // A kubelet that gave up waiting before the answer came does not know its status.
            let mut bad = (0..course.exchanges.len()).filter(|at| is_bad(&course.exchanges[*at]));
            if bad.all(|at| reaction.is_excused(at, CountsAs::Success)) {
                seen.doubt(Doubt::Ambiguous, format!("{finding}, but the node was stalled"), events);
            } else {
                seen.violated(finding, events);
            }
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

/// The statuses that a probe of this kind may have received: all statuses that any instance of the container sent, and
/// the statuses at the end of redirects.
fn statuses(all: &[Exchanges<'_, '_>], course: &Exchanges<'_, '_>) -> BTreeSet<u16> {
    let is_same = |other: &&Exchanges<'_, '_>| {
        (other.word(), &other.pod.name, &other.container.name)
            == (course.word(), &course.pod.name, &course.container.name)
    };
    let own =
        course.container.attempts.iter().flat_map(|attempt| &attempt.requests).filter_map(Asked::status);
    let ends = all
        .iter()
        .filter(is_same)
        .flat_map(|other| &other.exchanges)
        .filter_map(|exchange| exchange.last()?.said.status());
    own.chain(ends).collect()
}

/// The statuses with which the probes of an instance failed, and the bodies that can be recognized in a message.
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
