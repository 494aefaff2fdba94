//! The preStop hook: that it runs first, and when it does not run at all.

use probity_model::clause::micros;
use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, seconds, whole_seconds};
use probity_model::mechanisms::{NEAR, SATURATION_DELAYS};
use probity_model::timeline::{Asked, At, ContainerLife, Life, Line, PodLife, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::asked::{Going, going};
use super::sidecars::after_own_hooks;
use crate::reading::commands;
use crate::reading::ends::{alive_until, is_undivided};
use crate::reading::hooks::{HookKind, HookRun, hook_run, is_of_hook, judge_missing_hook, listens};
use crate::reading::termination::{Exhausted, exhausted};

/// A container with a hook in a terminating pod with a grace period.
pub(super) struct Hooked<'t, 'h> {
    /// The container instance of the hook.
    pub(super) life: Life<'t, 'h>,
    /// How it acts.
    pub(super) kind: HookKind,
    /// Its execution, if it was recorded.
    pub(super) run: Option<HookRun>,
}

/// Those of these instances that have a hook, if they can record the hook themselves or if it leaves no record.
pub(super) fn hooked<'t, 'h>(lives: Vec<Life<'t, 'h>>) -> Vec<Hooked<'t, 'h>> {
    let hooked = lives.into_iter().filter_map(|life| {
        let hook = life.container.lifecycle("preStop")?;
        let (kind, run) = (HookKind::of(hook)?, hook_run(&life, hook));
        let own = kind != HookKind::Http || run.is_some() || listens(life.container, &hook["httpGet"]);
        own.then_some(Hooked { life, kind, run })
    });
    hooked.collect()
}

impl Hooked<'_, '_> {
    /// When the hook started and when it finished, if it finished by itself.
    pub(super) fn completed(&self) -> Option<(&At, &At)> {
        let run = self.run.as_ref()?;
        Some((&run.began, run.ended.as_ref().filter(|_| run.outcome.is_some())?))
    }

    /// Whether the hook may have finished without a record: on a busy node, the process may get no CPU time to record the
    /// end of the hook before the stop signal makes it exit.
    pub(super) fn may_be_done(&self) -> bool {
        let Some((stop, exit)) = self.life.stop().zip(self.life.exiting()) else { return false };
        let between = |run: &HookRun| self.life.run.clocks.between(&run.began, &stop.at);
        if let Some((planned, ran)) = self.planned().zip(self.run.as_ref().and_then(between))
            && ran.hi < planned
        {
            return false;
        }
        let noise = self.life.noise(&stop.at.earlier(SATURATION_DELAYS), &exit.at);
        let soon =
            self.life.run.clocks.between(&stop.at, &exit.at).is_some_and(|span| span.lo <= NEAR + noise);
        noise > 0 && soon && self.completed().is_none()
    }

    /// How long the command of the hook takes by the plan, if it takes a planned time.
    fn planned(&self) -> Option<i64> {
        let began = self.run.as_ref()?.began.id;
        let command = self.life.commands.iter().find(|command| command.id == began)?;
        Some(micros(commands::settings(&self.life.container.plan()?, command)?.sleep?))
    }
}

/// The hook runs as soon as the pod is deleted, and the stop signal follows when it finishes.
pub(super) fn runs_first(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = going(run);
    after_own_hooks(&all, clause, seen);
    for going in all.iter().filter(|going| going.is_graceful()) {
        for hooked in hooked(going.mains()) {
            match (hooked.kind, &hooked.run) {
                (HookKind::Sleep(span), _) => judge_sleep(clause, going, (&hooked, span), seen),
                (_, Some(run)) => judge_run(clause, going, (&hooked, run), seen),
                (_, None) => judge_unseen(going, &hooked, seen),
            }
        }
    }
}

/// Reports that the stop signal came although the hook left no record.
pub(super) fn judge_unseen(going: &Going<'_, '_>, hooked: &Hooked<'_, '_>, seen: &mut Seen) {
    if let Some(stop) = hooked.life.stop() {
        judge_missing_hook(&hooked.life, &going.first.at, going.grace(), stop, seen);
    }
}

fn judge_run(
    clause: &Clause,
    going: &Going<'_, '_>,
    (hooked, run): (&Hooked<'_, '_>, &HookRun),
    seen: &mut Seen,
) {
    let (life, kind) = (&hooked.life, hooked.kind.word());
    let quantity = format!("from the request to the hook of {}", life.name());
    let asked = &going.first.at;
    let bound = hooked.kind.begins_in_time(clause, life, asked, &run.began);
    let prompt = life.within(seen, quantity, (asked, &run.began), bound);
    match (life.stop(), hooked.completed()) {
        (Some(stop), Some((_, ended))) => {
            if judge_order(clause, life, ended, stop, seen) && prompt == Some(Fit::Met) {
                seen.facet("hook", kind);
                seen.facet("of", "main");
            }
        }
        (Some(stop), None) => {
            // The runtime may begin a command late, but the grace period begins before that.
            let late =
                life.run.clocks.between(asked, &stop.at).is_none_or(|span| span.hi > going.grace() - NEAR);
            let finding = format!("{} received its stop signal while its hook was running", life.name());
            if !late && hooked.may_be_done() {
                let why = format!("{finding}; the hook may have finished without a record");
                seen.doubt(Doubt::WitnessMissing, why, [run.began.id, stop.id]);
            } else if !late {
                seen.violated(finding, [run.began.id, stop.id]);
            }
        }
        (None, Some((_, ended))) => {
            let after = clause.tolerance_us("signal-follows");
            let until = alive_until(life);
            let long = |until: &At| life.run.at_least(ended, until) > after + life.noise(ended, until);
            if let Some(until) = until.filter(long) {
                let finding = format!("the hook of {} finished, but no stop signal followed", life.name());
                seen.violated(finding, [ended.id, until.id]);
            }
        }
        (None, None) => {}
    }
}

/// The stop signal follows soon after the end of the hook, not before.
fn judge_order(clause: &Clause, life: &Life<'_, '_>, ended: &At, stop: &Line<'_>, seen: &mut Seen) -> bool {
    let earlier = ended.earlier(clause.tolerance_us("written-late"));
    if life.run.clocks.order(&stop.at, &earlier) == Order::Before {
        let finding = format!("{} received its stop signal before its hook finished", life.name());
        seen.violated(finding, [ended.id, stop.id]);
        return false;
    }
    let quantity = format!("from the end of the hook of {} to the stop signal", life.name());
    let after = clause.tolerance_us("signal-follows");
    let bound = Bound::at_most(after, seconds(after));
    life.within(seen, quantity, (ended, stop), bound) == Some(Fit::Met)
}

/// A sleep hook leaves no record: it only delays the stop signal.
fn judge_sleep(
    clause: &Clause,
    going: &Going<'_, '_>,
    (hooked, span): (&Hooked<'_, '_>, i64),
    seen: &mut Seen,
) {
    let (life, asked, slack) = (&hooked.life, &going.first.at, clause.slack_us());
    // The kubelet waits for the hook no longer than the grace period.
    let span = whole_seconds(span).min(going.grace());
    let upper = Bound::at_most(span + slack, format!("the seconds of the hook + {}", seconds(slack)));
    let Some(stop) = life.stop() else {
        let Some(until) = alive_until(life) else { return };
        if life.run.misses(&life.node, (asked, &until), upper) {
            let finding = format!("{} received no stop signal after its sleep hook", life.name());
            seen.violated(finding, [asked.id, until.id]);
        }
        return;
    };
    let bound = upper.and_at_least(span - NEAR, format!("the seconds of the hook - {}", seconds(NEAR)));
    let quantity = format!("from the request to the stop signal of {} after its sleep hook", life.name());
    if life.within(seen, quantity, (asked, stop), bound) == Some(Fit::Met) {
        seen.facet("hook", hooked.kind.word());
    }
}

/// With a grace period of zero the hook does not run. (If such a pod is deleted, it does run: the kubelet then uses one
/// second.)
pub(super) fn not_without_grace(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let none = |pod: &PodLife<'_>| pod.grace() == 0;
    for going in going(run).iter().filter(|going| none(going.pod) && going.first.grace.is_none()) {
        for hooked in hooked(going.mains()) {
            let Some(end) = alive_until(&hooked.life).filter(|_| !sleeps(&hooked)) else {
                continue;
            };
            match &hooked.run {
                Some(run) => {
                    let finding = format!(
                        "the hook of {} ran when the pod was deleted, although its grace period is 0",
                        hooked.life.name()
                    );
                    seen.diverges(finding, [going.first.at.id, run.began.id]);
                    judge_short(clause, (&hooked.life, run), &end, seen);
                }
                None => seen.fine([going.first.at.id, end.id]),
            }
            seen.facet("cause", "deletion");
        }
    }
    let spent = ProbeKind::STOPPING.iter().flat_map(|kind| exhausted(run, *kind));
    for spent in spent.filter(|spent| none(spent.life.pod)) {
        let of = hooked(vec![spent.life.life]);
        let (Some(hooked), Some(stop)) = (of.first(), spent.stopped(clause)) else { continue };
        if sleeps(hooked) {
            continue;
        }
        match &hooked.run {
            Some(run) => {
                let finding = format!(
                    "the hook of {} ran after a failed probe, although its grace period is 0",
                    hooked.life.name()
                );
                seen.violated(finding, spent.events().into_iter().chain([run.began.id]));
            }
            None => {
                seen.fine(spent.events().into_iter().chain([stop.id]));
                seen.facet("cause", "probe");
            }
        }
    }
}

/// If a hook runs without a grace period, the kubelet waits for it no longer than the second that it uses instead.
fn judge_short(clause: &Clause, (life, run): (&Life<'_, '_>, &HookRun), end: &At, seen: &mut Seen) {
    let stop = life.stop().map_or_else(|| end.clone(), At::of);
    let quantity = format!("from the beginning of the hook of {} to the stop signal or the end", life.name());
    let bound = Bound::at_most(
        clause.tolerance_us("waited-for"),
        "1 s of effective grace period + 2 s for the runtime to stop it",
    );
    life.within(seen, quantity, (&run.began, stop), bound);
}

/// Whether the hook sleeps, and therefore leaves no record.
fn sleeps(hooked: &Hooked<'_, '_>) -> bool {
    matches!(hooked.kind, HookKind::Sleep(_))
}

/// The hook also runs before a kill because of a probe.
pub(super) fn runs_before_kills(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let spent = ProbeKind::STOPPING.iter().flat_map(|kind| exhausted(run, *kind));
    let graceful = |spent: &Exhausted<'_, '_>| spent.life.grace() > 0 && spent.life.holes.is_empty();
    for spent in spent.filter(graceful) {
        let of = hooked(vec![spent.life.life]);
        let (Some(hooked), Some(stop)) = (of.first(), spent.stopped(clause)) else { continue };
        if sleeps(hooked) {
            continue;
        }
        let Some(run) = &hooked.run else {
            let finding =
                format!("{} was stopped because of its probe, but its hook never ran", spent.life.name());
            seen.violated(finding, spent.events().into_iter().chain([stop.id]));
            continue;
        };
        seen.fine(spent.events().into_iter().chain([run.began.id]));
        if is_undivided(&spent.life) && spent.unsettled() == 0 {
            let quantity = format!("from the last failure of the probe of {} to the hook", spent.life.name());
            let bound = hooked.kind.begins_in_time(clause, &spent.life, &spent.at, &run.began);
            spent.life.within(seen, quantity, (&spent.at, &run.began), bound);
        }
        if let Some((_, ended)) = hooked.completed() {
            judge_order(clause, &spent.life, ended, stop, seen);
        }
    }
}

/// The hook of a container that exits by itself does not run: its endpoint gets no request at that time, but does get
/// one when the pod is deleted.
pub(super) fn not_after_exits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for life in run.lives().undisturbed().only(|life| life.is_numbered() && life.container.stays()) {
        let exit = life.exited_by_itself().map(|(line, _)| line);
        let Some(exit) = exit.filter(|exit| life.before_deletion(&exit.at)) else { continue };
        let Some(hook) = life.container.lifecycle("preStop").and_then(|hook| hook.get("httpGet")) else {
            continue;
        };
        let asked = elsewhere(life.pod, life.container, hook);
        let early = asked.iter().find(|asked| {
            life.before_deletion(&asked.at) && run.clocks.order(&exit.at, &asked.at) != Order::After
        });
        if let Some(early) = early {
            let finding = format!("{} exited by itself, but its hook ran", life.name());
            seen.violated(finding, [exit.id, early.id]);
        } else if let Some(last) = asked.iter().find(|asked| !life.before_deletion(&asked.at))
            && life.watched_for(&exit.at, clause.slack_us())
        {
            // The later request shows that an earlier one would have been recorded.
            seen.fine([exit.id, last.id]);
        }
    }
}

/// The requests of a container's hook that arrived at other containers of its pod.
fn elsewhere<'t, 'h>(pod: &'t PodLife<'h>, own: &ContainerLife<'_>, hook: &Value) -> Vec<&'t Asked<'h>> {
    let path = hook.get("path").and_then(Value::as_str).unwrap_or("/");
    let others =
        pod.containers.iter().filter(|other| other.name != own.name && other.lifecycle("preStop").is_none());
    let requests = others.flat_map(|other| &other.attempts).flat_map(|attempt| &attempt.requests);
    let of_hook = |asked: &&Asked<'_>| asked.request.target == path && is_of_hook(asked);
    requests.filter(of_hook).collect()
}
