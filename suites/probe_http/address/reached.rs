//! A port that stands open and is never connected to: the probe went elsewhere, or nowhere.
//!
//! That nothing came proves little while a kubelet may have reasons to wait, so each of them silences this: another
//! probe or container that must start first, a hook, lines that were not heard, a node that was meddled with.

use std::net::IpAddr;

use probity_model::history::{Did, Source};
use probity_model::measure::{Bound, Fit, Measurement};
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Handler, PodLife, ProbeKind, ProbeSpec,
};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use probity_script::witness::Fact;

/// A violation if a port stood open for long and no connection at all came to it. Says nothing otherwise, nor where
/// a reason other than the probe's address is possible.
pub(crate) fn must_be(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    spec: &ProbeSpec,
) {
    let gated = spec.kind != ProbeKind::Startup && container.probe(ProbeKind::Startup).is_some();
    let deaf = run.gaps.iter().any(|(_, gap)| !matches!(gap.of, Source::Watch(_)));
    let node_was_touched = run.deeds.iter().any(|(_, deed)| matches!(deed.did, Did::NodeVerb { .. }));
    if gated || deaf || node_was_touched || host_of(spec).is_some() {
        return;
    }
    let Some(port) = spec.handler.port() else { return };
    for attempt in &container.attempts {
        if attempt.connections.iter().any(|connection| connection.port() == Some(port)) {
            continue;
        }
        let Some(measurement) = unvisited(run, clause, pod, attempt, spec, port) else { continue };
        if measurement.fit() != Fit::Met {
            seen.measure(measurement);
        }
    }
}

fn unvisited(
    run: &Timeline<'_>,
    clause: &Clause,
    pod: &PodLife<'_>,
    attempt: &Attempt<'_>,
    spec: &ProbeSpec,
    port: u16,
) -> Option<Measurement> {
    let (opened_id, opened) = opened(attempt, port)?;
    let last = last_to_begin(pod)?;
    let (from_id, from) =
        if last.at.lo > opened.at.lo { (last.id, &last.stamp) } else { (opened_id, opened) };
    let (end_id, end) = end(run, pod, attempt)?;
    let most = spec.initial_delay + 2 * spec.period + clause.slack_us();
    let bound = Bound::at_most(most, "initialDelaySeconds + 2 × periodSeconds + slack");
    let what = format!("no connection to the open port {port}");
    run.measure(what, &attempt.node, (from_id, from), (end_id, &end), bound)
}

/// When the last of a pod's containers first began: until all are started, a kubelet may not look at the first. None if
/// one was never heard of, or has a hook that holds its start up.
fn last_to_begin<'t>(pod: &'t PodLife<'_>) -> Option<&'t At> {
    let mut last: Option<&At> = None;
    for container in pod.containers.iter().filter(|container| container.kind == ContainerKind::Main) {
        let hook = container.spec.get("lifecycle").and_then(|lifecycle| lifecycle.get("postStart"));
        let began = &container.attempts.first().filter(|_| hook.is_none())?.began;
        if last.is_none_or(|last| began.at.lo > last.at.lo) {
            last = Some(began);
        }
    }
    last
}

/// When a port was opened to the pod's network; none if that ever changed.
fn opened<'t>(attempt: &'t Attempt<'_>, port: u16) -> Option<(EventId, &'t Stamp)> {
    let mut states = attempt.lines.iter().filter_map(|line| match &line.line.fact {
        Fact::Listening(listening) => Some((line, listening)),
        _ => None,
    });
    let (line, host, first) = states.find_map(|(line, listening)| {
        let (host, of) = listening.address.rsplit_once(':')?;
        (of.parse() == Ok(port)).then_some((line, host, listening))
    })?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let local = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    // A port that closes has no address any more, only its listener's name.
    let stays = states.all(|(_, later)| later.listener != first.listener || later.state == "open");
    (first.state == "open" && stays && !local).then_some((line.id, &line.at))
}

