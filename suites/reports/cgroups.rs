//! The resources that a container really has: those in its own cgroup, as its process reads them.

use probity_model::{Seen, Timeline};
use serde_json::Value;

use crate::reading::cgroups::{in_cgroup, is_limit, is_own};
use crate::reading::dumps::{Look, looks};
use crate::reading::patches::last_resize;
use crate::reading::quantities::{WHOLE, thousandths};

/// The largest page of memory on which Kubernetes runs, in thousandths of a byte: limits are whole pages, and an arm64
/// kernel may have pages of 64 KiB, according to the Linux documentation.
const PAGE: i128 = 65_536_000;
/// Ten millicores (10m): no cgroup of Kubernetes has a lower CPU limit, and systemd rounds other limits up
/// to the next hundredth, according to the reference implementations of both.
const HUNDREDTH: i128 = 10;
/// The amounts that a process can find in its cgroup.
const AMOUNTS: [(&str, &str); 3] = [("limits", "memory"), ("limits", "cpu"), ("requests", "cpu")];

/// One amount of one container.
struct Found<'l, 't, 'h> {
    look: &'l Look<'t, 'h>,
    amount: (&'static str, &'static str),
    /// As the spec of the container has it.
    asked: &'h str,
    /// Whether the cgroup of the container has the same.
    right: bool,
    /// Whether it is the amount of a limit.
    limited: bool,
}

/// Whether no node rounds an amount. A limit of whole CPUs may be missing in the cgroup: a node may give such a container
/// its own CPUs, and it then needs no limit.
fn is_exact((list, resource): (&str, &str), asked: i128) -> bool {
    let whole = |unit: i128| asked.checked_rem(unit) == Some(0);
    match (list, resource) {
        ("limits", "memory") => whole(PAGE),
        ("limits", _) => whole(HUNDREDTH) && !whole(WHOLE),
        _ => asked > 0,
    }
}

/// The cgroup of each container has the amounts of its spec, unless the pod was resized. Not every runtime shows its
/// containers their cgroups, and a node may have no CPU limits. So an amount that proves nothing by itself is judged only if
/// the cgroup of a container on the same node has the right amount of this kind. A privileged container may see the cgroup of
/// its node.
pub(super) fn judge_cgroups(run: &Timeline<'_>, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    let is_judged = |look: &&Look<'_, '_>| {
        let privileged = look.life.container.spec["securityContext"]["privileged"] == true;
        !privileged && last_resize(run, look.life.pod).is_none()
    };
    let all = looks(run);
    let found: Vec<Found<'_, '_, '_>> = all
        .iter()
        .filter(is_judged)
        .flat_map(|look| AMOUNTS.into_iter().filter_map(move |of| find(look, of)))
        .collect();
    for wrong in found.iter().filter(|found| !found.right) {
        let node = &wrong.look.life.pod.node;
        let shows = |other: &&Found<'_, '_, '_>| {
            other.right && other.amount == wrong.amount && other.look.life.pod.node == *node
        };
        let other = found.iter().find(shows);
        if other.is_some() || wrong.is_proven() {
            let (list, resource) = wrong.amount;
            let finding = format!(
                "{} has {} of {resource} in its {list}, but its cgroup does not have this amount",
                wrong.look.life.name(),
                wrong.asked
            );
            seen.violated(
                finding,
                [wrong.look.line.id].into_iter().chain(other.map(|other| other.look.line.id)),
            );
        }
    }
}

impl Found<'_, '_, '_> {
    /// Whether the amount can only be that of the container itself. A container that does not see its own cgroup finds no
    /// limits, so a limit is its own. So is each amount in a cgroup whose path contains the ID of the container, but a node may
    /// have no CPU limits.
    fn is_proven(&self) -> bool {
        let (list, resource) = self.amount;
        let limited = list == "limits" && self.limited;
        limited || (self.amount != ("limits", "cpu") && is_own(self.look, resource))
    }
}

/// An amount of a container, if its spec has it, its process found it in its cgroup, and no node rounds it.
fn find<'l, 't, 'h>(
    look: &'l Look<'t, 'h>,
    amount: (&'static str, &'static str),
) -> Option<Found<'l, 't, 'h>> {
    let (list, resource) = amount;
    let asked = look.life.container.spec["resources"][list].get(resource).and_then(Value::as_str)?;
    thousandths(asked).filter(|asked| is_exact(amount, *asked))?;
    let (is, wanted) = in_cgroup(&look.dump.files, amount, asked)?;
    Some(Found { look, amount, asked, right: is == wanted, limited: is_limit(is) })
}
