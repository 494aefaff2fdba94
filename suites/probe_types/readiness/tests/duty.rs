//! Histories of containers that are out of service but keep running.

use super::*;

mod maintenance_mode {
    use super::*;

    const CLAUSE: &str = "probe.readiness.maintenance-mode";

    /// The readiness probe fails from 4 s to 12 s; the pod is in a Service, and its endpoint is ready before the
    /// failures.
    fn in_service(shown: Option<u16>) -> Composer {
        let mut run = Composer::new(&[CLAUSE]);
        serve(&mut run);
        run.create(0.0, &json!({ "containers": [ready_and_live()] }))
            .start(1.0, 0)
            .running(1.2, false, true, 0);
        run.probe(2.0, "/ready", 200);
        run.running(2.1, true, true, 0).slice(2.2, "web", &json!({ "ready": true, "serving": true }));
        for second in 4..12 {
            run.probe(f64::from(second), "/ready", 503);
            run.probe(f64::from(second) + 0.2, "/live", 200);
            if second == 5 {
                run.running(5.3, false, true, 0);
            }
            if Some(second) == shown {
                run.slice(f64::from(second) + 0.4, "web", &json!({ "ready": false, "serving": false }));
            }
        }
        run
    }

    #[test]
    fn out_of_service_and_alive_holds() {
        assert_eq!(verdict(&in_service(Some(5)).done(), CLAUSE), "holds");
    }

    #[test]
    fn in_service_still_or_killed_is_a_violation() {
        assert_eq!(verdict(&in_service(None).done(), CLAUSE), "violated");
        let mut killed = in_service(Some(5));
        killed.signal(11.9, "SIGTERM");
        assert_eq!(verdict(&killed.done(), CLAUSE), "violated");
    }

    #[test]
    fn without_a_service_nothing_is_known_of_traffic() {
        let run = fails_from_four(CLAUSE, &ready_and_live(), Some(5));
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

mod backend_dependency {
    use super::*;

    const CLAUSE: &str = "probe.readiness.backend-dependency";

    fn ask(run: &mut Composer, second: u16, there: bool) {
        let status = if there { 200 } else { 503 };
        let told = probity_composer::Told { took: 0.01, ..probity_composer::Told::get("/ready", status) };
        run.http(f64::from(second), &told);
        run.probe(f64::from(second) + 0.2, "/live", 200);
    }

    fn call(run: &mut Composer, second: u16, there: bool) {
        let call = Call {
            by: "web:/ready".to_owned(),
            url: "http://10.0.0.9:8080/".to_owned(),
            status: there.then_some(200),
            answered_by: None,
            error: (!there).then(|| "failed to connect".to_owned()),
            took_us: 500,
        };
        run.fact(f64::from(second) + 0.005, Fact::Call(call));
    }

    /// The backend is down from 4 s to 12 s. The front end is shown as not ready at `down`, and as ready at 12.3 s.
    fn judged(down: Option<u16>, stopped: bool) -> &'static str {
        let mut run = ready_from_two(CLAUSE, &ready_and_live());
        for second in 4..17 {
            let there = second >= 12;
            call(&mut run, second, there);
            ask(&mut run, second, there);
            if down == Some(second) {
                run.running(f64::from(second) + 0.3, false, true, 0);
            }
            if second == 8 && stopped {
                run.signal(8.5, "SIGTERM");
            }
            if second == 12 && down.is_some() {
                run.running(12.3, true, true, 0);
            }
        }
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn unready_without_the_backend_and_alive_holds() {
        assert_eq!(judged(Some(5), false), "holds");
    }

    #[test]
    fn ready_without_the_backend_or_killed_is_a_violation() {
        assert_eq!(judged(None, false), "violated");
        assert_eq!(judged(Some(5), true), "violated");
    }

    #[test]
    fn failures_without_a_backend_are_not_meant() {
        let run = fails_from_four(CLAUSE, &ready_and_live(), Some(5));
        assert_eq!(verdict(&run.done(), CLAUSE), "inconclusive");
    }
}

/// Adds a Service `web` that selects the pod.
fn serve(run: &mut Composer) {
    let manifest = json!({ "spec": { "selector": { "probity.dev/pod": "pod" } } });
    let (kind, name) = ("Service".to_owned(), "web".to_owned());
    run.deed(0.0, probity_model::history::Did::Created { kind, name, manifest });
}
