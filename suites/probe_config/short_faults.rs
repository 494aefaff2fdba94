//! Faults that end before `failureThreshold` probes have failed have no effect.

use probity_model::clocks::{Order, Stamp};
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};

use super::schedule::{countable_of_all, is_command, shown_ready, watched};
use crate::reading::causes::only_its_probe;
use crate::reading::heard::may_be_missed;

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
pub(super) fn one_success_resets(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run) {
        let runs = short_runs(&life);
        let failures: usize = runs.iter().map(|short| short.failures.len()).sum();
        if i64::try_from(failures).is_ok_and(|failures| failures >= life.spec.failures) {
            judge_short(&life, &runs, seen);
        }
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
