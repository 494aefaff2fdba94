//! Pods that are preempted: they have a condition that shows the reason, and they terminate as other pods do.

use probity_model::measure::{seconds, whole_seconds};
use probity_model::timeline::{ContainerKind, PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::ends::End;
use crate::reading::mains::lives_of;
use crate::reading::slots::{Contest, contests};
use crate::reading::targets;

/// The reason of the condition: Kubernetes documentation, Disruptions.
const REASON: &str = "PreemptionByScheduler";

/// A pod that is preempted by a pod with a higher priority has the condition, and gets its whole grace period.
pub(super) fn preempted_pods_say_so(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for contest in contests(run).iter().filter(|contest| !contest.lower().is_empty()) {
        let gone = contest.gone(run);
        if gone.is_empty() {
            judge_nobody_went(run, clause, contest, seen);
        }
        for (pod, priority, going) in gone {
            if priority < contest.wants.1 {
                judge_victim(run, clause, (contest, pod), going, seen);
            }
        }
    }
}

fn judge_victim<'h>(
    run: &Timeline<'h>,
    clause: &Clause,
    (contest, pod): (&Contest<'_, 'h>, &PodLife<'h>),
    going: &Revision<'h>,
    seen: &mut Seen,
) {
    let quantity = format!("from the creation of {} to the preemption of {}", contest.wants.0.key, pod.key);
    seen.within(run, "", quantity, (&contest.at, going), clause.in_time());
    let finding = || format!("{} was preempted, but {}", pod.key, targets::in_words(going));
    let explained = targets::says(going, REASON);
    seen.check(explained, finding, [contest.at.id, going.id]);
    if explained {
        seen.facet("seen", "condition");
    }
    let (grace, said) = (pod.grace(), going.deletion_grace().map(whole_seconds));
    let finding = || {
        let said = said.map_or("missing".to_owned(), seconds);
        format!(
            "{} was preempted, but its deletionGracePeriodSeconds is {said}, not {}",
            pod.key,
            seconds(grace)
        )
    };
    seen.check(said == Some(grace), finding, [contest.at.id, going.id]);
    for container in pod.containers.iter().filter(|of| of.kind == ContainerKind::Main) {
        let Some(life) = lives_of(run, pod, container).next_back() else { continue };
        let Some(end) = End::of(&life).filter(|_| life.is_complete()) else { continue };
        let finding = || format!("{} was preempted, but terminated without a stop signal", life.name());
        let told = life.attempt.stop();
        seen.check(told.is_some(), finding, [going.id, told.map_or(end.at().id, |stop| stop.id)]);
        if told.is_some() {
            seen.facet("seen", "signal");
        }
    }
}

/// Judges whether no pod was preempted for a pod with a higher priority.
fn judge_nobody_went(run: &Timeline<'_>, clause: &Clause, contest: &Contest<'_, '_>, seen: &mut Seen) {
    let Some(end) = run.end_event() else { return };
    if contest.placed().is_none() && run.misses("", (&contest.at, &end), clause.in_time()) {
        let finding = format!(
            "{} has a higher priority than a pod that takes its place, but no pod was preempted",
            contest.wants.0.key
        );
        seen.violated(finding, [contest.at.id, end.id]);
    }
}
