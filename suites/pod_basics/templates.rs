//! Changes of pod templates, which affect only new pods.

use probity_model::clocks::Stamp;
use probity_model::history::{Deed, Did};
use probity_model::timeline::PodLife;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::patches::is_part_of;

/// A change of a workload's template.
struct Change<'h> {
    id: EventId,
    began: Stamp,
    done: Stamp,
    /// The name of the workload.
    name: &'h str,
    /// The parts of the pod spec that the change sets.
    spec: &'h Value,
    /// The parts of the pod metadata that the change sets.
    metadata: Option<&'h Value>,
}

fn changes<'h>(run: &Timeline<'h>) -> Vec<Change<'h>> {
    let read = |(id, deed): &(EventId, &'h Deed)| match &deed.did {
        Did::Patched { kind, name, patch, .. } if kind == "Deployment" => Some(Change {
            id: *id,
            began: Stamp::harness(deed.began_us),
            done: run.heard(*id),
            name,
            spec: patch.pointer("/spec/template/spec")?,
            metadata: patch.pointer("/spec/template/metadata"),
        }),
        _ => None,
    };
    run.deeds.iter().filter_map(read).collect()
}

/// Whether a pod belongs to the ReplicaSets of a Deployment.
fn is_of(pod: &PodLife<'_>, deployment: &str) -> bool {
    let owners = pod.revisions.first().and_then(|first| first.object.pointer("/metadata/ownerReferences"));
    let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
    owners.any(|owner| {
        let name = owner["name"].as_str().and_then(|name| name.strip_prefix(deployment)?.strip_prefix('-'));
        owner["kind"] == "ReplicaSet" && name.is_some()
    })
}

impl Change<'_> {
    /// Whether a later revision of a pod has a label or an annotation that the change sets, and that the pod lacked before.
    fn marks(&self, before: &Value, later: &Value) -> bool {
        ["labels", "annotations"].into_iter().any(|field| {
            let set = self.metadata.and_then(|metadata| metadata.get(field)?.as_object());
            let has =
                |of: &Value, (key, value): (&String, &Value)| of["metadata"][field].get(key) == Some(value);
            set.into_iter().flatten().any(|entry| has(later, entry) && !has(before, entry))
        })
    }
}

/// Existing pods stay as they are, and pods that are created after the change follow the new template.
pub(super) fn changes_new_pods_only(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for change in changes(run) {
        for pod in run.pods.iter().filter(|pod| is_of(pod, change.name)) {
            let Some(first) = pod.revisions.first() else { continue };
            if run.before(&first.at, &change.began) {
                judge_old(run, &change, pod, clause, seen);
            } else if is_part_of(change.spec, pod.spec) {
                seen.fine([change.id, first.id]);
                seen.facet("pods", "new");
            } else if run.before(&change.done.later(clause.slack_us()), &first.at) {
                let finding = format!(
                    "{} was created after the change of its template, but does not have this change",
                    pod.name
                );
                seen.violated(finding, [change.id, first.id]);
            }
        }
    }
}

fn judge_old(run: &Timeline<'_>, change: &Change<'_>, pod: &PodLife<'_>, clause: &Clause, seen: &mut Seen) {
    if is_part_of(change.spec, pod.spec) {
        return;
    }
    let later: Vec<_> = pod.revisions.iter().filter(|shown| !run.before(&shown.at, &change.began)).collect();
    let parts =
        |shown: &Value| [shown["spec"]["containers"].clone(), shown["spec"]["initContainers"].clone()];
    let before = pod.revisions.iter().rfind(|shown| run.before(&shown.at, &change.began));
    let (Some(first), Some(before)) = (pod.revisions.first(), before) else { return };
    let was = parts(first.object);
    if let Some(changed) = later.iter().find(|shown| parts(shown.object) != was) {
        let finding = format!("{} existed when the template changed, but its spec changed as well", pod.name);
        seen.violated(finding, [change.id, changed.id]);
    } else if let Some(marked) = later.iter().find(|shown| change.marks(before.object, shown.object)) {
        let finding = format!(
            "{} existed when the template changed, but it got the labels or annotations of the new template",
            pod.name
        );
        seen.violated(finding, [change.id, marked.id]);
    } else if let Some(last) = later.last()
        && (last.gone || run.watched_for(pod, &change.done, clause.slack_us()))
    {
        seen.fine([change.id, last.id]);
        seen.facet("pods", "old");
    }
}
