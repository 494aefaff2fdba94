//! The old names for chapters that do not use [`Life`](probity_model::timeline::Life) yet: they go with the last user.

use probity_model::clocks::Stamp;
use probity_model::timeline::{Attempt, PodLife, Probe, ProbeSpec};

pub(crate) use probity_model::mechanisms::NEAR;
pub(crate) use probity_model::timeline::ProbeOutcome as Outcome;

pub(crate) fn outcome(attempt: &Attempt<'_>, spec: &ProbeSpec, probe: &Probe<'_>) -> Outcome {
    attempt.result(probe, spec).outcome()
}

/// A run of failures as long as the probe's `failureThreshold`.
pub(crate) struct Exhausted<'t, 'h> {
    /// The failures.
    pub(crate) failures: Vec<&'t Probe<'h>>,
    /// When the last one was a result.
    pub(crate) at: Stamp,
}

/// The first run of certain failures in a life that uses up the tolerance of a probe.
pub(crate) fn exhausted<'t, 'h>(attempt: &'t Attempt<'h>, spec: &'t ProbeSpec) -> Option<Exhausted<'t, 'h>> {
    let wanted = usize::try_from(spec.failures).ok()?;
    let mut failures = Vec::new();
    for probe in attempt.probes.iter().filter(|probe| probe.can_be(spec.kind)) {
        if !probe.is(spec.kind) || attempt.result(probe, spec).outcome() != Outcome::Failure {
            failures.clear();
            continue;
        }
        failures.push(probe);
        if failures.len() == wanted {
            return Some(Exhausted { failures, at: attempt.result(probe, spec).at() });
        }
    }
    None
}

pub(crate) fn leaves_a_trace(pod: &PodLife<'_>, container: &str, spec: &ProbeSpec) -> bool {
    pod.sees(container, spec)
}

pub(crate) fn strangers(attempt: &Attempt<'_>, port: Option<u16>) -> bool {
    attempt.has_strangers(port)
}

pub(crate) fn peer<'t>(attempt: &'t Attempt<'_>, probe: &Probe<'_>) -> Option<&'t str> {
    attempt.peer(probe)
}

pub(crate) fn resulted(attempt: &Attempt<'_>, spec: &ProbeSpec, probe: &Probe<'_>) -> Stamp {
    attempt.result(probe, spec).at()
}
