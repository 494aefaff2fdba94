//! Containers that are stopped although too few of their probes have failed, or although no probe has reached them.

use probity_model::timeline::{ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::{Seen, Stamp};

use super::schedule::{open, watched};
use crate::reading::causes::{most_failures, only_its_probe};

/// A container that never passed a probe is not stopped after fewer failures than the threshold either. Some probes may
/// have been refused before the port opened, and failures of an instance that crashed may count in the next instance.
pub(super) fn enough_from_the_start(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (Some(stop), Some(open)) = (life.stop(), open(life)) else { return };
    let failed = life.probes.iter().all(|probe| life.surely(probe) == ProbeOutcome::Failure);
    let few = most_failures(life).is_some_and(|most| most < life.spec.failures);
    if !failed || !few || !only_its_probe(life) || !watched(life, &open, &stop.at) {
        return;
    }
    let count = life.probes.len();
    let events = life.probes.iter().flat_map(|probe| probe.events()).chain([open.id, stop.id]);
    let finding = format!("{}: stopped after {count} of {} failures", life.words(), life.spec.failures);
    match cut_off(life, &stop.at) {
        true => {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but no connection reached it at all"), events)
        }
        false => seen.violated(finding, events),
    }
}

/// Whether no connection reached an instance that lived for long enough for all of its probes to fail. Its network may
/// not have worked. If a kubelet did not send the probes at all, other clauses judge this.
fn cut_off(life: &ProbedLife<'_, '_>, stop: &Stamp) -> bool {
    let spec = life.spec;
    let least = spec.initial_delay + (spec.failures - 1) * spec.period;
    let lasted = life.run.clocks.between(&life.began, stop).is_none_or(|span| span.hi >= least);
    lasted && life.connections.is_empty()
}
