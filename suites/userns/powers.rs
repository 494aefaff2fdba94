//! Capabilities of a pod with its own user namespace.

use probity_model::timeline::{Life, Line};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::TrialSeen;

use super::asks;
use crate::reading::dumps::trials;

/// What a process may do to its own namespaces.
const INSIDE: [&str; 2] = ["mount", "set-hostname"];
/// Actions that affect the whole node.
const OUTSIDE: [&str; 2] = ["load-module", "make-device"];

/// Capabilities apply inside the namespace, and to nothing that affects the node.
pub(super) fn end_at_the_namespace(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (life, line, trial) in trials(run).filter(|(life, ..)| asks(life.pod.spec)) {
        let Some((control, of_control)) = control(run, &life, trial) else { continue };
        let (name, what) = (life.name(), &trial.trial);
        if OUTSIDE.contains(&what.as_str()) {
            let finding = || format!("{name} has its own users, but can change the node: {what}");
            seen.check(!trial.ok, finding, [control.id, line.id]);
            if trial.denied && !of_control.denied {
                seen.facet("scope", "outside");
            }
        } else if INSIDE.contains(&what.as_str()) && of_control.ok {
            let finding =
                || format!("{name} cannot do in its own namespaces what its capabilities allow: {what}");
            seen.check(trial.ok, finding, [control.id, line.id]);
            if trial.ok {
                seen.facet("scope", "inside");
            }
        }
    }
}

/// The same attempt in a container with the same privileges and the users of its node.
fn control<'t, 'h>(
    run: &'t Timeline<'h>,
    life: &Life<'_, '_>,
    trial: &TrialSeen,
) -> Option<(&'t Line<'h>, &'h TrialSeen)> {
    let same = |other: &Life<'_, '_>| {
        !asks(other.pod.spec)
            && other.node == life.node
            && other.container.spec.get("securityContext") == life.container.spec.get("securityContext")
    };
    let mut all = trials(run).filter(|(other, _, theirs)| same(other) && theirs.trial == trial.trial);
    all.find(|(_, _, theirs)| theirs.path == trial.path).map(|(_, line, theirs)| (line, theirs))
}
