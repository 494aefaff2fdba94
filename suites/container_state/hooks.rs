//! The postStart hook: it finishes before the container is shown as running, and if the hook fails, the container is
//! killed.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, seconds, whole_seconds};
use probity_model::mechanisms::{NEAR, YOUNG};
use probity_model::timeline::{At, ContainerKind, Happened, Life, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use super::hook_answers::answered_elsewhere;
use crate::reading::ends::killed_at;
use crate::reading::hooks::{HookKind, HookRun, hook_run, is_refused, judge_hook_before_stop, listens};
use crate::reading::http::exchange::REDIRECTS;
use crate::reading::kills::judge_kill_within;
use crate::reading::patches::may_stop_for_spec;
use crate::reading::termination::{judge_no_restart, judge_restart};

/// Container instances with a postStart hook whose result can be determined from outside, each with the hook.
fn hooked<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = (Life<'t, 'h>, &'t Value, HookKind)> {
    run.lives().undisturbed().into_iter().filter_map(|life| {
        let hook = life.container.lifecycle("postStart")?;
        Some((life, hook, HookKind::of(hook)?))
    })
}

/// The first revision that shows this instance as running.
fn shown_running<'t, 'h>(life: &Life<'t, 'h>) -> Option<&'t Revision<'h>> {
    life.revisions().find(|(_, status)| status.is_running()).map(|(revision, _)| revision)
}

/// No revision shows a container as running before its hook has finished, and a revision does so soon after the end of
/// the hook.
pub(super) fn hook_before_running(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, hook, kind) in hooked(run).filter(|(life, ..)| life.is_numbered()) {
        seen.applies();
        if !life.holes.is_empty() {
            continue;
        }
        if let HookKind::Sleep(span) = kind {
            judge_sleep(clause, &life, whole_seconds(span), seen);
            continue;
        }
        // A request may be meant for another container of the pod.
        let Some(run) = hook_run(&life, hook).or_else(|| answered_elsewhere(&life, hook)) else {
            if kind == HookKind::Exec || listens(life.container, &hook["httpGet"]) {
                judge_unseen_hook(clause, &life, seen);
            }
            continue;
        };
        if failed(kind, &run) {
            continue;
        }
        match (shown_running(&life), &run.ended) {
            (Some(shown), None) => {
                let finding =
                    format!("the status shows {} as running although its hook has not finished", life.name());
                seen.violated(finding, [run.began.id, shown.id]);
            }
            (Some(shown), Some(ended)) => judge_order(clause, &life, (kind, &run, ended), shown, seen),
            (None, Some(ended))
                if life.lives_on() && life.watched_for(ended, clause.slack_us()) && is_alone(&life) =>
            {
                let late = seconds(clause.slack_us());
                let finding = format!(
                    "the hook of {} finished, but the status did not show the container as running within {late}",
                    life.name()
                );
                seen.violated(finding, run.events());
            }
            (None, _) => {}
        }
    }
}

/// Whether no other container has a hook that delays the kubelet's work on the pod.
fn is_alone(life: &Life<'_, '_>) -> bool {
    let others = life.pod.containers.iter().filter(|other| other.name != life.container.name);
    others.filter(|other| other.lifecycle("postStart").is_some()).count() == 0
}

/// Whether only the hook of a container can delay its status.
fn is_prompt(life: &Life<'_, '_>) -> bool {
    is_alone(life) && life.number > 0 || life.pod.containers.len() == 1
}

fn judge_order(
    clause: &Clause,
    life: &Life<'_, '_>,
    (kind, run, ended): (HookKind, &HookRun, &At),
    shown: &Revision<'_>,
    seen: &mut Seen,
) {
    let events = run.events().into_iter().chain([life.began.id, shown.id]);
    // The target records its answer only after it has sent it.
    if life.run.clocks.order(&shown.at, &ended.earlier(clause.tolerance_us("written-late"))) == Order::Before
    {
        let finding = format!("the status showed {} as running before its hook finished", life.name());
        if life.run.stalled_at(ended) > 0 {
            seen.doubt(Doubt::TooClose, finding, events);
        } else {
            seen.violated(finding, events);
        }
        return;
    }
    seen.fine(events);
    seen.facet("hook", kind.word());
    if is_prompt(life) {
        let quantity =
            format!("from the end of the hook of {} to the status that shows it as running", life.name());
        life.within(seen, quantity, (ended, shown), clause.in_time());
    }
}

