//! Workers: each probe has its own, with rules for the first probe and for probes out of turn.
//!
//! A gap between probes has many lawful causes (a closed port, a restart of the kubelet, a slow answer). So only a gap
//! between two probes of one life without any such cause counts as a violation.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::measure::{Bound, Interval, Measurement, SECOND, Unit, seconds};
use probity_model::timeline::{
    At, ContainerLife, Handler, Life, PodLife, Probe, ProbeKind, ProbeOutcome, ProbedLife,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use probity_script::witness::Fact;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.worker.one-per-kind", judge: each_on_its_own },
    Judge { clause: "prober.worker.restart-jitter", judge: restart_spreads },
    Judge { clause: "prober.worker.manual-trigger", judge: trigger_starts_anew },
    Judge { clause: "prober.worker.waits-for-container", judge: waits_for_container },
];

/// The least number of workers that surely show whether their phases are random.
const CROWD: usize = 10;
/// How long before the first line of its process a container may count as running, and its hook begin. A probe in between
/// was refused.
const TO_MAIN: i64 = 3 * SECOND;
/// The usual part of that.
const USUALLY: i64 = SECOND;
/// How long a kubelet may not know of a new life.
const UNKNOWN_LIFE: i64 = 3 * SECOND;
/// A second trigger may have waited while a probe ran. It causes what follows within this time.
const AT_ONCE: i64 = 300_000;

/// A probe that waits for its answer does not delay the other probes of its pod.
fn each_on_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let lives = lives(run, pod);
        let hangs: Vec<_> = lives.iter().flat_map(hangs).collect();
        for life in lives.iter().filter(|life| !hangs.is_empty() && is_steady(life)) {
            let others: Vec<&Hang<'_>> = hangs
                .iter()
                .filter(|hang| hang.container != life.container.name || hang.kind != life.spec.kind)
                .filter(|hang| hang.until.at.lo - hang.from.at.lo >= 2 * life.spec.period + clause.slack_us())
                .collect();
            if !others.is_empty() {
                seen.applies();
                judge_gaps(clause, life, &others, seen);
            }
        }
    }
}

/// Every life of every container of a pod, with each of its probes.
fn lives<'t, 'h>(run: &'t Timeline<'h>, pod: &'t PodLife<'h>) -> Vec<ProbedLife<'t, 'h>> {
    let of_container = |container: &'t ContainerLife<'h>| {
        let lives = move |kind| {
            let attempts = container.attempts.iter();
            attempts.filter_map(move |attempt| Life { run, pod, container, attempt }.probed(kind))
        };
        container.probes.iter().flat_map(move |spec| lives(spec.kind))
    };
    pod.containers.iter().flat_map(of_container).collect()
}

/// A probe that kept its worker waiting.
struct Hang<'t> {
    container: &'t str,
    kind: ProbeKind,
    id: EventId,
    from: &'t Stamp,
    until: Stamp,
}

fn hangs<'t>(life: &ProbedLife<'t, '_>) -> impl Iterator<Item = Hang<'t>> {
    let (container, kind) = (life.container.name.as_str(), life.spec.kind);
    life.attempt.probes_of(kind).filter_map(move |probe| {
        let until = life.result(probe).at();
        let waited = until.at.lo - probe.at.at.lo >= 2 * SECOND;
        waited.then(|| Hang { container, kind, id: probe.id, from: &probe.at, until })
    })
}

/// Whether all probes came over the network and were answered quickly, and their port was always open.
fn is_steady(life: &ProbedLife<'_, '_>) -> bool {
    let by_net = matches!(life.spec.handler, Handler::Http { .. } | Handler::Grpc { .. });
    let quick = |probe: &&Probe<'_>| {
        let result = life.result(probe);
        let clear = probe.is(life.spec.kind) && result.outcome() != ProbeOutcome::Unclear;
        clear && result.at().at.hi - probe.at.at.lo < life.spec.period / 2
    };
    let heard = life.holes.is_empty() && life.pod.sees(&life.container.name, life.spec);
    by_net && heard && life.probes.iter().all(quick) && open_throughout(life)
}

