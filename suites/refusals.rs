//! What the API server rejects and accepts, and which defaults it sets: one judge for all clauses with an entry in
//! [`rules`].
//!
//! The evidence consists of dry runs and, for defaults, of the created pods. Each rule looks at the content of a
//! manifest, not at the name of the trial. A rejection counts only if its message names the field, and if it is the API
//! server's own: a manifest can be rejected for other reasons, and a policy of the cluster may deny it.

mod rules;

use std::collections::BTreeSet;

use probity_model::history::Tried;
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::admission::stored_pods;
use crate::reading::rejections::is_own;
use rules::{DEFAULTS, FieldDefault, FieldRule, RULES};

/// A field of a manifest, set or not.
pub(crate) struct ManifestField<'m> {
    /// Where it is: `containers[app].livenessProbe.httpGet.port`.
    pub(crate) place: String,
    /// Its value; null if it is not set.
    pub(crate) value: &'m Value,
    /// The spec of the pod that it belongs to.
    spec: &'m Value,
}

impl ManifestField<'_> {
    fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// The init container that it belongs to; `None` for a main container or the pod.
    fn init_container(&self) -> Option<&Value> {
        self.container().filter(|_| self.place.starts_with("initContainers["))
    }

    /// The container that it belongs to.
    fn container(&self) -> Option<&Value> {
        let (list, rest) = self.place.split_once('[')?;
        let name = rest.split(']').next()?;
        self.spec[list].as_array()?.iter().find(|container| container["name"] == name)
    }

    /// The end of its path, as in the API server's messages: `httpGet.port`.
    fn name(&self) -> &str {
        let parent = self.place.rfind('.').and_then(|last| self.place[..last].rfind('.'));
        parent.map_or(self.place.as_str(), |dot| &self.place[dot + 1..])
    }
}

/// All fields at a path: one for each container, and one for each kind of probe if the path has a `*`. A path that
/// starts with `spec.` is the path of a field of the pod. Unset fields are included if the object that they belong to
/// exists.
pub(crate) fn fields<'m>(spec: &'m Value, path: &str) -> Vec<ManifestField<'m>> {
    if let Some(field) = path.strip_prefix("spec.") {
        // The spec of a workload is not the spec of a pod.
        if spec.get("containers").is_none() {
            return Vec::new();
        }
        return vec![ManifestField { place: path.to_owned(), value: &spec[field], spec }];
    }
    let kinds: &[&str] = if path.contains('*') { &["startup", "liveness", "readiness"] } else { &[""] };
    let mut found = Vec::new();
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default();
            for path in kinds.iter().map(|kind| path.replace('*', kind)) {
                let (parents, field) = path.rsplit_once('.').unwrap_or(("", &path));
                let mut parents = parents.split('.').filter(|parent| !parent.is_empty());
                if let Some(parent) = parents.try_fold(container, |parent, child| parent.get(child)) {
                    let place = format!("{list}[{name}].{path}");
                    found.push(ManifestField { place, value: &parent[field], spec });
                }
            }
        }
    }
    found
}

/// Whether a field is not set. The API server treats an empty string in the same way.
pub(crate) fn is_unset(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// Judges for all clauses that have rules but no other judge.
pub(crate) fn judges(others: &[Judge]) -> Vec<Judge> {
    let rules = RULES.iter().map(|rule| rule.clause);
    let clauses: BTreeSet<_> = rules.chain(DEFAULTS.iter().map(|default| default.clause)).collect();
    let without = clauses.into_iter().filter(|clause| others.iter().all(|other| other.clause != *clause));
    without.map(|clause| Judge { clause, judge }).collect()
}

/// Judges a clause by its rules. If the clause also has another judge, its rules cover only the part about the API
/// server.
pub(crate) fn judge(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for default in DEFAULTS.iter().filter(|default| default.clause == clause.id.as_str()) {
        judge_default(run, default, seen);
    }
    let of_clause = |rule: &FieldRule| rule.clause == clause.id.as_str();
    for (id, tried) in &run.tried {
        judge_trial(*id, tried, &apply(tried, "/spec", of_clause), seen);
    }
}

/// Judges the probes in pod templates by the rules of all clauses.
pub(crate) fn judge_templates(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let of_probes = |rule: &FieldRule| rule.fields.iter().all(|path| path.contains("Probe"));
        let mut applied = apply(tried, "/spec/template/spec", of_probes);
        applied.retain(|applied| !applied.means_default());
        judge_trial(*id, tried, &applied, seen);
    }
}

