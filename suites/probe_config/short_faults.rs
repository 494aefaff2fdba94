//! Faults that end before `failureThreshold` probes have failed have no effect.

use probity_model::clocks::{Order, Stamp};
use probity_model::mechanisms::{OFF_BEAT, UNNOTICED};
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::schedule::{countable_of_all, is_command, shown_ready, watched};
use crate::reading::causes::only_its_probe;
use crate::reading::heard::may_be_missed;
use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::reaction::{CountsAs, Reaction};
use crate::reading::ports::was_always_open;

/// A sequence of fewer failures than the threshold, between two successes.
struct Short<'t, 'h> {
    failures: Vec<&'t Probe<'h>>,
    next: &'t Probe<'h>,
    /// The maximum number of failures that the kubelet can have counted, including the neighboring successes that it
    /// may have missed.
    most: usize,
}

impl Short<'_, '_> {
    fn events(&self) -> Vec<EventId> {
        self.failures.iter().flat_map(|probe| probe.events()).chain(self.next.events()).collect()
    }
}

/// The sequences of fewer failures than the threshold in an instance that end with a success. Commands are left out,
/// because they may fail before the target records them.
fn short_runs<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<Short<'t, 'h>> {
    if is_command(life) {
        return Vec::new();
    }
    let threshold = usize::try_from(life.spec.failures).unwrap_or(usize::MAX);
    let triples = life.stretches();
    let triples = triples.windows(3).filter_map(|three| {
        use ProbeOutcome::{Failure, Success};
        let [(Success, well), (Failure, failures), (Success, next)] = three else { return None };
        let missed = |probe: &&&Probe<'h>| may_be_missed(life, probe);
        let around = well.iter().rev().take_while(missed).count() + next.iter().take_while(missed).count();
        let (last, next) = (*well.last()?, *next.first()?);
        let known = watched(life, &last.at, &next.at);
        let most = failures.len() + around;
        (known && failures.len() < threshold).then(|| Short { failures: failures.to_vec(), next, most })
    });
    triples.collect()
}

/// The effect that a sequence of fewer failures than the threshold must not have: the stop signal, or a revision that
/// shows the container as not ready.
fn consequence(life: &ProbedLife<'_, '_>, short: &Short<'_, '_>) -> Option<EventId> {
    let first = short.failures.first()?;
    if life.spec.kind == ProbeKind::Readiness {
        return shown_ready(life).windows(2).find_map(|pair| {
            let [(_, true), (down, false)] = pair else { return None };
            let order = |stamp: &Stamp| life.run.clocks.order(&down.at, stamp);
            (order(&first.at) == Order::After && order(&short.next.at) == Order::Before).then_some(down.id)
        });
    }
    let stop = life.stop()?;
    let between = stop.at.at.lo > first.at.at.hi && stop.at.at.lo < short.next.at.at.lo;
    (between && only_its_probe(life)).then_some(stop.id)
}

/// One success resets the count: failures that reach the threshold in total, but never in a row, have no effect.
pub(super) fn one_success_resets(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        let runs = short_runs(&life);
        let failures: usize = runs.iter().map(|short| short.failures.len()).sum();
        if i64::try_from(failures).is_ok_and(|failures| failures >= life.spec.failures) {
            judge_short(&life, &runs, seen);
        }
    }
    for course in exchanges(run).iter().filter(|course| course.spec.kind == ProbeKind::Liveness) {
        if course.holes.is_empty() && was_always_open(course) && !run.node_was_touched() {
            one_warning_resets(&Reaction::new(run, clause, course), seen);
        }
    }
}

/// A redirect that the kubelet does not follow is a success with a warning, and also resets the count.
fn one_warning_resets(reaction: &Reaction<'_, '_, '_>, seen: &mut Seen) {
    let course = reaction.course;
    let stop = course.stop().filter(|_| only_its_probe(course));
    let before_stop = |probe: &Exchange<'_, '_>| stop.is_none_or(|stop| probe.at.at.hi < stop.at.at.lo);
    // The failures since the last success without a warning. Also the last success with a warning, and how many failures
    // came before it.
    let (mut failed, mut warned) = (Vec::new(), None);
    for (at, exchange) in course.exchanges.iter().enumerate().take_while(|(_, probe)| before_stop(probe)) {
        match exchange.outcome() {
            HttpOutcome::Bad => failed.push(exchange.id),
            HttpOutcome::Good => (failed, warned) = (Vec::new(), None),
            HttpOutcome::Parted if !reaction.is_excused(at, CountsAs::Success) => {
                let enough = i64::try_from(failed.len()).is_ok_and(|many| many >= course.spec.failures);
                seen.fine(failed.iter().copied().chain([exchange.id]).filter(|_| enough));
                warned = Some((exchange, failed.len()));
            }
            _ => return,
        }
    }
    let Some((stop, (warned, before))) = stop.zip(warned).filter(|_| !failed.is_empty()) else { return };
    let (since, period) = (failed.len() - before, course.spec.period);
    // There may have been failures that the target did not see, but they take their time.
    let least = course.spec.failures * period - UNNOTICED.min(OFF_BEAT.of(period));
    let span = course.run.clocks.between(&warned.at, &stop.at);
    let fewer = i64::try_from(since).is_ok_and(|since| since < course.spec.failures);
    if fewer && span.is_some_and(|span| span.hi < least) {
        let finding = format!("{}: stopped {since} failures after a success with a warning", course.words());
        seen.violated(finding, failed.into_iter().chain([warned.id, stop.id]));
    }
}

/// A fault that ends before `failureThreshold` probes have failed has no effect.
pub(super) fn short_faults_pass(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        judge_short(&life, &short_runs(&life), seen);
    }
}

fn judge_short(life: &ProbedLife<'_, '_>, runs: &[Short<'_, '_>], seen: &mut Seen) {
    for short in runs {
        let Some(id) = consequence(life, short) else {
            seen.fine(short.events());
            continue;
        };
        let (count, wanted) = (short.failures.len(), life.spec.failures);
        let finding =
            format!("{} failed only {count} of {wanted} times, but this had an effect", life.words());
        let events = short.events().into_iter().chain([id]);
        if i64::try_from(short.most).is_ok_and(|most| most < wanted) {
            seen.violated(finding, events);
        } else {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but stalls may have hidden an answer"), events);
        }
    }
}
