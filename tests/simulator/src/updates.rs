//! Updates of an existing pod: the changes that a client may make, and the generation that counts them.

use probity_case::manifest::pod_name;
use probity_case::{ONLY, PatchStep, Step};
use probity_model::history::Did;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::World;

/// The lists of a pod that a patch merges by the names of their entries.
const NAMED: [&str; 3] = ["containers", "initContainers", "volumes"];
/// The beginning of a field of a patch that removes values from a list.
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
/// The message with which an update of an immutable field is rejected.
const FIXED: &str = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations`";

impl World<'_> {
    /// A client patches a pod.
    pub(crate) fn update_pod(&mut self, of: &PatchStep, step: &Step) {
        let name = pod_name(self.case, of.pod.as_deref().unwrap_or(ONLY));
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else {
            let why = format!(
                "failed to patch Pod {name}: the API server answered 404 NotFound: \"{name}\" not found"
            );
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        };
        let old = self.pods[pod].object.clone();
        let mut new = old.clone();
        merge(&mut new, &of.patch);
        if let Some(problem) = self.update_problem(&old, &new) {
            let why = format!("failed to patch Pod {name}: the API server answered {problem}");
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        }
        let (kind, patch) = ("Pod".to_owned(), of.patch.clone());
        self.did(Did::Patched { kind, name, patch, subresource: String::new() });
        self.restore(&old, &mut new);
        let changed = old["spec"] != new["spec"];
        let relabelled = old["metadata"] != new["metadata"];
        if !changed && !relabelled {
            return;
        }
        self.pods[pod].before = std::mem::replace(&mut self.pods[pod].object, new);
        if changed || self.has(Defect::GenerationCountsLabels) {
            self.count_change(pod);
        }
        self.show_again(pod);
        self.misread_update(pod, relabelled);
        let synced = changed || self.has(Defect::ResizeConditionsRedated);
        if synced && self.pods[pod].object["spec"]["nodeName"].is_string() {
            self.touch(pod);
        }
        if old["spec"]["activeDeadlineSeconds"] != self.pods[pod].object["spec"]["activeDeadlineSeconds"] {
            self.change_deadline(pod);
        }
        if old["spec"]["tolerations"] != self.pods[pod].object["spec"]["tolerations"] {
            self.wait_anew(pod);
        }
        if changed {
            self.replace_changed(pod, &old["spec"]);
        }
    }

    /// The generation of a new pod.
    pub(crate) fn first_generation(&self, manifest: &Value) -> i64 {
        let asked = manifest["metadata"]["generation"].as_i64();
        asked.filter(|_| self.has(Defect::GenerationFromRequest)).unwrap_or(1)
    }

    /// The spec of a pod changed, or its deletion began.
    pub(crate) fn count_change(&mut self, pod: usize) {
        let more = match () {
            () if self.has(Defect::GenerationStays) => 0,
            () if self.has(Defect::GenerationJumps) => 2,
            () => 1,
        };
        let generation = &mut self.pods[pod].object["metadata"]["generation"];
        *generation = json!(generation.as_i64().unwrap_or_default() + more);
    }

    /// Restores fields whose update is silently ignored.
    fn restore(&self, old: &Value, new: &mut Value) {
        if !self.has(Defect::GenerationFromRequest) {
            new["metadata"]["generation"] = old["metadata"]["generation"].clone();
        }
        if !self.has(Defect::ApiPatchesCreationTime) {
            new["metadata"]["creationTimestamp"] = old["metadata"]["creationTimestamp"].clone();
        }
        if self.has(Defect::ApiIgnoresImage) {
            new["spec"]["containers"] = old["spec"]["containers"].clone();
        }
    }

    /// Why the API server rejects an update.
    fn update_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let name = old["metadata"]["name"].as_str().unwrap_or_default();
        for field in ["name", "namespace"] {
            if old["metadata"][field] != new["metadata"][field] {
                return Some(format!("400 BadRequest: the {field} of the object does not match the request"));
            }
        }
        if old["metadata"]["uid"] != new["metadata"]["uid"] && !self.has(Defect::ApiPatchesUid) {
            return Some(format!(
                "409 Conflict: cannot change \"{name}\": the UID in the precondition is another"
            ));
        }
        let finalizer = self.finalizer_problem(&old["metadata"], &new["metadata"]);
        let problem = finalizer.or_else(|| self.spec_problem(&old["spec"], &new["spec"]))?;
        Some(format!("422 Invalid: Pod \"{name}\" is invalid: {problem}"))
    }

    fn finalizer_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let goes = old["deletionTimestamp"].is_string();
        let refused = if goes {
            !self.has(Defect::ApiAddsLateFinalizers)
        } else {
            self.has(Defect::ApiRefusesFinalizers)
        };
        let more =
            entries(new, "finalizers").any(|one| !entries(old, "finalizers").any(|known| known == one));
        let count = |of: &Value| entries(of, "finalizers").count();
        let exchanged = goes && count(new) <= count(old) && self.has(Defect::ApiExchangesFinalizer);
        (more && refused && !exchanged).then(|| {
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted".to_owned()
        })
    }

    fn spec_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let more = old["ephemeralContainers"] != new["ephemeralContainers"];
        if let Some(problem) = self.refuses_ephemeral(new, false).filter(|_| more) {
            return Some(problem);
        }
        self.deadline_problem(&old["activeDeadlineSeconds"], &new["activeDeadlineSeconds"])
            .or_else(|| self.toleration_problem(old, new))
            .or_else(|| self.fixed_problem(old, new))
    }

    fn deadline_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let why = match (old.as_i64(), new.as_i64()) {
            (old, new) if old == new => return None,
            (Some(_), None) if !self.has(Defect::ApiRemovesDeadline) => {
                "must not update from a positive integer to nil value"
            }
            (_, Some(..=-1)) if !self.has(Defect::ApiAcceptsNegativeDeadline) => {
                "must be between 0 and 2147483647, inclusive"
            }
            (Some(old), Some(new)) if new > old && !self.has(Defect::ApiExtendsDeadline) => {
                "must be less than or equal to previous value"
            }
            (None, Some(0..)) if self.has(Defect::ApiRefusesDeadline) => "may not be set",
            _ => return None,
        };
        Some(format!("spec.activeDeadlineSeconds: Invalid value: {new}: {why}"))
    }

    fn toleration_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let bare = |list: &Value| -> Vec<Value> {
            let tolerations = entries(list, "tolerations").cloned().map(|mut toleration| {
                toleration["tolerationSeconds"] = Value::Null;
                toleration
            });
            tolerations.collect()
        };
        let (was, is) = (bare(old), bare(new));
        let exchanged = is.len() >= was.len() && self.has(Defect::ApiExchangesToleration);
        let lost = was.iter().any(|one| !is.contains(one)) && !exchanged;
        let removed = lost && !self.has(Defect::ApiRemovesTolerations);
        let added = is.len() > was.len() && self.has(Defect::ApiRefusesTolerations);
        (removed || added).then(|| {
            "spec.tolerations: Forbidden: existing toleration can not be modified except its \
             tolerationSeconds"
                .to_owned()
        })
    }

    fn fixed_problem(&self, old: &Value, new: &Value) -> Option<String> {
        let mut munged = new.clone();
        for field in ["activeDeadlineSeconds", "tolerations"] {
            munged[field] = old[field].clone();
        }
        for list in ["containers", "initContainers"] {
            let images: Vec<Value> = entries(old, list).map(|container| container["image"].clone()).collect();
            for (container, image) in munged[list].as_array_mut().into_iter().flatten().zip(images) {
                container["image"] = image;
            }
            if self.has(Defect::ApiPatchesContainers) && munged[list] != old[list] {
                munged[list] = old[list].clone();
            }
        }
        let differs = |field: &String| munged[field] != old[field];
        let fields = munged.as_object().into_iter().flatten().map(|(field, _)| field);
        let mut fields = fields.filter(|field| *field != "ephemeralContainers");
        let fixed = fields.any(|field| {
            differs(field) && (!self.has(Defect::ApiPatchesSpec) || field.ends_with("ontainers"))
        });
        fixed.then(|| FIXED.to_owned())
    }
}

fn entries<'v>(spec: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    spec[list].as_array().into_iter().flatten()
}

/// A container in a spec, from any list except the ephemeral containers.
pub(crate) fn container_in<'v>(spec: &'v Value, name: &str) -> Option<&'v Value> {
    let lists = ["containers", "initContainers"].into_iter().filter_map(|list| spec[list].as_array());
    lists.flatten().find(|of| of["name"] == name)
}

/// Changes an object as a strategic merge patch does.
pub(crate) fn merge(object: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    for (field, value) in fields {
        if let Some(list) = field.strip_prefix(DELETE_FROM) {
            let gone: Vec<&Value> = value.as_array().into_iter().flatten().collect();
            if let Some(all) = object.get_mut(list).and_then(Value::as_array_mut) {
                all.retain(|one| !gone.contains(&one));
            }
            continue;
        }
        match value {
            Value::Null => {
                if let Some(object) = object.as_object_mut() {
                    object.remove(field);
                }
            }
            Value::Array(list) if NAMED.contains(&field.as_str()) => merge_named(&mut object[field], list),
            Value::Array(list) if field == "finalizers" => {
                let mut all = object[field].as_array().cloned().unwrap_or_default();
                all.extend(list.iter().cloned());
                object[field] = json!(all);
            }
            Value::Object(_) => merge(&mut object[field], value),
            value => object[field] = value.clone(),
        }
    }
}

fn merge_named(list: &mut Value, patch: &[Value]) {
    for entry in patch {
        let known = list.as_array_mut().into_iter().flatten().find(|known| known["name"] == entry["name"]);
        match known {
            Some(known) => merge(known, entry),
            None => {
                let mut all = list.as_array().cloned().unwrap_or_default();
                all.push(entry.clone());
                *list = json!(all);
            }
        }
    }
}
