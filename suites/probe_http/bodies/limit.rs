//! Large bodies: the kubelet reads at most 10 KiB and then closes the connection.

use probity_model::measure::{Blur, Unit};
use probity_model::mechanisms::PROMPT;
use probity_model::stamp::counted;
use probity_model::{Bound, Clause, Interval, Measurement, Seen, Timeline};
use probity_script::answer::{Body, HttpAnswer, HttpReply};

use crate::reading::http::exchange::{Hop, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};
use crate::reading::http::response::{LIMIT, ResponseSeen};

/// The kubelet stops reading a body at 10 KiB, and only the status decides.
pub(super) fn no_more_is_read(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let lasts = course.exchanges.iter().filter_map(|exchange| exchange.last());
        for last in
            lasts.filter(|last| large(last, LIMIT) && planned(last, never_ends) && !planned(last, slow))
        {
            at_once(&course, last, seen);
        }
        let reaction = Reaction::new(run, clause, &course);
        let runs = course
            .runs(|exchange| exchange.last().filter(|last| large(last, LIMIT)).map(|_| exchange.outcome()));
        for (outcome, range) in runs {
            match outcome.by_status() {
                Some(CountsAs::Success) => {
                    reaction.decide(&range, CountsAs::Success, "had a large body and a success status", seen);
                }
                Some(CountsAs::Failure) => {
                    reaction.decide(&range, CountsAs::Failure, "had a large body and a failure status", seen);
                }
                _ => {}
            }
        }
    }
}

/// Whether the answer had a body of at least this size.
fn large(hop: &Hop<'_, '_>, least: u64) -> bool {
    matches!(hop.said, ResponseSeen::Whole { bytes: Some(bytes), .. } if bytes >= least)
}

fn planned(hop: &Hop<'_, '_>, is: fn(&HttpReply) -> bool) -> bool {
    matches!(&hop.planned, Some(HttpAnswer::Reply(reply)) if is(reply))
}

/// Whether a client that reads the whole body would have to wait.
fn never_ends(reply: &HttpReply) -> bool {
    reply.stall_after.is_some() || reply.body == Some(Body::Endless)
}

/// Whether the target itself delays the answer.
fn slow(reply: &HttpReply) -> bool {
    reply.delay.is_some() || reply.body_delay.is_some() || reply.drip.is_some()
}

/// The answer ended long before the probe's timeout.
fn at_once(course: &Exchanges<'_, '_>, hop: &Hop<'_, '_>, seen: &mut Seen) {
    let Some(answer) = &hop.asked.answer else { return };
    seen.measure(Measurement {
        quantity: "from the request to the end of a body beyond the limit".to_owned(),
        unit: Unit::Us,
        observed: Interval::point(counted(answer.took_us)),
        bound: Bound::at_most(PROMPT.of(course.spec.timeout), "timeoutSeconds / 2"),
        noise: course.noise(&hop.asked.at, &answer.at),
        blur: Blur { to: course.run.stalled_at(&answer.at), ..Blur::default() },
        events: vec![hop.asked.id, answer.at.id],
    });
}

/// If a body is larger than 10 KiB, the kubelet closes the connection, which the application sees as a reset.
pub(super) fn closes_at_the_limit(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let taken = clause.tolerance_times("taken") as u64;
    let buffers = clause.tolerance_times("buffers") as u64;
    for course in exchanges(run) {
        for exchange in &course.exchanges {
            let Some(last) = exchange.last().filter(|last| large(last, LIMIT + 1)) else { continue };
            let Some(answer) = &last.asked.answer else { continue };
            if !last.asked.is_http1() || planned(last, slow) {
                continue;
            }
            let error = answer.error.as_deref().unwrap_or_default().to_ascii_lowercase();
            let told = error.contains("reset") || error.contains("broken pipe");
            let waited = counted(answer.took_us) > PROMPT.of(course.spec.timeout);
            let reset = || last.connection.is_some_and(|connection| connection.reset_by_peer());
            if told || waited || (answer.written > LIMIT + taken && reset()) {
                at_once(&course, last, seen);
            } else if error.is_empty() && answer.written >= buffers {
                let finding =
                    format!("the kubelet read {} bytes from the target without an error", answer.written);
                seen.violated(finding, exchange.events.iter().copied());
            }
        }
    }
}
