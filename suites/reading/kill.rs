//! What follows when a probe has used up its tolerance: the stop signal, and then what the restart policy says.
//!
//! A stop signal has many causes, and a deletion is the usual one, so nothing here starts from the signal. Where
//! something else may have ended a life, the judges say nothing about it.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::history::Source;
use probity_model::measure::{Bound, seconds};
use probity_model::timeline::{
    Attempt, ContainerKind, ContainerLife, PodLife, ProbeKind, ProbeSpec, Revision, State,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Interval, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use crate::reading::tolerance::{Exhausted, NEAR, exhausted, peer};

const SECOND: i64 = 1_000_000;
/// The first delay between restarts; it doubles with each, up to [`LONGEST_BACK_OFF`].
const FIRST_BACK_OFF: i64 = 10 * SECOND;
const LONGEST_BACK_OFF: i64 = 300 * SECOND;
/// What a restart may take beyond the back-off: the kubelet tries again every ten seconds, and a container has to start.
const TO_START: i64 = 15 * SECOND;

/// A deletion that the harness did not ask for was sighted at most so much later than the kubelet knew of it.
const LATE_SIGHT: i64 = 2 * SECOND;

/// So long after its start a life is new to the kubelet on a busy node.
const YOUNG: i64 = 3 * SECOND;
/// So much later than otherwise a new life's kill comes there: containers' starts took up to three seconds in runs on
/// two busy cores, and the kubelet's next list of them as long again.
const TO_SETTLE: i64 = 6 * SECOND;

/// A life of a container, with both.
pub(crate) type Life<'t, 'h> = (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t Attempt<'h>);

/// Every life in which a probe of this kind used up its tolerance.
pub(crate) fn all_spent<'t, 'h>(
    run: &'t Timeline<'h>,
    kind: ProbeKind,
) -> impl Iterator<Item = (Life<'t, 'h>, &'t ProbeSpec, Exhausted<'t, 'h>)> {
    run.probed(kind).flat_map(|(pod, container, spec)| {
        container
            .attempts
            .iter()
            .filter_map(move |attempt| Some(((pod, container, attempt), spec, exhausted(attempt, spec)?)))
    })
}

/// What became of a life whose probe used up its tolerance.
pub(crate) enum Stop<'t> {
    /// The stop signal came.
    Came(EventId, &'t Stamp),
    /// It did not, though the life was watched for long enough.
    Missing(EventId),
    /// The life ended without a stop signal and not by its own will.
    Abrupt(EventId),
    /// Lines are missing that could have told of it.
    Unheard,
    /// Something else ended the life, or the case ended first.
    Moot,
}

/// When the pod's deletion began at the earliest, as far as that was seen.
pub(crate) fn deletion(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<Stamp> {
    let asked = pod.deleted.and_then(|id| run.deeds.iter().find(|(deed, _)| *deed == id));
    let asked = asked.map(|(_, deed)| deed.began_us);
    let seen = pod.revisions.iter().find(|revision| revision.terminating() || revision.gone);
    let seen = seen.map(|revision| revision.at.at.lo - LATE_SIGHT);
    asked.into_iter().chain(seen).min().map(Stamp::harness)
}

/// Whether the pod was surely not being deleted yet at this instant.
pub(crate) fn before_deletion(run: &Timeline<'_>, pod: &PodLife<'_>, at: &Stamp) -> bool {
    deletion(run, pod).is_none_or(|deletion| run.clocks.order(at, &deletion) == Order::Before)
}

/// Whether the history, the hearing of targets, and the pod undisturbed, go on for so long after an instant, with the
/// noise on top.
pub(crate) fn watched_for(run: &Timeline<'_>, pod: &PodLife<'_>, from: &Stamp, span: i64) -> bool {
    let deaf = run.clocks.on_harness(from).and_then(|from| deaf_from(run, pod, from.lo));
    let ends = [Some(run.ended_us), deletion(run, pod).map(|deletion| deletion.at.lo), deaf];
    let end = Stamp::harness(ends.into_iter().flatten().min().unwrap_or(run.ended_us));
    let noise = run.noise_between(&pod.node, from, &end);
    run.clocks.between(from, &end).is_some_and(|watched| watched.lo > span + noise)
}

/// From when on, after an instant, the pod's targets were not heard for a while.
fn deaf_from(run: &Timeline<'_>, pod: &PodLife<'_>, since: i64) -> Option<i64> {
    let about = |of: &Source| match of {
        Source::Recorder => true,
        Source::Witness { pod: of, .. } => *of == pod.name,
        Source::Watch(_) => false,
    };
    let gaps = run.gaps.iter().map(|(_, gap)| gap);
    gaps.filter(|gap| about(&gap.of) && gap.to_us >= since).map(|gap| gap.from_us.max(since)).min()
}

/// How long after the last failure the stop signal may come: the clause's slack, and what may lawfully come before it.
pub(crate) fn allowance(pod: &PodLife<'_>, container: &ContainerLife<'_>, clause: &Clause) -> (i64, String) {
    let slack = clause.slack_us();
    let hook = container.spec.get("lifecycle").is_some_and(|lifecycle| lifecycle.get("preStop").is_some());
    if hook || pod.containers.len() > 1 {
        let what = if hook { "the preStop hook" } else { "the end of another container" };
        let formula = format!("terminationGracePeriodSeconds for {what} + {}", seconds(slack));
        return (pod.grace() + slack, formula);
    }
    (slack, seconds(slack))
}

/// How much later a stop signal may come to a life that has only just begun, on a node that is held up: the kubelet is
/// done with starting it, and has a list of containers that shows it, long after its process and its first probe.
fn unsettled(run: &Timeline<'_>, attempt: &Attempt<'_>, used_up: &Stamp) -> i64 {
    let began = &attempt.began.1;
    let young = attempt.number > 0 && used_up.at.lo - began.at.hi < YOUNG;
    let until = used_up.at.plus(Interval::point(YOUNG));
    let until = Stamp { clock: used_up.clock.clone(), at: until };
    if young && run.noise_between(&attempt.node, began, &until) > 0 { TO_SETTLE } else { 0 }
}

/// What became of a life whose probe used up its tolerance at this instant.
pub(crate) fn stop_after<'t>(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    attempt: &'t Attempt<'_>,
    used_up: &Stamp,
    allowed: i64,
) -> Stop<'t> {
    let allowed = allowed + unsettled(run, attempt, used_up);
    if let Some((id, at)) = attempt.stop_signal() {
        let lawful = at.at.lo >= used_up.at.lo && before_deletion(run, pod, at);
        return if lawful { Stop::Came(id, at) } else { Stop::Moot };
    }
    if !attempt.holes.is_empty() {
        return Stop::Unheard;
    }
    if exited_by_itself(attempt).is_some() || !before_deletion(run, pod, used_up) {
        return Stop::Moot;
    }
    match (&attempt.ended, attempt.last_line()) {
        (Some((id, at)), _) if before_deletion(run, pod, at) => Stop::Abrupt(*id),
        (None, Some(last)) if watched_for(run, pod, used_up, allowed) => Stop::Missing(last.id),
        _ => Stop::Moot,
    }
}

/// Judges that the stop signal came in time after a probe used up its tolerance, and gives it back.
pub(crate) fn judge_stop<'t>(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, attempt): Life<'t, '_>,
    spent: &Exhausted<'_, '_>,
    seen: &mut Seen,
) -> Option<(EventId, &'t Stamp)> {
    let (allowed, formula) = allowance(pod, container, clause);
    let (count, last) = (spent.failures.len(), spent.failures.last()?);
    if let Some(more) = one_too_many(run, (pod, container, attempt), spent) {
        let finding = format!("{count} failures in a row are the tolerance, and one more was waited for");
        seen.violated(finding, spent.events().into_iter().chain([more]));
    }
    match stop_after(run, pod, attempt, &spent.at, allowed) {
        Stop::Came(id, at) => {
            let quantity = format!("from the last of {count} failures in a row to the stop signal");
            let bound = match unsettled(run, attempt, &spent.at) {
                0 => Bound::at_most(allowed, formula),
                late => Bound::at_most(
                    allowed + late,
                    format!("{formula} + {} for a new life in noise", seconds(late)),
                ),
            };
            if let Some(measured) =
                run.measure(quantity, &attempt.node, (last.id, &spent.at), (id, at), bound)
            {
                seen.measure(measured);
            }
            return Some((id, at));
        }
        Stop::Missing(line) => {
            let finding = format!(
                "{count} failures in a row, and no stop signal within {} of the last",
                seconds(allowed)
            );
            seen.violated(finding, spent.events().into_iter().chain([line]));
        }
        Stop::Abrupt(_) => {}
        Stop::Unheard => {
            seen.doubt(
                Doubt::WitnessMissing,
                "lines that may tell of the stop signal are missing",
                [last.id],
            );
        }
        Stop::Moot => {}
    }
    None
}