/// A sleep hook leaves no record, so the judge measures how long the container runs before it is shown as running. The
/// process starts a little later than the kubelet assumes.
fn judge_sleep(clause: &Clause, life: &Life<'_, '_>, span: i64, seen: &mut Seen) {
    let most = span + clause.slack_us();
    let Some(shown) = shown_running(life) else {
        if life.lives_on() && is_prompt(life) && life.watched_for(&life.began, most) {
            let finding = format!(
                "the sleep hook of {} was over, but the status did not show the container as running within {}",
                life.name(),
                seconds(clause.slack_us())
            );
            seen.violated(finding, life.run.to_the_end([life.began.id]));
        }
        return;
    };
    let late = clause.tolerance_us("process-begins");
    let least = (span - late, format!("the seconds of the hook - {}", seconds(late)));
    let bound = if is_prompt(life) {
        let words = format!("the seconds of the hook + {}", seconds(clause.slack_us()));
        Bound::at_most(most, words).and_at_least(least.0, least.1)
    } else {
        Bound::at_least(least.0, least.1)
    };
    let quantity = format!("from the start of {} to the status that shows it as running", life.name());
    if life.within(seen, quantity, (&life.began, shown), bound) == Some(probity_model::measure::Fit::Met) {
        seen.facet("hook", "sleep");
    }
}

/// Reports a container that is shown as running although its hook did not run. The target's records up to the status
/// arrive soon after it.
fn judge_unseen_hook(clause: &Clause, life: &Life<'_, '_>, seen: &mut Seen) {
    let Some(shown) = shown_running(life).filter(|_| life.holes.is_empty()) else { return };
    if life.lives_on() && life.watched_for(&shown.at, clause.tolerance_us("written-late")) {
        let finding = format!("the status shows {} as running, but its hook never ran", life.name());
        seen.violated(finding, [life.began.id, shown.id]);
    }
}

/// Whether a hook failed: a command with a nonzero exit status. The answer to an HTTP hook is ignored.
fn failed(kind: HookKind, run: &HookRun) -> bool {
    kind == HookKind::Exec && run.outcome.is_some_and(|status| status != 0)
}

/// A container whose hook fails is killed, and then its restart policy applies; an HTTP answer with any status is not a
/// failure, but a refused connection is.
pub(super) fn failed_hook_kills(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (life, hook, kind) in hooked(run).filter(|(life, ..)| life.holes.is_empty()) {
        let Some(run) = hook_run(&life, hook) else {
            if is_refused(life.pod, hook) && life.pod.grace() > 0 {
                seen.applies();
                judge_kill(clause, &life, ("refused", &life.began), seen);
            }
            // A sleep cannot fail.
            if matches!(kind, HookKind::Sleep(_)) {
                judge_needless_stop(&life, "slept", &[life.began.id], seen);
            }
            continue;
        };
        let Some(ended) = run.ended.clone().filter(|ended| life.before_deletion(ended)) else { continue };
        if failed(kind, &run) {
            seen.applies();
            judge_kill(clause, &life, ("exec", &ended), seen);
        } else if kind == HookKind::Http && !is_success(run.outcome) {
            seen.applies();
            judge_survival(clause, &life, (&run, &ended), seen);
        } else if !run.outcome.is_some_and(|status| REDIRECTS.contains(&status)) {
            // What a redirect leads to may fail.
            judge_needless_stop(&life, "succeeded", &run.events(), seen);
        }
    }
}

/// Whether an answer has a status that counts as success for probes, according to the documentation: 200 to 399.
fn is_success(status: Option<u16>) -> bool {
    status.is_some_and(|status| (200..400).contains(&status))
}

