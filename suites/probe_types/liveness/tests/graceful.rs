//! Histories of a graceful kill and its steps.

use super::*;

mod catches_hang {
    use super::*;

    const CLAUSE: &str = "probe.liveness.catches-hang";

    /// Two probes, at 4 and 6 s, that get no answer within their timeout of one second.
    fn hung() -> Composer {
        let target = json!({ "name": "target", "livenessProbe": http("/live", 8080, 2, 2) });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        run.probe(2.0, "/live", 200);
        let hang = Told { took: 0.999, written: 0, ..Told::get("/live", "hang") };
        run.http(4.0, &hang);
        run.http(6.0, &hang);
        run
    }

    #[test]
    fn a_stop_signal_after_the_last_timeout_holds() {
        let mut run = hung();
        run.signal(7.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn no_stop_signal_is_a_violation() {
        let mut run = hung();
        run.running(15.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_stop_signal_that_comes_late_while_the_node_was_held_up_is_doubt() {
        let mut run = hung();
        run.noise(7.0, 10.0).signal(10.5, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn an_answer_that_says_no_is_no_hang() {
        assert_eq!(verdict(&killed(CLAUSE, "Always").done(), CLAUSE), "inconclusive");
    }
}

mod kill_is_graceful {
    use super::*;

    const CLAUSE: &str = "probe.liveness.kill-is-graceful";

    /// The process ignores the stop signal at 4.1 s and is killed at `end`.
    fn ignored(end: f64) -> Composer {
        let mut run = killed(CLAUSE, "Always");
        run.left(end).start(end + 1.0, 1);
        run.status(end + 1.5, &status("Running", 1, json!({ "running": {} }), terminated(137)));
        run
    }

    #[test]
    fn an_end_by_its_own_will_holds() {
        let mut run = killed(CLAUSE, "Always");
        exiting(&mut run, 4.3, 0, "stop");
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_forced_end_after_the_grace_period_holds() {
        assert_eq!(verdict(&ignored(9.15).done(), CLAUSE), "holds");
    }

    #[test]
    fn a_forced_end_within_the_grace_period_is_a_violation() {
        assert_eq!(verdict(&ignored(6.0).done(), CLAUSE), "violated");
    }

    #[test]
    fn half_a_second_too_little_of_the_grace_period_is_a_violation() {
        assert_eq!(verdict(&ignored(8.6).done(), CLAUSE), "violated");
        assert_eq!(verdict(&ignored(10.6).done(), CLAUSE), "violated");
    }

    #[test]
    fn a_forced_end_long_after_the_grace_period_is_a_violation() {
        assert_eq!(verdict(&ignored(20.0).done(), CLAUSE), "violated");
    }

    /// The verdict on a target that gets this stop signal and exits.
    fn told(signal: &str) -> &'static str {
        let env = json!([{ "name": "AGNHOST_PLAN", "value": "{}" }]);
        let target = json!({ "name": "target", "env": env, "livenessProbe": http("/live", 8080, 1, 1) });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        run.probe(4.0, "/live", 500);
        run.signal(4.1, signal);
        exiting(&mut run, 4.3, 0, "stop");
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn another_stop_signal_than_the_default_one_is_a_violation() {
        assert_eq!(told("SIGTERM"), "holds");
        assert_eq!(told("SIGINT"), "violated");
    }

    #[test]
    fn an_end_without_a_stop_signal_is_a_violation() {
        let mut run = one(CLAUSE, "Always", 1);
        run.probe(4.0, "/live", 500);
        run.left(4.1).start(5.0, 1);
        run.status(5.5, &status("Running", 1, json!({ "running": {} }), terminated(137)));
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    /// The request of the hook, which the target answers after some seconds.
    fn request(took: f64) -> Told {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = vec![header("Host", "10.0.0.7:8080"), header("User-Agent", "kube-lifecycle/1.36")];
        Told { took, headers, ..Told::get("/stop", 200) }
    }

    /// A container with a hook, whose request arrives at `hook`, and a stop signal at 4.2 s.
    fn hooked(hook: Option<f64>) -> Composer {
        let target = json!({
            "name": "target", "livenessProbe": http("/live", 8080, 1, 1),
            "lifecycle": { "preStop": { "httpGet": { "path": "/stop", "port": 8080 } } },
        });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        run.probe(4.0, "/live", 500);
        if let Some(at) = hook {
            run.http(at, &request(0.0));
        }
        run.signal(4.2, "SIGTERM");
        run
    }

    #[test]
    fn a_hook_before_the_stop_signal_holds() {
        assert_eq!(verdict(&hooked(Some(4.1)).done(), CLAUSE), "holds");
    }

    #[test]
    fn a_stop_signal_while_the_hook_runs_is_a_violation() {
        let target = json!({
            "name": "target", "livenessProbe": http("/live", 8080, 1, 1),
            "lifecycle": { "preStop": { "httpGet": { "path": "/stop", "port": 8080 } } },
        });
        let mut run = pod(CLAUSE, "Always", json!([target]));
        run.probe(4.0, "/live", 500);
        run.http(4.1, &request(2.0));
        run.signal(4.2, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_stop_signal_without_the_hook_is_a_violation() {
        assert_eq!(verdict(&hooked(None).done(), CLAUSE), "violated");
    }

    #[test]
    fn a_hook_that_does_not_come_to_its_own_port_is_a_violation() {
        let judged = |listens: bool| {
            let target = json!({
                "name": "target", "livenessProbe": http("/live", 8080, 1, 1),
                "lifecycle": { "preStop": { "httpGet": { "path": "/stop", "port": 8081 } } },
            });
            let mut run = pod(CLAUSE, "Always", json!([target]));
            if listens {
                let (listener, address) = ("hook".to_owned(), "[::]:8081".to_owned());
                let state = "open".to_owned();
                let fact = probity_script::witness::Listening { listener, address, state };
                run.fact(1.5, probity_script::witness::Fact::Listening(fact));
            }
            run.probe(4.0, "/live", 500);
            run.signal(4.2, "SIGTERM");
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(true), "violated");
        assert_ne!(judged(false), "violated", "no process listens on the port");
    }

    #[test]
    fn a_hook_after_the_stop_signal_is_a_violation() {
        assert_eq!(verdict(&hooked(Some(4.3)).done(), CLAUSE), "violated");
    }

    #[test]
    fn lost_lines_are_doubt() {
        let mut run = one(CLAUSE, "Always", 1);
        run.probe(4.0, "/live", 500);
        run.lose_line().left(4.2);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
