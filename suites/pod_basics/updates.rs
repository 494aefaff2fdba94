//! Updates of existing pods: the fields that can be changed, and those that cannot.

use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches::{self, Patch};

/// The lists of containers of a pod.
const LISTS: [&str; 2] = ["containers", "initContainers"];
/// The field that identifies an entry of a list and that a patch does not change.
const NAME: &str = "name";
/// The field of a container that can be changed.
const IMAGE: &str = "image";
const DEADLINE: &str = "activeDeadlineSeconds";
const TOLERATIONS: &str = "tolerations";
/// The facet of a patch that removes a toleration.
const REMOVED: &str = "toleration-removed";
/// The fields that other clauses cover.
const ELSEWHERE: [&str; 1] = ["schedulingGates"];

/// One change that a patch asks for: the changed field in words and as a facet, and whether the change is allowed.
struct Wish {
    what: &'static str,
    field: String,
    allowed: bool,
}

impl Wish {
    fn of(what: &'static str, field: impl Into<String>, allowed: bool) -> Self {
        Self { what, field: field.into(), allowed }
    }
}

/// The changes to a pod's spec that a patch asks for, without what the pod already has.
fn wishes(spec: &Value, asked: &Value) -> Vec<Wish> {
    let mut all = Vec::new();
    for (field, wanted) in asked.as_object().into_iter().flatten() {
        match field.as_str() {
            list if LISTS.contains(&list) => {
                wanted.as_array().into_iter().flatten().for_each(|entry| {
                    all.extend(wishes_of_container(&spec[list], entry));
                });
            }
            _ if spec.get(field).unwrap_or(&Value::Null) == wanted => {}
            DEADLINE => all.push(Wish::of("deadline", field, may_be_deadline(&spec[DEADLINE], wanted))),
            TOLERATIONS => {
                let allowed = keeps_tolerations(&spec[TOLERATIONS], wanted);
                let what = if allowed { "toleration-added" } else { REMOVED };
                all.push(Wish::of(what, field, allowed));
            }
            _ => all.push(Wish::of("other-of-pod", field, false)),
        }
    }
    all
}

fn wishes_of_container(list: &Value, entry: &Value) -> Vec<Wish> {
    let known = list.as_array().into_iter().flatten().find(|known| known[NAME] == entry[NAME]);
    let Some(known) = known else { return vec![Wish::of("other-of-container", NAME, false)] };
    let fields = entry.as_object().into_iter().flatten().filter(|(field, wanted)| known[*field] != **wanted);
    fields
        .map(|(field, _)| match field.as_str() {
            IMAGE => Wish::of(IMAGE, field, true),
            _ => Wish::of("other-of-container", field, false),
        })
        .collect()
}

/// An unset deadline can be set to a positive number, and a deadline can become smaller.
fn may_be_deadline(was: &Value, wanted: &Value) -> bool {
    match (was.as_i64(), wanted.as_i64()) {
        (_, None) => false,
        (None, Some(wanted)) => wanted.is_positive(),
        (Some(was), Some(wanted)) => !wanted.is_negative() && wanted <= was,
    }
}

/// Whether each toleration stays, perhaps with a different duration.
fn keeps_tolerations(was: &Value, wanted: &Value) -> bool {
    let bare = |toleration: &Value| {
        let mut bare = toleration.clone();
        bare.as_object_mut().map(|fields| fields.remove("tolerationSeconds"));
        bare
    };
    let wanted: Vec<Value> = wanted.as_array().into_iter().flatten().map(bare).collect();
    was.as_array().into_iter().flatten().all(|was| wanted.contains(&bare(was)))
}

