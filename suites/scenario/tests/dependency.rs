//! Histories about probes whose endpoint calls a dependency.

use super::*;

const STORE: &str = "http://10.0.0.9:8080/";

fn asks(url: &str) -> Value {
    json!({ "depends-on": { "url": url } })
}

/// A probe that fails because the store is lost.
fn refused(run: &mut Composer, at: f64, path: &str, url: &str) {
    called(run, at + 0.0005, &format!("web:{path}"), url, Some(500), 0.0004);
    run.probe(at, path, 503);
}

/// Two replicas with a readiness or a liveness probe that calls the store.
fn replicas(clause: &str, field: &str, path: &str) -> Composer {
    let mut probe = json!({});
    probe[field] = http(path, 1, 2);
    let mut paths = json!({});
    paths[path] = asks(STORE);
    let mut run = Composer::new(&[clause]);
    for name in ["a", "b"] {
        labeled(&mut run, name, &json!({}), &target(&probe, &web(paths.clone())));
        run.running(1.5, true, true, 0).probe(2.0, path, 200);
    }
    run
}

fn lost(run: &mut Composer, name: &str, path: &str, times: u32) {
    run.of(name, "target");
    for at in 5..5 + times {
        refused(run, f64::from(at), path, STORE);
    }
}

mod readiness_all_drop {
    use super::*;

    const CLAUSE: &str = "scenario.dependency.readiness-all-drop";

    #[test]
    fn all_replicas_out_of_service_hold() {
        let mut run = replicas(CLAUSE, "readinessProbe", "/ready");
        for name in ["a", "b"] {
            lost(&mut run, name, "/ready", 3);
            run.running(6.4, false, true, 0);
        }
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_replica_that_stays_ready_is_a_violation() {
        let mut run = replicas(CLAUSE, "readinessProbe", "/ready");
        lost(&mut run, "a", "/ready", 8);
        run.running(6.4, false, true, 0);
        lost(&mut run, "b", "/ready", 8);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_replica_that_was_not_asked_leaves_it_open() {
        let mut run = replicas(CLAUSE, "readinessProbe", "/ready");
        lost(&mut run, "a", "/ready", 3);
        run.running(6.4, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod liveness_all_restart {
    use super::*;

    const CLAUSE: &str = "scenario.dependency.liveness-all-restart";

    fn killed(run: &mut Composer, name: &str) {
        lost(run, name, "/live", 2);
        run.signal(6.1, "SIGTERM");
        run.left(6.2).start(7.0, 1);
    }

    #[test]
    fn all_replicas_restarted_hold() {
        let mut run = replicas(CLAUSE, "livenessProbe", "/live");
        killed(&mut run, "a");
        killed(&mut run, "b");
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_replica_that_lives_on_is_a_violation() {
        let mut run = replicas(CLAUSE, "livenessProbe", "/live");
        killed(&mut run, "a");
        lost(&mut run, "b", "/live", 8);
        run.running(30.0, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn no_outage_is_doubt() {
        let run = replicas(CLAUSE, "livenessProbe", "/live");
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod latency_spike {
    use super::*;

    const CLAUSE: &str = "scenario.dependency.latency-spike";

    fn asked(timeout: u64) -> Composer {
        let mut probe = http("/ready", 2, 2);
        probe["timeoutSeconds"] = json!(timeout);
        let plan = web(json!({ "/ready": asks(STORE) }));
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": probe }), &plan));
        run.running(1.5, true, true, 0).probe(2.0, "/ready", 200);
        run
    }

    fn spike(run: &mut Composer, times: u32) {
        for at in 0..times {
            late(run, f64::from(4 + 2 * at), "/ready", 1.5);
        }
    }

    #[test]
    fn not_ready_after_late_answers_holds() {
        let mut run = asked(1);
        spike(&mut run, 2);
        run.running(7.9, false, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn ready_in_spite_of_late_answers_is_a_violation() {
        let mut run = asked(1);
        spike(&mut run, 8);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn patience_holds() {
        let mut run = asked(4);
        spike(&mut run, 4);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn patience_that_is_not_granted_is_a_violation() {
        let mut run = asked(4);
        spike(&mut run, 2);
        run.running(7.9, false, true, 0);
        late(&mut run, 8.0, "/ready", 1.5);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn quick_answers_are_no_spike() {
        assert_eq!(verdict(&asked(1).done(), CLAUSE), "inconclusive");
    }
}

mod peer_pods {
    use super::*;

    const CLAUSE: &str = "scenario.dependency.peer-pods";

    /// `first` calls `second`, which calls the store.
    fn chain() -> Composer {
        let mut run = Composer::new(&[CLAUSE]);
        let probe = json!({ "readinessProbe": http("/ready", 1, 2) });
        for (name, address, url) in
            [("second", "10.0.0.2", STORE), ("first", "10.0.0.1", "http://10.0.0.2:8080/ready")]
        {
            labeled(&mut run, name, &json!({}), &target(&probe, &web(json!({ "/ready": asks(url) }))));
            status_at(&mut run, 1.5, address, true);
            run.probe(2.0, "/ready", 200);
        }
        run
    }

    fn broken(run: &mut Composer, times: u32) {
        for at in 5..5 + times {
            refused(run, f64::from(at), "/ready", "http://10.0.0.2:8080/ready");
        }
    }

    #[test]
    fn trouble_that_reaches_the_first_holds() {
        let mut run = chain();
        broken(&mut run, 3);
        status_at(&mut run, 7.1, "10.0.0.1", false);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_first_that_stays_ready_is_a_violation() {
        let mut run = chain();
        broken(&mut run, 8);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_chain_that_holds_shows_nothing() {
        assert_eq!(verdict(&chain().done(), CLAUSE), "inconclusive");
    }
}
