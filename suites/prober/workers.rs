//! Workers: each probe has its own, and when it asks out of turn or for the first time follows rules of its own.
//!
//! A gap between probes has many lawful causes (a port that is closed, a restart of the kubelet, an answer that takes
//! long), so only gaps between two probes of one life that nothing of the kind explains are held against anyone.

use probity_model::clocks::{Order, Stamp};
use probity_model::history::Did;
use probity_model::measure::{Bound, Interval, Measurement, Unit, seconds};
use probity_model::timeline::{Attempt, ContainerLife, Handler, PodLife, Probe, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Judge, Seen, Timeline};
use probity_script::witness::Fact;

use crate::reading::tolerance::{Outcome, leaves_a_trace, outcome, resulted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.worker.one-per-kind", judge: each_on_its_own },
    Judge { clause: "prober.worker.restart-jitter", judge: restart_spreads },
    Judge { clause: "prober.worker.manual-trigger", judge: trigger_starts_anew },
    Judge { clause: "prober.worker.waits-for-container", judge: waits_for_container },
];

const SECOND: i64 = 1_000_000;
/// So many workers make it next to certain that random phases are seen to differ.
const CROWD: usize = 10;
/// A container counts as running, and its hook begins, up to so much earlier than its process reaches its first line; a
/// probe that came in between was refused.
const TO_MAIN: i64 = 3 * SECOND;
/// The usual part of that.
const USUALLY: i64 = SECOND;
/// So long a kubelet may not know of a new life.
const UNKNOWN_LIFE: i64 = 3 * SECOND;
/// A second trigger may have been waiting while a probe ran: what follows within this is its doing.
const AT_ONCE: i64 = 300_000;

/// A probe that waits for its answer delays no other probe of its pod.
fn each_on_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let hangs = hangs(pod);
        if hangs.is_empty() {
            continue;
        }
        for (container, attempt, spec) in steady(pod) {
            let others: Vec<&Hang<'_>> = hangs
                .iter()
                .filter(|hang| hang.container != container.name || hang.kind != spec.kind)
                .filter(|hang| hang.until.at.lo - hang.from.at.lo >= 2 * spec.period + clause.slack_us())
                .collect();
            if !others.is_empty() {
                seen.applies();
                judge_gaps(run, clause, (pod, attempt, spec), &others, seen);
            }
        }
    }
}

/// A probe that kept its worker waiting.
struct Hang<'t> {
    container: &'t str,
    kind: ProbeKind,
    id: EventId,
    from: Stamp,
    until: Stamp,
}

fn hangs<'t>(pod: &'t PodLife<'_>) -> Vec<Hang<'t>> {
    let mut hangs = Vec::new();
    for container in &pod.containers {
        for (spec, attempt) in pairs(container) {
            for probe in attempt.probes_of(spec.kind) {
                let until = resulted(attempt, spec, probe);
                if until.at.lo - probe.at.at.lo >= 2 * SECOND {
                    let (id, from) = (probe.id, probe.at.clone());
                    hangs.push(Hang { container: &container.name, kind: spec.kind, id, from, until });
                }
            }
        }
    }
    hangs
}

fn pairs<'t, 'h>(container: &'t ContainerLife<'h>) -> impl Iterator<Item = (&'t ProbeSpec, &'t Attempt<'h>)> {
    container
        .probes
        .iter()
        .flat_map(move |spec| container.attempts.iter().map(move |attempt| (spec, attempt)))
}

/// Probes over the network that were all answered quickly and whose port was open all the time.
fn steady<'t, 'h>(pod: &'t PodLife<'h>) -> Vec<(&'t ContainerLife<'h>, &'t Attempt<'h>, &'t ProbeSpec)> {
    let mut found = Vec::new();
    for container in &pod.containers {
        for (spec, attempt) in pairs(container) {
            let by_net = matches!(spec.handler, Handler::Http { .. } | Handler::Grpc { .. });
            let quick = attempt.probes.iter().filter(|probe| probe.can_be(spec.kind)).all(|probe| {
                probe.is(spec.kind) && outcome(attempt, spec, probe) != Outcome::Unclear && {
                    resulted(attempt, spec, probe).at.hi - probe.at.at.lo < spec.period / 2
                }
            });
            let heard = attempt.holes.is_empty() && leaves_a_trace(pod, &container.name, spec);
            if by_net && quick && heard && open_throughout(attempt, spec) {
                found.push((container, attempt, spec));
            }
        }
    }
    found
}

