//! Histories about ports, queues and waiting clients.

use probity_model::history::Did;

use super::*;

mod decoupled {
    use super::*;

    const CLAUSE: &str = "scenario.readiness.mgmt-port-decoupled";

    /// The admin port is open and probed from 2 s on; the main port opens at 12 s.
    fn early() -> Composer {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 9090 }, "periodSeconds": 1 });
        let plan = json!({ "listeners": { "admin": { "port": 9090 }, "web": { "port": 8080 } } });
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": probe }), &plan));
        run.running(1.5, false, true, 0);
        opened(&mut run, 1.1, "admin", 9090);
        run
    }

    fn asked(run: &mut Composer, from: u32, to: u32) {
        for at in from..to {
            run.http(
                f64::from(at),
                &Told { listener: "admin".to_owned(), port: 9090, ..Told::get("/ready", 200) },
            );
        }
    }

    fn client(run: &mut Composer, at: f64) {
        run.of("client", "target");
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        called(run, at, "web", "http://10.0.0.7:8080/", None, 0.01);
        run.of("pod", "target");
    }

    #[test]
    fn requests_that_fail_while_the_pod_is_ready_hold() {
        let mut run = early();
        asked(&mut run, 2, 12);
        run.running(2.3, true, true, 0);
        client(&mut run, 5.0);
        opened(&mut run, 12.0, "web", 8080);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_pod_that_waits_for_the_main_port_is_a_violation() {
        let mut run = early();
        asked(&mut run, 2, 12);
        client(&mut run, 5.0);
        opened(&mut run, 12.0, "web", 8080);
        asked(&mut run, 12, 14);
        run.running(13.5, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn nobody_who_asked_is_doubt() {
        let mut run = early();
        asked(&mut run, 2, 12);
        run.running(2.3, true, true, 0);
        opened(&mut run, 12.0, "web", 8080);
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod hides_saturation {
    use super::*;

    const CLAUSE: &str = "scenario.readiness.mgmt-port-hides-saturation";

    /// The readiness probe uses the admin port once a second; the main port has one worker.
    fn busy(took: f64, unready: Option<f64>) -> Composer {
        let probe = json!({ "httpGet": { "path": "/ready", "port": 9090 }, "periodSeconds": 1 });
        let plan = json!({ "listeners": { "admin": { "port": 9090 }, "web": { "port": 8080, "workers": { "count": 1 } } } });
        let mut run = pod(CLAUSE, &target(&json!({ "readinessProbe": probe }), &plan));
        run.running(1.5, true, true, 0);
        for at in 2..14 {
            run.http(
                f64::from(at),
                &Told { listener: "admin".to_owned(), port: 9090, ..Told::get("/ready", 200) },
            );
        }
        if let Some(at) = unready {
            run.running(at, false, true, 0);
        }
        run.of("client", "target");
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        for at in 4..12 {
            called(&mut run, f64::from(at), "web", "http://10.0.0.7:8080/", Some(200), took);
        }
        run
    }

    #[test]
    fn ready_while_clients_wait_holds() {
        assert_eq!(verdict(&busy(2.0, None).done(), CLAUSE), "holds");
    }

    #[test]
    fn not_ready_while_the_probe_passes_is_a_violation() {
        assert_eq!(verdict(&busy(2.0, Some(8.3)).done(), CLAUSE), "violated");
    }

    #[test]
    fn clients_that_do_not_wait_show_nothing() {
        assert_eq!(verdict(&busy(0.01, None).done(), CLAUSE), "inconclusive");
    }
}

mod overload {
    use super::*;

    const CLAUSE: &str = "scenario.liveness.overload-cascade";

    fn service(run: &mut Composer, name: &str, address: &str) {
        let manifest = json!({ "kind": "Service", "spec": { "selector": { "under": name } } });
        run.deed(0.1, Did::Created { kind: "Service".to_owned(), name: name.to_owned(), manifest });
        let object = json!({ "metadata": { "name": name }, "spec": { "clusterIP": address } });
        run.sighting(0.2, "Service", name, Change::Added, object);
    }

    /// Two services with two pods each. `killed` says whether a pod is killed after its probe failed.
    fn loaded(killed: bool, stopped_for_nothing: bool) -> Composer {
        let mut run = Composer::new(&[CLAUSE]);
        service(&mut run, "probed", "10.1.0.1");
        service(&mut run, "unprobed", "10.1.0.2");
        let plan = json!({ "listeners": { "web": { "port": 8080, "workers": { "count": 1 } } } });
        for (name, under) in [("a", "probed"), ("b", "probed"), ("c", "unprobed"), ("d", "unprobed")] {
            let probe =
                if under == "probed" { json!({ "livenessProbe": http("/live", 1, 2) }) } else { json!({}) };
            labeled(&mut run, name, &json!({ "under": under }), &target(&probe, &plan));
            run.running(1.5, true, true, 0);
        }
        if killed {
            run.of("a", "target");
            probes(&mut run, 5, 2, "/live", 503);
            run.signal(6.1, "SIGTERM");
            run.left(6.2);
        }
        if stopped_for_nothing {
            run.of("c", "target").signal(6.1, "SIGTERM");
        }
        run.of("client", "target");
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        for at in 0..24 {
            let status = (at % 2 == 0).then_some(200);
            called(&mut run, 4.0 + f64::from(at) / 2.0, "probed", "http://10.1.0.1:80/", status, 0.1);
            called(&mut run, 4.0 + f64::from(at) / 2.0, "unprobed", "http://10.1.0.2:80/", Some(200), 0.9);
        }
        run
    }

    #[test]
    fn restarts_and_fewer_answers_hold() {
        assert_eq!(verdict(&loaded(true, false).done(), CLAUSE), "holds");
    }

    #[test]
    fn an_answer_that_was_most_likely_too_late_counts_when_the_stop_follows() {
        let mut run = loaded(false, false);
        run.of("a", "target").probe(5.0, "/live", 503);
        run.http(6.0, &Told { took: 1.0, ..Told::get("/live", 200) });
        run.signal(7.1, "SIGTERM");
        run.left(7.2);
        assert_eq!(verdict(&run.done(), CLAUSE), "holds");
    }

    #[test]
    fn a_container_without_a_probe_that_is_stopped_is_a_violation() {
        assert_eq!(verdict(&loaded(true, true).done(), CLAUSE), "violated");
    }

    /// Two probes of `a` that are answered with this status, and a stop signal at `stop`, if it comes.
    fn probed(status: u16, stop: Option<f64>) -> &'static str {
        let mut run = loaded(false, false);
        run.of("a", "target");
        probes(&mut run, 5, 2, "/live", status);
        match stop {
            Some(at) => {
                run.signal(at, "SIGTERM");
                run.left(at + 0.1);
            }
            None => {
                run.running(40.0, true, true, 0);
            }
        }
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn a_container_whose_probe_passes_is_not_stopped() {
        assert_eq!(probed(200, Some(7.1)), "violated");
    }

    #[test]
    fn a_container_whose_probe_fails_is_stopped() {
        assert_eq!(probed(503, Some(6.2)), "holds");
        assert_eq!(probed(503, None), "violated");
    }

    #[test]
    fn load_that_is_borne_shows_nothing() {
        assert_eq!(verdict(&loaded(false, false).done(), CLAUSE), "inconclusive");
    }
}
