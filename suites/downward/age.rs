//! How long a container may still see a value that its pod no longer has.

use probity_model::mechanisms::NEAR;
use probity_model::{Seen, Stamp, Timeline};
use serde_json::Value;

use super::fields::{told, value};
use super::offers::Offer;
use crate::reading::dumps::Look;

/// Which changes of a field a variable or file must show.
pub(super) struct Age<'l> {
    /// A change after this time can be told apart from the value that the container got first.
    since: &'l Stamp,
    /// The time until which a change counts.
    until: &'l Stamp,
    /// By how much a change must be older than that.
    allowed: i64,
}

impl<'l> Age<'l> {
    /// A file is updated while its container runs.
    pub(super) fn of_file(look: &'l Look<'_, '_>, allowed: i64) -> Self {
        Self { since: &look.life.attempt.began, until: &look.line.at, allowed }
    }

    /// A variable has the value that the pod had when the kubelet began to start the container. If the previous instance
    /// exited by itself, the kubelet did not begin before that, but a start can take long. So only the time of this exit is
    /// certain, and nothing is known about a first instance. An instance that the kubelet stops is replaced in the same
    /// sync, which may have begun long before.
    pub(super) fn of_variable(look: &Look<'l, '_>, allowed: i64) -> Option<Self> {
        let before = look.life.before()?;
        before.exited_by_itself().filter(|_| before.stop().is_none())?;
        let before = before.attempt;
        Some(Self { since: &before.began, until: &before.last_line()?.at, allowed })
    }
}

/// A container does not see an old value of its pod for longer than allowed. A kubelet no longer updates the files of a
/// pod that terminates.
pub(super) fn judge_age(
    run: &Timeline<'_>,
    age: &Age<'_>,
    (look, offer, field): (&Look<'_, '_>, &Offer<'_>, &str),
    seen: &mut Seen,
) {
    if !run.before_deletion(look.life.pod, &look.line.at) {
        return;
    }
    let revisions = &look.life.pod.revisions;
    let shown = told(offer).unwrap_or_default();
    let is = |object: &Value| value(object, field).is_some_and(|value| value == shown);
    // The latest time of a change that the file may already show: a change may reach the file a moment before it
    // reaches the watch.
    let by = look.line.at.later(NEAR);
    let known: Vec<_> = revisions.iter().take_while(|revision| !run.before(&by, &revision.at)).collect();
    let Some(last) = known.iter().rposition(|revision| is(revision.object)) else { return };
    if let Some(changed) = known.get(last + 1) {
        // A change that came later than that has no span.
        let span = run.clocks.between(&changed.at, age.until).map_or(0, |span| span.lo);
        let noise = || run.noise_between(&look.life.node, &changed.at, age.until);
        if span > age.allowed && span > age.allowed + noise() {
            let finding = format!("{} of {} shows an old value of {field}", offer.name, look.life.name());
            seen.violated(finding, [changed.id, look.line.id]);
        }
        return;
    }
    let at_start = known.iter().take_while(|revision| !run.before(age.since, &revision.at));
    if at_start.last().is_some_and(|revision| !is(revision.object)) {
        seen.facet(offer.form.word(), "updated");
    }
}