/// No connection to the port broke before its request, and the port was never shut.
fn open_throughout(life: &ProbedLife<'_, '_>) -> bool {
    let port = life.spec.handler.port();
    let bare = life.connections.iter().any(|one| one.port() == port && one.requests == 0);
    let shut = life.lines.iter().any(|line| match &line.line.fact {
        Fact::Listening(listening) => listening.state != "open",
        _ => false,
    });
    !bare && !shut
}

fn judge_gaps(clause: &Clause, life: &ProbedLife<'_, '_>, hangs: &[&Hang<'_>], seen: &mut Seen) {
    let (spec, slack) = (life.spec, clause.slack_us());
    let probes: Vec<&Probe<'_>> = life.probes_of(spec.kind).collect();
    for two in probes.windows(2) {
        let [first, second] = two else { continue };
        let within =
            |hang: &&&Hang<'_>| first.at.at.lo < hang.until.at.hi && second.at.at.hi > hang.from.at.lo;
        let Some(hang) = hangs.iter().find(within) else { continue };
        // At the start of a later life the kubelet may still take it for the previous one.
        let settled = life.number == 0 || first.at.at.lo - life.began.at.hi > UNKNOWN_LIFE;
        if !settled || !life.before_deletion(&second.at) {
            continue;
        }
        let bound = Bound::at_most(spec.period + slack, format!("periodSeconds + {}", seconds(slack)));
        let quantity =
            format!("between two {} probes while another probe of the pod waited", spec.kind.word());
        if let Some(mut measured) = life.run.measure(quantity, &life.node, first, second, bound) {
            measured.events.push(hang.id);
            seen.measure(measured);
        }
    }
}

/// After a restart of the kubelet the first probes of many containers are spread over their period.
fn restart_spreads(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, exit: Some(0) } = &deed.did else { continue };
        if verb != "restart-kubelet" {
            continue;
        }
        let restarted = Stamp::harness(deed.began_us);
        let done = run.heard(*id);
        let after = |probe: &&Probe<'_>| {
            [&restarted, &done].iter().all(|since| run.clocks.order(since, &probe.at) == Order::Before)
        };
        let mut firsts: Vec<(i64, EventId, i64)> = Vec::new();
        for (_, container, spec) in run.probes().filter(|(pod, ..)| pod.node == *node) {
            let mut probes = container.attempts.iter().flat_map(|attempt| attempt.probes_of(spec.kind));
            firsts.extend(probes.find(after).map(|probe| (probe.at.at.lo, probe.id, spec.period)));
        }
        let Some(period) = firsts.iter().map(|(_, _, period)| *period).max() else { continue };
        firsts.retain(|(_, _, of)| *of == period);
        if period < 10 * SECOND || firsts.len() < CROWD {
            continue;
        }
        firsts.sort_unstable();
        let [first, .., last] = firsts.as_slice() else { continue };
        let count = firsts.len();
        seen.measure(Measurement {
            quantity: format!("from the first to the last of {count} first probes after the restart"),
            unit: Unit::Us,
            observed: Interval::point(last.0 - first.0),
            bound: Bound::at_least(period / 5, "periodSeconds / 5"),
            noise: 0,
            events: vec![*id, first.1, last.1],
        });
    }
}

/// After a successful readiness probe out of turn, the next one comes a whole period later.
fn trigger_starts_anew(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    let lives = run.lives().of(ProbeKind::Readiness).whole();
    for life in lives.iter().filter(|life| life.spec.successes == 1 && life.spec.period >= 4 * SECOND) {
        if !life.is_unmistaken() {
            continue;
        }
        for (at, two) in life.probes.windows(2).enumerate() {
            let before = at.checked_sub(1).and_then(|before| life.probes.get(before)).copied();
            if let &[this, next] = two
                && out_of_turn(life, before, this)
            {
                judge_turn(clause, life, (this, next), seen);
            }
        }
    }
}

