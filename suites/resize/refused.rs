//! Resizes that cannot be enacted: those that no node can satisfy, and those that the API server must not accept.

use probity_model::measure::seconds;
use probity_model::timeline::Revision;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::{Value, json};

use super::asked::{Resize, resizes};
use crate::reading::patches::PENDING;
use crate::reading::qos::class_of;
use crate::reading::statuses::statuses;

/// A resize that fits on no node is rejected, or marked as infeasible; the container keeps running as before.
pub(super) fn too_large(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in resizes(run).iter().filter(|resize| resize.is_too_large()) {
        if let Some(id) = disturbed(run, resize) {
            let finding = format!(
                "a resize of {} that no node can satisfy changed its resources or restarted it",
                resize.pod().key
            );
            seen.violated(finding, [resize.patch.id, id]);
        } else if let Some(why) = resize.patch.refused {
            judge_refusal(resize, why, &["422 Invalid", "allocatable"], (seen, run.last_event()));
        } else if run.watched_for(resize.pod(), &resize.patch.done, clause.slack_us()) {
            judge_mark(run, resize, clause, seen);
        }
    }
}

/// Judges a rejection, which counts if it gives one of these reasons.
fn judge_refusal(
    resize: &Resize<'_, '_>,
    why: &str,
    reasons: &[&str],
    (seen, by): (&mut Seen, Option<EventId>),
) {
    if reasons.iter().any(|reason| why.contains(reason)) {
        seen.fine([resize.patch.id].into_iter().chain(by));
    } else {
        seen.doubt(
            Doubt::StepFailed,
            format!("the resize failed for another reason: {why}"),
            [resize.patch.id],
        );
    }
}

/// The revision that shows that a container has different resources than before, or was restarted.
fn disturbed(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> Option<EventId> {
    let state = |shown: &Revision<'_>| -> Vec<Value> {
        let all = statuses(shown);
        all.map(|(name, of)| json!([name, of["resources"], of["allocatedResources"], of["restartCount"]]))
            .collect()
    };
    let was = state(resize.before);
    let after = resize.patch.after(run).filter(|shown| !shown.gone && run.before(&shown.at, &resize.until));
    let mut other = after.filter(|shown| state(shown) != was);
    other.next().map(|shown| shown.id)
}

fn judge_mark(run: &Timeline<'_>, resize: &Resize<'_, '_>, clause: &Clause, seen: &mut Seen) {
    let says = |shown: &&Revision<'_>| {
        let condition = shown.condition(PENDING);
        condition.is_some_and(|of| of["status"] == "True" && of["reason"] == "Infeasible")
    };
    let (key, late) = (&resize.pod().key, seconds(clause.slack_us()));
    let mut said = resize.patch.after(run).filter(says).peekable();
    let first = said.peek().map(|said| said.id);
    match (first, said.find(|said| is_about(resize, said))) {
        (_, Some(said)) => seen.fine([resize.patch.id, said.id].into_iter().chain(run.last_event())),
        (Some(first), None) => {
            let finding = format!(
                "the resize of {key} was marked as infeasible, but the condition did not have the generation of this \
                 resize within {late}"
            );
            seen.violated(finding, [resize.patch.id, first].into_iter().chain(run.last_event()));
        }
        (None, None) => {
            let finding = format!(
                "no node can satisfy the resize of {key}, but it was not marked as infeasible within {late}"
            );
            seen.violated(finding, [resize.patch.id].into_iter().chain(run.last_event()));
        }
    }
}

/// Whether the condition in a revision is about the generation of the pod that a resize made, or a later one. A kubelet
/// that does not track generations reports them neither in its conditions nor in its statuses.
fn is_about(resize: &Resize<'_, '_>, said: &Revision<'_>) -> bool {
    let number = |of: &Value, path: &str| of.pointer(path).and_then(Value::as_i64);
    let (path, observed) = ("/metadata/generation", "observedGeneration");
    let made = number(resize.before.object, path).zip(number(said.object, path));
    let tracked = said.object.pointer("/status/observedGeneration").is_some();
    let is = said.condition(PENDING).and_then(|of| of.get(observed)).and_then(Value::as_i64);
    made.filter(|(old, new)| tracked && old < new)
        .is_none_or(|(old, new)| is.is_some_and(|is| old < is && is <= new))
}

/// A resize that changes the QoS class is rejected.
pub(super) fn another_class(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for resize in resizes(run) {
        let (old, new) = (class_of(&resize.before.object["spec"]), class_of(&resize.after["spec"]));
        if old == new {
            continue;
        }
        match resize.patch.refused {
            Some(why) => judge_refusal(
                &resize,
                why,
                &["QOS Class may not change", "QoS class may not change"],
                (seen, None),
            ),
            None => {
                let finding = format!("a resize changed the class of a pod from {old} to {new}");
                seen.violated(finding, [resize.before.id, resize.patch.id]);
            }
        }
    }
}
