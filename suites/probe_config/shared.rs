//! A liveness or startup probe whose endpoint another probe asks, too: nobody can count its failures, but they take their time.

use probity_model::measure::{Bound, seconds};
use probity_model::mechanisms::UNNOTICED;
use probity_model::timeline::{ProbeKind, ProbeOutcome};
use probity_model::{Seen, Timeline};

use super::schedule::is_command;
use crate::reading::causes::only_its_probe;

/// After the last success at the endpoint, whoever asked, the first failure may come at once, and the stop signal as many periods
/// later as the threshold has failures after the first.
pub(super) fn not_before(run: &Timeline<'_>, seen: &mut Seen) {
    let shared = run.lives().of(ProbeKind::Liveness).undisturbed().whole();
    for life in shared.only(|life| !life.is_unmistaken() && !is_command(life)) {
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
