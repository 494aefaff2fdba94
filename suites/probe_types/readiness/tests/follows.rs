//! Histories of readiness probes and of the readiness that the API shows.

use probity_composer::Told;

use super::*;

mod failure_marks_unready {
    use super::*;

    const CLAUSE: &str = "probe.readiness.failure-marks-unready";

    fn judged(run: Composer) -> &'static str {
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn shown_soon_after_the_threshold_holds() {
        assert_eq!(judged(fails_from_four(CLAUSE, &ready_only(), Some(5))), "holds");
    }

    #[test]
    fn shown_much_later_or_never_is_a_violation() {
        assert_eq!(judged(fails_from_four(CLAUSE, &ready_only(), Some(9))), "violated");
        assert_eq!(judged(fails_from_four(CLAUSE, &ready_only(), None)), "violated");
    }

    #[test]
    fn shown_two_seconds_after_the_threshold_is_a_violation() {
        assert_eq!(judged(fails_from_four(CLAUSE, &ready_only(), Some(7))), "violated");
    }

    /// The probe fails from 4 s to 18 s. The container is shown as not ready at 5.3 s, and as ready again at `up`.
    fn ready_again(up: f64) -> &'static str {
        let mut run = fails_from_four(CLAUSE, &ready_only(), Some(5));
        for second in 12..18 {
            if up > f64::from(second) - 1.0 && up < f64::from(second) {
                run.running(up, true, true, 0);
            }
            run.probe(f64::from(second), "/ready", if second % 2 == 0 { 500 } else { 503 });
        }
        if up > 17.0 {
            run.running(up, true, true, 0);
        }
        judged(run)
    }

    #[test]
    fn ready_again_while_the_probe_goes_on_to_fail_is_a_violation() {
        assert_eq!(ready_again(13.5), "violated");
        assert_eq!(ready_again(17.9), "holds", "a status that comes with the last answer may be its effect");
    }

    #[test]
    fn shown_late_by_a_busy_node_is_doubt() {
        let mut run = fails_from_four(CLAUSE, &ready_only(), Some(9));
        run.noise(5.0, 8.5);
        assert_eq!(judged(run), "inconclusive");
    }

    #[test]
    fn a_failure_too_short_to_be_shown_proves_nothing() {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        answers(&mut run, "/ready", 503, 4..6);
        answers(&mut run, "/ready", 200, 6..12);
        assert_eq!(judged(run), "inconclusive");
    }

    #[test]
    fn a_stop_that_nothing_else_explains_is_a_violation() {
        let mut run = fails_from_four(CLAUSE, &ready_only(), Some(5));
        run.signal(12.0, "SIGTERM");
        assert_eq!(judged(run), "violated");
    }

    /// A sidecar that is not ready is stopped at 12 s, while the main container is in this state.
    fn stopped_sidecar(main: Value) -> &'static str {
        let mut run = Composer::new(&[CLAUSE]);
        let mut side = ready_only();
        side["restartPolicy"] = json!("Always");
        run.create(0.0, &json!({ "initContainers": [side], "containers": [{ "name": "main" }] }));
        run.start(1.0, 0);
        let state = |ready: bool| {
            let mut status = running_status("target", 1.2, ready, true, 0);
            let main = json!({ "name": "main", "restartCount": 0, "state": main });
            status["initContainerStatuses"] = status["containerStatuses"].take();
            status["containerStatuses"] = json!([main]);
            status
        };
        run.status(1.2, &state(false));
        answers(&mut run, "/ready", 200, 2..4);
        run.status(2.1, &state(true));
        answers(&mut run, "/ready", 503, 4..12);
        run.status(5.3, &state(false));
        run.signal(12.0, "SIGTERM");
        judged(run)
    }

    #[test]
    fn a_sidecar_is_stopped_only_when_the_work_is_done() {
        assert_eq!(stopped_sidecar(json!({ "running": {} })), "violated");
        assert_eq!(
            stopped_sidecar(json!({ "terminated": { "exitCode": 0, "reason": "Completed" } })),
            "holds"
        );
    }

    #[test]
    fn a_stop_by_a_failing_liveness_probe_is_its_own_affair() {
        let mut run = fails_from_four(CLAUSE, &ready_and_live(), Some(5));
        answers(&mut run, "/live", 500, 12..14);
        run.signal(14.0, "SIGTERM");
        assert_eq!(judged(run), "holds");
    }

    #[test]
    fn hooks_and_followed_redirects_are_no_probes() {
        for header in [("User-Agent", "kube-lifecycle/1.36"), ("Referer", "http://10.0.0.7:8080/live")] {
            let mut run = ready_from_two(CLAUSE, &ready_only());
            let headers = vec![(header.0.to_owned(), header.1.to_owned())];
            for second in 4..12 {
                run.http(f64::from(second), &Told { headers: headers.clone(), ..Told::get("/ready", 503) });
            }
            assert_eq!(judged(run), "inconclusive");
        }
    }

    #[test]
    fn a_status_that_may_have_been_missed_is_doubt() {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        answers(&mut run, "/ready", 503, 4..8);
        run.gap(7.0, 8.5, "Pod");
        answers(&mut run, "/ready", 503, 9..12);
        assert_eq!(judged(run), "inconclusive");
    }

    #[test]
    fn a_status_after_the_turn_of_a_shared_endpoint_holds() {
        let shared =
            json!({ "name": "target", "readinessProbe": http("/ready"), "livenessProbe": http("/ready") });
        let mut run = ready_from_two(CLAUSE, &shared);
        answers(&mut run, "/ready", 503, 4..7);
        run.running(6.5, false, true, 0);
        answers(&mut run, "/ready", 503, 7..12);
        assert_eq!(judged(run), "holds");
    }

    #[test]
    fn probes_that_another_container_may_have_got_are_no_evidence() {
        let mut run = Composer::new(&[]);
        let sibling = json!({ "name": "other", "readinessProbe": http("/ready") });
        run.create(0.0, &json!({ "containers": [ready_only(), sibling] }))
            .start(1.0, 0)
            .running(1.2, true, true, 0);
        answers(&mut run, "/ready", 503, 4..12);
        assert_eq!(judged(run), "none");
    }
}