/// The probe that came though the ones before had used up the tolerance. A kubelet that was restarted counts anew, and one
/// that was held up may have heard an answer that the target took for too late.
fn one_too_many(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    spent: &Exhausted<'_, '_>,
) -> Option<EventId> {
    let last = spent.failures.last()?;
    let kind = last.kinds.first().copied()?;
    let stop = attempt.stop_signal().map_or(i64::MAX, |(_, at)| at.at.lo);
    let more = attempt
        .probes_of(kind)
        .find(|probe| probe.at.at.lo > spent.at.at.hi + NEAR && probe.at.at.hi < stop)
        .filter(|probe| peer(attempt, probe) == peer(attempt, last))?;
    let calm = run.noise_between(&attempt.node, &last.at, &more.at) <= container.probe(kind)?.timeout / 2;
    (calm && before_deletion(run, pod, &more.at) && !node_was_touched(run)).then_some(more.id)
}

/// Whether the harness did something to a node: a kubelet that starts afresh looks at everything anew.
pub(crate) fn node_was_touched(run: &Timeline<'_>) -> bool {
    run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }))
}

/// The line by which a process says that it ends by its own will, unless it was told to stop before.
pub(crate) fn exited_by_itself<'t>(attempt: &'t Attempt<'_>) -> Option<(EventId, &'t Stamp, u8)> {
    attempt.lines.iter().find_map(|line| match &line.line.fact {
        Fact::Exiting(exiting) if !exiting.why.starts_with("stop") => Some((line.id, &line.at, exiting.code)),
        _ => None,
    })
}

