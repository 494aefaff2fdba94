//! Workers: each probe has its own worker, and there are rules for the first probe and for extra probes.
//!
//! A gap between probes has many legitimate causes (a closed port, a kubelet restart, a slow answer). So a gap counts
//! as a violation only if it is between two probes of one instance and has no such cause.

use probity_model::clocks::Stamp;
use probity_model::measure::{Blur, Bound, Fit, Interval, Measurement, Unit, seconds, whole_seconds};
use probity_model::mechanisms::{NEAR, QUICK, UNKNOWN_LIFE};
use probity_model::timeline::{
    Asked, At, ContainerLife, Handler, KubeEvent, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife, Through,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use probity_script::witness::Fact;

use crate::reading::hooks::hook_run;
use crate::reading::kubelet_restarts::{Restart, restarts};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.worker.one-per-kind", judge: each_on_its_own },
    Judge { clause: "prober.worker.restart-jitter", judge: restart_spreads },
    Judge { clause: "prober.worker.manual-trigger", judge: trigger_starts_anew },
    Judge { clause: "prober.worker.waits-for-container", judge: waits_for_container },
];

/// A probe that waits for its answer does not delay the other probes of its pod.
fn each_on_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let lives = run.lives().undisturbed().of_each(&ProbeKind::ALL);
    let hangs: Vec<_> = lives.iter().flat_map(|life| hangs(clause, life)).collect();
    for life in lives.iter().filter(|life| is_steady(life)) {
        let long = clause.tolerance_multiple(life.spec.period, "periods") + slack(clause, life);
        let others: Vec<&Hang<'_, '_>> = hangs
            .iter()
            .filter(|hang| std::ptr::eq(hang.life.pod, life.pod))
            .filter(|hang| {
                hang.life.container.name != life.container.name || hang.life.spec.kind != life.spec.kind
            })
            .filter(|hang| hang.until.at.lo - hang.probe.at.at.lo >= long)
            .collect();
        judge_gaps(clause, life, &others, seen);
    }
}

/// A probe that kept its worker waiting for an answer.
struct Hang<'t, 'h> {
    life: &'t ProbedLife<'t, 'h>,
    probe: &'t Probe<'h>,
    until: Stamp,
}

fn hangs<'t, 'h>(clause: &Clause, life: &'t ProbedLife<'t, 'h>) -> Vec<Hang<'t, 'h>> {
    let probes = life.attempt.probes_of(life.spec.kind);
    let hangs = probes.map(|probe| Hang { life, probe, until: life.result(probe).at() });
    hangs.filter(|hang| hang.until.at.lo - hang.probe.at.at.lo >= clause.tolerance_us("wait")).collect()
}

fn is_command(life: &ProbedLife<'_, '_>) -> bool {
    matches!(life.spec.handler, Handler::Exec { .. })
}

/// The slack of the clause, or a larger one for commands: a command is recorded only when the runtime has started it.
fn slack(clause: &Clause, life: &ProbedLife<'_, '_>) -> i64 {
    if is_command(life) { clause.tolerance_us("command") } else { clause.slack_us() }
}

/// Whether all of these probes were answered quickly, and the port of probes over the network was always open. A bare
/// connection does not show when it was answered.
fn is_steady(life: &ProbedLife<'_, '_>) -> bool {
    let by_net = matches!(life.spec.handler, Handler::Http { .. } | Handler::Grpc { .. });
    let quick = |probe: &Probe<'_>| {
        let took = life.attempt.result(probe, life.spec).at().at.hi - probe.at.at.lo;
        took < QUICK.of(life.spec.period)
    };
    let clear = life.probes.iter().all(|probe| life.outcome(probe) != ProbeOutcome::Unclear && quick(probe));
    let heard = life.holes.is_empty() && life.pod.sees(&life.container.name, life.spec);
    let open = (by_net && open_throughout(life)) || (is_command(life) && all_started(life));
    open && heard && life.is_unmistaken() && clear
}

/// Whether no connection to the port broke before its request, and the port was never closed.
fn open_throughout(life: &ProbedLife<'_, '_>) -> bool {
    let port = life.spec.handler.port();
    let bare = life.connections.iter().any(|one| one.port() == port && one.requests == 0);
    let shut = life.lines.iter().any(|line| match &line.line.fact {
        Fact::Listening(listening) => listening.state != "open",
        _ => false,
    });
    !bare && !shut
}

/// Whether no event reports a command that the runtime could not start: such a command leaves no record.
fn all_started(life: &ProbedLife<'_, '_>) -> bool {
    let name = &life.container.name;
    let errored = |event: &KubeEvent<'_>| event.is_of(name, "Unhealthy") && event.message.contains("errored");
    !life.pod.events.iter().any(errored)
}

