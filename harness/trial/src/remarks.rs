//! Remarks on settings, from the documentation, each with its clause.

use probity_model::measure::Interval;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};

use crate::pod::StandIn;
use crate::promise::{self, Failing, SECOND, tenths};

/// A remark on settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The remark, in a sentence.
    pub says: String,
    /// The clause of the book on which the remark is based.
    pub clause: &'static str,
}

/// The remarks on a pod's settings. `boot` is how long a slow start takes.
#[must_use]
pub fn remarks(pod: &StandIn, boot: i64) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut say = |applies: bool, clause: &'static str, says: &str| {
        if applies {
            found.push(Remark { says: says.to_owned(), clause });
        }
    };
    let [startup, liveness, readiness] = ProbeKind::ALL.map(|kind| pod.probe(kind));
    let shared = pod.share(ProbeKind::Liveness, ProbeKind::Readiness);
    let connects =
        |probe: Option<&ProbeSpec>| probe.is_some_and(|probe| matches!(probe.handler, Handler::Tcp { .. }));
    say(
        pod.probes.is_empty(),
        "probe.liveness.absent-means-success",
        "there is no probe: a running process counts as healthy, so a hang is never detected",
    );
    say(
        readiness.is_none(),
        "probe.readiness.absent-means-ready",
        "there is no readiness probe: the container receives requests as soon as it runs",
    );
    let lasts = |probe: Option<&ProbeSpec>| probe.map(|probe| probe.failures * probe.period);
    say(
        shared && lasts(liveness) <= lasts(readiness),
        "probe.pair.same-endpoint-higher-threshold",
        "liveness and readiness use the same check, and liveness does not tolerate more failures: every fault that makes the pod not ready also restarts it. Give liveness a higher failureThreshold",
    );
    say(
        shared,
        "scenario.dependency.liveness-all-restart",
        "liveness and readiness use the same check: if it depends on a shared service, an outage of that service restarts every replica",
    );
    if let (Some(live), None) = (liveness, startup) {
        let patience = pod.patience(live);
        let (span, formula) = (patience.in_words(), &patience.formula);
        say(
            boot > patience.span.lo,
            "probe.startup.slow-start-protection",
            &format!(
                "without a startup probe, liveness kills an application that takes longer to start than {span} = {formula}"
            ),
        );
    }
    let impatient = pod.probes.iter().filter(|probe| probe.timeout == SECOND);
    let impatient: Vec<&str> = impatient.map(|probe| probe.kind.word()).collect();
    say(
        !impatient.is_empty(),
        "scenario.dependency.latency-spike",
        &format!("timeoutSeconds is 1 ({}): a latency spike counts as a failure", impatient.join(", ")),
    );
    say(
        pod.pre_stop.is_none(),
        "probe.readiness.no-auto-unready-on-delete",
        "there is no preStop hook: SIGTERM arrives while the Service still sends requests",
    );
    say(
        liveness.is_some_and(|live| live.failures == 1),
        "scenario.liveness.only-when-kill-is-best",
        "liveness has failureThreshold 1: one failure restarts the container",
    );
    if let Some(live) = liveness {
        let noticed = promise::failures(live, Failing::ByTimeout);
        let again = promise::ready(startup, readiness, 0);
        let grace = pod.grace_of(live);
        say(
            pod.policy != "Never",
            "scenario.liveness.restart-downtime",
            &format!(
                "an application that hangs and ignores SIGTERM is down for up to {}: {} until the probe detects it, {} of grace period, {} until it is ready again",
                tenths(Interval::point(noticed.span.hi + grace + again.span.hi)),
                noticed.in_words(),
                tenths(Interval::point(grace)),
                again.in_words()
            ),
        );
    }
    say(
        connects(liveness),
        "probe.liveness.catches-hang",
        "liveness only connects: it does not detect an application that accepts connections but never answers",
    );
    say(
        connects(readiness),
        "scenario.readiness.http-endpoint-recommended",
        "readiness only connects: it does not detect errors and hangs of the application",
    );
    say(
        !pod.traffic.probed && readiness.is_some_and(|ready| ready.handler.port().is_some()),
        "scenario.readiness.mgmt-port-hides-saturation",
        &format!(
            "readiness does not use the port that serves the requests ({}): it does not detect an overload",
            pod.traffic.port
        ),
    );
    found
}