/// The patches of specs that are judged, each with the revision before it. Pods with a scheduling gate are left out,
/// because more of their fields can be changed.
fn judged<'t, 'h>(run: &'t Timeline<'h>) -> Vec<(Patch<'t, 'h>, &'t Revision<'h>)> {
    let mut all: Vec<(Patch<'_, '_>, &Revision<'_>)> = Vec::new();
    for patch in patches::of_pods(run) {
        let (Some(before), Some(asked)) = (patch.before(run), patch.asked.get("spec")) else { continue };
        let gated = before.object["spec"].get("schedulingGates").is_some();
        let elsewhere = ELSEWHERE.iter().any(|field| asked.get(*field).is_some());
        // If a patch comes before the watch has shown an earlier patch, the state of the pod before the later patch is
        // not known.
        let known = all.iter().all(|(earlier, _)| {
            let seen = |shown: &Revision<'_>| {
                let asked = &earlier.asked["spec"];
                shown.id <= before.id && (is_shown(shown, asked) || is_renamed(shown, asked))
            };
            earlier.pod.uid != patch.pod.uid || earlier.refused.is_some() || earlier.after(run).any(seen)
        });
        if !gated && !elsewhere && !before.terminating() && known {
            all.push((patch, before));
        }
    }
    all
}

/// Whether a patched pod shows what was asked for, field by field.
fn is_shown(shown: &Revision<'_>, asked: &Value) -> bool {
    shows(shown, asked, |asked, shown| asked == shown)
}

/// Whether a patched pod shows what was asked for, but has the image under the same or another name.
fn is_renamed(shown: &Revision<'_>, asked: &Value) -> bool {
    shows(shown, asked, |asked, shown| {
        let names = asked.as_str().zip(shown.as_str());
        names.is_some_and(|(asked, shown)| asked == shown || patches::is_renamed(asked, shown))
    })
}

/// Whether a patched pod shows what was asked for, with this comparison of images.
fn shows(shown: &Revision<'_>, asked: &Value, is_image: impl Fn(&Value, &Value) -> bool) -> bool {
    let spec = &shown.object["spec"];
    asked.as_object().into_iter().flatten().all(|(field, wanted)| match field.as_str() {
        list if LISTS.contains(&list) => wanted.as_array().into_iter().flatten().all(|entry| {
            let known = spec[list].as_array().into_iter().flatten().find(|known| known[NAME] == entry[NAME]);
            known.is_some_and(|known| is_image(&entry[IMAGE], &known[IMAGE]))
        }),
        TOLERATIONS => {
            let shown = spec[TOLERATIONS].as_array();
            let has = |wanted: &Value| shown.is_some_and(|shown| shown.contains(wanted));
            wanted.as_array().into_iter().flatten().all(has)
        }
        _ => spec[field] == *wanted,
    })
}

/// Judges one patch: allowed changes are accepted and shown, and other changes are rejected.
fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (patch, wishes): (&Patch<'_, '_>, &[Wish]),
    seen: &mut Seen,
) -> bool {
    let key = &patch.pod.key;
    let forbidden = wishes.iter().find(|wish| !wish.allowed);
    let fields = wishes.iter().map(|wish| wish.field.as_str()).collect::<Vec<_>>().join(" and ");
    match (patch.refused, forbidden) {
        (Some(why), _) if !patch.is_invalid() => {
            let why = format!("a patch of {key} was rejected for another reason: {why}");
            seen.doubt(Doubt::StepFailed, why, [patch.id]);
            false
        }
        (Some(why), None) => {
            seen.violated(format!("a valid change of {fields} of {key} was rejected: {why}"), [patch.id]);
            false
        }
        (None, Some(first)) => {
            let removed = loses_toleration(run, patch);
            let mut forbidden = wishes.iter().filter(|wish| !wish.allowed);
            if let Some(wish) = forbidden.find(|wish| wish.what != REMOVED || removed) {
                let finding = format!("the API server accepted a change of {} of {key}", wish.field);
                seen.violated(finding, [patch.id]);
            } else {
                let field = &first.field;
                let why =
                    format!("{key} keeps its {field} after a patch: admission may have added them again");
                seen.doubt(Doubt::Ambiguous, why, [patch.id]);
            }
            false
        }
        (Some(_), Some(_)) => {
            seen.fine([patch.id]);
            true
        }
        (None, None) => judge_shown(run, clause, (patch, &fields), seen),
    }
}

