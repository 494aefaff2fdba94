//! Histories about the effects of the end of a container.

use super::*;

mod failure_restarts {
    use super::*;

    const CLAUSE: &str = "probe.liveness.failure-restarts-container";

    /// Two containers; the target is killed at 4.1 s and restarted at 5 s.
    fn two(sibling_after: u64, address_after: &str) -> Composer {
        let target = json!({ "name": "target", "livenessProbe": http("/live", 8080, 1, 1) });
        let sibling = json!({ "name": "sibling", "livenessProbe": http("/live", 8081, 1, 3) });
        let mut run = pod(CLAUSE, "Always", json!([target, sibling]));
        run.of("pod", "sibling").start(1.0, 0);
        run.status(1.5, &both(0, 0, "10.0.0.7"));
        run.http(3.9, &Told { port: 8081, ..Told::get("/live", 200) });
        run.of("pod", "target").probe(4.0, "/live", 500);
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1).status(5.5, &both(1, sibling_after, address_after));
        run
    }

    fn both(target: u64, sibling: u64, address: &str) -> Value {
        let container = |name: &str, restarts: u64| {
            json!({
                "name": name, "restartCount": restarts, "ready": true, "started": true,
                "containerID": format!("containerd://{name}-{restarts}"), "state": { "running": {} },
            })
        };
        let containers = [container("target", target), container("sibling", sibling)];
        json!({ "phase": "Running", "podIP": address, "containerStatuses": containers })
    }

    #[test]
    fn a_restart_of_that_container_alone_holds() {
        assert_eq!(verdict(&two(0, "10.0.0.7").done(), CLAUSE), "holds");
    }

    #[test]
    fn the_first_restart_waits_for_no_back_off() {
        let judged = |again: f64| {
            let mut run = one(CLAUSE, "Always", 1);
            run.probe(4.0, "/live", 500);
            run.signal(4.1, "SIGTERM");
            run.left(4.2).start(again, 1).running(again + 0.5, true, true, 1);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(6.0), "holds");
        assert_eq!(judged(12.0), "violated");
    }

    #[test]
    fn no_stop_signal_is_a_violation() {
        let mut run = one(CLAUSE, "Always", 2);
        run.probe(3.0, "/live", 500);
        run.probe(4.0, "/live", 500);
        run.running(9.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn one_failure_more_than_tolerated_is_a_violation() {
        let mut run = one(CLAUSE, "Always", 2);
        for at in [3.0, 4.0, 5.0] {
            run.probe(at, "/live", 500);
        }
        run.signal(5.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_sibling_that_nobody_stops_excuses_no_lateness() {
        let judged = |sibling: Option<f64>, stop: f64| {
            let target = json!({ "name": "target", "livenessProbe": http("/live", 8080, 1, 1) });
            let sibling_spec = json!({ "name": "sibling", "livenessProbe": http("/live", 8081, 1, 3) });
            let mut run = pod(CLAUSE, "Always", json!([target, sibling_spec]));
            run.of("pod", "sibling").start(1.0, 0);
            run.status(1.5, &both(0, 0, "10.0.0.7"));
            run.of("pod", "target").probe(4.0, "/live", 500);
            if let Some(ended) = sibling {
                run.of("pod", "sibling").signal(3.9, "SIGTERM");
                run.left(ended).of("pod", "target");
            }
            run.signal(stop, "SIGTERM");
            run.left(stop + 0.1).start(stop + 1.0, 1).status(stop + 1.5, &both(1, 0, "10.0.0.7"));
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(None, 7.5), "violated");
        assert_eq!(
            judged(Some(7.4), 7.5),
            "holds",
            "the kubelet stops the containers of a pod one after the other"
        );
        assert_eq!(judged(Some(7.4), 10.5), "violated");
    }

    /// The second instance fails its first probe, and is stopped at this time.
    fn young(stop: f64, noise: bool) -> &'static str {
        let mut run = one(CLAUSE, "Always", 1);
        run.probe(4.0, "/live", 500);
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1);
        if noise {
            run.noise(5.1, 5.15);
        }
        run.probe(5.5, "/live", 500);
        run.signal(stop, "SIGTERM");
        run.left(stop + 0.1).start(stop + 12.0, 2);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_stall_of_milliseconds_gives_a_new_life_no_seconds() {
        assert_eq!(young(5.7, true), "holds");
        assert_eq!(young(10.0, false), "violated");
        assert_eq!(young(10.0, true), "violated");
    }

    #[test]
    fn a_grace_period_that_nobody_needed_excuses_no_late_restart() {
        let judged = |again: f64| {
            let target = json!({ "name": "target", "livenessProbe": http("/live", 8080, 1, 1) });
            let mut run = Composer::new(&[CLAUSE]);
            run.create(0.0, &json!({ "containers": [target], "terminationGracePeriodSeconds": 30 }));
            run.start(1.0, 0).probe(4.0, "/live", 500);
            run.signal(4.1, "SIGTERM");
            exiting(&mut run, 4.2, 0, "stop");
            run.start(again, 1);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(5.0), "holds");
        assert_eq!(judged(35.0), "violated");
    }

    #[test]
    fn a_liveness_probe_that_never_comes_protects_nobody() {
        let judged = |until: f64| {
            let mut run = one(CLAUSE, "Always", 1);
            let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
            let state = probity_script::witness::Listening { listener, address, state: "open".to_owned() };
            run.fact(1.0, Fact::Listening(state));
            run.running(1.5, true, true, 0).reading(until);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(20.0), "violated");
        assert_eq!(judged(4.0), "inconclusive");
    }

    #[test]
    fn another_address_is_a_violation() {
        assert_eq!(verdict(&two(0, "10.0.0.8").done(), CLAUSE), "violated");
    }

    #[test]
    fn a_stop_of_the_sibling_is_a_violation() {
        let mut run = two(0, "10.0.0.7");
        run.of("pod", "sibling").signal(4.3, "SIGTERM");
        let late = both(1, 1, "10.0.0.7");
        run.status(6.0, &late);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_sibling_whose_first_probes_fail_as_well_has_earned_its_own_stop() {
        let probed =
            |name: &str, port: u16| json!({ "name": name, "livenessProbe": http("/live", port, 1, 2) });
        let mut run = pod(CLAUSE, "Always", json!([probed("target", 8080), probed("sibling", 8081)]));
        run.of("pod", "sibling").start(1.1, 0);
        run.status(1.5, &both(0, 0, "10.0.0.7"));
        run.of("pod", "target").probe(1.3, "/live", 500);
        run.probe(2.3, "/live", 500);
        run.signal(2.4, "SIGTERM");
        run.of("pod", "sibling").signal(2.5, "SIGTERM");
        run.status(6.0, &both(1, 1, "10.0.0.7"));
        run.of("pod", "target").start(3.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_success_in_between_begins_the_count_anew() {
        let mut run = one(CLAUSE, "Always", 2);
        for (at, answer) in [(2.0, 500), (3.0, 200), (4.0, 500), (5.0, 200)] {
            run.probe(at, "/live", answer);
        }
        run.running(15.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn a_case_that_ends_at_once_shows_nothing() {
        let mut run = one(CLAUSE, "Always", 1);
        run.probe(4.0, "/live", 500);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod needs_restarting_policy {
    use super::*;

    const CLAUSE: &str = "probe.liveness.needs-restarting-policy";

    #[test]
    fn a_restart_under_on_failure_holds_though_the_process_ended_well() {
        let mut run = killed(CLAUSE, "OnFailure");
        exiting(&mut run, 4.2, 0, "stop");
        run.start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn the_end_of_the_pod_under_never_holds() {
        let mut run = killed(CLAUSE, "Never");
        run.status(5.0, &status("Succeeded", 0, terminated(0), json!({})));
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_restart_under_never_is_a_violation() {
        let mut run = killed(CLAUSE, "Never");
        run.left(4.2).start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn the_end_of_the_pod_under_on_failure_is_a_violation() {
        let mut run = killed(CLAUSE, "OnFailure");
        run.status(5.0, &status("Succeeded", 0, terminated(0), json!({})));
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_policy_of_the_container_counts_before_that_of_the_pod() {
        let target = json!({ "name": "target", "restartPolicy": "Always", "livenessProbe": http("/live", 8080, 1, 1) });
        let mut run = pod(CLAUSE, "Never", json!([target]));
        run.probe(4.0, "/live", 500);
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn no_failure_is_doubt() {
        assert_eq!(verdict(&one(CLAUSE, "Always", 1).done(), CLAUSE), "inconclusive");
    }
}

mod self_crash {
    use super::*;

    const CLAUSE: &str = "probe.liveness.self-crash-needs-no-probe";

    fn crashed(policy: &str, code: u8) -> Composer {
        let mut run = pod(CLAUSE, policy, json!([{ "name": "target" }]));
        exiting(&mut run, 3.0, code, "plan");
        run
    }

    #[test]
    fn a_restart_holds() {
        let mut run = crashed("OnFailure", 1);
        run.start(4.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn the_end_of_the_pod_under_never_holds() {
        let mut run = crashed("Never", 1);
        run.status(4.0, &status("Failed", 0, terminated(1), json!({})));
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn no_restart_under_always_is_a_violation() {
        let mut run = crashed("Always", 1);
        run.status(60.0, &status("Running", 0, terminated(1), json!({})));
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_restart_after_a_good_end_under_on_failure_is_a_violation() {
        let mut run = crashed("OnFailure", 0);
        run.start(4.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn an_end_on_being_told_is_no_crash() {
        let mut run = pod(CLAUSE, "Always", json!([{ "name": "target" }]));
        run.signal(2.9, "SIGTERM");
        exiting(&mut run, 3.0, 1, "stop");
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
