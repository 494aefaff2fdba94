//! The sandbox of a removed pod, which must not stay on its node.

use probity_model::{Clause, Seen, Timeline};

use crate::reading::described::descriptions;

/// When a pod has been removed, its sandbox has ended, and the runtime soon has no record of it. The sandbox must have been
/// seen before: otherwise a command that reads nothing would pass.
pub(super) fn is_cleaned(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let collected = clause.tolerance_us("collected");
    for pod in &run.pods {
        let all = descriptions(run, pod, seen);
        let ran = all.iter().find_map(|of| Some((of, of.sandboxes().find(|(_, runs)| *runs)?.0)));
        let gone = pod.revisions.iter().find(|revision| revision.gone);
        let (Some((before, sandbox)), Some(gone)) = (ran, gone) else { continue };
        for after in all.iter().filter(|of| run.before(&gone.at, &of.began)) {
            let left = after.sandboxes().find(|(id, _)| *id == sandbox);
            let events = [before.id, gone.id, after.id];
            let late = run.at_least(&gone.at, &after.began) > collected;
            // The cleanup may be late by as much time as the node was busy.
            let certainly_late = run.longer_than(pod, (&gone.at, &after.began), collected);
            match left {
                Some((_, true)) => {
                    let finding = format!("{} was removed, but its sandbox is still running", pod.key);
                    seen.violated(finding, events);
                }
                Some(_) if certainly_late => {
                    let finding = format!("{} was removed, but the runtime still has its sandbox", pod.key);
                    seen.violated(finding, events);
                }
                None if late => {
                    seen.fine(events);
                    seen.facet("sandbox", "removed");
                    seen.facet("sandbox", "ended");
                }
                _ => {
                    seen.fine(events);
                    seen.facet("sandbox", "ended");
                }
            }
        }
    }
}