/// No connection to the port broke before its request, and the port was never shut.
fn open_throughout(attempt: &Attempt<'_>, spec: &ProbeSpec) -> bool {
    let port = spec.handler.port();
    let bare = attempt.connections.iter().any(|one| one.port() == port && one.requests == 0);
    let shut = attempt
        .lines
        .iter()
        .any(|line| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open"));
    !bare && !shut
}

fn judge_gaps(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, attempt, spec): (&PodLife<'_>, &Attempt<'_>, &ProbeSpec),
    hangs: &[&Hang<'_>],
    seen: &mut Seen,
) {
    let probes: Vec<&Probe<'_>> = attempt.probes_of(spec.kind).collect();
    for two in probes.windows(2) {
        let [first, second] = two else { continue };
        let within =
            |hang: &&&Hang<'_>| first.at.at.lo < hang.until.at.hi && second.at.at.hi > hang.from.at.lo;
        let Some(hang) = hangs.iter().find(within) else { continue };
        // At the start of a later life the kubelet may still take it for the one before, and begin again with its rules.
        let settled = attempt.number == 0 || first.at.at.lo - attempt.began.at.hi > UNKNOWN_LIFE;
        if !settled || !run.before_deletion(pod, &second.at) {
            continue;
        }
        let bound = Bound::at_most(
            spec.period + clause.slack_us(),
            format!("periodSeconds + {}", seconds(clause.slack_us())),
        );
        let quantity =
            format!("between two {} probes while another probe of the pod waited", spec.kind.word());
        let ends = ((first.id, &first.at), (second.id, &second.at));
        if let Some(mut measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
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
        let mut firsts: Vec<(i64, EventId, i64)> = Vec::new();
        for (pod, container, spec) in run.probes() {
            let attempts = container.attempts.iter().filter(|_| pod.node == *node);
            let after = attempts.flat_map(|attempt| attempt.probes_of(spec.kind)).find(|probe| {
                run.clocks.order(&restarted, &probe.at) == Order::Before
                    && run.clocks.order(&run.heard(*id), &probe.at) == Order::Before
            });
            firsts.extend(after.map(|probe| (probe.at.at.lo, probe.id, spec.period)));
        }
        let Some(period) = firsts.iter().map(|(_, _, period)| *period).max() else { continue };
        firsts.retain(|(_, _, of)| *of == period);
        if period < 10 * SECOND || firsts.len() < CROWD {
            continue;
        }
        firsts.sort_unstable();
        let (Some(first), Some(last)) = (firsts.first(), firsts.last()) else { continue };
        seen.measure(Measurement {
            quantity: format!(
                "from the first to the last of {} first probes after the restart",
                firsts.len()
            ),
            unit: Unit::Us,
            observed: Interval::point(last.0 - first.0),
            bound: Bound::at_least(period / 5, "periodSeconds / 5"),
            noise: 0,
            events: vec![*id, first.1, last.1],
        });
    }
}

/// After a readiness probe out of turn that succeeded, the next one comes a whole period later.
fn trigger_starts_anew(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for (pod, container, spec) in run.probed(ProbeKind::Readiness) {
        if spec.successes != 1 || spec.period < 4 * SECOND {
            continue;
        }
        for attempt in container.attempts.iter().filter(|attempt| attempt.holes.is_empty()) {
            let probes: Vec<&Probe<'_>> = attempt.probes.iter().filter(|p| p.can_be(spec.kind)).collect();
            if probes.iter().any(|probe| !probe.is(spec.kind)) {
                continue;
            }
            for (at, two) in probes.windows(2).enumerate() {
                let before = at.checked_sub(1).and_then(|before| probes.get(before)).copied();
                if let &[this, next] = two
                    && out_of_turn(attempt, container, spec, before, this)
                {
                    judge_turn(run, clause, (pod, attempt, spec), (this, next), seen);
                }
            }
        }
    }
}

/// Whether a readiness probe surely or most likely came out of its turn, and left the container ready: after one that
/// came less than three quarters of a period before, or as the first one, right after the startup probe's success.
fn out_of_turn(
    attempt: &Attempt<'_>,
    container: &ContainerLife<'_>,
    spec: &ProbeSpec,
    before: Option<&Probe<'_>>,
    this: &Probe<'_>,
) -> bool {
    if outcome(attempt, spec, this) != Outcome::Success {
        return false;
    }
    match before {
        Some(before) => this.at.at.lo - before.at.at.hi < spec.period / 4 * 3,
        None => container.probe(ProbeKind::Startup).is_some_and(|startup| {
            let mut passed = attempt
                .probes_of(ProbeKind::Startup)
                .filter(|probe| outcome(attempt, startup, probe) == Outcome::Success);
            passed.next().is_some_and(|probe| this.at.at.lo - probe.at.at.hi < spec.period / 2)
        }),
    }
}

fn judge_turn(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, attempt, spec): (&PodLife<'_>, &Attempt<'_>, &ProbeSpec),
    (this, next): (&Probe<'_>, &Probe<'_>),
    seen: &mut Seen,
) {
    let done = resulted(attempt, spec, this);
    // Nothing but a trigger that was waiting, or a retry, follows so soon.
    if next.at.at.lo - done.at.hi < AT_ONCE || !run.before_deletion(pod, &next.at) {
        return;
    }
    let gap = next.at.at.lo - this.at.at.hi;
    let noise = run.noise_between(&attempt.node, &this.at.earlier(spec.period), &next.at);
    let least = spec.period - spec.period / 8;
    let events = [this.id, next.id];
    if gap < least && gap + noise >= least {
        let why = format!("{} after a probe out of turn, but the node was held up", seconds(gap));
        seen.doubt(Doubt::Straddles, why, events);
        return;
    }
    let most = spec.period + clause.slack_us();
    let bound = Bound::at_most(most, format!("periodSeconds + {}", seconds(clause.slack_us())))
        .and_at_least(least, "7/8 periodSeconds");
    let quantity = "from a readiness probe out of turn to the next one";
    let ends = ((this.id, &this.at), (next.id, &next.at));
    if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
        seen.measure(measured);
    }
}

