//! Histories of readiness at the start of a container.

use super::*;

mod starts_unready {
    use super::*;

    const CLAUSE: &str = "probe.readiness.starts-unready";

    fn judged(build: impl FnOnce(&mut Composer)) -> &'static str {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [ready_only()] })).start(1.0, 0);
        build(&mut run);
        run.probe(4.0, "/ready", 200);
        run.running(4.1, true, true, 0);
        verdict(&run.done(), CLAUSE)
    }

    #[test]
    fn not_ready_until_the_first_success_holds() {
        assert_eq!(
            judged(|run| {
                run.running(1.2, false, true, 0);
            }),
            "holds"
        );
    }

    #[test]
    fn ready_before_the_first_success_is_a_violation() {
        assert_eq!(
            judged(|run| {
                run.running(1.2, true, true, 0);
            }),
            "violated"
        );
    }

    #[test]
    fn ready_though_every_probe_failed_is_a_violation() {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [ready_only()] })).start(1.0, 0);
        answers(&mut run, "/ready", 503, 2..6);
        run.running(6.5, true, true, 0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_start_that_nobody_saw_is_doubt() {
        assert_eq!(judged(|_| ()), "inconclusive");
    }
}

mod absent_means_ready {
    use super::*;

    const CLAUSE: &str = "probe.readiness.absent-means-ready";

    fn ready_at(shown: Option<f64>, spec: &Value) -> History {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [spec] })).start(1.0, 0).running(
            1.2,
            shown == Some(1.2),
            true,
            0,
        );
        if let Some(shown) = shown {
            run.running(shown, true, true, 0);
        }
        run.reading(9.0);
        run.done()
    }

    #[test]
    fn ready_with_the_first_sight_of_started_holds() {
        assert_eq!(verdict(&ready_at(Some(1.2), &json!({ "name": "target" })), CLAUSE), "holds");
    }

    #[test]
    fn ready_much_later_or_never_is_a_violation() {
        assert_eq!(verdict(&ready_at(Some(6.0), &json!({ "name": "target" })), CLAUSE), "violated");
        assert_eq!(verdict(&ready_at(None, &json!({ "name": "target" })), CLAUSE), "violated");
    }

    #[test]
    fn ready_at_a_first_sight_that_comes_late_is_a_violation() {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        run.running(21.0, true, true, 0).reading(22.0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn unready_while_it_still_runs_is_a_violation() {
        let mut run = Composer::new(&[CLAUSE]);
        run.create(0.0, &json!({ "containers": [{ "name": "target" }] })).start(1.0, 0);
        run.running(1.2, true, true, 0).running(6.0, false, true, 0).reading(9.0);
        assert_eq!(verdict(&run.done(), CLAUSE), "violated");
    }

    #[test]
    fn a_container_with_a_readiness_probe_is_not_meant() {
        assert_eq!(verdict(&ready_at(None, &ready_only()), CLAUSE), "inconclusive");
    }
}
