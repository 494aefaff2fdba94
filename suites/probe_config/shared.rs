//! A liveness or startup probe whose endpoint another probe asks, too: nobody can count its failures, but they take their time.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::UNNOTICED;
use probity_model::timeline::{At, Lives, ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::schedule::is_command;
use crate::reading::causes::only_its_probe;
use crate::reading::termination::{Exhausted, Stop};

/// The lives whose liveness probe asks at an endpoint that another probe asks, too.
fn shared<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    let lives = run.lives().of(ProbeKind::Liveness).undisturbed().whole();
    lives.only(|life| !life.is_unmistaken() && !is_command(life))
}

/// After the last success at the endpoint, whoever asked, the first failure may come at once, and the stop signal as many periods
/// later as the threshold has failures after the first.
pub(super) fn not_before(run: &Timeline<'_>, seen: &mut Seen) {
    for life in shared(run) {
        let Some(stop) = life.stop().filter(|_| only_its_probe(&life)) else { continue };
        let passed = |probe: &&&_| {
            let result = life.attempt.result(probe, life.spec);
            result.outcome() == ProbeOutcome::Success && result.at().at.hi < stop.at.at.lo
        };
        let Some(last) = life.probes.iter().rfind(passed) else { continue };
        let least = (life.spec.failures - 1) * life.spec.period - UNNOTICED;
        let formula = format!("(failureThreshold - 1) × periodSeconds - {}", seconds(UNNOTICED));
        let quantity =
            format!("from the last success at the endpoint of {} to the stop signal", life.words());
        life.within(seen, quantity, (*last, stop), Bound::at_least(least, formula));
    }
}

/// Once no probe at the endpoint passes any more, whoever asks, the stop signal comes as many periods later as the threshold has
/// failures.
pub(super) fn not_after(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A startup probe at the same endpoint decides when the failures begin to count.
    for life in shared(run).only(|life| life.container.probe(ProbeKind::Startup).is_none()) {
        let Some(spent) = spent(life) else { continue };
        let (allowed, formula) = spent.allowance(clause);
        let words = format!("{} at an endpoint that another probe uses, too", spent.life.words());
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let quantity =
                    format!("from the time for failureThreshold failures of {words} to the stop signal");
                spent.life.within(seen, quantity, (&spent.at, stop), Bound::at_most(allowed, formula));
            }
            Stop::Missing(line) => {
                let finding =
                    format!("{words} failed for longer than its threshold allows, but no stop signal came");
                seen.violated(finding, spent.events().into_iter().chain([line.id]));
            }
            Stop::Unheard | Stop::Abrupt(_) | Stop::Moot => {}
        }
    }
}

/// A life whose last probes at the endpoint all failed, and when its own probe must have reached its threshold: the first failure of
/// its own may come a period after that of the other probe.
fn spent<'t, 'h>(life: ProbedLife<'t, 'h>) -> Option<Exhausted<'t, 'h>> {
    let from = life.began.at.hi + life.spec.initial_delay;
    let until = life.stop().map_or(i64::MAX, |stop| stop.at.at.lo);
    let asked = life.probes.iter().copied().filter(|probe| probe.at.at.hi < until);
    let failed = asked.rev().take_while(|probe| life.outcome(probe) == ProbeOutcome::Failure);
    let mut failures: Vec<_> = failed.filter(|probe| probe.at.at.lo > from).collect();
    failures.reverse();
    let first = *failures.first()?;
    let due = first.at.later(life.spec.failures.saturating_mul(life.spec.period) + life.spec.timeout);
    let due = due.later(life.noise(&first.at, &due));
    let at = At::new(first.id, due);
    Some(Exhausted { life, failures, at })
}