/// The restart policy that counts for a container: its own, if it has one.
pub(crate) fn policy<'p>(pod: &'p PodLife<'_>, container: &'p ContainerLife<'_>) -> &'p str {
    let own = container.spec.get("restartPolicy").and_then(Value::as_str);
    match own {
        Some(own) => own,
        None if container.kind == ContainerKind::Sidecar => "Always",
        None => pod.restart_policy(),
    }
}

/// Whether a container has a hook after its start: until that is done the kubelet does not know the new container.
pub(crate) fn has_hook(container: &ContainerLife<'_>) -> bool {
    container.spec.get("lifecycle").is_some_and(|lifecycle| lifecycle.get("postStart").is_some())
}

/// The event that shows that a container lives again after this life.
pub(crate) fn next_life(pod: &PodLife<'_>, container: &ContainerLife<'_>, number: u64) -> Option<EventId> {
    let heard = container.attempts.iter().find(|next| next.number > number).map(|next| next.began.0);
    let counted = || {
        pod.changes_of(&container.name).find_map(|(revision, seen)| {
            let runs = matches!(seen.state, State::Running { .. });
            (seen.restarts > number && runs).then_some(revision.id)
        })
    };
    heard.or_else(counted)
}

/// The revision that shows the end of this life, with its exit status.
pub(crate) fn termination<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &str,
    number: u64,
) -> Option<(&'t Revision<'h>, i64)> {
    pod.revisions.iter().find_map(|revision| {
        let seen = revision.container(container)?;
        let code = match (&seen.state, &seen.last) {
            (State::Terminated { code, .. }, _) if seen.restarts == number => code,
            (State::Waiting { .. }, State::Terminated { code, .. }) if seen.restarts == number => code,
            (_, State::Terminated { code, .. }) if seen.restarts == number + 1 => code,
            _ => return None,
        };
        Some((revision, *code))
    })
}