/// Whether a readiness probe most likely came out of turn and succeeded: less than three quarters of a period after the
/// previous one, or as the first one right after the success of the startup probe.
fn out_of_turn<'t, 'h>(life: &ProbedLife<'t, 'h>, before: Option<&Probe<'_>>, this: &'t Probe<'h>) -> bool {
    if life.outcome(this) != ProbeOutcome::Success {
        return false;
    }
    match before {
        Some(before) => this.at.at.lo - before.at.at.hi < life.spec.period / 4 * 3,
        None => life.probed(ProbeKind::Startup).is_some_and(|startup| {
            let mut startups = life.attempt.probes_of(ProbeKind::Startup);
            let passed = startups.find(|probe| startup.outcome(probe) == ProbeOutcome::Success);
            passed.is_some_and(|probe| this.at.at.lo - probe.at.at.hi < life.spec.period / 2)
        }),
    }
}

fn judge_turn<'t, 'h>(
    clause: &Clause,
    life: &ProbedLife<'t, 'h>,
    (this, next): (&'t Probe<'h>, &'t Probe<'h>),
    seen: &mut Seen,
) {
    let (period, slack) = (life.spec.period, clause.slack_us());
    // Only a trigger that was waiting, or a retry, follows so soon.
    if next.at.at.lo - life.result(this).at().at.hi < AT_ONCE || !life.before_deletion(&next.at) {
        return;
    }
    let gap = next.at.at.lo - this.at.at.hi;
    let noise = life.noise(&this.at.earlier(period), &next.at);
    let least = period - period / 8;
    if gap < least && gap + noise >= least {
        let why = format!("{} after a probe out of turn, but the node was stalled", seconds(gap));
        seen.doubt(Doubt::Straddles, why, [this.id, next.id]);
        return;
    }
    let bound = Bound::at_most(period + slack, format!("periodSeconds + {}", seconds(slack)))
        .and_at_least(least, "7/8 periodSeconds");
    life.within(seen, "from a readiness probe out of turn to the next one", (this, next), bound);
}

/// A container is not probed, and no failure is recorded for it, before it runs as far as the kubelet knows.
fn waits_for_container(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for (pod, container) in run.containers().filter(|(_, container)| !container.probes.is_empty()) {
        let mut firsts = container.attempts.iter().filter(|attempt| attempt.number == 0);
        let (Some(attempt), None) = (firsts.next(), firsts.next()) else { continue };
        let began = &attempt.began;
        let ours = pod.events.iter().filter(|event| event.container == Some(container.name.as_str()));
        for event in ours.filter(|event| event.reason == "Unhealthy") {
            let early = run.clocks.between(&event.at, began).map_or(0, |span| span.lo);
            if early > TO_MAIN + run.noise_between(&attempt.node, &event.at, began) {
                let finding = "a failed probe was recorded long before the container's process began";
                seen.violated(finding, [event.id, began.id]);
            }
        }
        let Some(pause) = sleep_after_start(container) else { continue };
        seen.applies();
        let Some(probe) = attempt.probes.first() else { continue };
        let hook = Interval::new(began.at.lo - (TO_MAIN - USUALLY), began.at.hi);
        let hook = At::new(began.id, Stamp { clock: began.clock.clone(), at: hook });
        let bound = Bound::at_least(pause - USUALLY, "the seconds that postStart sleeps - 1 s");
        let quantity = "from the start of the container to its first probe";
        seen.within(run, &attempt.node, quantity, (&hook, probe), bound);
    }
}

/// How long the postStart hook sleeps.
fn sleep_after_start(container: &ContainerLife<'_>) -> Option<i64> {
    Some(container.lifecycle("postStart")?.get("sleep")?.get("seconds")?.as_i64()? * SECOND)
}
