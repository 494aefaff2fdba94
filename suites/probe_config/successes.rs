//! `successThreshold`: how many successes in a row make a container ready.
//!
//! A revision arrives after the kubelet's decision, so probes that arrived in between are included: they can only add
//! successes, and never cause a violation. If the kubelet waits for one success too many, the time between the decisive
//! success and the status shows this, because the periods of the cases are longer than the slack.

use probity_model::clocks::Order;
use probity_model::timeline::{Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::schedule::{countable, open, shown_ready};
use crate::reading::readiness::{Turn, comes_up, rises};

/// A change to ready, with the probes that can have caused it.
struct ShownReady<'t, 'h> {
    revision: &'t Revision<'h>,
    /// The probes since the last failure that came before the container was last shown as not ready.
    probes: Vec<&'t Probe<'h>>,
    /// Whether this instance had such a failure, or a failure among these probes.
    after_failure: bool,
}

/// After a failure, exactly `successThreshold` successes in a row make a container ready.
pub(super) fn after_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in several(run) {
        for turn in turns(&life).iter().filter(|turn| turn.after_failure) {
            judge_turn(&life, turn, seen);
        }
        not_much_later(clause, &life, seen, |failed| failed);
    }
}

/// At the first start of a container, exactly `successThreshold` successes in a row make it ready.
pub(super) fn at_first_start(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in several(run).iter().filter(|life| life.number == 0) {
        if let Some(turn) = turns(life).first() {
            judge_turn(life, turn, seen);
        }
        not_much_later(clause, life, seen, |failed| !failed);
    }
}

/// The success that reaches the threshold makes the container ready, and not a later success. `meant` selects the
/// changes to ready that follow a failure, or those that do not.
fn not_much_later(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen, meant: impl Fn(bool) -> bool) {
    for turn in rises(life) {
        let before = life.probes.iter().take_while(|probe| probe.id != turn.first.id);
        let failed = before.into_iter().any(|probe| life.outcome(probe) == ProbeOutcome::Failure);
        if meant(failed) {
            comes_up(clause, seen, life, &turn);
        }
    }
}

/// After a restart, `successThreshold` successes in a row make a container ready, no fewer and no more. Kubelets
/// nevertheless continue the count of the previous instance.
pub(super) fn after_restart(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = several(run);
    for life in all.iter().filter(|life| life.number > 0) {
        if let Some(turn) = known_successes(life) {
            comes_up(clause, seen, life, &turn);
        }
    }
    for life in all.iter().filter(|life| life.number > 0) {
        let all_turns = turns(life);
        let Some(turn) = all_turns.first().filter(|turn| !turn.after_failure) else { continue };
        let before = life.before();
        let before = all.iter().find(|other| before.is_some_and(|before| other.is(&before)));
        let here = longest(life, &turn.probes);
        if here.len() >= wanted(life) {
            judge_turn(life, turn, seen);
            continue;
        }
        let Some(before) = before else { continue };
        let last = before.stretches().pop();
        let carried =
            last.filter(|(outcome, _)| *outcome != ProbeOutcome::Failure).map_or(0, |(_, of)| of.len());
        let (count, wanted) = (here.len(), wanted(life));
        let finding = format!("ready after only {count} of {wanted} successes since its restart");
        let events = cited(turn);
        if count > 0 && carried + count >= wanted {
            seen.diverges(finding, events);
        } else {
            seen.violated(finding, events);
        }
    }
}

/// The successes with which an instance begins, counted from when its kubelet certainly knew the instance; `None` if
/// the instance was shown as ready before them.
fn known_successes<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Option<Turn<'t, 'h>> {
    let passed = |probe: &&&Probe<'_>| life.surely(probe) == ProbeOutcome::Success;
    let row = life.probes.iter().take_while(passed).filter(|probe| probe.at.at.lo >= life.known_from());
    let row: Vec<&Probe<'_>> = row.copied().collect();
    let (first, last, decisive) = (*row.first()?, *row.last()?, row.get(wanted(life).checked_sub(1)?)?);
    let due = decisive.settled.clone()?;
    life.showed_ready(&first.at, false).then_some(Turn { first, due, last, next: None })
}

fn several<'t, 'h>(run: &'t Timeline<'h>) -> Vec<ProbedLife<'t, 'h>> {
    let all = countable(run, ProbeKind::Readiness).into_iter();
    all.filter(|life| life.spec.successes > 1 && open(life).is_some()).collect()
}

fn wanted(life: &ProbedLife<'_, '_>) -> usize {
    usize::try_from(life.spec.successes).unwrap_or(usize::MAX)
}

/// The changes to ready in an instance.
fn turns<'t, 'h>(life: &ProbedLife<'t, 'h>) -> Vec<ShownReady<'t, 'h>> {
    let mut turns = Vec::new();
    let mut unready: Option<&Revision<'_>> = None;
    for (revision, ready) in shown_ready(life) {
        if !ready {
            unready = Some(revision);
            continue;
        }
        let failed = |probe: &&&Probe<'_>| {
            life.outcome(probe) == ProbeOutcome::Failure
                && unready
                    .is_some_and(|unready| life.run.clocks.order(&probe.at, &unready.at) == Order::Before)
        };
        let failure = life.probes.iter().rfind(failed).copied();
        let since = failure.map_or(i64::MIN, |probe| probe.at.at.lo);
        let can_count = |probe: &&&Probe<'_>| {
            probe.at.at.lo > since && life.run.clocks.order(&probe.at, &revision.at) != Order::After
        };
        let probes: Vec<_> = life.probes.iter().filter(can_count).copied().collect();
        let after_failure = probes.iter().any(|probe| life.outcome(probe) == ProbeOutcome::Failure);
        turns.push(ShownReady { revision, probes, after_failure: failure.is_some() || after_failure });
    }
    turns
}

/// The longest sequence of probes that are not certain failures.
fn longest<'t, 'h>(life: &ProbedLife<'t, 'h>, probes: &[&'t Probe<'h>]) -> Vec<&'t Probe<'h>> {
    let stretches = probes.split(|probe| life.outcome(probe) == ProbeOutcome::Failure);
    stretches.max_by_key(|stretch| stretch.len()).map(<[_]>::to_vec).unwrap_or_default()
}

fn cited(turn: &ShownReady<'_, '_>) -> Vec<EventId> {
    turn.probes.iter().flat_map(|probe| probe.events()).chain([turn.revision.id]).collect()
}

fn judge_turn(life: &ProbedLife<'_, '_>, turn: &ShownReady<'_, '_>, seen: &mut Seen) {
    // Another clause judges instances after the first, unless a failure in the instance reset the count.
    let carried = life.number > 0 && !turn.after_failure;
    let (longest, wanted) = (longest(life, &turn.probes), wanted(life));
    if longest.len() >= wanted {
        if longest.iter().all(|probe| life.outcome(probe) == ProbeOutcome::Success) {
            seen.fine(cited(turn));
        }
    } else if !carried {
        let finding = format!("shown as ready after only {} of {wanted} successes in a row", longest.len());
        seen.violated(finding, cited(turn));
    }
}
