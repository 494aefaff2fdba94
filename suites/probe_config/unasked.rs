//! A container that is stopped although too few of its probes have failed, or none has reached it.

use probity_model::timeline::{Life, ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;
use probity_model::{Seen, Stamp};

use super::schedule::{is_command, open, watched};
use crate::reading::causes::only_its_probe;
use crate::reading::termination::Exhausted;
use crate::reading::unvisited::was_open_in_time;

/// A container that never passed a probe is also not stopped after fewer failures. One may have been refused before the
/// port opened; and failures of an instance that crashed may count in the next one.
pub(super) fn enough_from_the_start(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (Some(stop), Some(open)) = (life.stop(), open(life)) else { return };
    let failed = life.probes.iter().all(|probe| life.surely(probe) == ProbeOutcome::Failure);
    let count = life.probes.len();
    let refused = usize::from(!was_open_in_time(life, &open.stamp));
    let few = i64::try_from(count + refused).is_ok_and(|count| count < life.spec.failures);
    if may_have_inherited(life)
        || !failed
        || !few
        || is_command(life)
        || !only_its_probe(life)
        || !watched(life, &open, &stop.at)
    {
        return;
    }
    let events = life.probes.iter().flat_map(|probe| probe.events()).chain([open.id, stop.id]);
    let finding = format!("{}: stopped after {count} of {} failures", life.words(), life.spec.failures);
    match cut_off(life, &stop.at) {
        true => {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but no connection reached it at all"), events)
        }
        false => seen.violated(finding, events),
    }
}

/// Whether failures of the instance before may count in this one: those of one that the probe itself ended do not.
fn may_have_inherited(life: &ProbedLife<'_, '_>) -> bool {
    let by_this_probe = |before: Life<'_, '_>| {
        before.stop().is_some() && before.probed(life.spec.kind).and_then(Exhausted::of).is_some()
    };
    life.number > 0 && !life.before().is_some_and(by_this_probe)
}

/// Whether no connection reached an instance that lived for long enough for all of its probes to fail: its network may not have
/// worked. A kubelet that did not send them at all is accused for the missing probes.
fn cut_off(life: &ProbedLife<'_, '_>, stop: &Stamp) -> bool {
    let spec = life.spec;
    let least = spec.initial_delay + (spec.failures - 1) * spec.period;
    let lasted = life.run.clocks.between(&life.began, stop).is_none_or(|span| span.hi >= least);
    lasted && life.connections.is_empty()
}
