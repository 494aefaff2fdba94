//! The instances of a container: a new instance resets the results, and some probes stop until the next instance.
//!
//! For a moment after a restart, a kubelet may mistake the new process for the old one, and the results of the new
//! process's probes then count for the old process. So conclusions about a later instance start only after that moment.

use probity_model::history::{Did, REMOVE_SANDBOX};
use probity_model::measure::seconds;
use probity_model::mechanisms::{DOUBTFUL, NEAR, PERIODS_TO_COME, UNDER_WAY, UNKNOWN_LIFE};
use probity_model::timeline::{Handler, Probe, ProbeKind, ProbeOutcome, ProbedLife, State};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Judge, Seen, Timeline};

use crate::reading::at_rest::judge_at_rest;
use crate::reading::lost_signals::may_have_been_stopping;
use crate::reading::readiness::earliest_success;
use crate::reading::termination::{Exhausted, exhausted};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "prober.worker.new-container-resets-result", judge: new_life_starts_anew },
    Judge { clause: "prober.worker.onhold-after-liveness-failure", judge: stops_until_a_new_life },
    Judge { clause: "prober.worker.non-running-sets-failure", judge: not_running_is_not_ready },
];

/// In each instance after the first, the results are reset. This also applies to the readiness of containers that restart
/// together, by a rule or with a new sandbox.
fn new_life_starts_anew(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let harmless = |did: &Did| {
        !did.acts_on_node() || matches!(did, Did::NodeVerb { verb, .. } if verb == REMOVE_SANDBOX)
    };
    let same_kubelet = run.deeds.iter().all(|(_, deed)| harmless(&deed.did));
    for life in run.lives().staying().restarted().of(ProbeKind::Readiness).only(|_| same_kubelet) {
        judge_unready(&life, seen);
    }
    for life in run.lives().undisturbed().staying().restarted() {
        if let Some(life) = life.probed(ProbeKind::Liveness) {
            judge_resumed(clause, &life, seen);
        }
    }
}

/// Whether every probe of the instance was recorded.
fn is_heard(life: &ProbedLife<'_, '_>) -> bool {
    life.holes.is_empty() && life.pod.sees(&life.container.name, life.spec)
}

/// No revision shows a new instance as ready before one of its readiness probes can have succeeded.
fn judge_unready(life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (run, began) = (life.run, life.began.id);
    let first = life.probes.iter().find(|probe| life.outcome(probe) != ProbeOutcome::Failure);
    let first = first.map(|probe| earliest_success(life, probe));
    let heard = is_heard(life) && !life.has_strangers(life.spec.handler.port());
    for (revision, status) in life.pod.changes_of(&life.container.name) {
        let early = first.as_ref().is_none_or(|first| run.before(&revision.at, first));
        if status.restarts != life.number || !status.is_running() || !early {
            continue;
        }
        if !status.ready {
            seen.fine([began, revision.id]);
            seen.facet("policy", life.policy());
        } else if first.is_none() && run.ended_us - revision.at.at.lo < UNDER_WAY {
            // The records of the probes of that time may not have arrived before the end of the case.
        } else if heard {
            let finding = "a new container instance was shown as ready before its readiness probe succeeded";
            let events = [began, revision.id].into_iter().chain(first.as_ref().map(|first| first.id));
            seen.violated(finding, events);
        } else {
            let why = "a new container instance was shown as ready, but not all of its probes were recorded";
            seen.doubt(Doubt::WitnessMissing, why, [began, revision.id]);
        }
    }
}

