//! When a terminating pod is removed from the API: after its containers have terminated, and immediately if it runs on
//! no node or was deleted without a grace period.

use probity_model::clocks::Order;
use probity_model::history::Did;
use probity_model::measure::{Bound, Fit, Measurement};
use probity_model::timeline::{At, Life};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::asked::{Going, going};
use crate::reading::ends::{End, alive_until};

/// The time at which the last of these containers terminated, if all of them terminated.
fn last_end(lives: &[Life<'_, '_>]) -> Option<At> {
    let ends: Option<Vec<At>> = lives.iter().map(|life| End::of(life)?.latest).collect();
    ends?.into_iter().max_by_key(|end| end.at.hi)
}

/// Whether a finalizer prevents the removal of a pod.
fn is_held(going: &Going<'_, '_>) -> bool {
    let finalizers = |of: &Value| of["metadata"]["finalizers"].as_array().is_some_and(|of| !of.is_empty());
    going.pod.revisions.iter().any(|shown| finalizers(shown.object))
}

/// Judges that a pod is removed in time, unless a finalizer prevents this. Returns whether it was removed.
fn judge_removal(clause: &Clause, going: &Going<'_, '_>, from: &At, seen: &mut Seen) -> bool {
    let (run, pod) = (going.run, going.pod);
    if is_held(going) {
        return false;
    }
    if let Some(gone) = going.gone() {
        let quantity = format!("until the removal of {}", pod.key);
        return seen.within(run, &pod.node, quantity, (from, gone), clause.in_time()) == Some(Fit::Met);
    }
    if let Some(end) = going.gone_or_end()
        && run.misses(&pod.node, (from, &end), clause.in_time())
    {
        seen.violated(format!("{} was not removed", pod.key), [from.id, end.id]);
    }
    false
}

/// Judges like [`judge_removal`], for a pod that a kubelet has to clean up first. If a removal is late by no more than one
/// failed attempt of the cleanup, it is added to `late`, for [`judge_late`].
fn judge_cleaned(
    clause: &Clause,
    going: &Going<'_, '_>,
    from: &At,
    late: &mut Vec<Measurement>,
    seen: &mut Seen,
) -> bool {
    if let Some(measured) = late_by_one_attempt(clause, going, from) {
        late.push(measured);
        return false;
    }
    judge_removal(clause, going, from, seen)
}

/// The time until the removal of a pod, or until the end of the case if the pod was not removed, if this is too long, but
/// by no more than one failed attempt.
fn late_by_one_attempt(clause: &Clause, going: &Going<'_, '_>, from: &At) -> Option<Measurement> {
    let (run, pod) = (going.run, going.pod);
    let until = going.gone_or_end().filter(|_| !is_held(going))?;
    let allowed = clause.slack_us() + clause.tolerance_us("retried");
    let quantity = match going.gone() {
        Some(_) => format!("until the removal of {}", pod.key),
        None => format!("until the end of the case, without the removal of {}", pod.key),
    };
    let measured = run.measure(quantity, &pod.node, from, &until, clause.in_time())?;
    let is_excused = !run.misses(&pod.node, (from, &until), Bound::at_most(allowed, "slack + one attempt"));
    (measured.fit() == Fit::Missed && is_excused).then_some(measured)
}

/// Judges the removals that were late by no more than one failed attempt: one of them is a doubt, because part of a
/// cleanup may fail once.
fn judge_late(late: Vec<Measurement>, seen: &mut Seen) {
    if let [one] = late.as_slice() {
        let why = format!("{}: {}; part of the cleanup may have failed once", one.quantity, one.in_words());
        seen.doubt(Doubt::Ambiguous, why, one.events.iter().copied());
        return;
    }
    for measured in late {
        seen.measure(measured);
    }
}

/// If all containers terminate before the deadline, or none of them runs, the pod is removed without waiting for the rest of the
/// grace period.
pub(super) fn early_after_early_ends(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let early = clause.tolerance_us("early");
    let mut late = Vec::new();
    for going in going(run).iter().filter(|going| going.is_graceful() && !going.may_lack_one()) {
        let nothing = going.runs_nothing().then(|| going.first.at.clone());
        let lives: Vec<_> = going.lives().into_iter().chain(going.ephemeral_lives()).collect();
        let Some(last) = last_end(&lives).or(nothing) else { continue };
        let used = run.clocks.between(&going.first.at, &last);
        if used.is_some_and(|used| used.hi + early < going.grace()) {
            judge_cleaned(clause, going, &last, &mut late, seen);
        }
    }
    judge_late(late, seen);
}

