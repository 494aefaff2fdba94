//! The probes of an existing pod are immutable: a patch of them is rejected, and no revision shows a change.

use probity_model::history::Did;
use probity_model::timeline::{ProbeKind, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::refusals::fields;

const GRACE: &str = "terminationGracePeriodSeconds";

/// No setting of a probe in an existing pod can be changed, added or removed.
pub(super) fn probes_are_fixed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_patches(run, seen, |_| true);
    judge_revisions(run, seen, "*Probe");
}

/// The grace period of a probe cannot be removed from an existing pod: only a new pod can omit it.
pub(super) fn grace_is_fixed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_patches(run, seen, |patch| patch.contains(GRACE));
    judge_revisions(run, seen, &format!("*Probe.{GRACE}"));
}

fn names_a_probe(patch: &str) -> bool {
    ProbeKind::ALL.iter().any(|kind| patch.contains(kind.field()))
}

/// A patch of a probe is rejected, and the message says that the change is forbidden.
fn judge_patches(run: &Timeline<'_>, seen: &mut Seen, spoken_of: impl Fn(&str) -> bool) {
    for (id, deed) in &run.deeds {
        match &deed.did {
            // The description of a failed step begins with its verb.
            Did::Failed { what, why } if what.starts_with("patch ") => {
                if !names_a_probe(what) || !spoken_of(what) {
                    continue;
                }
                seen.applies();
                if why.contains("may not change fields") {
                    seen.fine([*id]);
                } else {
                    let why = format!("the patch was rejected for another reason: {why}");
                    seen.doubt(Doubt::StepFailed, why, [*id]);
                }
            }
            Did::Patched { kind, patch, .. } if kind == "Pod" => {
                let text = patch.to_string();
                if names_a_probe(&text) && spoken_of(&text) {
                    seen.violated("the API server accepted a patch of a probe in an existing pod", [*id]);
                }
            }
            _ => {}
        }
    }
}

/// All revisions of a pod show the same values at a path. Equal values alone are not evidence, because without a patch
/// there is nothing to reject.
fn judge_revisions(run: &Timeline<'_>, seen: &mut Seen, path: &str) {
    let shown = |revision: &Revision<'_>| -> Vec<(String, Value)> {
        let set = fields(&revision.object["spec"], path).into_iter().filter(|field| !field.value.is_null());
        set.map(|field| (field.place, field.value.clone())).collect()
    };
    for pod in &run.pods {
        let Some(first) = pod.revisions.first() else { continue };
        let was = shown(first);
        if let Some(other) = pod.revisions.iter().find(|revision| shown(revision) != was) {
            seen.violated("the probes of an existing pod changed", [first.id, other.id]);
        }
    }
}