mod recovers {
    use super::*;

    const CLAUSE: &str = "probe.readiness.recovers";

    fn recovered_at(shown: Option<f64>) -> &'static str {
        let mut run = fails_from_four(CLAUSE, &ready_only(), Some(5));
        answers(&mut run, "/ready", 200, 12..18);
        if let Some(shown) = shown {
            run.running(shown, true, true, 0);
        }
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn ready_again_soon_after_the_first_success_holds() {
        assert_eq!(recovered_at(Some(12.3)), "holds");
    }

    #[test]
    fn ready_again_late_or_never_is_a_violation() {
        assert_eq!(recovered_at(Some(16.5)), "violated");
        assert_eq!(recovered_at(Some(14.5)), "violated");
        assert_eq!(recovered_at(None), "violated");
    }

    #[test]
    fn commands_that_pass_in_the_last_moment_prove_nothing() {
        let command = json!({ "exec": { "command": ["/agnhost-rs", "exec", "ready"] }, "periodSeconds": 1 });
        let mut run = Composer::new(&[CLAUSE]);
        let container = json!({ "name": "target", "readinessProbe": command });
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, true, true, 0);
        for second in 2..14 {
            run.exec(f64::from(second), "ready", Some(u8::from(second < 8)));
            if second == 5 {
                run.running(5.1, false, true, 0);
            }
        }
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn without_a_recovery_there_is_doubt() {
        assert_eq!(verdict(&fails_from_four(CLAUSE, &ready_only(), Some(5)).done(), CLAUSE), "inconclusive");
    }
}