/// A container that does not run yet, for the kubelet, is not probed, and no failure is recorded for it.
fn waits_for_container(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for (pod, container) in run.containers().filter(|(_, container)| !container.probes.is_empty()) {
        let first = container.attempts.iter().find(|attempt| attempt.number == 0);
        let Some(attempt) =
            first.filter(|_| container.attempts.iter().filter(|a| a.number == 0).count() == 1)
        else {
            continue;
        };
        let began = &attempt.began;
        for event in pod.events.iter().filter(|event| event.reason == "Unhealthy") {
            let ours = event.container == Some(container.name.as_str());
            let early = run.clocks.between(&event.at, began).map_or(0, |span| span.lo);
            let noise = run.noise_between(&attempt.node, &event.at, began);
            if ours && early > TO_MAIN + noise {
                let finding = "a failed probe was recorded long before the container's process began";
                seen.violated(finding, [event.id, began.id]);
            }
        }
        let Some(pause) = sleep_after_start(container) else { continue };
        seen.applies();
        let Some(probe) = attempt.probes.first() else { continue };
        let hook = Interval::new(began.at.lo - (TO_MAIN - USUALLY), began.at.hi);
        let hook = Stamp { clock: began.clock.clone(), at: hook };
        let bound = Bound::at_least(pause - USUALLY, "the seconds that postStart sleeps - 1 s");
        let quantity = "from the start of the container to its first probe";
        let ends = ((began.id, &hook), (probe.id, &probe.at));
        if let Some(measured) = run.measure(quantity, &attempt.node, ends.0, ends.1, bound) {
            seen.measure(measured);
        }
    }
}

/// How long the hook after the start sleeps.
fn sleep_after_start(container: &ContainerLife<'_>) -> Option<i64> {
    let hook = container.spec.get("lifecycle")?.get("postStart")?.get("sleep")?;
    Some(hook.get("seconds")?.as_i64()? * SECOND)
}
