//! A container that is stopped although too few of its probes have failed, or none has reached it.

use probity_model::Seen;
use probity_model::timeline::{ProbeKind, ProbeOutcome, ProbedLife};
use probity_model::verdict::Doubt;

use super::schedule::{is_command, open, watched};
use crate::reading::causes::only_its_probe;
use crate::reading::unvisited::was_open_in_time;

/// A container that never passed a probe is also not stopped after fewer failures. One may have been refused before the
/// port opened; and failures of an instance that crashed may count in the next one.
pub(super) fn enough_from_the_start(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (Some(stop), Some(open)) = (life.stop(), open(life)) else { return };
    let failed = life.probes.iter().all(|probe| life.surely(probe) == ProbeOutcome::Failure);
    let count = life.probes.len();
    let refused = usize::from(!was_open_in_time(life, &open.stamp));
    let few = i64::try_from(count + refused).is_ok_and(|count| count < life.spec.failures);
    if life.number > 0
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
    match cut_off(life) {
        true => seen.doubt(
            Doubt::Ambiguous,
            format!("{finding}, but no readiness probe reached it either"),
            events,
        ),
        false => seen.violated(finding, events),
    }
}

/// Whether no connection reached an instance although a readiness probe was due at once: its network may not have worked.
fn cut_off(life: &ProbedLife<'_, '_>) -> bool {
    let readiness = life.container.probe(ProbeKind::Readiness);
    let due = readiness.is_some_and(|spec| spec.initial_delay == 0 && spec.handler.port().is_some());
    due && life.spec.kind == ProbeKind::Liveness && life.connections.is_empty()
}