/// Until when probes are due: the end of the process, of the pod, or of the case.
fn end(run: &Timeline<'_>, pod: &PodLife<'_>, attempt: &Attempt<'_>) -> Option<(EventId, Stamp)> {
    if let Some((id, at)) = attempt.stop_signal() {
        return Some((id, at.clone()));
    }
    let left = attempt.ended.as_ref().map(|ended| (ended.id, ended.stamp.clone()));
    let deleted = pod.deleted.map(|id| (id, run.heard(id)));
    let terminating =
        pod.revisions.iter().find(|shown| shown.terminating()).map(|shown| (shown.id, shown.at.clone()));
    let last = run.history.events().find(|(_, event)| event.us >= run.ended_us);
    let over = last.map(|(id, _)| (id, Stamp::harness(run.ended_us)));
    [left, deleted, terminating, over].into_iter().flatten().min_by_key(|(_, stamp)| stamp.at.lo)
}

fn host_of(spec: &ProbeSpec) -> Option<&str> {
    match &spec.handler {
        Handler::Http { host, .. } | Handler::Tcp { host, .. } => host.as_deref(),
        _ => None,
    }
}

#[cfg(test)]
pub(in crate::probe_http) mod tests {
    use probity_composer::Composer;
    use probity_script::witness::{Fact, Listening};
    use serde_json::{Value, json};

    use crate::tests::verdict;

    const NAME: &str = "probe.http.port-by-name";

    /// The target opens a port.
    pub(in crate::probe_http) fn opened(run: &mut Composer, at: f64, address: &str) {
        let (listener, state) = ("web".to_owned(), "open".to_owned());
        run.fact(at, Fact::Listening(Listening { listener, address: address.to_owned(), state }));
    }

    /// A container with such a readiness probe, whose port 8080 is open. It declares that port as `web`.
    pub(in crate::probe_http) fn listening(clause: &str, get: &Value) -> Composer {
        let mut run = Composer::new(&[clause]);
        run.create(0.0, &pod(&json!({ "httpGet": get, "periodSeconds": 1 }))).start(1.0, 0);
        opened(&mut run, 1.0, "0.0.0.0:8080");
        run
    }

    fn pod(probe: &Value) -> Value {
        let ports = json!([{ "name": "web", "containerPort": 8080 }]);
        json!({ "containers": [{ "name": "target", "ports": ports, "readinessProbe": probe }] })
    }

    fn never_probed(spec: &Value) -> &'static str {
        let mut run = Composer::new(&[NAME]);
        run.create(0.0, spec).start(1.0, 0);
        opened(&mut run, 1.0, "[::]:8080");
        run.running(60.0, false, true, 0);
        verdict(&run.done(), NAME)
    }

    fn named() -> Value {
        pod(&json!({ "httpGet": { "path": "/ready", "port": "web" }, "periodSeconds": 1 }))
    }

    #[test]
    fn nobody_at_an_open_port_is_a_violation() {
        assert_eq!(never_probed(&named()), "violated");
    }

    #[test]
    fn a_neighbour_that_never_started_may_hold_probes_back() {
        let mut spec = named();
        spec["containers"] = json!([spec["containers"][0], { "name": "neighbour" }]);
        assert_eq!(never_probed(&spec), "inconclusive");
    }

    #[test]
    fn a_hook_or_a_startup_probe_may_hold_probes_back() {
        let mut spec = named();
        spec["containers"][0]["lifecycle"] = json!({ "postStart": { "sleep": { "seconds": 60 } } });
        assert_eq!(never_probed(&spec), "inconclusive");
        let mut spec = named();
        spec["containers"][0]["startupProbe"] = json!({ "exec": { "command": ["x"] } });
        assert_eq!(never_probed(&spec), "inconclusive");
    }

    #[test]
    fn a_starved_node_makes_doubt_of_it() {
        let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
        run.noise(2.0, 20.0).running(20.0, false, true, 0);
        assert_eq!(verdict(&run.done(), NAME), "inconclusive");
    }

    #[test]
    fn a_port_that_closed_again_shows_nothing() {
        let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
        run.fact(
            3.0,
            Fact::Listening(Listening {
                listener: "web".to_owned(),
                address: String::new(),
                state: "closed".to_owned(),
            }),
        );
        run.running(60.0, false, true, 0);
        assert_eq!(verdict(&run.done(), NAME), "inconclusive");
    }

    #[test]
    fn a_port_that_was_open_for_a_moment_shows_nothing() {
        let mut run = listening(NAME, &json!({ "path": "/ready", "port": "web" }));
        run.running(4.0, false, true, 0);
        assert_eq!(verdict(&run.done(), NAME), "inconclusive");
    }
}