/// A pod is removed once all of its containers have terminated, and not before.
pub(super) fn after_all_ends(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let mut late = Vec::new();
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        let lives: Vec<_> = going.lives().into_iter().chain(going.ephemeral_lives()).collect();
        if let Some(gone) = going.gone() {
            let later = going.later_lives();
            let alive = lives.iter().chain(&later).filter_map(|life| Some((life, alive_until(life)?)));
            let mut alive = alive.filter(|(_, until)| run.clocks.order(&gone.at, until) == Order::Before);
            if let Some((life, until)) = alive.next() {
                let finding = format!("{} was removed, but {} is still running", going.pod.key, life.name());
                seen.violated(finding, [gone.id, until.id]);
                continue;
            }
        }
        let Some(last) = last_end(&lives).filter(|_| !going.may_lack_one()) else { continue };
        if judge_cleaned(clause, going, &last, &mut late, seen) {
            for life in &lives {
                let killed = End::of(life).is_some_and(|end| end.was_killed(life));
                seen.facet("end", if killed { "killed" } else { "exit" });
            }
        }
    }
    judge_late(late, seen);
}

/// A pod that was never scheduled, or has finished, is removed immediately.
pub(super) fn of_idle_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.was_idle() && going.grace() > clause.slack_us()) {
        let known = going.was_over() || !going.pod.revisions.is_empty();
        if known && judge_removal(clause, going, &going.first.at, seen) {
            seen.facet("state", if going.was_over() { "terminal" } else { "unscheduled" });
        }
    }
}

/// The request to delete a running pod immediately, with its running container instances.
fn forced<'t, 'h>(going: &'t Going<'t, 'h>) -> Option<(&'t At, Vec<Life<'t, 'h>>)> {
    let requests = std::iter::once(&going.first).chain(&going.again);
    let at = requests.filter(|request| request.grace == Some(0)).map(|request| &request.at).next()?;
    let lives = going.lives();
    (!going.was_idle() && !lives.is_empty()).then_some((at, lives))
}

/// With a grace period of zero a pod is removed immediately, whatever its processes do.
pub(super) fn at_once(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in &going(run) {
        let Some((asked, lives)) = forced(going) else { continue };
        let until = lives.iter().filter_map(alive_until).max_by_key(|until| until.at.lo);
        let Some(until) = until.filter(|until| run.before(asked, until)) else { continue };
        judge_removal(clause, going, asked, seen);
        if let Some(gone) = going.gone()
            && run.before(&gone.at, &until)
        {
            seen.fine([asked.id, gone.id, until.id]);
            seen.facet("process", "goes-on");
        }
    }
}

/// A pod with the same name can be created immediately, and runs at the same time as the remaining processes of the old
/// pod.
pub(super) fn frees_the_name(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in &going(run) {
        let Some((asked, lives)) = forced(going) else { continue };
        if let Some(refused) = refused(run, &going.pod.name, asked.id) {
            let finding =
                format!("{} was deleted without a grace period, but its name was not free", going.pod.key);
            seen.violated(finding, [asked.id, refused]);
            continue;
        }
        let made = |other: &probity_model::timeline::PodLife<'_>| other.created.map(|(id, _)| id);
        let next = run.pods.iter().filter(|other| other.name == going.pod.name);
        let Some((other, created)) =
            next.filter_map(|other| Some((other, made(other).filter(|id| *id > asked.id)?))).next()
        else {
            continue;
        };
        let created = run.deed_at(created);
        let Some(until) = lives.iter().filter_map(alive_until).max_by_key(|until| until.at.lo) else {
            continue;
        };
        let began = other.containers.iter().flat_map(|of| &of.attempts).map(|attempt| &attempt.began).next();
        if let Some(began) = began.filter(|began| run.before(began, &until)) {
            seen.fine([asked.id, created.id, began.id, until.id]);
            continue;
        }
        if run.misses(&going.pod.node, (&created, &until), clause.in_time()) {
            let finding = format!("a new {} did not start while the old one ran", going.pod.key);
            seen.violated(finding, [asked.id, created.id, until.id]);
        }
    }
}

/// A creation that was rejected because the name was in use.
fn refused(run: &Timeline<'_>, name: &str, after: EventId) -> Option<EventId> {
    run.deeds.iter().filter(|(id, _)| *id > after).find_map(|(id, deed)| match &deed.did {
        Did::Failed { what, why }
            if what.starts_with("create") && what.contains(name) && why.contains("AlreadyExists") =>
        {
            Some(*id)
        }
        _ => None,
    })
}
