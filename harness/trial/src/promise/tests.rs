#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;
use probity_model::timeline::ProbeKind;

/// A readiness probe with these settings, in addition to its handler.
fn probe(settings: &Value) -> ProbeSpec {
    let mut probe = settings.clone();
    probe["tcpSocket"] = json!({ "port": 80 });
    ProbeSpec::of(&json!({ "readinessProbe": probe }), ProbeKind::Readiness).unwrap()
}

fn all(settings: [i64; 5]) -> ProbeSpec {
    let [delay, period, timeout, successes, failures] = settings;
    probe(&json!({
        "initialDelaySeconds": delay, "periodSeconds": period, "timeoutSeconds": timeout,
        "successThreshold": successes, "failureThreshold": failures
    }))
}

fn span(promise: &Promise) -> (i64, i64) {
    (promise.span.lo / SECOND, promise.span.hi / SECOND)
}

#[test]
fn the_defaults_notice_a_hang_after_twenty_one_to_thirty_one_seconds() {
    let probe = probe(&json!({}));
    assert_eq!(span(&failures(&probe, Failing::AtOnce)), (20, 30));
    assert_eq!(span(&failures(&probe, Failing::ByTimeout)), (21, 31));
    assert_eq!(failures(&probe, Failing::ByTimeout).in_words(), "21.0-31.0 s");
    assert_eq!(span(&ready(None, Some(&probe), 0)), (0, 10));
}

#[test]
fn what_is_promised_agrees_with_a_clock_that_is_wound_through_all_phases() {
    for delay in [0, 3] {
        for period in 1..=4 {
            for timeout in 1..=6 {
                for threshold in 1..=4 {
                    let probe = all([delay, period, timeout, threshold, threshold]);
                    for phase in 0..period * 4 {
                        check(&probe, phase * SECOND / 4);
                    }
                }
            }
        }
    }
}

/// Imitates a kubelet that probes at this phase of its period, and checks that every promise holds.
fn check(probe: &ProbeSpec, phase: i64) {
    let within = |promise: &Promise, at: i64| {
        assert!(promise.span.lo <= at && at <= promise.span.hi, "{probe:?} {phase} {at} {promise:?}");
    };
    let turns = |count: i64, pace: i64| phase + (count - 1) * pace;
    within(&failures(probe, Failing::AtOnce), turns(probe.failures, probe.period));
    let pace = probe.period.max(probe.timeout);
    within(&failures(probe, Failing::ByTimeout), turns(probe.failures, pace) + probe.timeout);
    within(&successes(probe), turns(probe.successes, probe.period));
    within(&first_probe(probe), probe.initial_delay + phase);
    within(&patience(probe), probe.initial_delay + turns(probe.failures, probe.period));
    within(&ready(None, Some(probe), 0), probe.initial_delay + turns(probe.successes, probe.period));
    for boot in 0..12 {
        let boot = boot * SECOND;
        let mut at = probe.initial_delay + phase;
        while at < boot {
            at += probe.period;
        }
        within(&ready(Some(probe), None, boot), at);
        within(&ready(None, Some(probe), boot), at + (probe.successes - 1) * probe.period);
        let follows = at.max(probe.initial_delay) + (probe.successes - 1) * probe.period;
        within(&ready(Some(probe), Some(probe), boot), follows);
    }
}

#[test]
fn each_end_of_a_promise_is_reached_so_none_is_wider_than_the_settings_say() {
    let probe = all([2, 5, 1, 1, 3]);
    assert_eq!(span(&failures(&probe, Failing::AtOnce)), (10, 15));
    assert_eq!(span(&failures(&probe, Failing::ByTimeout)), (11, 16));
    assert_eq!(span(&successes(&probe)), (0, 5));
    assert_eq!(span(&patience(&probe)), (12, 17));
    assert_eq!(span(&first_probe(&probe)), (2, 7));
    assert_eq!(span(&ready(None, Some(&probe), 9 * SECOND)), (9, 14));
    assert_eq!(span(&ready(Some(&probe), Some(&probe), 0)), (2, 12));
    let late = all([9, 5, 1, 1, 3]);
    assert_eq!(span(&ready(Some(&probe), Some(&late), 0)), (9, 14), "the longer delay counts, not both");
}

#[test]
fn a_grpc_probe_has_patience_for_its_timeouts_too() {
    let grpc = |period: i64, timeout: i64| {
        let probe = json!({ "grpc": { "port": 80 }, "periodSeconds": period, "timeoutSeconds": timeout });
        ProbeSpec::of(&json!({ "livenessProbe": probe }), ProbeKind::Liveness).unwrap()
    };
    assert_eq!(span(&patience(&grpc(5, 1))), (10, 16));
    assert_eq!(span(&patience(&grpc(2, 5))), (10, 17), "the timeout sets the pace");
    let said = patience(&grpc(2, 5)).formula;
    assert!(said.contains("× timeoutSeconds") && said.contains("a gRPC dial waits"), "{said}");
}

#[test]
fn a_timeout_longer_than_the_period_sets_the_pace() {
    let probe = all([0, 2, 5, 1, 3]);
    let promise = failures(&probe, Failing::ByTimeout);
    assert_eq!(span(&promise), (15, 17));
    assert!(promise.formula.contains("× timeoutSeconds"), "{}", promise.formula);
}

#[test]
fn what_comes_first_is_as_early_as_the_earlier_and_no_later_than_either() {
    let (a, b) = (Promise::new(1, 9, "a"), Promise::new(3, 5, "b"));
    assert_eq!(a.or_sooner(&b).span, Interval { lo: 1, hi: 5 });
    assert_eq!(a.or_sooner(&Promise::new(9, 12, "c")).formula, "a");
    assert_eq!(a.then(&b).span, Interval { lo: 4, hi: 14 });
}

#[test]
fn spans_are_shown_to_a_tenth() {
    assert_eq!(tenths(Interval::point(4_249_999)), "4.2 s");
    assert_eq!(tenths(Interval::new(20_000_000, 31_000_000)), "20.0-31.0 s");
    assert_eq!(tenths(Interval::point(-300_000)), "-0.3 s");
}