/// Liveness probes continue in a new instance. Other clauses judge liveness probes that wait for a startup probe.
fn judge_resumed(clause: &Clause, life: &ProbedLife<'_, '_>, seen: &mut Seen) {
    let (spec, began) = (life.spec, &life.began);
    if let Some(probe) = life.probes_of(ProbeKind::Liveness).next() {
        seen.fine([began.id, probe.id]);
        return;
    }
    let waits =
        life.container.probe(ProbeKind::Startup).is_some() || life.container.lifecycle("postStart").is_some();
    let port = spec.handler.port();
    let shared = !life.probes.is_empty();
    let seen_at_all = is_heard(life) && !life.has_strangers(port);
    let listens = port.is_none() || life.connections.iter().any(|one| one.port() == port);
    let allowed = spec.initial_delay + PERIODS_TO_COME.of(spec.period) + clause.slack_us();
    let due = !waits && !shared && seen_at_all && listens && life.lives_on();
    if due && life.watched_for(began, allowed) && !may_have_been_stopping(life) {
        let finding = format!(
            "no liveness probe arrived within {} of the start of a new container instance",
            seconds(allowed)
        );
        seen.violated(finding, [began.id].into_iter().chain(life.last_line().map(|line| line.id)));
    }
}

/// After the failure that reaches the threshold, the probe does not run again in this instance.
fn stops_until_a_new_life(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let ran_by_hand = run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::Executed { .. }));
    for spent in ProbeKind::STOPPING.into_iter().flat_map(|kind| exhausted(run, kind)) {
        let command = matches!(spent.life.spec.handler, Handler::Exec { .. });
        // In an incomplete record, a success that reset the count may be missing.
        let whole = spent.life.holes.is_empty() && !run.node_was_touched();
        if whole && known_as_new(&spent) && !(command && ran_by_hand) {
            judge_end_of_probing(&spent, seen);
        }
    }
}

/// Whether the failures occurred at a time when the kubelet must have known this instance.
fn known_as_new(spent: &Exhausted<'_, '_>) -> bool {
    let first = spent.failures.first().map_or(i64::MIN, |probe| probe.at.at.lo);
    spent.life.number == 0 || first - spent.life.began.at.hi >= UNKNOWN_LIFE
}

fn judge_end_of_probing(spent: &Exhausted<'_, '_>, seen: &mut Seen) {
    let (life, end) = (&spent.life, &spent.at);
    let Some(last) = spent.failures.last().copied() else { return };
    let again = |probe: &&Probe<'_>| probe.at.at.lo > end.at.hi + NEAR && life.peer(probe) == life.peer(last);
    if let Some(again) = life.probes_of(life.spec.kind).find(again) {
        let later = seconds(again.at.at.lo - end.at.lo);
        let word = life.spec.kind.word();
        let finding =
            format!("a {word} probe arrived {later} after the probe had reached its failure threshold");
        let events = [last.id, again.id];
        if life.noise(&last.at, &again.at) > DOUBTFUL.of(life.spec.timeout) {
            seen.doubt(Doubt::Ambiguous, format!("{finding}, but the node was stalled"), events);
        } else {
            seen.violated(finding, events);
        }
        return;
    }
    let silence = PERIODS_TO_COME.of(life.spec.period) + NEAR;
    let line = life.last_line().filter(|line| line.at.at.lo - end.at.hi > silence);
    if let Some(line) = line.filter(|_| is_heard(life)) {
        seen.fine([last.id, line.id]);
    }
}

/// A container with a readiness probe is not shown as ready while it is not running.
fn not_running_is_not_ready(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let probed = || run.probed(ProbeKind::Readiness).filter(|(_, of, _)| of.stays());
    judge_at_rest(
        run,
        probed().map(|(pod, container, _)| (pod, container)),
        ("ready", |_, of| of.ready),
        seen,
    );
    for (pod, container, _) in probed() {
        let mut was_ready = None;
        for (revision, status) in pod.changes_of(&container.name) {
            match status.state {
                State::Terminated { .. } | State::Waiting { .. } if !status.ready => {
                    seen.fine(was_ready.into_iter().flat_map(|ready| [ready, revision.id]));
                }
                State::Running { .. } if status.ready => was_ready = Some(revision.id),
                _ => {}
            }
        }
    }
}
