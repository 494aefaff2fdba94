//! Thirty seconds: how long a fault lasts before it has an effect, with the default settings of a probe.
//!
//! The fault begins with the change of the plan, which the target itself records. Without exactly one change nothing is
//! judged.

use probity_model::measure::{Bound, Fit, SECOND};
use probity_model::mechanisms::NEAR;
use probity_model::timeline::{Probe, ProbeKind, ProbeSpec};
use probity_model::{Clause, Judge, Seen, Timeline};

use super::course::{change_between, shown_unready};
use crate::reading::heard::was_heard;
use crate::reading::readiness::{falls, readiness_lives};
use crate::reading::termination::{Stop, exhausted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "scenario.defaults.unavailable-after-30s", judge: unavailable },
    Judge { clause: "scenario.defaults.liveness-kill-30s", judge: killed },
];

/// The defaults of period, timeout, `successThreshold` and `failureThreshold`: Kubernetes API reference, Probe.
const DEFAULTS: (i64, i64, i64, i64) = (10 * SECOND, SECOND, 1, 3);

fn by_default(spec: &ProbeSpec) -> bool {
    (spec.period, spec.timeout, spec.successes, spec.failures) == DEFAULTS
}

/// From the fault to its effect: the third failure comes two to three periods later, plus the timeout if the endpoint
/// hangs.
fn window(spec: &ProbeSpec, hangs: bool, (allowed, words): (i64, &str)) -> Bound {
    let (wait, with_wait) = if hangs { (spec.timeout, " + timeoutSeconds") } else { (0, "") };
    let most = spec.failures * spec.period + wait + allowed;
    let least = (spec.failures - 1) * spec.period + wait - NEAR;
    Bound::at_most(most, format!("failureThreshold × periodSeconds{with_wait} + {words}")).and_at_least(
        least,
        format!("(failureThreshold − 1) × periodSeconds{with_wait} − 0.1 s for the probe's way"),
    )
}

/// Notes which fault was detected within its window: an error status, or no answer.
fn note_trouble(seen: &mut Seen, fit: Option<Fit>, hangs: bool) {
    if fit == Some(Fit::Met) {
        seen.facet("trouble", if hangs { "hang" } else { "status" });
    }
}

/// With default settings a pod that fails its readiness probe is unavailable after about thirty seconds.
fn unavailable(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in readiness_lives(run).only(|life| by_default(life.spec)) {
        for turn in falls(&life) {
            let before = life.probes.iter().take_while(|probe| probe.id != turn.first.id).last();
            let before = before.filter(|before| was_heard(&life, before));
            let trouble = before.and_then(|before| change_between(life.attempt, before, turn.first));
            let Some(trouble) = trouble else { continue };
            let slack = clause.slack_us();
            let hangs = life.result(turn.first).timed_out();
            let bound = window(life.spec, hangs, (slack, "the clause's slack"));
            if let Some(shown) = shown_unready(&life, &turn.first.at) {
                let fit = life.within(seen, "from the fault to Ready=False", (trouble, shown), bound);
                note_trouble(seen, fit, hangs);
            } else if turn.lasted(&life) > slack {
                let finding = "a readiness probe failed three times, but the pod stayed ready";
                seen.violated(finding, [trouble.id, turn.first.id, turn.due.id, turn.last.id]);
            }
        }
    }
}

/// With default settings, a container that fails its liveness probe gets its stop signal after about thirty seconds.
fn killed(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in exhausted(run, ProbeKind::Liveness).iter().filter(|spent| by_default(spent.life.spec)) {
        let (life, Some(first)) = (&spent.life, spent.failures.first()) else { continue };
        let before = |probe: &&&Probe<'_>| probe.id < first.id;
        let good = life.probes.iter().rfind(before).copied();
        let good = good.filter(|probe| was_heard(life, probe));
        let trouble = good.and_then(|good| change_between(life.attempt, good, first));
        let Some(trouble) = trouble else { continue };
        let (allowed, words) = spent.allowance(clause);
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let hangs = life.result(first).timed_out();
                let bound = window(life.spec, hangs, (allowed, &words));
                let fit = life.within(seen, "from the fault to the stop signal", (trouble, stop), bound);
                note_trouble(seen, fit, hangs);
            }
            Stop::Missing(last) => {
                let events = spent.events().into_iter().chain([trouble.id, last.id]);
                seen.violated("a liveness probe failed three times, but no stop signal followed", events);
            }
            Stop::Abrupt(_) | Stop::Unheard | Stop::Moot => {}
        }
    }
}
