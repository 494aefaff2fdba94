//! Thirty seconds: what the default settings of a probe mean for the time until trouble has a consequence.
//!
//! The instant of the trouble is the change of the plan, which the target itself writes down. Where there was none, or
//! several, nothing is said.

use probity_model::measure::Bound;
use probity_model::timeline::{ContainerSeen, Probe, ProbeKind, ProbeSpec, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::change_between;
use crate::reading::readiness::falls;
use crate::reading::readiness::readiness_lives;
use crate::reading::termination::{Stop, exhausted};
use crate::reading::tolerance::{NEAR, Outcome, outcome, timed_out};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.defaults.unavailable-after-30s", judge: unavailable },
    Judge { clause: "scenario.defaults.liveness-kill-30s", judge: killed },
];

/// Whether a probe has the default period, timeout and thresholds.
fn by_default(spec: &ProbeSpec) -> bool {
    let ordinary = (10_000_000, 1_000_000, 1, 3);
    (spec.period, spec.timeout, spec.successes, spec.failures) == ordinary
}

/// From trouble to its consequence: the third failure comes two to three periods later, and so much more if it hangs.
fn window(spec: &ProbeSpec, hangs: bool, slack: i64, slack_in_words: &str) -> Bound {
    let (wait, words) = if hangs { (spec.timeout, " + timeoutSeconds") } else { (0, "") };
    let most = spec.failures * spec.period + wait + slack;
    let least = (spec.failures - 1) * spec.period + wait - NEAR;
    Bound::at_most(most, format!("failureThreshold × periodSeconds{words} + {slack_in_words}")).and_at_least(
        least,
        format!("(failureThreshold − 1) × periodSeconds{words} − 0.1 s for the probe's way"),
    )
}

/// With default settings a pod that fails its readiness probe is unavailable after about thirty seconds.
fn unavailable(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).iter().filter(|life| by_default(life.spec)) {
        for turn in falls(life) {
            let before = life.probes.iter().take_while(|said| said.id != turn.first.id).last();
            let trouble = before.and_then(|said| change_between(life.attempt, said, turn.first));
            let Some(trouble) = trouble else { continue };
            seen.applies();
            let slack = clause.slack_us();
            let bound = window(
                life.spec,
                timed_out(life.attempt, life.spec, turn.first),
                slack,
                "the clause's slack",
            );
            let down = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
                !container.ready && revision.is("Ready") == Some(false)
            };
            match life.first_shown(&turn.first.at, down) {
                Some(shown) => {
                    let (from, to) = ((trouble.id, &trouble.at), (shown.id, &shown.at));
                    let quantity = "from the trouble to Ready=False";
                    if let Some(found) = run.measure(quantity, &life.attempt.node, from, to, bound) {
                        seen.measure(found);
                    }
                }
                None if turn.lasted(life) > slack => {
                    let finding = "three failures of a readiness probe, and the pod stayed ready";
                    seen.violated(finding, [trouble.id, turn.first.id, turn.due.id, turn.last.id]);
                }
                None => {}
            }
        }
    }
}

/// The same arithmetic for liveness: about thirty seconds until the stop signal.
fn killed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in exhausted(run, ProbeKind::Liveness) {
        let (attempt, spec) = (spent.life.attempt, spent.life.spec);
        let Some(first) = spent.failures.first().filter(|_| by_default(spec)) else { continue };
        let before = |probe: &&Probe<'_>| probe.id < first.id && probe.can_be(ProbeKind::Liveness);
        let good = attempt.probes.iter().rfind(before);
        let good = good.filter(|probe| outcome(attempt, spec, probe) == Outcome::Success);
        let Some(trouble) = good.and_then(|good| change_between(attempt, good, first)) else { continue };
        seen.applies();
        let (allowed, words) = spent.allowance(clause);
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let bound = window(spec, timed_out(attempt, spec, first), allowed, &words);
                let quantity = "from the trouble to the stop signal";
                spent.life.within(seen, quantity, (trouble, stop), bound);
            }
            Stop::Missing(last) => {
                let events = spent.events().into_iter().chain([trouble.id, last.id]);
                seen.violated("three failures of a liveness probe, and no stop signal", events);
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}
