//! What the event about a failed probe tells: the status, not the body.

use std::collections::BTreeSet;

use probity_model::{Clause, Seen, Timeline};
use probity_script::answer::{Body, HttpAnswer};

use super::exchange::{Course, Outcome, courses};

/// A body of fewer letters may stand in a message by chance.
const TELLING: usize = 6;

/// The failure event carries the status code, not the response body.
pub(super) fn omits_the_body(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in courses(run) {
        let failures = Failures::of(&course);
        if failures.codes.is_empty() {
            continue;
        }
        seen.applies();
        let about = format!("{} probe failed: ", course.word());
        for event in &course.pod.events {
            let mine = event.reason == "Unhealthy" && event.container == Some(course.container.name.as_str());
            let Some((_, message)) = event.message.split_once(&about).filter(|_| mine) else { continue };
            let told = failures.codes.iter().any(|code| says(message, *code));
            if let Some(body) = failures.bodies.iter().find(|body| message.contains(body.as_str())) {
                let finding = format!("the event says `{message}`, which has the body `{body}` in it");
                seen.violated(finding, [event.id]);
            } else if told {
                seen.fine([event.id]);
            } else if failures.nothing_else {
                let codes = failures.codes.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
                let finding = format!("the event says `{message}`, not the status that failed ({codes})");
                seen.violated(finding, [event.id]);
            }
        }
    }
}

/// Whether a message names this status, and not another number that begins or ends like it.
fn says(message: &str, code: u16) -> bool {
    message.split(|c: char| !c.is_ascii_digit()).any(|number| number == code.to_string())
}

/// How the probes of a course failed.
struct Failures {
    codes: BTreeSet<u16>,
    bodies: BTreeSet<String>,
    /// No probe can have failed in another way.
    nothing_else: bool,
}

impl Failures {
    fn of(course: &Course<'_, '_>) -> Self {
        let mut failures = Self { codes: BTreeSet::new(), bodies: BTreeSet::new(), nothing_else: true };
        for exchange in &course.exchanges {
            let (outcome, last) = (exchange.outcome(), exchange.last());
            failures.nothing_else &= matches!(outcome, Outcome::Good | Outcome::Bad | Outcome::Parted);
            let Some(last) = last.filter(|_| outcome == Outcome::Bad) else { continue };
            failures.codes.extend(last.said.status());
            if let Some(HttpAnswer::Reply(reply)) = &last.told
                && let Some(Body::Text(text)) = &reply.body
                && text.len() >= TELLING
            {
                failures.bodies.insert(text.clone());
            }
        }
        // A port that was closed for a time refused probes that no target saw.
        failures.nothing_else &= !course.attempt.lines.iter().any(
            |line| matches!(&line.line.fact, probity_script::Fact::Listening(port) if port.state != "open"),
        );
        failures
    }
}