/// Whether a toleration that the pod had before a patch is missing afterwards.
fn loses_toleration(run: &Timeline<'_>, patch: &Patch<'_, '_>) -> bool {
    let of = |shown: &Revision<'_>| shown.object["spec"][TOLERATIONS].clone();
    let Some(before) = patch.before(run).map(of) else { return false };
    patch.after(run).any(|shown| !keeps_tolerations(&before, &of(shown)))
}

fn judge_shown(
    run: &Timeline<'_>,
    clause: &Clause,
    (patch, fields): (&Patch<'_, '_>, &str),
    seen: &mut Seen,
) -> bool {
    let Some(asked) = patch.asked.get("spec") else { return false };
    if let Some(shown) = patch.after(run).find(|shown| is_shown(shown, asked)) {
        seen.fine([patch.id, shown.id]);
        return true;
    }
    let key = &patch.pod.key;
    if let Some(shown) = patch.after(run).find(|shown| is_renamed(shown, asked)) {
        let why = format!("{key} shows the new image under another name: admission may have replaced it");
        seen.doubt(Doubt::Ambiguous, why, [patch.id, shown.id]);
    } else if run.watched_for(patch.pod, &patch.done, clause.slack_us()) {
        let finding = format!("a change of {fields} of {key} was accepted, but the pod does not show it");
        seen.violated(finding, run.to_the_end([patch.id]));
    }
    false
}

/// Images and the deadline can be changed, and tolerations can be added. Nothing else in the spec can be changed.
pub(super) fn allowed_fields(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (patch, before) in judged(run) {
        let wishes = wishes(&before.object["spec"], &patch.asked["spec"]);
        // Another clause judges which deadlines are valid.
        if wishes.is_empty() || wishes.iter().any(|wish| wish.what == "deadline" && !wish.allowed) {
            continue;
        }
        if judge(run, clause, (&patch, &wishes), seen) {
            wishes.iter().for_each(|wish| seen.facet("change", wish.what));
        }
    }
}

/// A deadline can be set or made shorter, but not made longer or unset.
pub(super) fn deadlines(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (patch, before) in judged(run) {
        let wishes = wishes(&before.object["spec"], &patch.asked["spec"]);
        let [Wish { what: "deadline", .. }] = wishes.as_slice() else { continue };
        let (was, wanted) = (&before.object["spec"][DEADLINE], &patch.asked["spec"][DEADLINE]);
        if judge(run, clause, (&patch, &wishes), seen) {
            seen.facet("deadline", move_of(was.as_i64(), wanted.as_i64()));
        }
    }
}

fn move_of(was: Option<i64>, wanted: Option<i64>) -> &'static str {
    match (was, wanted) {
        (_, None) => "removed",
        (None, Some(wanted)) if wanted.is_positive() => "set",
        (Some(was), Some(wanted)) if wanted > was => "longer",
        (_, Some(wanted)) if wanted.is_negative() => "negative",
        _ => "shorter",
    }
}

const FINALIZERS: &str = "/metadata/finalizers";

/// The finalizers that a patch adds to a revision.
fn added<'p>(patch: &'p Patch<'_, '_>, to: &Revision<'_>) -> Vec<&'p Value> {
    let list = patch.asked.pointer(FINALIZERS).and_then(Value::as_array);
    list.into_iter().flatten().filter(|finalizer| !has_finalizer(to, finalizer)).collect()
}

fn has_finalizer(shown: &Revision<'_>, finalizer: &Value) -> bool {
    let known = shown.object.pointer(FINALIZERS).and_then(Value::as_array);
    known.is_some_and(|known| known.contains(finalizer))
}

