//! Histories about default settings, and about slow starts.

use super::*;

mod unavailable {
    use super::*;

    const CLAUSE: &str = "scenario.defaults.unavailable-after-30s";

    /// A fault at 12 s, if there is one, and probes at 10 s, 20 s, 30 s and so on.
    fn ill(trouble: bool, probes: u32) -> Composer {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 8080 } });
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": probe }), &json!({})));
        run.running(1.5, true, true, 0).probe(10.0, "/ready", 200);
        if trouble {
            changed(&mut run, 12.0, "web:/ready");
        }
        for at in 2..probes + 2 {
            run.probe(f64::from(10 * at), "/ready", 500);
        }
        run
    }

    #[test]
    fn twenty_eight_seconds_hold() {
        let mut run = ill(true, 3);
        run.running(40.4, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn the_second_failure_is_too_early() {
        let mut run = ill(true, 2);
        run.running(30.2, false, true, 0).probe(40.0, "/ready", 500);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn forty_seconds_are_too_late() {
        let mut run = ill(true, 4);
        run.running(50.2, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn without_an_instant_of_the_trouble_nothing_is_said() {
        let mut run = ill(false, 3);
        run.running(40.4, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod killed {
    use super::*;

    const CLAUSE: &str = "scenario.defaults.liveness-kill-30s";

    fn ill(probes: &[f64]) -> Composer {
        let probe = json!({ "httpGet": { "path": "/live", "port": 8080 } });
        let mut run = pod(CLAUSE, &target(&json!({ "livenessProbe": probe }), &json!({})));
        run.running(1.5, true, true, 0).probe(10.0, "/live", 200);
        changed(&mut run, 12.0, "web:/live");
        for at in probes {
            run.probe(*at, "/live", 500);
        }
        run
    }

    #[test]
    fn the_stop_signal_after_the_third_failure_holds() {
        let mut run = ill(&[20.0, 30.0, 40.0]);
        run.signal(40.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn no_stop_signal_is_a_violation() {
        let mut run = ill(&[20.0, 30.0, 40.0, 50.0]);
        run.running(59.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_shorter_period_than_was_asked_for_is_a_violation() {
        let mut run = ill(&[15.0, 20.0, 25.0]);
        run.signal(25.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn two_failures_are_doubt() {
        assert_eq!(verdict(&ill(&[20.0, 30.0]).done(), CLAUSE), "inconclusive");
    }
}

mod listens_late {
    use super::*;

    const CLAUSE: &str = "scenario.readiness.listen-after-init";

    fn cold() -> Composer {
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": http("/ready", 1, 3) }), &json!({})));
        run.running(1.5, false, true, 0);
        run
    }

    #[test]
    fn ready_soon_after_the_port_is_open_holds() {
        let mut run = cold();
        opened(&mut run, 6.0, "web", 8080);
        probes(&mut run, 7, 2, "/ready", 200);
        run.running(8.2, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn ready_with_a_closed_port_is_a_violation() {
        let mut run = cold();
        run.running(3.0, true, true, 0);
        opened(&mut run, 6.0, "web", 8080);
        probes(&mut run, 7, 2, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn never_ready_is_a_violation() {
        let mut run = cold();
        opened(&mut run, 6.0, "web", 8080);
        probes(&mut run, 7, 8, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_port_that_is_open_at_once_is_another_story() {
        let mut run = cold();
        opened(&mut run, 1.1, "web", 8080);
        probes(&mut run, 2, 2, "/ready", 200);
        run.running(2.2, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod warming {
    use super::*;

    const CLAUSE: &str = "scenario.readiness.503-while-warming";

    fn warming(refusals: u32) -> Composer {
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": http("/ready", 1, 3) }), &json!({})));
        run.running(1.5, false, true, 0);
        probes(&mut run, 2, refusals, "/ready", 503);
        run
    }

    #[test]
    fn ready_after_the_first_good_answer_holds() {
        let mut run = warming(4);
        run.probe(6.0, "/ready", 200);
        run.running(6.3, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn ready_while_warming_is_a_violation() {
        let mut run = warming(4);
        run.running(5.5, true, true, 0).probe(6.0, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn one_refusal_is_no_warming() {
        let mut run = warming(1);
        run.probe(3.0, "/ready", 200);
        run.running(3.3, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod downtime {
    use super::*;

    const CLAUSE: &str = "scenario.liveness.restart-downtime";

    /// A container is killed at 4.1 s, restarted at 5 s, and opens its port at 9 s.
    fn restarted(ready: f64) -> Composer {
        let fields = json!({ "readinessProbe": http("/ready", 1, 3), "livenessProbe": http("/live", 1, 1) });
        let mut run = pod(CLAUSE, &target(&fields, &json!({})));
        run.running(1.5, true, true, 0).probe(4.0, "/live", 500);
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1);
        if ready < 9.0 {
            run.running(ready, true, true, 1);
        }
        opened(&mut run, 9.0, "web", 8080);
        run.probe(9.5, "/ready", 200);
        if ready > 9.0 {
            run.running(ready, true, true, 1);
        }
        run
    }

    #[test]
    fn ready_after_the_start_holds() {
        assert_eq!(verdict(&restarted(9.8).done(), CLAUSE), "holds");
    }

    #[test]
    fn ready_before_the_start_is_done_is_a_violation() {
        assert_eq!(verdict(&restarted(5.5).done(), CLAUSE), "violated");
    }

    #[test]
    fn a_restart_without_readiness_is_doubt() {
        let mut run = pod(CLAUSE, &target(&json!({ "livenessProbe": http("/live", 1, 1) }), &json!({})));
        run.running(1.5, true, true, 0).probe(4.0, "/live", 500);
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
