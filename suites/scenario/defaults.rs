//! Thirty seconds: how long trouble lasts until it has a consequence, with the default settings of a probe.
//!
//! The trouble begins with the change of the plan, which the target itself records. Without exactly one change nothing is
//! judged.

use probity_model::measure::Bound;
use probity_model::mechanisms::NEAR;
use probity_model::timeline::{ContainerSeen, Probe, ProbeKind, ProbeSpec, Revision};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::change_between;
use crate::reading::readiness::{Outcome, falls, readiness_lives};
use crate::reading::termination::{Stop, exhausted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.defaults.unavailable-after-30s", judge: unavailable },
    Judge { clause: "scenario.defaults.liveness-kill-30s", judge: killed },
];

/// Whether a probe has the default period, timeout and thresholds.
fn by_default(spec: &ProbeSpec) -> bool {
    (spec.period, spec.timeout, spec.successes, spec.failures) == (10_000_000, 1_000_000, 1, 3)
}

/// From trouble to its consequence: the third failure comes two to three periods later, plus the timeout if it hangs.
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
            let before = life.probes.iter().take_while(|probe| probe.id != turn.first.id).last();
            let trouble = before.and_then(|good| change_between(life.attempt, good, turn.first));
            let Some(trouble) = trouble else { continue };
            seen.applies();
            let (slack, hangs) = (clause.slack_us(), life.result(turn.first).timed_out());
            let down = |revision: &Revision<'_>, container: &ContainerSeen<'_>| {
                !container.ready && revision.is("Ready") == Some(false)
            };
            if let Some(shown) = life.first_shown(&turn.first.at, down) {
                let bound = window(life.spec, hangs, slack, "the clause's slack");
                life.within(seen, "from the trouble to Ready=False", (trouble, shown), bound);
            } else if turn.lasted(life) > slack {
                let finding = "three failures of a readiness probe, and the pod stayed ready";
                seen.violated(finding, [trouble.id, turn.first.id, turn.due.id, turn.last.id]);
            }
        }
    }
}

/// The same for liveness: about thirty seconds until the stop signal.
fn killed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in exhausted(run, ProbeKind::Liveness) {
        let life = &spent.life;
        let Some(first) = spent.failures.first().filter(|_| by_default(life.spec)) else { continue };
        let before = |probe: &&Probe<'_>| probe.id < first.id && probe.can_be(ProbeKind::Liveness);
        let good = life.attempt.probes.iter().rfind(before);
        let good = good.filter(|probe| life.outcome(probe) == Outcome::Success);
        let Some(trouble) = good.and_then(|good| change_between(life, good, first)) else { continue };
        seen.applies();
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let (allowed, words) = spent.allowance(clause);
                let bound = window(life.spec, life.result(first).timed_out(), allowed, &words);
                life.within(seen, "from the trouble to the stop signal", (trouble, stop), bound);
            }
            Stop::Missing(last) => {
                let events = spent.events().into_iter().chain([trouble.id, last.id]);
                seen.violated("three failures of a liveness probe, and no stop signal", events);
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}
