//! The probes of a pod that exists are fixed: a patch of them is refused, and no revision shows them changed.

use probity_model::history::Did;
use probity_model::timeline::{PodLife, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

const GRACE: &str = "terminationGracePeriodSeconds";

/// No setting of a probe of a pod that exists can be changed, and none can be added or taken away.
pub(super) fn probes_are_fixed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_patches(run, seen, |_| true);
    judge_revisions(run, seen, |probe| probe.clone());
}

/// The grace period of a probe stays with its pod: only another pod can do without.
pub(super) fn grace_is_fixed(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_patches(run, seen, |patch| patch.contains(GRACE));
    judge_revisions(run, seen, |probe| probe.get(GRACE).cloned().unwrap_or_default());
}

fn names_a_probe(patch: &str) -> bool {
    ProbeKind::ALL.iter().any(|kind| patch.contains(kind.field()))
}

/// A patch of a probe is refused, and the refusal says that it is the change that is forbidden.
fn judge_patches(run: &Timeline<'_>, seen: &mut Seen, spoken_of: impl Fn(&str) -> bool) {
    for (id, deed) in &run.deeds {
        match &deed.did {
            // A failed step is told in words that begin with its verb.
            Did::Failed { what, why } if what.starts_with("patch ") => {
                if !names_a_probe(what) || !spoken_of(what) {
                    continue;
                }
                seen.applies();
                if why.contains("may not change fields") {
                    seen.fine([*id]);
                } else {
                    let why = format!("the patch was refused for something else: {why}");
                    seen.doubt(Doubt::StepFailed, why, [*id]);
                }
            }
            Did::Patched { kind, patch, .. } if kind == "Pod" => {
                let text = patch.to_string();
                if names_a_probe(&text) && spoken_of(&text) {
                    seen.violated("a patch of a probe of a pod that exists was accepted", [*id]);
                }
            }
            _ => {}
        }
    }
}

/// All revisions of a pod show the same of its probes. That alone is no evidence: who asks for no change gets none.
fn judge_revisions(run: &Timeline<'_>, seen: &mut Seen, shown: impl Fn(&Value) -> Value) {
    for pod in &run.pods {
        if let Some((first, changed)) = changed(pod, &shown) {
            seen.violated("the probes of a pod that exists changed", [first, changed]);
        }
    }
}

/// The first revision, and the one whose probes differ from it.
fn changed(pod: &PodLife<'_>, shown: &impl Fn(&Value) -> Value) -> Option<(EventId, EventId)> {
    let probes = |object: &Value| -> Vec<Value> {
        let spec = object.get("spec");
        let lists = ["initContainers", "containers"];
        let containers =
            lists.iter().filter_map(|list| spec?.get(*list)?.as_array()).flatten().collect::<Vec<_>>();
        let all = containers.iter().flat_map(|container| {
            ProbeKind::ALL.iter().map(|kind| container.get(kind.field()).map(shown).unwrap_or_default())
        });
        all.collect()
    };
    let first = pod.revisions.first()?;
    let was = probes(first.object);
    let other = pod.revisions.iter().find(|revision| probes(revision.object) != was)?;
    Some((first.id, other.id))
}
