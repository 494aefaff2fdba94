//! A change of a container's image or resources resets its back-off.

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::measure::Fit;
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF};
use probity_model::timeline::{At, ContainerLife, Life, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::back_off::judge_delay;
use super::expected::{Crash, Wait, crashes};
use crate::reading::ends::End;
use crate::reading::mains::lives_of;
use crate::reading::patches::container_in;

/// The fields of a container on which its back-off depends. Each name is also a facet.
const DECIDING: [&str; 2] = ["image", "resources"];

/// A patch that changed what the back-off of a container depends on.
pub(super) struct Changed<'h> {
    id: EventId,
    /// When the request began.
    pub(super) began: Stamp,
    field: &'static str,
    pod: &'h str,
    container: &'h str,
}

/// All such patches, in order.
pub(super) fn changes<'h>(run: &Timeline<'h>) -> Vec<Changed<'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::Patched { kind, name, patch, .. } = &deed.did else { continue };
        let spec = patch.get("spec").filter(|_| kind == "Pod");
        for list in ["containers", "initContainers"] {
            let entries = spec.and_then(|spec| spec.get(list)?.as_array());
            for entry in entries.into_iter().flatten() {
                let Some(container) = entry.get("name").and_then(Value::as_str) else { continue };
                for field in DECIDING.into_iter().filter(|field| entry.get(*field).is_some()) {
                    let began = Stamp::harness(deed.began_us);
                    all.push(Changed { id: *id, began, field, pod: name, container });
                }
            }
        }
    }
    all
}

/// The first change of a container.
pub(super) fn first_change<'c, 'h>(
    all: &'c [Changed<'h>],
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
) -> Option<&'c Changed<'h>> {
    all.iter().find(|change| change.is_of(pod, container))
}

impl Changed<'_> {
    fn is_of(&self, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
        self.pod == pod.name && self.container == container.name
    }

    /// Whether the pod shows a different value than before.
    fn is_shown(&self, pod: &PodLife<'_>) -> bool {
        let value = |shown: &Revision<'_>| {
            container_in(shown.object, self.container).map(|of| of[self.field].clone())
        };
        let (first, last) = (pod.revisions.first().and_then(value), pod.last().and_then(value));
        first != last
    }
}

/// A container that was changed while it waited for its restart starts at once, and its delays start again with the
/// first delay.
pub(super) fn with_a_change(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let changes = changes(run);
    let known = crashes(run, clause.tolerance_us("near-ten-minutes"));
    for (pod, container) in run.containers() {
        let mut touching = changes.iter().filter(|change| change.is_of(pod, container));
        let Some(change) = touching.next().filter(|change| change.is_shown(pod)) else { continue };
        let only = touching.next().is_none();
        let own = |crash: &&Crash<'_, '_>| {
            crash.life.pod.uid == pod.uid && crash.life.container.name == container.name
        };
        let Some(Crash { life: last, wait: Wait::Delay { by, .. }, .. }) = known.iter().rfind(own) else {
            continue;
        };
        let mut later = lives_of(run, pod, container).filter(|life| life.number > last.number);
        let Some(waiting) = later.next().filter(|life| life.number == last.number + 1) else { continue };
        let due = by.saturating_add(*by).min(LONGEST_BACK_OFF);
        if judge_start(clause, &waiting, (change, due), seen) {
            seen.facet("changed", change.field);
            seen.facet("container", container.kind.word());
            if let Some(next) = later.next().filter(|_| only) {
                judge_next(clause, next, seen);
            }
        }
    }
}

/// Whether a container that waited for its restart restarted soon after the change, although part of its wait was left.
fn judge_start(
    clause: &Clause,
    life: &Life<'_, '_>,
    (change, due): (&Changed<'_>, i64),
    seen: &mut Seen,
) -> bool {
    let run = life.run;
    let Some(end) = End::of(life).filter(|_| life.exited_by_itself().is_some()) else { return false };
    let changed = At::new(change.id, run.heard(change.id));
    let waited = run.clocks.between(end.at(), &changed);
    let left = waited.is_some_and(|waited| waited.hi < due - clause.slack_us());
    if !run.before(end.at(), &change.began) || !left {
        return false;
    }
    if let Some(next) = life.next().filter(|next| next.is_numbered()) {
        let quantity = format!("from the change of the {} of {} to its restart", change.field, life.name());
        let began = &next.attempt.began;
        return !run.before(began, &change.began)
            && life.within(seen, quantity, (&changed, began), clause.in_time()) == Some(Fit::Met);
    }
    let Some(until) = run.end_event().filter(|_| life.lives_again().is_none()) else { return false };
    if run.misses(&life.node, (&changed, &until), clause.in_time()) {
        let finding =
            format!("the {} of {} changed, but the container still waits", change.field, life.name());
        seen.violated(finding, [change.id, until.id]);
    }
    false
}

/// The next restart waits for the first delay. An init container that has succeeded does not restart.
fn judge_next(clause: &Clause, life: Life<'_, '_>, seen: &mut Seen) {
    let restarts = |(_, code): (_, u8)| life.pod.restarts_after(life.container, i64::from(code));
    let Some(end) = End::of(&life).filter(|_| life.exited_by_itself().is_some_and(restarts)) else { return };
    let crash = Crash { life, end, wait: Wait::Delay { by: FIRST_BACK_OFF, capped: false } };
    if judge_delay(clause, &crash, FIRST_BACK_OFF, seen) {
        seen.facet("seen", "first-delay");
    }
}
