//! Bounds on the times of a container that no noise can affect: events in which the kubelet reported the start, and the last
//! record of the process. All these times are read from the wall clock of one node.

use probity_model::measure::{seconds, whole_seconds};
use probity_model::mechanisms::{CLOCK_STEP, CUT_TO_SECONDS};
use probity_model::timeline::{KubeEvent, Life, Revision};
use probity_model::{EventId, Seen};

use crate::reading::wall_clocks::{is_steady, wall_of};

/// The reasons of the events that a kubelet records after it has created a container and after it has started it.
const CREATED: &str = "Created";
const STARTED: &str = "Started";

/// The event with this reason about one instance of a container, and its second. The kubelet counts equal events in one
/// object, so the count is the number of the instance. Nothing is concluded if there are several objects, for example
/// because the kubelet was restarted, or if some starts failed.
fn occurrence<'h>(life: &Life<'_, 'h>, reason: &str) -> Option<(EventId, i64)> {
    let about = |event: &&KubeEvent<'_>| {
        event.container == Some(life.container.name.as_str()) && event.reason == reason
    };
    let all: Vec<&KubeEvent<'h>> = life.pod.events.iter().filter(about).collect();
    let name = |event: &KubeEvent<'h>| event.text("/metadata/name");
    let (first, later) = all.split_first()?;
    let one =
        all.iter().all(|event| !event.is_combined()) && later.iter().all(|event| name(event) == name(first));
    let number = life.number.saturating_add(1);
    let own = all.iter().find(|event| event.count == number).filter(|_| one && life.failed_starts == 0)?;
    Some((own.id, own.second("lastTimestamp")?))
}

/// When the process of an instance began, on the wall clock of its node.
fn wall_of_begin(life: &Life<'_, '_>) -> Option<i64> {
    let first = life.lines.first()?;
    let waited = first.at.at.lo.saturating_sub(life.began.at.lo);
    Some(wall_of(first)?.saturating_sub(waited))
}

/// A container starts after the kubelet has created it, and before the kubelet reports its start.
pub(super) fn judge_start(life: &Life<'_, '_>, (shown, since): (&Revision<'_>, i64), seen: &mut Seen) {
    if life.pod.is_static || !is_steady(life.run, &life.pod.node) {
        return;
    }
    let start = whole_seconds(since);
    // If the kubelet lost an event, the counts are too low, so this may be the event about a later instance.
    let own = |at: i64| wall_of_begin(life).is_some_and(|began| whole_seconds(at) <= began);
    let created = occurrence(life, CREATED).filter(|(_, at)| own(*at));
    let bounds = [
        created.map(|(id, at)| (id, whole_seconds(at).saturating_sub(start), "before its event Created")),
        occurrence(life, STARTED)
            .map(|(id, at)| (id, start.saturating_sub(whole_seconds(at)), "after its event Started")),
    ];
    for (id, apart, place) in bounds.into_iter().flatten().filter(|(_, apart, _)| *apart > CLOCK_STEP) {
        let finding = format!("the startedAt of {} is {} {place}", life.name(), seconds(apart));
        seen.violated(finding, [id, life.began.id, shown.id]);
    }
}

/// A container has not ended before its process wrote its last record.
pub(super) fn judge_end(life: &Life<'_, '_>, (shown, finished): (&Revision<'_>, i64), seen: &mut Seen) {
    let Some(last) = life.last_line() else { return };
    let Some(wrote) = wall_of(last).filter(|_| !shown.terminating()) else { return };
    let early = wrote.saturating_sub(whole_seconds(finished).saturating_add(CUT_TO_SECONDS));
    if early > CLOCK_STEP && is_steady(life.run, &life.pod.node) {
        let finding = format!(
            "{} wrote a record {} after its finishedAt",
            life.name(),
            seconds(early.saturating_add(CUT_TO_SECONDS))
        );
        seen.violated(finding, [last.id, shown.id]);
    }
}
