//! Large bodies: so much of them is read, and then the connection is closed.

use probity_model::measure::Unit;
use probity_model::timeline::Attempt;
use probity_model::{Bound, Clause, Interval, Measurement, Seen, Timeline};
use probity_script::answer::{Body, HttpAnswer};

use crate::reading::http::exchange::{Hop, HttpOutcome, exchanges};
use crate::reading::http::reaction::{CountsAs, Reaction};
use crate::reading::http::said::{LIMIT, Said};

/// So much can lie in the buffers of both ends without anyone reading it; upstream systems keep less.
const BUFFERS: u64 = 16 * 1024 * 1024;

/// The kubelet stops reading at 10 KiB; the status alone decides.
pub(super) fn no_more_is_read(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let jury = Reaction::new(run, clause, &course);
        for exchange in &course.exchanges {
            if let Some(last) =
                exchange.last().filter(|last| large(last, LIMIT) && never_ends(last) && !slow(last))
            {
                at_once(run, course.attempt, last, course.spec.timeout, seen);
            }
        }
        let runs = course
            .runs(|exchange| exchange.last().filter(|last| large(last, LIMIT)).map(|_| exchange.outcome()));
        for (outcome, range) in runs {
            match outcome {
                HttpOutcome::Good => {
                    jury.decide(&range, CountsAs::Success, "had a large body and a good status", seen)
                }
                HttpOutcome::Bad => {
                    jury.decide(&range, CountsAs::Failure, "had a large body and a bad status", seen)
                }
                _ => {}
            }
        }
    }
}

/// Whether the answer had a body of at least so much.
fn large(hop: &Hop<'_, '_>, least: u64) -> bool {
    matches!(hop.said, Said::Whole { bytes: Some(bytes), .. } if bytes >= least)
}

/// Whether the body would keep a reader waiting who wants all of it.
fn never_ends(hop: &Hop<'_, '_>) -> bool {
    let Some(HttpAnswer::Reply(reply)) = &hop.told else { return false };
    reply.stall_after.is_some() || reply.body == Some(Body::Endless)
}

/// Whether the target itself takes its time.
fn slow(hop: &Hop<'_, '_>) -> bool {
    let Some(HttpAnswer::Reply(reply)) = &hop.told else { return false };
    reply.delay.is_some() || reply.body_delay.is_some() || reply.drip.is_some()
}

/// The answer was over long before the probe's timeout.
fn at_once(run: &Timeline<'_>, attempt: &Attempt<'_>, hop: &Hop<'_, '_>, timeout: i64, seen: &mut Seen) {
    let Some(answer) = &hop.asked.answer else { return };
    let took = i64::try_from(answer.took_us).unwrap_or(i64::MAX);
    seen.measure(Measurement {
        quantity: "from the request to the end of a body beyond the limit".to_owned(),
        unit: Unit::Us,
        observed: Interval::point(took),
        bound: Bound::at_most(timeout / 2, "timeoutSeconds / 2"),
        noise: run.noise_between(&attempt.node, &hop.asked.at, &answer.at),
        events: vec![hop.asked.id, answer.at.id],
    });
}

/// For bodies beyond 10 KiB the kubelet closes the connection, which the application sees as a reset.
pub(super) fn closes_at_the_limit(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        for exchange in &course.exchanges {
            let Some(last) = exchange.last().filter(|last| large(last, LIMIT + 1)) else { continue };
            let Some(answer) = &last.asked.answer else { continue };
            if !last.asked.request.protocol.starts_with("HTTP/1") || slow(last) {
                continue;
            }
            seen.applies();
            let error = answer.error.as_deref().unwrap_or_default().to_ascii_lowercase();
            let told = error.contains("reset") || error.contains("broken pipe");
            let more_than_the_limit = answer.written > LIMIT + 1024;
            let waited =
                i64::try_from(answer.took_us).unwrap_or(i64::MAX).saturating_mul(2) > course.spec.timeout;
            if told
                || waited
                || (more_than_the_limit && last.connection.is_some_and(|conn| conn.reset_by_peer()))
            {
                at_once(run, course.attempt, last, course.spec.timeout, seen);
            } else if error.is_empty() && answer.written >= BUFFERS {
                let finding = format!("{} bytes were taken from the target without an error", answer.written);
                seen.violated(finding, exchange.events.iter().copied());
            }
        }
    }
}