/// A finalizer can be added to a pod until its deletion begins.
pub(super) fn no_late_finalizers(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for patch in patches::of_pods(run) {
        let Some(before) = patch.before(run) else { continue };
        let new = added(&patch, before);
        if new.is_empty() {
            continue;
        }
        let (key, late) = (&patch.pod.key, before.terminating());
        let shown = patch.after(run).find(|shown| new.iter().any(|new| has_finalizer(shown, new)));
        match (late, patch.refused, shown) {
            (_, Some(why), _) if !patch.is_invalid() => {
                let why = format!("a patch of {key} was rejected for another reason: {why}");
                seen.doubt(Doubt::StepFailed, why, [patch.id]);
            }
            (true, _, Some(shown)) => {
                let finding = format!("a finalizer was added to {key} after its deletion had begun");
                seen.violated(finding, [before.id, patch.id, shown.id]);
            }
            (true, None, None) => {
                let finding =
                    format!("the API server accepted a finalizer for {key}, which is being deleted");
                seen.violated(finding, [before.id, patch.id]);
            }
            (true, Some(_), None) => {
                seen.fine([before.id, patch.id]);
                seen.facet("finalizer", "late");
            }
            (false, Some(why), _) => {
                // The deletion of the pod may have begun in between.
                if !deletion_began_before(run, patch.pod, &patch) {
                    let finding = format!("a finalizer for {key} was rejected: {why}");
                    seen.violated(finding, [before.id, patch.id]);
                }
            }
            (false, None, Some(shown)) => {
                seen.fine([patch.id, shown.id]);
                seen.facet("finalizer", "early");
            }
            (false, None, None) if run.watched_for(patch.pod, &patch.done, clause.slack_us()) => {
                let finding = format!("a finalizer for {key} was accepted, but the pod does not show it");
                seen.violated(finding, run.to_the_end([patch.id]));
            }
            (false, None, None) => {}
        }
    }
}

fn deletion_began_before(run: &Timeline<'_>, pod: &PodLife<'_>, patch: &Patch<'_, '_>) -> bool {
    run.deletion(pod).is_some_and(|deletion| !run.before(&patch.done, &deletion))
}

/// The fields of a pod's metadata that never change.
const FIXED: [&str; 4] = ["name", "namespace", "uid", "creationTimestamp"];

/// The name, the namespace, the UID and the creation time of a pod never change, whatever a patch asks for.
pub(super) fn identity_stays(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for patch in patches::of_pods(run) {
        let Some(before) = patch.before(run) else { continue };
        for field in FIXED {
            let Some(wanted) = patch.asked["metadata"].get(field) else { continue };
            let was = &before.object["metadata"][field];
            if wanted != was {
                judge_identity(run, clause, (&patch, field), wanted, seen);
            }
        }
    }
}

fn judge_identity(
    run: &Timeline<'_>,
    clause: &Clause,
    (patch, field): (&Patch<'_, '_>, &'static str),
    wanted: &Value,
    seen: &mut Seen,
) {
    // A pod with another UID is another pod to the timeline.
    let later =
        run.pods.iter().flat_map(|pod| &pod.revisions).filter(|shown| !run.before(&shown.at, &patch.began));
    let mut later = later.filter(|shown| {
        ["name", "uid"].contains(&field) || shown.object["metadata"]["uid"] == *patch.pod.uid
    });
    if let Some(shown) = later.find(|shown| shown.object["metadata"][field] == *wanted) {
        let finding = format!("a patch changed the {field} of {} to {wanted}", patch.pod.key);
        seen.violated(finding, [patch.id, shown.id]);
        return;
    }
    let rejected =
        ["422 ", "409 ", "400 "].iter().any(|code| patch.refused.is_some_and(|why| why.contains(code)));
    match patch.refused {
        Some(_) if rejected => {
            seen.fine([patch.id]);
            seen.facet("field", field);
        }
        Some(why) => {
            let why = format!("a patch of {} was rejected for another reason: {why}", patch.pod.key);
            seen.doubt(Doubt::StepFailed, why, [patch.id]);
        }
        // If nothing shows the change for long enough, it was ignored.
        None if run.watched_for(patch.pod, &patch.done, clause.slack_us()) => {
            seen.fine(run.to_the_end([patch.id]));
            seen.facet("field", field);
        }
        None => {}
    }
}
