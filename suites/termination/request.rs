//! What the API server records about a deletion request, and how it handles invalid grace periods.

use probity_model::measure::{Bound, Interval, Measurement, Unit, seconds, whole_seconds};
use probity_model::mechanisms::CUT_TO_SECONDS;
use probity_model::timeline::Revision;
use probity_model::{Clause, Seen, Timeline};

use super::asked::{Going, going};
use crate::reading::ends::killed_at;

/// The time between a pod's creation and its deadline, on the API server's clock (from the pod) and on the harness's
/// clock (from its requests).
fn beyond_request(run: &Timeline<'_>, going: &Going<'_, '_>, shown: &Revision<'_>) -> Option<Interval> {
    let deadline = shown.second_of("deletionTimestamp")?;
    let made = shown.second_of("creationTimestamp")?;
    let (created, _) = going.pod.created?;
    let asked = run.clocks.between(&run.deed_at(created), &going.first.at)?;
    Some(Interval::point(whole_seconds(deadline - made)).minus(asked))
}

/// The API server records the grace period, and the time after which the pod may be removed.
pub(super) fn deadline_is_recorded(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        let Some(shown) = going.shown() else { continue };
        let (grace, slack) = (going.grace(), clause.slack_us());
        let recorded = shown.deletion_grace().map(whole_seconds);
        if recorded != Some(grace) {
            let recorded = recorded.map_or_else(|| "none".to_owned(), seconds);
            let finding = format!(
                "the deletion of {} requested a grace period of {}, but {recorded} is recorded",
                going.pod.key,
                seconds(grace)
            );
            seen.violated(finding, [going.first.at.id, shown.id]);
            continue;
        }
        let Some(observed) = beyond_request(run, going, shown) else {
            if shown.second_of("deletionTimestamp").is_none() {
                let finding = format!("{} is being deleted, but has no deletionTimestamp", going.pod.key);
                seen.violated(finding, [going.first.at.id, shown.id]);
            }
            continue;
        };
        let off = CUT_TO_SECONDS + slack;
        let words =
            |sign| format!("the grace period {sign} {}, because times are in whole seconds", seconds(off));
        let bound = Bound::at_most(grace + off, words("+")).and_at_least(grace - off, words("-"));
        let measured = Measurement {
            quantity: format!("from the request to delete {} to its deadline", going.pod.key),
            unit: Unit::Us,
            observed,
            bound,
            noise: 0,
            blur: probity_model::measure::Blur::default(),
            events: vec![going.first.at.id, shown.id],
        };
        seen.measure(measured);
        seen.facet("grace", if going.first.grace.is_some() { "asked" } else { "own" });
    }
}

/// A second request can only make the grace period shorter.
pub(super) fn only_shortens(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.grace() > 0 && !going.was_idle()) {
        let [again] = going.again.as_slice() else { continue };
        // A request without a grace period must not change anything.
        let second = again.grace.unwrap_or_else(|| going.grace());
        let Some(first) = going.shown().filter(|_| second > 0) else { continue };
        // The kubelet's own final request has a grace period of zero.
        let lasting = |revision: &&Revision<'_>| revision.deletion_grace().is_some_and(|grace| grace > 0);
        let later = |revision: &&Revision<'_>| run.before(&again.at, &revision.at);
        let Some(last) = going.pod.revisions.iter().rfind(|revision| lasting(revision) && later(revision))
        else {
            continue;
        };
        let (grace, elapsed) = (going.grace(), run.clocks.between(&going.first.at, &again.at));
        // A time in the past cannot be a deadline.
        if elapsed.is_none_or(|elapsed| elapsed.hi >= second) {
            continue;
        }
        let expected = grace.min(second);
        let moved = first.second_of("deletionTimestamp").zip(last.second_of("deletionTimestamp"));
        let moved = moved.map(|(first, last)| whole_seconds(first - last));
        let kept =
            last.deletion_grace().map(whole_seconds) == Some(expected) && moved == Some(grace - expected);
        let finding = || {
            let now = last.deletion_grace().map_or_else(|| "none".to_owned(), |now| now.to_string());
            format!(
                "{} was deleted with a grace period of {}, then with {}, but its grace period is {now} with a deadline {} earlier",
                going.pod.key,
                seconds(grace),
                again.grace.map_or_else(|| "none".to_owned(), seconds),
                moved.map_or_else(|| "not".to_owned(), seconds)
            )
        };
        seen.check(kept, finding, [going.first.at.id, again.at.id, last.id]);
        if kept {
            let kind = match again.grace {
                None => "plain",
                Some(second) if second < grace => "shorter",
                Some(_) => "longer",
            };
            seen.facet("second", kind);
        }
        note_kill(run, going, seen);
    }
}

/// The time of the kill is only measured: a stop that has started continues with its original grace period.
fn note_kill(run: &Timeline<'_>, going: &Going<'_, '_>, seen: &mut Seen) {
    for life in going.mains() {
        let Some((stop, ended)) = life.stop().zip(killed_at(&life)) else { continue };
        let quantity = format!("from the stop signal of {} to its kill after two requests", life.name());
        if let Some(measured) = run.measure(quantity, &life.node, stop, ended, Bound::default()) {
            seen.note(measured);
        }
    }
}

/// A negative grace period is stored as one second.
pub(super) fn negative_is_one(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let written = tried.manifest["spec"]["terminationGracePeriodSeconds"].as_i64();
        let Some(written) = written.filter(|written| *written < 0) else { continue };
        let stored = tried.stored["spec"]["terminationGracePeriodSeconds"].as_i64();
        let finding = || format!("a grace period of {written} was stored as {stored:?}");
        seen.check(stored == Some(1), finding, [*id]);
    }
}
