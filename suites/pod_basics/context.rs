//! Security contexts: what a process may do, and as whom it runs.

use probity_model::timeline::{ContainerLife, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::privileged::{STATUS, capabilities};
use crate::reading::dumps::{Look, MOUNTS, looks, mount_options};
use crate::reading::volumes::list;

/// The field in which the kernel shows whether a process can gain more privileges than its parent, and the value if it
/// cannot: Linux, `PR_SET_NO_NEW_PRIVS`.
const NO_NEW_PRIVILEGES: (&str, &str) = ("NoNewPrivs:", "1");

/// A field of the security context of a container or, without it, of its pod, and the word for the one that has it.
pub(super) fn effective<'v>(
    pod: &PodLife<'v>,
    container: &ContainerLife<'v>,
    field: &str,
) -> Option<(&'v Value, &'static str)> {
    let of = |spec: &'v Value| spec.get("securityContext")?.get(field).filter(|value| !value.is_null());
    let own = of(container.spec).map(|value| (value, "container"));
    own.or_else(|| of(pod.spec).map(|value| (value, "pod")))
}

/// Whether a process cannot gain privileges. Here and below: `None` if the spec does not ask for it, or if the record
/// of the process does not show it.
fn cannot_gain_privileges(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let (field, none) = NO_NEW_PRIVILEGES;
    let allowed = context.get("allowPrivilegeEscalation")?.as_bool()?;
    let status = look.dump.files.get(STATUS)?;
    let shown = status.lines().find_map(|line| line.strip_prefix(field))?;
    (!allowed).then(|| shown.trim() == none)
}

/// Whether a process that drops all capabilities has none.
fn has_no_capabilities(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let asked = context.get("capabilities")?;
    let held = capabilities(look.dump.files.get(STATUS)?)?;
    let drops = list(asked, "drop").any(|one| *one == "ALL") && list(asked, "add").next().is_none();
    drops.then_some(held == 0)
}

/// Whether a process cannot write to its root file system.
fn cannot_write_root(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let asked = context.get("readOnlyRootFilesystem")?.as_bool()?;
    let options = mount_options(look.dump.files.get(MOUNTS)?, "/")?;
    asked.then(|| options.split(',').any(|option| option == "ro"))
}

/// Whether a process has the user and the group that its container specifies or, without them, its pod.
fn has_user(look: &Look<'_, '_>) -> Option<bool> {
    let [user, group, ..] = look.dump.ids.as_slice() else { return None };
    let asked = |field: &str| effective(look.life.pod, look.life.container, field)?.0.as_u64();
    let right = |field: &str, is: u32| asked(field).map(|asked| asked == u64::from(is));
    let both = [right("runAsUser", *user), right("runAsGroup", *group)];
    both.into_iter().flatten().reduce(|user, group| user && group)
}

/// Whether a process belongs to all groups that its pod adds.
fn has_groups(look: &Look<'_, '_>) -> Option<bool> {
    let [_, groups @ ..] = look.dump.ids.as_slice() else { return None };
    let of_pod = &look.life.pod.spec["securityContext"];
    let mut asked = list(of_pod, "supplementalGroups").chain(of_pod.get("fsGroup")).peekable();
    asked.peek()?;
    Some(asked.filter_map(Value::as_u64).all(|group| groups.iter().any(|is| u64::from(*is) == group)))
}

/// The process of a container runs as the security contexts of the container and the pod specify. A privileged container is
/// not limited, and a pod with its own user namespace may not have all groups of the node.
pub(super) fn is_in_force(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &looks(run) {
        let context = &look.life.container.spec["securityContext"];
        if context["privileged"] == true {
            continue;
        }
        let own_users = look.life.pod.spec.get("hostUsers").is_some_and(|is| *is == false);
        let parts = [
            ("no-escalation", cannot_gain_privileges(context, look), "can gain privileges"),
            ("no-capabilities", has_no_capabilities(context, look), "has capabilities although it drops ALL"),
            ("read-only-root", cannot_write_root(context, look), "can write to its root file system"),
            ("user", has_user(look).filter(|_| !own_users), "has a different user or group"),
            ("groups", has_groups(look).filter(|_| !own_users), "does not belong to all groups of its pod"),
        ];
        for (word, right, wrong) in parts {
            let Some(right) = right else { continue };
            seen.check(right, || format!("{} {wrong}", look.life.name()), [look.line.id]);
            if right {
                seen.facet("asked", word);
            }
        }
    }
}