fn judge_gaps(clause: &Clause, life: &ProbedLife<'_, '_>, hangs: &[&Hang<'_, '_>], seen: &mut Seen) {
    let (slack, spec) = (slack(clause, life), life.spec);
    let probes: Vec<&Probe<'_>> = life.attempt.probes_of(spec.kind).collect();
    for two in probes.windows(2) {
        let [first, second] = two else { continue };
        let during = |hang: &&&Hang<'_, '_>| {
            first.at.at.lo < hang.until.at.hi && second.at.at.hi > hang.probe.at.at.lo
        };
        let Some(hang) = hangs.iter().find(during) else { continue };
        // At the start of a later instance, the kubelet may still mistake it for the previous instance.
        let settled = life.number == 0 || first.at.at.lo - life.began.at.hi > UNKNOWN_LIFE;
        if !settled || !life.before_deletion(&second.at) {
            continue;
        }
        let bound = Bound::at_most(spec.period + slack, format!("periodSeconds + {}", seconds(slack)));
        let quantity =
            format!("between two {} probes while another probe of the pod waited", spec.kind.word());
        if let Some(mut measured) = life.run.measure(quantity, &life.node, *first, *second, bound) {
            if measured.fit() == Fit::Met {
                seen.facet("waits", if is_command(hang.life) { "command" } else { "request" });
            }
            measured.events.push(hang.probe.id);
            seen.measure(measured);
        }
    }
}

/// After a kubelet restart, the first probes of many containers are spread over their period.
fn restart_spreads(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for Restart { node, began: restart, over } in restarts(run, seen) {
        let after = |probe: &&Probe<'_>| run.before(&over, &probe.at);
        let mut firsts: Vec<(i64, EventId, i64)> = Vec::new();
        for (_, container, spec) in run.probes().filter(|(pod, ..)| pod.node == node) {
            let mut probes = container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind));
            firsts.extend(probes.find(after).map(|probe| (probe.at.at.lo, probe.id, spec.period)));
        }
        let Some(period) = firsts.iter().map(|(_, _, period)| *period).max() else { continue };
        firsts.retain(|(_, _, of)| *of == period);
        firsts.sort_unstable();
        let [first, .., last] = firsts.as_slice() else { continue };
        if period < clause.tolerance_us("long-period") || firsts.len() < clause.tolerance_times("probes") {
            continue;
        }
        let count = firsts.len();
        seen.measure(Measurement {
            quantity: format!("from the first to the last of {count} first probes after the restart"),
            unit: Unit::Us,
            observed: Interval::point(last.0 - first.0),
            bound: Bound::at_least(clause.tolerance_part(period, "spread"), "periodSeconds / 5"),
            noise: 0,
            blur: Blur::default(),
            events: vec![restart.id, first.1, last.1],
        });
    }
}

/// After a successful extra readiness probe, the next readiness probe comes a whole period later.
fn trigger_starts_anew(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let long = clause.tolerance_us("long-period");
    for life in run.lives().undisturbed().whole().of(ProbeKind::Readiness) {
        if life.spec.successes != 1 || life.spec.period < long || !life.is_unmistaken() {
            continue;
        }
        let mut before = None;
        for two in life.probes.windows(2) {
            if let &[this, next] = two {
                if out_of_turn(clause, &life, before, this) {
                    judge_turn(clause, &life, (this, next), seen);
                }
                before = Some(this);
            }
        }
    }
}

/// Whether a readiness probe was most likely an extra one and succeeded: it came well before a period had passed since
/// the previous probe, or it was the first probe and came right after the startup success.
fn out_of_turn<'t, 'h>(
    clause: &Clause,
    life: &ProbedLife<'t, 'h>,
    before: Option<&Probe<'_>>,
    this: &'t Probe<'h>,
) -> bool {
    let early = match before {
        Some(before) => {
            let spare = clause.tolerance_part(life.spec.period, "early-part");
            this.at.at.lo - before.at.at.hi < life.spec.period - spare
        }
        None => life.probed(ProbeKind::Startup).is_some_and(|startup| {
            let at_once = clause.tolerance_part(life.spec.period, "after-startup");
            let mut only = startup.probes.iter().filter(|probe| probe.is(ProbeKind::Startup));
            let passed = only.find(|probe| startup.outcome(probe) == ProbeOutcome::Success);
            passed.is_some_and(|probe| this.at.at.lo - probe.at.at.hi < at_once)
        }),
    };
    early && life.outcome(this) == ProbeOutcome::Success
}

