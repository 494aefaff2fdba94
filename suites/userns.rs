//! User namespaces: which pods can request one, that no pod starts without the user namespace that it requested, and
//! what a pod can do in it. Such a pod may be root inside, but it has no privileges on its node.

mod ids;
mod maps;
mod overflow;
mod powers;
mod unchanged;

use probity_model::{Clause, Judge, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::looks;
use crate::reading::rejections::{for_another_reason, is_own};

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "userns.forbidden-combos", judge: combinations },
        Judge { clause: "userns.unsupported-runtime", judge: never_without },
        Judge { clause: "userns.optin", judge: maps::of_its_own },
        Judge { clause: "userns.no-overlap", judge: maps::do_not_overlap },
        Judge { clause: "userns.ids-inside", judge: ids::are_those_inside },
        Judge { clause: "userns.overflow-id", judge: overflow::belong_to_nobody },
        Judge { clause: "userns.root-unprivileged-on-host", judge: maps::root_is_mapped },
        Judge { clause: "userns.capabilities-scoped", judge: powers::end_at_the_namespace },
        Judge { clause: "userns.apps-unchanged", judge: unchanged::works_as_well },
    ]
}

/// The field that must be false for a pod to have its own user namespace.
const FIELD: &str = "hostUsers";
/// Fields that make a pod use namespaces of its node.
const OF_NODE: [&str; 3] = ["hostNetwork", "hostPID", "hostIPC"];

/// Whether a pod requests its own user namespace.
fn asks(spec: &Value) -> bool {
    spec.get(FIELD) == Some(&Value::Bool(false))
}

/// A pod cannot combine its own user namespace with another host namespace.
fn combinations(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let Some(spec) = tried.manifest.get("spec").filter(|spec| asks(spec)) else { continue };
        let mut others = OF_NODE.into_iter().filter(|field| spec.get(*field) == Some(&Value::Bool(true)));
        let (Some(field), None) = (others.next(), others.next()) else { continue };
        match tried.code {
            ..300 => {
                let finding = format!("a pod with its own user namespace was accepted with {field}");
                seen.violated(finding, [*id]);
            }
            422 if is_own(tried) && tried.message.to_lowercase().contains(&field.to_lowercase()) => {
                seen.fine([*id]);
                seen.facet("with", field);
            }
            _ => for_another_reason((*id, tried), seen),
        }
    }
}

/// A pod that requests a user namespace starts in one, or not at all.
fn never_without(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| asks(pod.spec)) {
        for look in looks(run).iter().filter(|look| std::ptr::eq(look.life.pod, pod)) {
            let Some(map) = look.dump.files.get(maps::USERS) else { continue };
            let finding =
                || format!("{} requests a user namespace, but runs in that of its node", look.life.name());
            seen.check(!maps::is_identity(map), finding, [look.line.id]);
        }
        let began = pod.containers.iter().any(|of| !of.attempts.is_empty());
        let bound = pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string());
        if let Some(bound) = bound.filter(|_| !began)
            && run.watched_for(pod, &bound.at, clause.slack_us())
        {
            seen.fine(run.to_the_end([bound.id]));
        }
    }
}

#[cfg(test)]
mod tests;
