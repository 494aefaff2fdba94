//! Waits until every kubelet has run for long enough to send first probes on time.
//!
//! While a kubelet has run for less than the period of a probe, it sends the first probe of a container at a random
//! moment of that period. This delay prevents the probes of all its pods from starting at the same time after a
//! restart. A case that does not restart a kubelet expects the first probe without this delay. The start time comes
//! from the kubelet, but it excuses nothing: a wrong time only makes the run begin later, by at most one period.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use probity_case::Case;
use serde_json::Value;

/// The default period of a probe, in seconds.
const DEFAULT_PERIOD: u64 = 10;
/// The longest time between the moment from which a kubelet counts its running time and the event that records its
/// start.
const MARGIN: Duration = Duration::from_secs(2);
/// The time after a restart in which a kubelet may be busy with all its pods, and late with the probes of the
/// metronome.
pub(crate) const STEADY: Duration = Duration::from_secs(5);
/// The maximum wait of a run, however long its periods are.
const MOST: Duration = Duration::from_secs(60);

/// How long each kubelet should have run before these cases begin. Zero if the cases have no probes.
pub(crate) fn age_for(cases: &[Case]) -> Duration {
    let longest = cases.iter().filter_map(longest_period).max();
    longest.map_or(Duration::ZERO, |seconds| MOST.min(Duration::from_secs(seconds) + MARGIN))
}

/// The time until a kubelet that started at `started` has run for `age`.
pub(crate) fn time_until(age: Duration, started: Timestamp, now: Timestamp) -> Duration {
    // The clock of a node can be ahead of the harness's clock.
    let so_far = now.duration_since(started).max(SignedDuration::ZERO);
    age.saturating_sub(so_far.unsigned_abs())
}

/// The longest period of a probe in a case, in seconds.
fn longest_period(case: &Case) -> Option<u64> {
    let pods = case.pods.values().map(|pod| &pod.pod);
    let workloads = case.workloads.values().map(|workload| &workload.workload);
    pods.chain(workloads).filter_map(longest_period_in).max()
}

fn longest_period_in(value: &Value) -> Option<u64> {
    match value {
        Value::Array(items) => items.iter().filter_map(longest_period_in).max(),
        Value::Object(fields) => fields.iter().filter_map(|(name, field)| period(name, field)).max(),
        _ => None,
    }
}

fn period(name: &str, field: &Value) -> Option<u64> {
    if !name.ends_with("Probe") {
        return longest_period_in(field);
    }
    field.is_object().then(|| field["periodSeconds"].as_u64().unwrap_or(DEFAULT_PERIOD))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_period_of_any_probe_counts() {
        let probes = json!({ "spec": { "containers": [
            { "name": "a", "livenessProbe": { "periodSeconds": 3 } },
            { "name": "b", "startupProbe": { "exec": {} } },
        ] } });
        assert_eq!(longest_period_in(&probes), Some(10));
        assert_eq!(longest_period_in(&json!({ "spec": { "containers": [{ "name": "a" }] } })), None);
    }

    #[test]
    fn a_kubelet_whose_clock_is_ahead_is_waited_for_no_longer_than_one_that_just_started() {
        let age = Duration::from_secs(12);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(time_until(age, at(100), at(105)), Duration::from_secs(7));
        assert_eq!(time_until(age, at(100), at(112)), Duration::ZERO);
        assert_eq!(time_until(age, at(100), at(90)), age);
    }
}
