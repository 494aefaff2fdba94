//! Fields that the API server rejects in downward API volumes or variables.

use probity_model::{Seen, Timeline};
use serde_json::Value;

use super::fields::{OF_FILES, OF_VARIABLES};
use crate::reading::rejections::{for_another_reason, is_because_of};
use crate::reading::volumes::list;

/// The word in a rejection that identifies the field.
const PATH: &str = "fieldPath";

/// Volumes with fields that only variables can show.
pub(super) fn in_volumes(run: &Timeline<'_>, seen: &mut Seen) {
    judge(run, seen, "volume", |spec| {
        let volumes = list(spec, "volumes").flat_map(|volume| list(&volume["downwardAPI"], "items"));
        volumes.filter_map(|item| item["fieldRef"][PATH].as_str()).find(|field| OF_VARIABLES.contains(field))
    });
}

/// Variables with fields that only files can show.
pub(super) fn in_variables(run: &Timeline<'_>, seen: &mut Seen) {
    judge(run, seen, "env", |spec| {
        let variables = list(spec, "containers").flat_map(|container| list(container, "env"));
        let mut fields = variables.filter_map(|variable| variable["valueFrom"]["fieldRef"][PATH].as_str());
        fields.find(|field| OF_FILES.contains(field))
    });
}

fn judge(run: &Timeline<'_>, seen: &mut Seen, place: &str, wrong: impl Fn(&Value) -> Option<&str>) {
    for (id, tried) in &run.tried {
        let Some(field) = tried.manifest.get("spec").and_then(&wrong) else { continue };
        match tried.code {
            ..300 => {
                let finding =
                    format!("`{}` was accepted, although its {place} refers to {field}", tried.name);
                seen.violated(finding, [*id]);
            }
            400 | 422 if is_because_of(tried, PATH) => {
                seen.fine([*id]);
                seen.facet("rejected", field);
            }
            _ => for_another_reason((*id, tried), seen),
        }
    }
}
