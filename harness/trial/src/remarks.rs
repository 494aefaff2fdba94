//! What the documentation says of settings like these: remarks, each with the clause that says so.

use super::pod::Stand;
use crate::promise::{self, Failing, tenths};
use probity_model::measure::Interval;
use probity_model::timeline::{Handler, ProbeKind};

/// A remark on settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What.
    pub says: String,
    /// The clause of the book that says so.
    pub clause: &'static str,
}

/// What there is to say of a pod's settings. `boot` is how long a slow start takes.
#[must_use]
pub fn remarks(stand: &Stand, boot: i64) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut say = |clause: &'static str, says: String| found.push(Remark { says, clause });
    let [startup, liveness, readiness] = ProbeKind::ALL.map(|kind| stand.probe(kind));
    if stand.probes.is_empty() {
        say(
            "probe.liveness.absent-means-success",
            "there is no probe: a process that runs counts as healthy, so a hang is never noticed".to_owned(),
        );
    }
    if readiness.is_none() {
        say(
            "probe.readiness.absent-means-ready",
            "there is no readiness probe: the container gets requests as soon as it runs".to_owned(),
        );
    }
    if let (Some(live), Some(ready)) = (liveness, readiness)
        && stand.share(ProbeKind::Liveness, ProbeKind::Readiness)
        && live.failures * live.period <= ready.failures * ready.period
    {
        say(
            "probe.pair.same-endpoint-higher-threshold",
            "liveness and readiness ask the same, and liveness is no more patient: whatever takes the pod out of \
             service restarts it, too. Give liveness a higher failureThreshold"
                .to_owned(),
        );
    }
    if stand.share(ProbeKind::Liveness, ProbeKind::Readiness) {
        say(
            "scenario.dependency.liveness-all-restart",
            "liveness asks what readiness asks: if that depends on something shared, its loss restarts every replica"
                .to_owned(),
        );
    }
    if let (Some(live), None) = (liveness, startup) {
        let patience = stand.patience(live);
        if boot > patience.span.lo {
            say(
                "probe.startup.slow-start-protection",
                format!(
                    "without a startup probe, liveness ends a start that takes longer than {} = {}",
                    patience.in_words(),
                    patience.formula
                ),
            );
        }
    }
    if let Some(probe) = stand.probes.iter().find(|probe| probe.timeout == 1_000_000) {
        let starved: Vec<&str> = stand
            .probes
            .iter()
            .filter(|one| one.timeout == probe.timeout)
            .map(|one| one.kind.word())
            .collect();
        say(
            "scenario.dependency.latency-spike",
            format!("timeoutSeconds is 1 ({}): a spike of latency counts as a failure", starved.join(", ")),
        );
    }
    if stand.pre_stop.is_none() {
        say(
            "probe.readiness.no-auto-unready-on-delete",
            "there is no preStop hook: SIGTERM comes while the Service still sends requests".to_owned(),
        );
    }
    if let Some(live) = liveness
        && live.failures == 1
    {
        say(
            "scenario.liveness.only-when-kill-is-best",
            "liveness has failureThreshold 1: one bad answer restarts the container".to_owned(),
        );
    }
    if let Some(live) = liveness
        && stand.policy != "Never"
    {
        let noticed = promise::failures(live, Failing::ByTimeout);
        let again = promise::ready(startup, readiness, 0);
        let grace = stand.grace_of(live);
        let most = Interval::point(noticed.span.hi + grace + again.span.hi);
        say(
            "scenario.liveness.restart-downtime",
            format!(
                "an application that hangs and does not heed SIGTERM is away for up to {}: {} until it is noticed, {} of \
                 grace, {} until it is ready",
                tenths(most),
                noticed.in_words(),
                tenths(Interval::point(grace)),
                again.in_words()
            ),
        );
    }
    if matches!(liveness.map(|probe| &probe.handler), Some(Handler::Tcp { .. })) {
        say(
            "probe.liveness.catches-hang",
            "liveness only connects: an application that accepts and never answers is not noticed".to_owned(),
        );
    }
    if matches!(readiness.map(|probe| &probe.handler), Some(Handler::Tcp { .. })) {
        say(
            "scenario.readiness.http-endpoint-recommended",
            "readiness only connects: errors and hangs of the application are not noticed".to_owned(),
        );
    }
    if let (Some(ready), true) = (readiness, !stand.traffic.probed)
        && ready.handler.port().is_some()
    {
        say(
            "scenario.readiness.mgmt-port-hides-saturation",
            format!(
                "readiness asks another port than that of the requests ({}): it does not see an overload",
                stand.traffic.port
            ),
        );
    }
    found
}
