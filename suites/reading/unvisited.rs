//! An open port without any connection: the probe went elsewhere, or was not sent.
//!
//! A missing connection proves little if the kubelet may have a reason to wait. Each such reason disables this reading:
//! another probe or container that must start first, a hook, missing lines, or a deed that affected the node. A sandbox
//! that the harness removed is not such a reason for a later instance: a kubelet that never probes it may still use the
//! address of the old sandbox.

use std::net::IpAddr;

use probity_model::history::{Did, REMOVE_SANDBOX, Source};
use probity_model::measure::{Bound, Fit, Measurement};
use probity_model::mechanisms::{CLOCKS_APART, FIRST_TURNS};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife, ProbeKind, ProbeSpec, ProbedLife,
};
use probity_model::{Clause, Seen, Stamp, Timeline};
use probity_script::witness::{Fact, Listening};

use super::lost_signals::may_have_been_stopping;

/// Reports a violation if a port was open for a long time and no connection at all came to it. Reports nothing if a
/// cause other than the probe's address is possible.
pub(crate) fn must_be_visited(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    (pod, container, spec): (&PodLife<'_>, &ContainerLife<'_>, &ProbeSpec),
) {
    let gated = spec.kind != ProbeKind::Startup && container.probe(ProbeKind::Startup).is_some();
    let deaf = run.gaps.iter().any(|(_, gap)| !matches!(gap.of, Source::Watch(_)));
    if gated || deaf || spec.handler.host().is_some() {
        return;
    }
    let Some(port) = spec.handler.port() else { return };
    let unseen = |attempt: &&Attempt<'_>| !attempt.holds_port(port) && !was_disturbed(run, attempt);
    let lives = container.attempts.iter().filter(unseen).map(|attempt| Life { run, pod, container, attempt });
    for life in lives.filter(|life| !may_have_been_stopping(life)) {
        let measured = unvisited(clause, &life, spec, port);
        if let Some(measured) = measured.filter(|measured| measured.fit() != Fit::Met) {
            seen.measure(measured);
        }
    }
}

/// Whether the harness acted on a node, except that it had removed a sandbox before the instance began.
fn was_disturbed(run: &Timeline<'_>, attempt: &Attempt<'_>) -> bool {
    run.deeds.iter().filter(|(_, deed)| deed.did.acts_on_node()).any(|(id, deed)| {
        let removes = matches!(&deed.did, Did::NodeVerb { verb, .. } if verb == REMOVE_SANDBOX);
        !(removes && run.before(&run.heard(*id), &attempt.began.stamp))
    })
}

fn unvisited(clause: &Clause, life: &Life<'_, '_>, spec: &ProbeSpec, port: u16) -> Option<Measurement> {
    let (opened, last) = (At::of(opened(life.attempt, port)?), last_to_begin(life.pod)?);
    let from = if last.at.lo > opened.at.lo { last } else { &opened };
    let most = spec.initial_delay + FIRST_TURNS.of(spec.period) + clause.slack_us();
    let bound = Bound::at_most(most, "initialDelaySeconds + 2 × periodSeconds + slack");
    let what = format!("no connection to the open port {port}");
    life.run.measure(what, &life.node, from, end(life)?, bound)
}

/// When the last of a pod's containers first began: until all of them are started, a kubelet may not probe the first
/// one. None if one of them left no records, or has a hook that delays its start.
fn last_to_begin<'t>(pod: &'t PodLife<'_>) -> Option<&'t At> {
    let began = |container: &'t ContainerLife<'_>| {
        let first = container.attempts.first().filter(|_| container.lifecycle("postStart").is_none())?;
        Some(&first.began)
    };
    let main = pod.containers.iter().filter(|container| container.kind == ContainerKind::Main);
    let began: Option<Vec<&At>> = main.map(began).collect();
    began?.into_iter().rev().max_by_key(|began| began.at.lo)
}

/// The line that records that a port was opened to the pod's network; none if the state of the port changed later.
pub(crate) fn opened<'t, 'h>(attempt: &'t Attempt<'h>, port: u16) -> Option<&'t Line<'h>> {
    opened_in(&attempt.lines, port)
}

/// Like [`opened`], but only the lines before an instant of the process's own clock count.
pub(crate) fn opened_until<'t, 'h>(
    attempt: &'t Attempt<'h>,
    port: u16,
    until: &Stamp,
) -> Option<&'t Line<'h>> {
    let before = attempt.lines.iter().take_while(|line| line.at.at.lo < until.at.lo).count();
    opened_in(attempt.lines.get(..before)?, port)
}

/// Whether the port was opened before the first probe was allowed to come.
pub(crate) fn was_open_in_time(life: &ProbedLife<'_, '_>, opened: &Stamp) -> bool {
    let after = life.run.clocks.between(&life.began.stamp, opened);
    after.is_some_and(|after| after.hi < life.spec.initial_delay - CLOCKS_APART)
}

fn opened_in<'t, 'h>(lines: &'t [Line<'h>], port: u16) -> Option<&'t Line<'h>> {
    let mut states = lines.iter().filter_map(|line| match &line.line.fact {
        Fact::Listening(listening) => Some((line, listening)),
        _ => None,
    });
    let (line, local, first) = states.find_map(|(line, listening)| {
        let (local, of) = local_port(listening)?;
        (of == port).then_some((line, local, listening))
    })?;
    // A closed port no longer has an address, only the name of its listener.
    let stays = states.all(|(_, later)| later.listener != first.listener || later.state == "open");
    (first.state == "open" && stays && !local).then_some(line)
}

/// The port of a listener, and whether it is open only on the loopback address.
pub(crate) fn local_port(listening: &Listening) -> Option<(bool, u16)> {
    let (host, port) = listening.address.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()), port.parse().ok()?))
}

/// The time until which probes are due: the end of the process, of the pod, or of the case.
fn end(life: &Life<'_, '_>) -> Option<At> {
    let (run, pod) = (life.run, life.pod);
    if let Some(stop) = life.stop() {
        return Some(At::of(stop));
    }
    let deleted = pod.deleted.map(|id| At::new(id, run.heard(id)));
    let terminating = pod.revisions.iter().find(|shown| shown.terminating()).map(At::of);
    let last = run.history.events().find(|(_, event)| event.us >= run.ended_us);
    let over = last.map(|(id, _)| At::new(id, run.end()));
    [life.ended.clone(), deleted, terminating, over].into_iter().flatten().min_by_key(|end| end.at.lo)
}

#[cfg(test)]
pub(crate) mod tests;
