//! Histories about the effects of a startup success.

use probity_script::witness::{Exiting, Fact};

use super::*;

mod stops_after_success {
    use super::*;

    const CLAUSE: &str = "probe.startup.stops-after-success";

    #[test]
    fn silence_for_two_periods_of_a_living_container_holds() {
        let mut run = three(CLAUSE);
        started(&mut run).probe(6.0, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn another_startup_probe_is_a_violation() {
        let mut run = three(CLAUSE);
        started(&mut run).probe(4.0, "/start", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_kubelet_that_was_held_up_may_have_missed_the_answer() {
        let mut run = three(CLAUSE);
        started(&mut run).noise(3.0, 4.0).probe(4.2, "/start", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn an_answer_after_the_timeout_is_no_success() {
        let mut run = three(CLAUSE);
        let slow = probity_composer::Told { took: 1.5, ..probity_composer::Told::get("/start", 200) };
        run.http(2.0, &slow);
        run.probe(4.0, "/start", 200);
        run.probe(7.0, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }
}

mod absent_means_started {
    use super::*;

    const CLAUSE: &str = "probe.startup.absent-means-started";

    fn unprobed() -> Composer {
        pod(CLAUSE, "Always", json!({ "livenessProbe": http("/live", 1, 3) }))
    }

    #[test]
    fn started_at_first_sight_holds() {
        let mut run = unprobed();
        run.running(1.5, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn never_started_is_a_violation() {
        let mut run = unprobed();
        run.running(1.5, true, false, 0).running(9.0, true, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_life_that_ended_without_is_a_violation_if_it_was_long() {
        for (end, word) in [(9.0, "violated"), (3.0, "holds")] {
            let mut run = unprobed();
            run.running(1.5, true, false, 0).running(end, true, true, 1);
            assert_eq!(verdict(&run.done(), CLAUSE), word);
        }
    }

    #[test]
    fn started_late_is_a_violation() {
        let mut run = unprobed();
        run.running(1.5, true, false, 0).running(9.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn started_at_a_first_sight_that_comes_late_is_a_violation() {
        let mut run = unprobed();
        run.running(21.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_first_sight_waits_for_the_last_container_that_a_pod_begins_with() {
        let judged = |last: f64| {
            let container = |name: &str| json!({ "name": name });
            let mut run = Composer::new(&[CLAUSE]);
            let spec = json!({ "containers": [container("target"), container("other")] });
            run.create(0.0, &spec).of("pod", "target").start(1.0, 0);
            run.of("pod", "other").start(last, 0).of("pod", "target");
            run.running(9.0, true, true, 0);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(8.0), "holds");
        assert_eq!(judged(2.0), "violated");
    }

    #[test]
    fn a_container_with_a_startup_probe_is_not_meant() {
        let mut run = three(CLAUSE);
        run.running(1.5, false, false, 0).running(9.0, false, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod started_field {
    use super::*;

    const CLAUSE: &str = "probe.startup.started-field";

    #[test]
    fn false_before_and_true_after_holds() {
        let mut run = three(CLAUSE);
        run.running(1.5, false, false, 0);
        started(&mut run).running(3.2, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn true_before_the_success_is_a_violation() {
        let mut run = three(CLAUSE);
        run.running(1.5, false, true, 0);
        started(&mut run);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn true_long_after_the_success_is_a_violation() {
        for late in [9.0, 5.5] {
            let mut run = three(CLAUSE);
            started(&mut run).running(late, false, true, 0);
            assert_eq!(verdict(&run.done(), CLAUSE), "violated");
        }
    }

    #[test]
    fn a_status_from_before_the_success_may_overtake_it_once_but_not_stay() {
        let judged = |back: f64, again: Option<f64>| {
            let mut run = three(CLAUSE);
            started(&mut run).running(3.1, false, true, 0).running(back, false, false, 0);
            if let Some(again) = again {
                run.running(again, false, true, 0);
            }
            run.probe(9.0, "/live", 200);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(3.2, Some(4.2)), "inconclusive");
        assert_eq!(judged(3.2, Some(6.0)), "violated");
        assert_eq!(judged(6.0, Some(6.1)), "violated");
        assert_eq!(judged(3.2, None), "violated");
    }

    #[test]
    fn never_true_is_a_violation() {
        let mut run = three(CLAUSE);
        started(&mut run).running(9.0, false, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_watch_that_was_lost_meanwhile_is_doubt() {
        let mut run = three(CLAUSE);
        started(&mut run).gap(4.0, 8.0, "Pod").running(9.0, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn started_inherited_from_a_crash_that_the_kubelet_took_for_a_failure_is_catalogued_too() {
        let judged = |killing: bool| {
            let mut run = three(CLAUSE);
            started(&mut run).running(3.1, true, true, 0);
            run.fact(6.0, Fact::Exiting(Exiting { code: 1, why: "plan".to_owned() }));
            run.left(6.1);
            if killing {
                run.event(
                    6.9,
                    "Normal",
                    "Killing",
                    "Container target failed liveness probe, will be restarted",
                );
            }
            run.start(7.0, 1).running(7.2, false, true, 1).probe(9.0, "/start", 200);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(true), "diverges");
        assert_eq!(judged(false), "violated");
    }

    #[test]
    fn started_inherited_and_never_taken_back_is_a_violation() {
        let judged = |back: bool| {
            let mut run = restarted(CLAUSE, true);
            run.running(7.5, false, true, 1);
            run.probe(8.0, "/start", 503);
            if back {
                run.running(8.1, false, false, 1);
            }
            for at in [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0] {
                run.probe(at, "/start", 503);
            }
            run.probe(17.0, "/start", 200);
            run.running(17.2, false, true, 1);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(true), "diverges");
        assert_eq!(judged(false), "violated");
    }

    #[test]
    fn started_inherited_from_a_killed_container_is_the_catalogued_behavior() {
        let mut run = restarted(CLAUSE, true);
        run.running(7.5, false, true, 1).running(8.5, false, false, 1).probe(9.0, "/start", 200);
        run.running(9.2, false, true, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "diverges");
    }
}

mod readiness_follows {
    use super::*;

    const CLAUSE: &str = "probe.startup.readiness-follows-immediately";

    fn started_with(period: u64) -> Composer {
        let probes =
            json!({ "startupProbe": http("/start", 1, 30), "readinessProbe": http("/ready", period, 3) });
        let mut run = pod(CLAUSE, "Always", probes);
        started(&mut run);
        run
    }

    #[test]
    fn readiness_at_once_holds() {
        let mut run = started_with(30);
        run.probe(3.1, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn readiness_after_a_period_is_a_violation() {
        let mut run = started_with(30);
        run.probe(31.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn no_readiness_at_all_is_a_violation() {
        let mut run = started_with(30);
        run.running(20.0, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_short_period_shows_nothing() {
        let mut run = started_with(1);
        run.probe(3.1, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

#[test]
fn a_connection_is_complete_before_the_target_accepts_it() {
    let clause = "probe.startup.started-field";
    let judged = |shown: f64| {
        let probes = json!({ "startupProbe": { "tcpSocket": { "port": 8080 }, "periodSeconds": 1 } });
        let mut run = pod(clause, "Always", probes);
        run.running(1.5, false, false, 0).running(shown, true, true, 0);
        run.connection(3.0, "web", 8080);
        run.reading(9.0);
        verdict(&run.done(), clause)
    };
    assert_ne!(judged(2.95), "violated");
    assert_eq!(judged(2.5), "violated");
}
