//! Pods that a kubelet evicts because its node is short of memory: the condition that shows this.

use probity_model::timeline::At;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::End;
use crate::reading::shortage::{Member, Shortage, shortages};
use crate::reading::statuses::EVICTED;
use crate::reading::targets::{self, BY_KUBELET};

/// An evicted pod has the condition together with its terminal phase, and a pod that stays does not have the condition.
pub(super) fn evicted_pods_say_so(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shortage in shortages(run, seen) {
        let evicted = shortage.evicted();
        for (gone, at) in &evicted {
            judge_evicted(run, clause, (gone, at), seen);
        }
        if let Some((_, at)) = evicted.first() {
            judge_spared(run, &shortage, at, seen);
        }
    }
}

fn judge_evicted(run: &Timeline<'_>, clause: &Clause, (gone, at): (&Member<'_, '_>, &At), seen: &mut Seen) {
    let key = &gone.pod.key;
    // This clause does not judge whether a pod failed if all of its containers exited with 0.
    if gone.lives(run).all(|life| End::of(&life).and_then(|end| end.code) == Some(0)) {
        return;
    }
    let early = |shown: &&_| targets::says(shown, BY_KUBELET);
    let Some(over) = gone.pod.over() else {
        if let Some(early) = gone.pod.revisions.iter().find(early) {
            let finding = format!("{key} never became Failed, although {}", targets::in_words(early));
            seen.violated(finding, [at.id, early.id]);
        } else if run.watched_for(gone.pod, &at.stamp, clause.slack_us()) {
            let finding = format!("{key} was evicted, but never became Failed");
            seen.violated(finding, run.to_the_end([at.id]));
        }
        return;
    };
    if let Some(early) = gone.pod.revisions.iter().take_while(|shown| shown.id < over.id).find(early) {
        let finding =
            format!("the phase of {key} is still {}, but {}", early.phase(), targets::in_words(early));
        seen.violated(finding, [early.id, over.id]);
        return;
    }
    for shown in gone.pod.revisions.iter().filter(|shown| shown.id >= over.id && !shown.gone) {
        let (phase, reason) = (shown.phase(), shown.object["status"]["reason"].as_str());
        let kept = phase == "Failed" && reason == Some(EVICTED) && targets::says(shown, BY_KUBELET);
        if !kept {
            let (reason, condition) = (reason.unwrap_or("none"), targets::in_words(shown));
            let finding =
                format!("{key} was evicted; its phase is {phase} (reason: {reason}), and {condition}");
            seen.violated(finding, [at.id, shown.id]);
            return;
        }
    }
    seen.fine([at.id, over.id]);
    seen.facet("pod", "evicted");
}

/// Judges the pods that were not evicted while another pod was.
fn judge_spared(run: &Timeline<'_>, shortage: &Shortage<'_, '_>, at: &At, seen: &mut Seen) {
    for left in shortage.members.iter().filter(|left| left.stays(run)) {
        let later = || left.pod.revisions.iter().filter(|shown| shown.id > shortage.id);
        let Some(last) = left.pod.last().filter(|last| !last.terminating() && !last.gone) else { continue };
        if let Some(wrong) = later().find(|shown| targets::reason(shown) == Some(BY_KUBELET)) {
            let finding = format!("{} was not evicted, but {}", left.pod.key, targets::in_words(wrong));
            seen.violated(finding, [at.id, wrong.id]);
        } else {
            seen.fine([at.id, last.id]);
            seen.facet("pod", "spared");
        }
    }
}