/// After the failure of its hook, a container is stopped like any other. A request to a closed port fails at once, so
/// the failure is taken to be at the start of the container.
fn judge_kill(clause: &Clause, life: &Life<'_, '_>, (how, failed): (&str, &At), seen: &mut Seen) {
    match life.stop() {
        Some(stop) if life.before_deletion(&stop.at) => {
            let quantity = format!("from the failure of the hook of {} to the stop signal", life.name());
            if !judge_hook_before_stop(life, failed.id, stop, seen) {
                life.within(seen, quantity, (failed, stop), clause.in_time());
            }
            judge_kill_within(clause.tolerance_us("kill"), life, stop, life.pod.grace(), seen);
            if life.event("FailedPostStartHook", "").is_some() {
                seen.facet("hook", how);
            }
            judge_what_follows(life, stop, seen);
        }
        Some(_) => {}
        None if life.lives_on() && life.watched_for(failed, clause.slack_us()) => {
            let late = seconds(clause.slack_us());
            let finding =
                format!("the hook of {} failed, but no stop signal followed within {late}", life.name());
            seen.violated(finding, [life.began.id, failed.id]);
        }
        None => judge_silent_kill(life, failed, seen),
    }
}

/// Reports a container that is killed without a stop signal after the failure of its hook, unless it has a memory
/// limit.
fn judge_silent_kill(life: &Life<'_, '_>, failed: &At, seen: &mut Seen) {
    let killed = killed_at(life).filter(|at| life.run.before(failed, at) && life.before_deletion(at));
    let Some(killed) = killed.filter(|_| !life.container.has_memory_limit() && life.pod.grace() > 0) else {
        return;
    };
    // A signal that comes before the process can catch it is lost: the kernel ignores it for the first process of a
    // container.
    let lasted = life.run.at_least(&life.began, killed) + life.noise(&life.began.earlier(YOUNG), killed);
    if lasted + NEAR >= life.pod.grace() {
        let why = "the stop signal may have come before the process could catch it";
        return seen.doubt(Doubt::Ambiguous, why, [life.began.id, killed.id]);
    }
    let finding = format!("{} was killed without a stop signal after its hook had failed", life.name());
    seen.violated(finding, [failed.id, killed.id]);
    judge_what_follows(life, killed, seen);
}

/// The restart policy decides whether a stopped container starts again.
fn judge_what_follows(life: &Life<'_, '_>, ended: &(impl Happened + ?Sized), seen: &mut Seen) {
    if life.policy() == "Never" {
        judge_no_restart(life, ended, seen);
    } else {
        judge_restart(life, ended, seen);
    }
}

/// Reports a container that was stopped although neither its hook nor anything else was a reason for that. A sidecar is
/// also stopped when the main containers are done, and a container with a new image or new resources is stopped so that
/// it can start again.
fn judge_needless_stop(life: &Life<'_, '_>, hook: &str, cited: &[EventId], seen: &mut Seen) {
    let stop = life.stop().filter(|stop| life.before_deletion(&stop.at));
    let needless = life.only_probes_stop_it()
        && !may_stop_for_spec(life.run, life.pod, life.container)
        && life.container.probes.is_empty()
        && life.container.kind == ContainerKind::Main
        && !life.pod.restarts_as_one();
    if let Some(stop) = stop.filter(|_| needless) {
        let finding = format!("{} was stopped after its hook had {hook}", life.name());
        seen.violated(finding, cited.iter().copied().chain([stop.id]));
    }
}

/// A response with a status that means failure for a probe does not stop the container.
fn judge_survival(clause: &Clause, life: &Life<'_, '_>, (run, ended): (&HookRun, &At), seen: &mut Seen) {
    judge_needless_stop(life, "got a response", &run.events(), seen);
    if life.stop().is_none() && life.watched_for(ended, clause.slack_us()) {
        seen.fine(run.events());
        seen.facet("hook", "httpGet");
    }
}
