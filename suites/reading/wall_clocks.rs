//! The wall clocks of nodes, with which kubelets and runtimes date what they report.

use probity_model::Timeline;
use probity_model::history::Happening;
use probity_model::mechanisms::CLOCK_STEP;
use probity_model::timeline::Line;

/// Whether the wall clock of a node kept its distance from the node's monotonic clock during a run, except for less than
/// [`CLOCK_STEP`]. Only then do two of its times in whole seconds show an order, and only if they are further apart than
/// this. Nothing is known of a node whose clocks were not read.
pub(crate) fn is_steady(run: &Timeline<'_>, node: &str) -> bool {
    let distances = run.history.events().filter_map(|(_, event)| match &event.what {
        Happening::Reading(reading) if reading.node == node => {
            Some(reading.wall_us.saturating_sub(reading.mono_us))
        }
        _ => None,
    });
    let ends = distances.fold(None, |ends: Option<(i64, i64)>, at| {
        Some(ends.map_or((at, at), |(least, most)| (least.min(at), most.max(at))))
    });
    ends.is_some_and(|(least, most)| most.saturating_sub(least) < CLOCK_STEP)
}

/// When a line was written on the wall clock of its node, in microseconds since 1970.
pub(crate) fn wall_of(line: &Line<'_>) -> Option<i64> {
    i64::try_from(line.line.wall_us).ok()
}
