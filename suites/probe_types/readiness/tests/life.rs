//! Histories of probing for the whole lifetime of a container.

use super::*;

mod runs_for_life {
    use super::*;

    const CLAUSE: &str = "probe.readiness.runs-for-life";

    /// One probe each second from 2 s on, except during a pause; the case ends at 30 s.
    fn paused(pause: std::ops::Range<u16>, noise: bool) -> &'static str {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        answers(&mut run, "/ready", 200, 4..pause.start);
        if noise {
            run.noise(f64::from(pause.start), f64::from(pause.end));
        }
        answers(&mut run, "/ready", 200, pause.end..30);
        run.reading(27.5).reading(30.0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_probe_a_period_holds() {
        assert_eq!(paused(10..10, false), "holds");
    }

    #[test]
    fn a_pause_or_an_early_end_is_a_violation() {
        assert_eq!(paused(10..16, false), "violated");
        assert_eq!(paused(15..30, false), "violated");
    }

    /// Probes at intervals of `distance` for this number of seconds, although the period is one second.
    fn paced(distance: f64, seconds: f64) -> &'static str {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        let mut at = 3.0 + distance;
        while at < 3.0 + seconds {
            run.probe(at, "/ready", 200);
            at += distance;
        }
        run.reading(at + 1.0).reading(at + 3.0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_pace_that_is_a_third_too_slow_is_a_violation() {
        assert_eq!(paced(1.0, 25.0), "holds");
        assert_eq!(paced(1.3, 25.0), "violated");
        assert_eq!(paced(1.3, 11.0), "violated");
    }

    #[test]
    fn a_readiness_probe_that_never_comes_is_a_violation() {
        let judged = |until: f64| {
            let mut run = Composer::new(&[CLAUSE]);
            run.create(0.0, &json!({ "containers": [ready_only()] })).start(1.0, 0);
            let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
            let state = probity_script::witness::Listening { listener, address, state: "open".to_owned() };
            run.fact(1.0, Fact::Listening(state));
            run.running(1.2, false, true, 0).reading(until);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(20.0), "violated");
        assert_eq!(judged(4.0), "inconclusive");
    }

    #[test]
    fn a_pause_on_a_busy_node_is_doubt() {
        assert_eq!(paused(10..16, true), "inconclusive");
    }

    #[test]
    fn too_few_periods_are_doubt() {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        answers(&mut run, "/ready", 200, 4..8);
        run.reading(10.0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    /// The liveness probe fails at 4 s and at 5 s. The container gets its stop signal and serves until 13 s; its
    /// readiness command runs every second until `last`.
    fn commanded(last: u16) -> &'static str {
        let command = json!({ "command": ["/agnhost-rs", "exec", "ready"] });
        let ready = json!({ "exec": command, "periodSeconds": 1, "timeoutSeconds": 3 });
        let container = json!({ "name": "target", "readinessProbe": ready, "livenessProbe": http("/live") });
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [container] })).start(1.0, 0).running(1.2, true, true, 0);
        for second in 2..=last {
            run.exec(f64::from(second), "ready", Some(0));
            if second == 4 || second == 5 {
                run.probe(f64::from(second) + 0.1, "/live", 500);
            }
            if second == 5 {
                let (signal, answer) = ("SIGTERM".to_owned(), "serve for 8s, then exit 0".to_owned());
                let seen = probity_script::witness::SignalSeen { signal, child: None, answer };
                run.fact(5.3, Fact::Signal(seen));
            }
        }
        run.fact(13.3, Fact::Exiting(probity_script::witness::Exiting { code: 0, why: "stop".to_owned() }));
        run.left(13.4).reading(20.0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn commands_go_on_in_a_kill() {
        assert_eq!(commanded(12), "holds");
        assert_eq!(commanded(5), "violated");
    }

    #[test]
    fn probes_that_were_turned_away_unseen_are_not_missed() {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        for second in 4..20 {
            run.connection(f64::from(second), "web", 8080);
        }
        run.reading(30.0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod continues_while_terminating {
    use super::*;

    const CLAUSE: &str = "probe.readiness.continues-while-terminating";

    /// The pod is deleted at 4 s. Probes continue until `last` and fail from 8 s on; the process ends at 16 s.
    fn probed_until(last: u16, shown: Option<u16>) -> &'static str {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        deletion(&mut run, 4.0, true);
        run.fact(4.1, term());
        for second in 5..=last {
            run.probe(f64::from(second), "/ready", if second < 8 { 200 } else { 503 });
            if shown == Some(second) {
                deletion(&mut run, f64::from(second) + 0.3, false);
            }
        }
        run.fact(16.0, Fact::Exiting(probity_script::witness::Exiting { code: 0, why: "stop".to_owned() }));
        run.left(16.1);
        verdict(&run.done(), CLAUSE)
    }

    fn term() -> Fact {
        let (signal, answer) = ("SIGTERM".to_owned(), "serve for 12s, then exit 0".to_owned());
        Fact::Signal(probity_script::witness::SignalSeen { signal, child: None, answer })
    }

    fn deletion(run: &mut Composer, at: f64, ready: bool) {
        let metadata = json!({
            "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" },
            "deletionTimestamp": "2026-01-01T00:00:30Z",
        });
        let object = json!({
            "metadata": metadata, "spec": { "containers": [ready_only()] },
            "status": running_status("target", at, ready, true, 0),
        });
        run.sighting(at, "Pod", "pod", Change::Modified, object);
    }

    #[test]
    fn probes_until_the_end_and_what_they_say_holds() {
        assert_eq!(probed_until(15, Some(9)), "holds");
    }

    #[test]
    fn probing_that_ends_with_the_signal_is_a_violation() {
        assert_eq!(probed_until(5, None), "violated");
    }

    #[test]
    fn a_failure_that_is_never_shown_is_a_violation() {
        assert_eq!(probed_until(15, None), "violated");
    }

    /// The probes fail from 6 s on and succeed again from 9 s on, and the status shows that it did so at this time.
    fn recovers(shown: Option<f64>) -> &'static str {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        deletion(&mut run, 4.0, true);
        run.fact(4.1, term());
        for second in 5..=15_u16 {
            let fails = (6..9).contains(&second);
            run.probe(f64::from(second), "/ready", if fails { 503 } else { 200 });
            if second == 6 {
                deletion(&mut run, 6.3, false);
            }
            if let Some(at) = shown.filter(|at| *at > f64::from(second) && *at < f64::from(second + 1)) {
                deletion(&mut run, at, true);
            }
        }
        run.fact(16.0, Fact::Exiting(probity_script::witness::Exiting { code: 0, why: "stop".to_owned() }));
        run.left(16.1);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_success_is_shown_too() {
        assert_eq!(recovers(Some(9.3)), "holds");
        assert_eq!(recovers(None), "violated", "it is never shown");
        assert_eq!(recovers(Some(13.3)), "violated", "it is shown late");
    }

    #[test]
    fn probing_that_had_not_begun_does_not_go_on() {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [ready_only()] })).start(1.0, 0).running(1.2, false, false, 0);
        deletion(&mut run, 2.0, false);
        run.fact(2.1, term());
        run.fact(14.0, Fact::Exiting(probity_script::witness::Exiting { code: 0, why: "stop".to_owned() }));
        run.left(14.1);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }

    #[test]
    fn a_process_that_ends_at_once_says_nothing() {
        let mut run = ready_from_two(CLAUSE, &ready_only());
        deletion(&mut run, 4.0, true);
        run.fact(4.1, term());
        run.left(4.3);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
