//! Histories without a liveness failure.

use super::*;

mod absent_means_success {
    use super::*;

    const CLAUSE: &str = "probe.liveness.absent-means-success";

    /// A container that is never ready and gives this number of bad answers, one each second.
    fn unready(answers: u32) -> Composer {
        let target = json!({ "name": "target", "readinessProbe": http("/ready", 8080, 1, 3) });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        for second in 0..answers {
            run.probe(f64::from(second) + 2.0, "/ready", 500);
        }
        run
    }

    #[test]
    fn bad_answers_that_nobody_minds_hold() {
        assert_eq!(verdict(&unready(8).done(), CLAUSE), "holds");
    }

    #[test]
    fn a_stop_signal_is_a_violation() {
        let mut run = unready(3);
        run.signal(5.0, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn an_event_about_a_liveness_probe_is_a_violation() {
        let mut run = unready(3);
        run.event(5.0, "Normal", "Killing", "Container target failed liveness probe, will be restarted");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    /// A sidecar that is never ready and is stopped at 5 s.
    fn unready_sidecar(main: Value) -> &'static str {
        let side = json!({
            "name": "target", "restartPolicy": "Always", "readinessProbe": http("/ready", 8080, 1, 3),
        });
        let mut run = Composer::new(&[CLAUSE]);
        let spec = json!({ "initContainers": [side], "containers": [{ "name": "main", "args": ["pause"] }] });
        run.create(0.0, &spec).start(1.0, 0);
        for second in 2_u32..5 {
            run.probe(f64::from(second), "/ready", 500);
        }
        run.status(
            4.5,
            &json!({ "containerStatuses": [{ "name": "main", "restartCount": 0, "state": main }] }),
        );
        run.signal(5.0, "SIGTERM");
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_sidecar_is_stopped_only_when_the_work_is_done() {
        assert_eq!(unready_sidecar(json!({ "running": {} })), "violated");
        assert_eq!(unready_sidecar(terminated(0)), "inconclusive");
    }

    #[test]
    fn a_deletion_explains_a_stop_signal() {
        let mut run = unready(3);
        let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
        run.deed(5.0, Did::Deleted { kind, name, grace: None });
        run.signal(5.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod independent_of_readiness {
    use super::*;

    const CLAUSE: &str = "probe.liveness.independent-of-readiness";

    /// The readiness probe fails from 2 s on until this second, exclusive.
    fn unready_until(second: u32) -> Composer {
        let target = json!({
            "name": "target",
            "livenessProbe": http("/live", 8080, 1, 3),
            "readinessProbe": http("/ready", 8080, 1, 3),
        });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        for second in 2..second {
            run.probe(f64::from(second), "/ready", 503);
        }
        run
    }

    #[test]
    fn liveness_while_not_ready_holds() {
        let mut run = unready_until(4);
        run.probe(4.0, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn liveness_only_after_readiness_is_a_violation() {
        let mut run = unready_until(12);
        run.probe(12.0, "/ready", 200);
        run.probe(12.5, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn no_liveness_at_all_is_a_violation() {
        assert_eq!(verdict(&unready_until(12).done(), CLAUSE), "violated");
    }

    #[test]
    fn early_readiness_shows_nothing() {
        let mut run = unready_until(3);
        run.probe(3.0, "/ready", 200);
        run.probe(3.5, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