fn judge_turn<'t, 'h>(
    clause: &Clause,
    life: &ProbedLife<'t, 'h>,
    (this, next): (&'t Probe<'h>, &Probe<'_>),
    seen: &mut Seen,
) {
    let (period, slack) = (life.spec.period, clause.slack_us());
    // Only a probe whose trigger was already waiting, or a retry, follows so soon.
    let soon = next.at.at.lo - life.result(this).at().at.hi < clause.tolerance_us("at-once");
    if soon || !life.before_deletion(&next.at) {
        return;
    }
    let gap = next.at.at.lo - this.at.at.hi;
    let noise = life.noise(&this.at.earlier(period), &next.at);
    let least = period - clause.tolerance_part(period, "short-part");
    if gap < least && gap + noise >= least {
        let why = format!("{} after an extra probe, but the node was stalled", seconds(gap));
        seen.doubt(Doubt::Straddles, why, [this.id, next.id]);
        return;
    }
    let bound = Bound::at_most(period + slack, format!("periodSeconds + {}", seconds(slack)))
        .and_at_least(least, "7/8 periodSeconds");
    life.within(seen, "from an extra readiness probe to the next readiness probe", (this, next), bound);
}

/// A container is not probed, and no failure is recorded for it, before the kubelet knows that it is running.
fn waits_for_container(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let probed = |life: &Life<'_, '_>| {
        let same = life.container.attempts.iter().filter(|attempt| attempt.number == life.number).count();
        let known = life.before().map_or(life.number == 0, |before| {
            before.exited_by_itself().is_some() && is_never_stopped_by_probes(life.container)
        });
        known && same == 1 && !life.container.probes.is_empty()
    };
    for life in run.lives().undisturbed().only(probed) {
        let began = &life.began;
        let (most, usual) = (clause.tolerance_us("to-main"), clause.tolerance_us("usually-to-main"));
        let events = life.pod.events.iter();
        let unhealthy = |event: &&KubeEvent<'_>| event.is_of(&life.container.name, "Unhealthy");
        for event in events.filter(|event| life.number == 0 && unhealthy(event)) {
            let early = run.clocks.between(&event.at, began).map_or(0, |span| span.lo);
            if early > most + life.noise(&event.at, began) {
                let finding = "an event reports a failed probe long before the container's process started";
                seen.violated(finding, [event.id, began.id]);
            }
        }
        judge_hook_command(&life, seen);
        let (Some(pause), Some(probe)) = (sleep_after_start(life.container), life.probes.first()) else {
            continue;
        };
        let hook = Interval::new(began.at.lo - (most - usual), began.at.hi);
        let hook = At::new(began.id, Stamp { clock: began.clock.clone(), at: hook });
        let bound = Bound::at_least(pause - usual, "the seconds that postStart sleeps - 1 s");
        life.within(seen, "from the start of the container to its first probe", (&hook, probe), bound);
    }
}

/// If the postStart hook is a command, the target records its end, and no probe arrives before that.
fn judge_hook_command(life: &Life<'_, '_>, seen: &mut Seen) {
    let hook = life.container.lifecycle("postStart").filter(|hook| hook.get("exec").is_some());
    let Some(hook) = hook.and_then(|hook| hook_run(life, hook)) else { return };
    // Others may connect to the port of a probe or request its path, and the hook may be the same command.
    let is_surely_one = |probe: &&Probe<'_>| match probe.through {
        Through::Request(_) => life.attempt.request(probe).is_some_and(Asked::from_prober),
        Through::Connection(_) => false,
        Through::Command(_) => probe.id != hook.began.id,
    };
    let (Some(ended), Some(probe)) = (hook.ended, life.probes.iter().find(is_surely_one)) else { return };
    let bound = Bound::at_least(-NEAR, "not before the end of the hook, within the accuracy of the clocks");
    life.within(seen, "from the end of the postStart command to the first probe", (&ended, probe), bound);
}

/// Whether no probe can stop a container. A kubelet that is about to stop a container that has just exited by itself
/// starts the next instance with the status of the previous instance, and keeps probing it.
fn is_never_stopped_by_probes(container: &ContainerLife<'_>) -> bool {
    ProbeKind::STOPPING.into_iter().all(|kind| container.probe(kind).is_none())
}

/// How long the postStart hook sleeps.
fn sleep_after_start(container: &ContainerLife<'_>) -> Option<i64> {
    let sleep = container.lifecycle("postStart")?.get("sleep")?;
    Some(whole_seconds(sleep.get("seconds")?.as_i64()?))
}
