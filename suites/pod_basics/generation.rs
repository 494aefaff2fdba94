//! The generation of a pod: the API server counts the changes of its spec, whatever a client asks for.

use probity_model::stamp::FAR;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches;

/// The generation of a new pod, according to the Kubernetes documentation.
const FIRST: i64 = 1;

/// A new pod has generation 1. Each change of its spec, and its deletion, adds 1. Nothing else changes the generation.
pub(super) fn counts_changes(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.revisions.iter().any(|shown| generation(shown).is_some())) {
        judge_creation(pod, seen);
        for (before, after) in pod.revisions.iter().zip(pod.revisions.iter().skip(1)) {
            judge_step(pod, (before, after), seen);
        }
    }
    for patch in patches::of_pods(run) {
        let Some(asked) = patch.asked.pointer("/metadata/generation").and_then(Value::as_i64) else {
            continue;
        };
        seen.applies();
        // The revisions of the pod show what the patch changed.
        let before = patch.before(run).filter(|before| generation(before) != Some(asked));
        if let Some((before, after)) = before.zip(patch.after(run).last())
            && generation(after) != Some(asked)
        {
            seen.fine([before.id, patch.id, after.id]);
            seen.facet("change", "requested");
        }
    }
}

fn judge_creation(pod: &PodLife<'_>, seen: &mut Seen) {
    let Some(((created, manifest), first)) = pod.created.zip(pod.revisions.first()) else { return };
    if first.terminating() {
        return;
    }
    let asked = manifest.pointer("/metadata/generation").and_then(Value::as_i64);
    let is = generation(first).unwrap_or_default();
    let finding = || format!("{} was created with generation {is}, not {FIRST}", pod.key);
    seen.check(is == FIRST, finding, [created, first.id]);
    if is == FIRST {
        seen.facet(
            "change",
            if asked.is_some_and(|asked| asked != FIRST) { "created-with-own" } else { "created" },
        );
    }
}

fn judge_step(pod: &PodLife<'_>, (before, after): (&Revision<'_>, &Revision<'_>), seen: &mut Seen) {
    let Some((was, is)) = generation(before).zip(generation(after)) else { return };
    let (changed, goes) = (spec(before) != spec(after), !before.terminating() && after.terminating());
    // The last revision of a pod may be the first that shows its deletion.
    if goes && after.gone {
        return;
    }
    let due = i64::from(changed) + i64::from(goes);
    let what = match (changed, goes) {
        (_, true) => "deleted",
        (true, false) => "spec",
        (false, false) if metadata(before) != metadata(after) => "metadata",
        (false, false) => "status",
    };
    let finding = || {
        let why = match what {
            "deleted" => "it was deleted",
            "spec" => "its spec changed",
            _ => "only its metadata or status changed",
        };
        format!("the generation of {} went from {was} to {is} when {why}", pod.key)
    };
    seen.check(is - was == due, finding, [before.id, after.id]);
    if is - was == due {
        seen.facet("change", what);
    }
}

fn generation(shown: &Revision<'_>) -> Option<i64> {
    shown.object.pointer("/metadata/generation")?.as_i64().map(|generation| generation.clamp(-FAR, FAR))
}

/// The spec without the node, because the binding of a pod by the scheduler does not count as an update.
fn spec(shown: &Revision<'_>) -> Option<Value> {
    let mut spec = shown.object.get("spec")?.clone();
    spec.as_object_mut()?.remove("nodeName");
    Some(spec)
}

/// The labels and the annotations of a pod.
fn metadata<'h>(shown: &Revision<'h>) -> [Option<&'h Value>; 2] {
    ["/metadata/labels", "/metadata/annotations"].map(|path| shown.object.pointer(path))
}
