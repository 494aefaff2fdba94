//! Security contexts: what a process may do, and as whom it runs.

use probity_model::timeline::{ContainerLife, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::privileged::{STATUS, capabilities};
use crate::reading::dumps::{Look, MOUNTS, all_looks, mount_at};
use crate::reading::volumes::list;

/// The field in which the kernel shows whether the system calls of a process are filtered, and the value if they are not:
/// Linux, proc_pid_status(5).
const UNFILTERED: (&str, &str) = ("Seccomp:", "0");
/// The capabilities in the order of their numbers, from 0, separated by spaces: Linux, capabilities(7). Every kernel that
/// Kubernetes supports has these.
const CAPABILITIES: &str = "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP \
    LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT \
    SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE \
    AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ";
/// The types of seccomp profiles that filter system calls, according to the Kubernetes API reference.
const FILTERS: [&str; 2] = ["RuntimeDefault", "Localhost"];
/// The default type of a container's `/proc`, according to the Kubernetes API reference.
const MASKED: &str = "Default";
/// Some of the places that runtimes hide from processes or make read-only by default. Each kernel has the last one.
const PROTECTED: [&str; 3] = ["/proc/kcore", "/proc/keys", "/proc/sys"];
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
    let shown = in_status(look, field)?;
    (!allowed).then(|| shown == none)
}

/// The value of a field with which the kernel describes the process.
fn in_status<'h>(look: &Look<'_, 'h>, field: &str) -> Option<&'h str> {
    let status = look.dump.files.get(STATUS)?;
    status.lines().find_map(|line| line.strip_prefix(field)).map(str::trim)
}

/// Whether the system calls of a process are filtered, if its container or its pod asks for this. `None` also if the
/// system calls of no process are filtered, because some runtimes and kernels cannot do this.
fn is_filtered(look: &Look<'_, '_>, all: &[Look<'_, '_>]) -> Option<bool> {
    let (field, none) = UNFILTERED;
    let (profile, _) = effective(look.life.pod, look.life.container, "seccompProfile")?;
    let asked = profile.get("type").and_then(Value::as_str).is_some_and(|kind| FILTERS.contains(&kind));
    let filters = |other: &Look<'_, '_>| in_status(other, field).is_some_and(|shown| shown != none);
    let can = all.iter().any(|other| other.life.pod.node == look.life.pod.node && filters(other));
    in_status(look, field).filter(|_| asked && can).map(|shown| shown != none)
}

/// Whether the security context of a container leaves the protection of `/proc` to the runtime.
fn is_plain(look: &Look<'_, '_>) -> bool {
    let context = &look.life.container.spec["securityContext"];
    let own = context.get("procMount").and_then(Value::as_str);
    context["privileged"] != true && own.is_none_or(|own| own == MASKED)
}

/// Whether a process finds the same places below `/proc` protected as the processes of the other containers of its pod.
fn has_masked_proc(look: &Look<'_, '_>, all: &[Look<'_, '_>]) -> Option<bool> {
    let protects = |of: &Look<'_, '_>, place: &str| {
        Some(mount_at(of.dump.files.get(MOUNTS)?, place).is_some_and(|mount| mount.is_read_only()))
    };
    let beside = |other: &&Look<'_, '_>| other.life.pod.uid == look.life.pod.uid && is_plain(other);
    let others = || all.iter().filter(beside);
    let wanted =
        PROTECTED.into_iter().filter(|place| others().any(|other| protects(other, place) == Some(true)));
    let found = wanted.map(|place| protects(look, place)).collect::<Option<Vec<bool>>>()?;
    (is_plain(look) && !found.is_empty()).then(|| found.into_iter().all(|is| is))
}

/// The capabilities that a container adds after it dropped ALL, one bit for each. `None` if it does not drop ALL, or if it
/// adds one that is not in the list, because not every kernel has it.
fn added(context: &Value) -> Option<u64> {
    let asked = context.get("capabilities")?;
    let drops = list(asked, "drop").any(|one| *one == "ALL");
    let added = list(asked, "add").try_fold(0, |all, one| {
        let name = one.as_str()?.trim_start_matches("CAP_");
        let bit = CAPABILITIES.split(' ').position(|of| of == name)?;
        Some(all | (1 << bit))
    });
    added.filter(|_| drops)
}

/// Whether a process that drops all capabilities has none.
fn has_no_capabilities(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let held = capabilities(look.dump.files.get(STATUS)?)?;
    (added(context)? == 0).then_some(held == 0)
}

/// Whether a process that drops all capabilities and adds some has those, and no others.
fn has_only_added(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let held = capabilities(look.dump.files.get(STATUS)?)?;
    added(context).filter(|added| *added != 0).map(|added| held == added)
}

/// Whether a process cannot write to its root file system.
fn cannot_write_root(context: &Value, look: &Look<'_, '_>) -> Option<bool> {
    let asked = context.get("readOnlyRootFilesystem")?.as_bool()?;
    let root = mount_at(look.dump.files.get(MOUNTS)?, "/")?;
    asked.then(|| root.is_read_only())
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
    let all = all_looks(run);
    for look in &all {
        let context = &look.life.container.spec["securityContext"];
        if context["privileged"] == true {
            continue;
        }
        let own_users = look.life.pod.spec.get("hostUsers").is_some_and(|is| *is == false);
        let parts = [
            ("no-escalation", cannot_gain_privileges(context, look), "can gain privileges"),
            ("no-capabilities", has_no_capabilities(context, look), "has capabilities although it drops ALL"),
            (
                "only-added",
                has_only_added(context, look),
                "does not have exactly the capabilities that it adds",
            ),
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
        // Not every runtime does these two things.
        let by_runtime = [
            (is_filtered(look, &all), "makes system calls without the filter of its seccomp profile"),
            (has_masked_proc(look, &all), "has a /proc with less protection than another container has"),
        ];
        for (right, wrong) in by_runtime {
            let Some(right) = right else { continue };
            seen.check(right, || format!("{} {wrong}", look.life.name()), [look.line.id]);
        }
    }
}
