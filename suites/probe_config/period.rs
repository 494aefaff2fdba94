//! How probes of one kind follow each other: every period, never later while a container is not ready, and never two at
//! a time.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::{NEAR, OFF_BEAT};
use probity_model::timeline::{At, Probe, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::schedule::{countable, countable_of_all, distribution, is_command, neighbours, watched};

type Pair<'t, 'h> = (&'t Probe<'h>, &'t Probe<'h>);

/// Liveness and startup probes come every period, neither earlier nor later, and the schedule does not drift.
pub(super) fn is_kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = run.lives().of_each(&[ProbeKind::Liveness, ProbeKind::Startup]).countable();
    for life in lives.only(|life| !is_command(life)) {
        let pairs = neighbours(&life);
        judge_worst(clause, &life, &pairs, seen);
        judge_drift(clause, &life, &pairs, seen);
        let spans = pairs.iter().map(|(a, b)| b.at.at.lo - a.at.at.hi).collect();
        let events = pairs.iter().map(|(a, _)| a.id).collect();
        let what = format!("between neighbours of {}", life.words());
        if let Some(measured) = distribution(&what, spans, events) {
            seen.note(measured);
        }
    }
}

/// The shortest and the longest distance, each against its own end of the bound.
fn judge_worst(clause: &Clause, life: &ProbedLife<'_, '_>, pairs: &[Pair<'_, '_>], seen: &mut Seen) {
    let (period, slack) = (life.spec.period, clause.slack_us());
    let span = |(a, b): &&Pair<'_, '_>| b.at.at.lo - a.at.at.hi;
    if let Some(longest) = pairs.iter().max_by_key(span) {
        let bound = Bound::at_most(period + slack, format!("periodSeconds + {}", seconds(slack)));
        judge_pair(life, "the longest time", longest, bound, seen);
    }
    if let Some(shortest) = pairs.iter().min_by_key(span) {
        let bound = Bound::at_least(period - slack, format!("periodSeconds - {}", seconds(slack)));
        judge_pair(life, "the shortest time", shortest, bound, seen);
    }
}

fn judge_pair(life: &ProbedLife<'_, '_>, what: &str, (a, b): &Pair<'_, '_>, bound: Bound, seen: &mut Seen) {
    life.within(seen, format!("{what} between neighbours of {}", life.words()), (*a, *b), bound);
}

/// Over all neighbours in a row, the time is that of so many periods.
fn judge_drift(clause: &Clause, life: &ProbedLife<'_, '_>, pairs: &[Pair<'_, '_>], seen: &mut Seen) {
    let chains = pairs.chunk_by(|(_, b), (next, _)| b.id == next.id);
    let Some(longest) = chains.max_by_key(|chain| chain.len()) else { return };
    let (Some(first), Some(last)) = (longest.first(), longest.last()) else { return };
    let Ok(count) = i64::try_from(longest.len()) else { return };
    let (slack, periods) = (clause.slack_us(), count * life.spec.period);
    let words = seconds(slack);
    let bound = Bound::at_most(periods + slack, format!("{count} × periodSeconds + {words}"))
        .and_at_least(periods - slack, format!("{count} × periodSeconds - {words}"));
    judge_pair(life, "the whole time", &(first.0, last.1), bound, seen);
}

/// While a container is not ready its readiness probe may come early, and never later than after a period.
pub(super) fn readiness_is_not_forgotten(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let slack = clause.slack_us();
    for life in countable(run, ProbeKind::Readiness).iter().filter(|life| !is_command(life)) {
        // What was sent by the life before is followed by nothing until the new life's turn has come.
        let failed: Vec<Pair<'_, '_>> = neighbours(life)
            .into_iter()
            .filter(|(a, _)| life.outcome(a) == ProbeOutcome::Failure && !life.is_straggler(a))
            .collect();
        let early =
            failed.iter().filter(|(a, b)| b.at.at.hi - a.at.at.lo < OFF_BEAT.of(life.spec.period)).count();
        let Some(longest) = failed.iter().max_by_key(|(a, b)| b.at.at.lo - a.at.at.hi) else { continue };
        let formula = format!("periodSeconds + {}; {early} came early", seconds(slack));
        let bound = Bound::at_most(life.spec.period + slack, formula);
        judge_pair(life, "the longest time", longest, bound, seen);
    }
}

/// Where a probe takes longer than its period, the next one waits for it, and then comes at once.
pub(super) fn one_at_a_time(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in countable_of_all(run).iter().filter(|life| life.spec.timeout > life.spec.period) {
        let pairs = life.probes.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        for (a, b) in pairs.filter(|(a, b)| watched(life, &a.at, &b.at)) {
            let id = a.settled.as_ref().map_or(a.id, |settled| settled.id);
            let ended = At::new(id, life.result(a).at());
            if ended.at.lo - a.at.at.hi < life.spec.period + NEAR {
                continue;
            }
            let bound = clause
                .in_time()
                .and_at_least(-NEAR, "not before the end of the one before it, as near as can be told");
            let quantity = format!("from the end of a slow probe to the next of {}", life.words());
            life.within(seen, quantity, (&ended, b), bound);
        }
    }
}