/// A field that a rule applies to.
struct Applied<'m> {
    rule: &'static FieldRule,
    field: ManifestField<'m>,
    valid: bool,
}

impl Applied<'_> {
    /// Whether the message of a rejection names the field.
    fn is_named(&self, message: &str) -> bool {
        message.contains(self.rule.words.unwrap_or_else(|| self.field.name()))
    }

    /// Whether the value is a zero that the reference implementation replaces with the default.
    fn means_default(&self) -> bool {
        self.rule.zero_means_default && self.field.number() == Some(0)
    }

    /// Whether the API server replaced it.
    fn was_replaced(&self, stored: &Value) -> bool {
        let is_default = |default: &FieldDefault| {
            let mut stored = fields(stored, default.field).into_iter();
            stored.any(|stored| stored.place == self.field.place && default.allows(stored.value))
        };
        self.means_default() && DEFAULTS.iter().any(is_default)
    }
}

fn apply<'m>(tried: &'m Tried, spec: &str, which: impl Fn(&FieldRule) -> bool) -> Vec<Applied<'m>> {
    let Some(spec) = tried.manifest.pointer(spec) else { return Vec::new() };
    let rules = RULES.iter().filter(|rule| which(rule));
    let pairs = rules.flat_map(|rule| rule.fields.iter().map(move |path| (rule, path)));
    let found = pairs.flat_map(|(rule, path)| fields(spec, path).into_iter().map(move |field| (rule, field)));
    found.filter_map(|(rule, field)| Some(Applied { valid: (rule.valid)(&field)?, rule, field })).collect()
}

/// A manifest with an invalid field must be rejected because of it; a manifest without an invalid field must not be
/// rejected.
fn judge_trial(id: EventId, tried: &Tried, applied: &[Applied<'_>], seen: &mut Seen) {
    let valid = applied.iter().all(|applied| applied.valid);
    let decisive: Vec<_> = applied.iter().filter(|applied| applied.valid == valid).collect();
    let named = decisive.iter().find(|applied| is_own(tried) && applied.is_named(&tried.message));
    let Some(ManifestField { place, value, .. }) = decisive.first().map(|first| &first.field) else { return };
    let (name, message) = (&tried.name, &tried.message);
    match (valid, tried.code, named) {
        (true, ..300, _) | (false, 400 | 422, Some(_)) => {
            seen.fine(decisive.iter().any(|applied| applied.rule.proves).then_some(id));
        }
        (true, 400 | 422, Some(Applied { field, .. })) => {
            let finding =
                format!("`{name}` is valid, but was rejected because of {}: {message}", field.place);
            seen.violated(finding, [id]);
        }
        (false, ..300, _) if decisive.iter().all(|zero| zero.was_replaced(&tried.stored["spec"])) => {
            let field = place.rsplit('.').next().unwrap_or(place);
            seen.diverges(format!("{field} 0 was accepted and replaced with the default"), [id]);
        }
        (false, ..300, _) => {
            seen.violated(format!("`{name}` was accepted, although {place} is {value}"), [id]);
        }
        (false, 400 | 422, None) => {
            let why = format!("`{name}` was rejected, but not because of {place}: {message}");
            seen.doubt(Doubt::Ambiguous, why, [id]);
        }
        _ => {}
    }
}

/// A field that is not set must be stored with its default. If admission changed the pod, it may also have set the field.
fn judge_default(run: &Timeline<'_>, default: &FieldDefault, seen: &mut Seen) {
    for pod in stored_pods(run) {
        let read_back = fields(pod.stored, default.field);
        for unset in fields(pod.sent, default.field).into_iter().filter(|field| is_unset(field.value)) {
            let Some(filled) = read_back.iter().find(|filled| filled.place == unset.place) else { continue };
            if default.allows(filled.value) {
                if !default.allows(&Value::Null) && (default.pods_prove || pod.is_dry_run) {
                    seen.fine(pod.events.iter().copied());
                }
            } else if pod.keeps_resources() && pod.keeps_images() {
                let (place, value, expected) = (&unset.place, filled.value, default.read_back.join(" or "));
                let finding = format!("{place} was stored as {value} instead of {expected}");
                seen.violated(finding, pod.events.iter().copied());
            } else {
                pod.doubt(seen);
            }
        }
    }
}

#[cfg(test)]
mod tests;