/// The revision that shows the pod in a phase that it never leaves. A reason in the status means that something beyond
/// its containers brought it there: an eviction, or a deadline.
pub(crate) fn over<'t, 'h>(pod: &'t PodLife<'h>) -> Option<(&'t Revision<'h>, bool)> {
    let end = |revision: &&Revision<'_>| matches!(revision.phase(), "Failed" | "Succeeded");
    let revision = pod.revisions.iter().find(end)?;
    let from_outside = revision.object.get("status").is_some_and(|status| status.get("reason").is_some());
    Some((revision, from_outside))
}

/// Judges that a life that ended is followed by another.
pub(crate) fn judge_restart(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    (ended_id, ended): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let doubled = u32::try_from(attempt.number).map_or(i64::MAX, |number| 1 << number.min(10));
    let back_off = FIRST_BACK_OFF.saturating_mul(doubled).min(LONGEST_BACK_OFF);
    let allowed = pod.grace() + back_off + TO_START;
    if let Some(next) = next_life(pod, container, attempt.number) {
        seen.fine([ended_id, next]);
        if let Some(life) = container.attempts.iter().find(|life| life.number == attempt.number + 1) {
            let formula =
                format!("the grace period + {} of back-off + {}", seconds(back_off), seconds(TO_START));
            let quantity = format!("from the end of life {} to the next", attempt.number + 1);
            let ends = ((ended_id, ended), (life.began.0, &life.began.1));
            let bound = Bound::at_most(allowed, formula);
            if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
                seen.measure(measured);
            }
        }
        return;
    }
    let policy = policy(pod, container);
    // A start that waits for its back-off is decided anew by the exit status, which a kill may leave at 0.
    if policy == "OnFailure" && attempt.number > 0 {
        return;
    }
    match over(pod).filter(|(revision, _)| before_deletion(run, pod, &revision.at)) {
        // A sidecar is not started again once the pod is done with its work.
        Some((_, from_outside)) if from_outside || container.kind != ContainerKind::Main => {}
        Some((revision, _)) => {
            let finding = format!("the pod became {} under the restart policy {policy}", revision.phase());
            seen.violated(finding, [ended_id, revision.id]);
        }
        _ if watched_for(run, pod, ended, allowed) => {
            let finding = format!("no restart within {} under the restart policy {policy}", seconds(allowed));
            seen.violated(finding, [ended_id]);
        }
        _ => {}
    }
}

/// Judges that a life that ended is the container's last, and that the pod is over if it was its only container.
pub(crate) fn judge_no_restart(
    run: &Timeline<'_>,
    (pod, container, attempt): Life<'_, '_>,
    (ended_id, ended): (EventId, &Stamp),
    seen: &mut Seen,
) {
    let policy = policy(pod, container);
    if let Some(next) = next_life(pod, container, attempt.number) {
        let finding = format!("the container was started again under the restart policy {policy}");
        seen.violated(finding, [ended_id, next]);
        return;
    }
    let Some((revision, _)) = termination(pod, &container.name, attempt.number) else { return };
    let alone = pod.containers.len() == 1;
    match (alone, over(pod)) {
        (false, _) => seen.fine([ended_id, revision.id]),
        (true, Some((over, _))) => seen.fine([ended_id, revision.id, over.id]),
        (true, None) if watched_for(run, pod, ended, pod.grace() + FIRST_BACK_OFF) => {
            let finding =
                format!("the pod was still {} long after its only container ended", revision.phase());
            seen.violated(finding, [ended_id, revision.id]);
        }
        (true, None) => {}
    }
}
