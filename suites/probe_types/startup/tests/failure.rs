//! Histories about containers that never start, or start slowly.

use super::*;

mod failure_kills {
    use super::*;

    const CLAUSE: &str = "probe.startup.failure-kills-container";

    /// Three startup failures, at 2, 3 and 4 s, with a failure threshold of three.
    pub(super) fn failed(clause: &str, policy: &str) -> Composer {
        let mut run = pod(clause, policy, json!({ "startupProbe": http("/start", 1, 3) }));
        for at in [2.0, 3.0, 4.0] {
            run.probe(at, "/start", 500);
        }
        run
    }

    #[test]
    fn a_stop_signal_and_a_restart_hold() {
        let mut run = failed(CLAUSE, "Always");
        run.signal(4.1, "SIGTERM");
        run.left(4.2).start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn no_stop_signal_is_a_violation() {
        let mut run = failed(CLAUSE, "Always");
        run.running(9.0, false, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_late_stop_signal_is_a_violation() {
        let mut run = failed(CLAUSE, "Always");
        run.signal(8.0, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn one_failure_more_than_tolerated_is_a_violation() {
        let mut run = failed(CLAUSE, "Always");
        run.probe(5.0, "/start", 500);
        run.signal(5.1, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_startup_probe_that_never_comes_is_a_violation() {
        let judged = |until: f64| {
            let mut run = pod(CLAUSE, "Always", json!({ "startupProbe": http("/start", 1, 3) }));
            let (listener, address) = ("web".to_owned(), "[::]:8080".to_owned());
            let state = probity_script::witness::Listening { listener, address, state: "open".to_owned() };
            run.fact(1.0, probity_script::witness::Fact::Listening(state));
            run.running(1.5, false, false, 0).reading(until);
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(judged(20.0), "violated");
        assert_eq!(judged(4.0), "inconclusive");
    }

    #[test]
    fn no_restart_is_a_violation() {
        let mut run = failed(CLAUSE, "Always");
        run.signal(4.1, "SIGTERM");
        run.left(4.2).running(120.0, false, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_deletion_explains_a_stop_signal() {
        let mut run = failed(CLAUSE, "Always");
        let (kind, name) = ("Pod".to_owned(), "pod".to_owned());
        run.deed(3.9, probity_model::history::Did::Deleted { kind, name, grace: None });
        run.signal(4.0, "SIGTERM");
        run.running(9.0, false, false, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod never_policy {
    use super::failure_kills::failed;
    use super::*;

    const CLAUSE: &str = "probe.startup.failure-never-policy";

    fn killed(policy: &str) -> Composer {
        let mut run = failed(CLAUSE, policy);
        run.signal(4.1, "SIGTERM");
        run.left(4.2);
        run
    }

    fn ended(phase: &str) -> Value {
        json!({
            "phase": phase,
            "containerStatuses": [{
                "name": "target", "restartCount": 0, "ready": false, "started": false, "lastState": {},
                "state": { "terminated": { "exitCode": 0, "reason": "Completed" } },
            }],
        })
    }

    #[test]
    fn a_terminal_pod_holds() {
        let mut run = killed("Never");
        run.status(5.0, &ended("Succeeded"));
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_restart_is_a_violation() {
        let mut run = killed("Never");
        run.start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_pod_that_goes_on_without_its_container_is_a_violation() {
        let mut run = killed("Never");
        run.status(5.0, &ended("Running")).status(90.0, &ended("Running"));
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn another_policy_is_another_matter() {
        let mut run = killed("Always");
        run.start(5.0, 1);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod slow_start {
    use super::*;

    const CLAUSE: &str = "probe.startup.slow-start-protection";

    fn guarded() -> Composer {
        let probes = json!({ "startupProbe": http("/live", 1, 30), "livenessProbe": http("/live", 1, 3) });
        pod(CLAUSE, "Always", probes)
    }

    fn bare() -> Composer {
        pod(CLAUSE, "Always", json!({ "livenessProbe": http("/live", 1, 3) }))
    }

    #[test]
    fn a_slow_boot_behind_a_startup_probe_holds() {
        let mut run = guarded();
        run.probe(9.0, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_slow_boot_that_is_killed_all_the_same_is_a_violation() {
        let mut run = guarded();
        run.signal(5.0, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_slow_boot_without_a_startup_probe_is_killed() {
        let mut run = bare();
        run.signal(5.0, "SIGTERM");
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_container_that_is_never_live_and_never_killed_is_a_violation() {
        let mut run = bare();
        for second in 2..20 {
            run.probe(f64::from(second), "/live", 500);
        }
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_quick_boot_shows_nothing() {
        let mut run = guarded();
        run.probe(2.0, "/live", 200);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}
