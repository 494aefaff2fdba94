//! Which pods a kubelet evicts when memory is short, and in which order.

use probity_model::measure::seconds;
use probity_model::timeline::At;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::End;
use crate::reading::qos::{BEST_EFFORT, BURSTABLE, GUARANTEED};
use crate::reading::shortage::{Member, Shortage, shortages};

/// The classes in the order in which their pods are evicted: Kubernetes documentation, Pod Quality of Service Classes.
const ORDER: [&str; 3] = [BEST_EFFORT, BURSTABLE, GUARANTEED];

fn rank(member: &Member<'_, '_>) -> Option<usize> {
    ORDER.iter().position(|class| *class == member.class)
}

/// Pods of a class are evicted before pods of the next class. The reference implementation compares priorities and
/// amounts instead.
pub(super) fn by_class(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for shortage in shortages(run, seen) {
        for (gone, at) in shortage.evicted() {
            for left in shortage.left(run, (gone, at)) {
                judge_pair(run, (gone, at), left, seen);
            }
        }
    }
}

/// Judges a pod that was evicted while another pod stayed.
fn judge_pair(
    run: &Timeline<'_>,
    (gone, at): (&Member<'_, '_>, &At),
    left: &Member<'_, '_>,
    seen: &mut Seen,
) {
    let later = left.evicted().map(|at| at.id).or_else(|| run.last_event());
    let events = || [gone.record, left.record, Some(at.id), later].into_iter().flatten();
    let finding = || {
        let (first, second) = (&gone.pod.key, &left.pod.key);
        format!("{first}, which is {}, was evicted before {second}, which is {}", gone.class, left.class)
    };
    match rank(gone).cmp(&rank(left)) {
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Less => {
            seen.fine(events());
            seen.facet("later", left.class);
        }
        // A pod within its requests is not a candidate, and may stay whatever its class is.
        std::cmp::Ordering::Greater if !left.is_above() => {}
        std::cmp::Ordering::Greater if gone.priority < left.priority => seen.diverges(finding(), events()),
        std::cmp::Ordering::Greater if gone.priority > left.priority => seen.violated(finding(), events()),
        std::cmp::Ordering::Greater if gone.is_further_above(left) => seen.diverges(finding(), events()),
        std::cmp::Ordering::Greater if left.is_further_above(gone) => seen.violated(finding(), events()),
        std::cmp::Ordering::Greater => {
            seen.doubt(
                Doubt::Ambiguous,
                format!("{}, and both exceeded their requests by about the same amount", finding()),
                events(),
            );
        }
    }
}

/// Of the pods above their requests, those with a lower priority are evicted before those with a higher priority.
pub(super) fn by_priority(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for shortage in shortages(run, seen) {
        for (gone, at) in shortage.evicted() {
            for left in shortage.left(run, (gone, at)).filter(|left| left.is_above()) {
                let later = left.evicted().map(|at| at.id).or_else(|| run.last_event());
                let events = [gone.record, left.record, Some(at.id), later].into_iter().flatten();
                if gone.priority > left.priority {
                    let (first, second) = (&gone.pod.key, &left.pod.key);
                    let finding = format!(
                        "{first} was evicted before {second}, which has a lower priority and used more than it requested"
                    );
                    seen.violated(finding, events);
                } else if gone.priority < left.priority {
                    seen.fine(events);
                }
            }
        }
    }
}

/// Pods above their requests are evicted with all their containers, and before any pods below their requests.
pub(super) fn of_those_above(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for shortage in shortages(run, seen) {
        let evicted = shortage.evicted();
        if evicted.is_empty() {
            judge_nobody_went(run, clause, &shortage, seen);
        }
        for (gone, at) in evicted {
            if gone.is_above() {
                judge_end(run, clause, (gone, at), seen);
                spared(run, &shortage, (gone, at), seen);
            } else if gone.is_below()
                && let Some(left) = shortage.left(run, (gone, at)).find(|left| left.is_above())
            {
                let (first, second) = (&gone.pod.key, &left.pod.key);
                let finding = format!(
                    "{first} was evicted although it used less than it requested, while {second} used more than it requested"
                );
                let events = [gone.record, left.record, Some(at.id), run.last_event()];
                seen.violated(finding, events.into_iter().flatten());
            }
        }
    }
}

/// All containers of an evicted pod end, and none restarts.
fn judge_end(run: &Timeline<'_>, clause: &Clause, (gone, at): (&Member<'_, '_>, &At), seen: &mut Seen) {
    let watched = run.watched_for(gone.pod, &at.stamp, clause.tolerance_us("stopped"));
    let mut events = vec![Some(at.id), gone.record];
    for life in gone.lives(run) {
        let name = life.name();
        if let Some(again) = life.lives_again() {
            seen.violated(format!("{name} restarted in an evicted pod"), [at.id, again]);
            return;
        }
        match End::of(&life) {
            Some(end) => events.push(Some(end.at().id)),
            None if watched => {
                let finding = format!("{} was evicted, but {name} kept running", gone.pod.key);
                seen.violated(finding, run.to_the_end([at.id]));
                return;
            }
            None => return,
        }
    }
    if watched {
        seen.fine(events.into_iter().flatten());
        seen.facet("evicted", gone.class);
    }
}

/// Records the pods below their requests that stayed although another pod was evicted.
fn spared(run: &Timeline<'_>, shortage: &Shortage<'_, '_>, gone: (&Member<'_, '_>, &At), seen: &mut Seen) {
    let stayed = |left: &&Member<'_, '_>| left.is_below() && left.stays(run);
    for left in shortage.left(run, gone).filter(stayed) {
        seen.fine([Some(gone.1.id), left.record, run.last_event()].into_iter().flatten());
        seen.facet("spared", left.class);
    }
}

/// Reports that no pod was evicted although the pods of the case alone exceeded the memory threshold.
fn judge_nobody_went(run: &Timeline<'_>, clause: &Clause, shortage: &Shortage<'_, '_>, seen: &mut Seen) {
    let Some(last) = run.last_event() else { return };
    seen.applies();
    let lasted = run.at_least(&shortage.began, &shortage.until);
    if shortage.is_certain()
        && let Some(above) = shortage.members.iter().find(|member| member.is_above())
        && run.watched_for(above.pod, &shortage.began, clause.slack_us())
        && lasted > clause.slack_us()
    {
        let finding = format!(
            "the node was short of memory for {} and {} used more than it requested, but no pod was evicted",
            seconds(lasted),
            above.pod.key
        );
        seen.violated(finding, [shortage.id, last]);
    }
}
