//! What a pod keeps for its whole lifetime, and no longer: its UID, its node and its volumes.

use probity_model::mechanisms::VOLUMES_CHECKED;
use probity_model::timeline::{Attempt, Line, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::Fact;

/// Each pod has a unique UID, even if it has the name of an earlier pod.
pub(super) fn own_uid(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (at, pod) in run.pods.iter().enumerate().filter(|(_, pod)| !pod.uid.is_empty()) {
        let gone = pod.revisions.iter().find(|revision| revision.gone);
        if let (Some(gone), Some(last)) = (gone, pod.last())
            && last.id > gone.id
        {
            let finding = format!("after {} was removed, a pod with the same UID appeared", pod.key);
            seen.violated(finding, [gone.id, last.id]);
        }
        for other in &run.pods[at + 1..] {
            let (Some(one), Some(two)) = (pod.revisions.first(), other.revisions.first()) else { continue };
            if pod.uid == other.uid {
                let finding = format!("{} and {} have the same UID", pod.name, other.name);
                seen.violated(finding, [one.id, two.id]);
            } else if pod.name == other.name {
                seen.fine([one.id, two.id]);
                seen.facet("pods", "replaced");
            } else {
                seen.fine([one.id, two.id]);
                seen.facet("pods", "beside");
            }
        }
    }
}

/// A pod that was bound to a node stays there, and its processes run there.
pub(super) fn one_node(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let node = |revision: &Revision<'_>| revision.object["spec"]["nodeName"].as_str().map(str::to_owned);
    for pod in &run.pods {
        let Some((bound, at)) = pod.revisions.iter().find_map(|one| Some((one, node(one)?))) else {
            continue;
        };
        let moved =
            pod.revisions.iter().find(|later| later.id > bound.id && node(later).as_ref() != Some(&at));
        if let Some(moved) = moved {
            let now = node(moved).unwrap_or_else(|| "none".to_owned());
            seen.violated(
                format!("{} was bound to {at}, but its node changed to {now}", pod.key),
                [bound.id, moved.id],
            );
        }
        for attempt in pod.containers.iter().flat_map(|of| &of.attempts) {
            let finding =
                || format!("{} is bound to {at}, but one of its processes runs on {}", pod.key, attempt.node);
            seen.check(attempt.node == at, finding, [bound.id, attempt.began.id]);
        }
    }
}

/// A volume of a pod outlives the containers but not the pod. (The target counts its own instances in a file there.)
pub(super) fn volume_stays(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (at, pod) in run.pods.iter().enumerate() {
        for container in &pod.containers {
            let complete: Vec<_> =
                container.attempts.iter().filter(|attempt| attempt.is_complete()).collect();
            let mut last: Option<&&Attempt<'_>> = None;
            for attempt in &complete {
                match last {
                    Some(before) if before.number == attempt.number => {
                        let finding =
                            format!("a restart lost the file on a volume of {}/{}", pod.key, container.name);
                        seen.violated(finding, [before.began.id, attempt.began.id]);
                    }
                    Some(before) if before.number + 1 == attempt.number => {
                        seen.fine([before.began.id, attempt.began.id]);
                        seen.facet("volume", "kept");
                    }
                    _ => {}
                }
                judge_last_look(run, pod, attempt, seen);
                last = Some(attempt);
            }
            if let (Some(first), Some(before)) = (complete.first(), earlier(run, at, pod)) {
                let finding = || {
                    format!("a volume of {}/{} contains a file of an earlier pod", pod.key, container.name)
                };
                let is_new = first.earlier_processes() == 0;
                seen.check(is_new, finding, [before, first.began.id]);
                if is_new {
                    seen.facet("volume", "new");
                }
            }
        }
    }
}

/// A process that ends by itself, before or during the termination of its pod, still finds its file in the volume.
fn judge_last_look(run: &Timeline<'_>, pod: &PodLife<'_>, attempt: &Attempt<'_>, seen: &mut Seen) {
    let look = |line: &'_ Line<'_>| match &line.line.fact {
        Fact::Volume(found) => Some((line.id, line.at.clone(), found.kept)),
        _ => None,
    };
    let Some((id, at, kept)) = attempt.lines.iter().find_map(look) else { return };
    let finding =
        || format!("a volume of the pod {} lost a file while a container was still running", pod.key);
    seen.check(kept, finding, [id]);
    let told = attempt.stop().filter(|stop| !run.before_deletion(pod, &stop.at));
    if kept && told.is_some_and(|stop| at.at.lo - stop.at.at.hi >= VOLUMES_CHECKED) {
        seen.facet("volume", "kept-to-the-end");
    }
}

/// The removal of an earlier pod with the same name.
fn earlier(run: &Timeline<'_>, at: usize, pod: &PodLife<'_>) -> Option<EventId> {
    let mut before = run.pods[..at].iter().filter(|other| other.name == pod.name && other.uid != pod.uid);
    before.find_map(|other| Some(other.revisions.iter().find(|revision| revision.gone)?.id))
}
