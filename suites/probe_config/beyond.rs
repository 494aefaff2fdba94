//! `failureThreshold`: a kubelet needs no more failures than this.

use probity_model::Seen;
use probity_model::mechanisms::OFF_BEAT;
use probity_model::timeline::{Probe, ProbeOutcome, ProbedLife};

use super::schedule::is_command;
use crate::reading::patches::may_stop_for_spec;

/// Once the failures have reached the threshold, the container is not probed again. If the container fails another
/// probe a period later, the kubelet needed that failure, however late a busy node makes the stop signal.
pub(super) fn none_beyond(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let Ok(threshold) = usize::try_from(life.spec.failures) else { return };
    if is_command(life) {
        return;
    }
    // A kubelet that replaces a container attributes the first failures of the new instance to the old one.
    let replaced = life.number > 0 && may_stop_for_spec(life.run, life.pod, life.container);
    let counts = |probe: &&&Probe<'_>| {
        life.before_deletion(&probe.at) && (!replaced || probe.at.at.lo >= life.known_from())
    };
    let mut row: Vec<&Probe<'_>> = Vec::new();
    for probe in life.probes.iter().filter(counts) {
        if life.surely(probe) != ProbeOutcome::Failure {
            row.clear();
            continue;
        }
        let enough = threshold.checked_sub(1).and_then(|last| row.get(last)).copied();
        row.push(probe);
        let Some(enough) = enough else { continue };
        if probe.at.at.lo - enough.at.at.hi >= life.spec.period - OFF_BEAT.of(life.spec.period) {
            let events = row.iter().flat_map(|probe| probe.events());
            let (words, count) = (life.words(), row.len());
            seen.violated(
                format!("{words} failed {count} times in a row, but the threshold is {threshold}"),
                events,
            );
            return;
        }
    }
}
