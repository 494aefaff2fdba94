//! Histories about the gate that the startup probe opens.

use super::*;

mod gates_liveness {
    use super::*;

    const CLAUSE: &str = "probe.startup.gates-liveness";

    /// A container whose startup probe succeeds at 3 s, and whose first liveness probe comes at `live`.
    fn started_at_three(live: f64) -> Composer {
        let mut run = three(CLAUSE);
        if live < 3.0 {
            run.probe(live, "/live", 200);
        }
        started(&mut run);
        if live > 3.0 {
            run.probe(live, "/live", 200);
        }
        run
    }

    fn judged(history: &History) -> &'static str {
        verdict(history, CLAUSE)
    }

    #[test]
    fn liveness_after_startup_holds() {
        assert_eq!(judged(&started_at_three(3.5).done()), "holds");
    }

    #[test]
    fn liveness_before_startup_is_a_violation() {
        assert_eq!(judged(&started_at_three(2.5).done()), "violated");
    }

    #[test]
    fn liveness_without_any_startup_success_is_a_violation() {
        let mut run = three(CLAUSE);
        run.probe(2.0, "/start", 503);
        run.probe(2.5, "/live", 200);
        assert_eq!(judged(&run.done()), "violated");
    }

    #[test]
    fn no_liveness_probe_at_all_is_doubt() {
        assert_eq!(judged(&started_at_three(3.0).done()), "inconclusive");
    }

    #[test]
    fn a_lost_line_can_have_been_the_success() {
        let mut run = three(CLAUSE);
        run.lose_line();
        run.probe(2.5, "/live", 200);
        assert_eq!(judged(&run.done()), "inconclusive");
    }

    #[test]
    fn an_endpoint_shared_by_both_accuses_nobody() {
        let probes = json!({ "startupProbe": http("/live", 1, 30), "livenessProbe": http("/live", 1, 3) });
        let mut run = pod(CLAUSE, "Always", probes);
        run.probe(2.0, "/live", 503);
        run.probe(2.2, "/live", 503);
        assert_eq!(judged(&run.done()), "inconclusive");
    }

    #[test]
    fn started_inherited_from_a_killed_container_is_the_catalogued_behavior() {
        let mut run = restarted(CLAUSE, true);
        run.probe(7.5, "/live", 200);
        run.probe(9.0, "/start", 200);
        assert_eq!(judged(&run.done()), "diverges");
    }

    #[test]
    fn what_was_inherited_can_be_inherited_again() {
        let killed_again = |stop: f64| {
            let mut run = restarted(CLAUSE, true);
            run.signal(stop, "SIGTERM");
            run.left(stop + 0.1).start(stop + 1.0, 2);
            run.probe(stop + 1.5, "/live", 200);
            run.probe(stop + 2.5, "/start", 200);
            judged(&run.done())
        };
        assert_eq!(killed_again(7.6), "diverges");
        assert_eq!(killed_again(14.0), "violated", "its own startup probe was due before that");
    }

    #[test]
    fn nothing_is_inherited_for_longer_than_a_startup_period() {
        let mut run = restarted(CLAUSE, true);
        run.probe(12.0, "/live", 200);
        run.probe(13.0, "/start", 200);
        assert_eq!(judged(&run.done()), "violated");
    }
}

mod gates_readiness {
    use super::*;

    const CLAUSE: &str = "probe.startup.gates-readiness";

    #[test]
    fn an_unready_container_that_is_asked_after_startup_holds() {
        let mut run = three(CLAUSE);
        run.running(1.5, false, false, 0);
        started(&mut run).probe(3.1, "/ready", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_readiness_probe_before_startup_is_a_violation() {
        let mut run = three(CLAUSE);
        run.probe(1.5, "/ready", 200);
        started(&mut run);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn ready_before_startup_is_a_violation() {
        let mut run = three(CLAUSE);
        run.running(1.5, true, false, 0);
        started(&mut run);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_readiness_probe_inherited_from_a_killed_container_is_the_catalogued_behavior() {
        let mut run = restarted(CLAUSE, true);
        run.probe(7.5, "/ready", 200);
        run.probe(9.0, "/start", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "diverges");
    }

    #[test]
    fn nothing_seen_is_doubt() {
        assert_eq!(verdict(&three(CLAUSE).done(), CLAUSE), "inconclusive");
    }
}

mod reruns_on_restart {
    use super::*;

    const CLAUSE: &str = "probe.startup.reruns-on-restart";

    #[test]
    fn a_gate_that_is_shut_again_holds() {
        let mut run = restarted(CLAUSE, false);
        run.running(7.5, false, false, 1).probe(8.0, "/start", 200);
        run.probe(8.5, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn an_open_gate_after_a_crash_is_a_violation() {
        let mut run = restarted(CLAUSE, false);
        run.probe(7.5, "/live", 200);
        run.probe(8.0, "/start", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn an_open_gate_after_a_kill_is_the_catalogued_behavior() {
        let mut run = restarted(CLAUSE, true);
        run.probe(7.5, "/ready", 200);
        run.probe(9.0, "/start", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "diverges");
    }

    #[test]
    fn an_open_gate_after_a_kill_by_startup_itself_is_a_violation() {
        let mut run = three(CLAUSE);
        run.probe(2.0, "/start", 503);
        run.signal(6.0, "SIGTERM");
        run.left(6.1).start(7.0, 1).probe(7.5, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn no_restart_is_doubt() {
        assert_eq!(verdict(&three(CLAUSE).done(), CLAUSE), "inconclusive");
    }
}
