//! Histories about disruption budgets and rollouts.

use super::*;

mod ignores_budget {
    use super::*;

    const CLAUSE: &str = "scenario.liveness.ignores-pdb";

    /// Two pods under a budget, whose liveness probes fail twice.
    fn under(allowed: u64, stopped: [bool; 2]) -> Composer {
        let mut run = Composer::new(&[CLAUSE]);
        let budget = json!({
            "metadata": { "name": "all" }, "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "x" } } },
            "status": { "disruptionsAllowed": allowed, "currentHealthy": 2 },
        });
        run.sighting(2.0, "PodDisruptionBudget", "all", Change::Modified, budget);
        for (name, stopped) in [("a", stopped[0]), ("b", stopped[1])] {
            labeled(
                &mut run,
                name,
                &json!({ "app": "x" }),
                &target(&json!({ "livenessProbe": http("/live", 1, 2) }), &json!({})),
            );
            run.running(1.5, true, true, 0).probe(2.0, "/live", 200);
            probes(&mut run, 5, 2, "/live", 500);
            if stopped {
                run.signal(6.1, "SIGTERM");
            } else {
                run.running(20.0, true, true, 0);
            }
        }
        run
    }

    #[test]
    fn restarts_against_the_budget_hold() {
        assert_eq!(verdict(&under(0, [true, true]).done(), CLAUSE), "holds");
    }

    #[test]
    fn an_eviction_is_refused_at_the_same_time() {
        let evicted = |refused: Option<&str>| {
            let mut run = under(0, [true, true]);
            run.deed(
                4.5,
                probity_model::history::Did::Evicted {
                    pod: "b".to_owned(),
                    refused: refused.map(str::to_owned),
                    code: None,
                    cause: None,
                },
            );
            verdict(&run.done(), CLAUSE)
        };
        assert_eq!(evicted(Some("429 TooManyRequests")), "holds");
        assert_eq!(evicted(None), "violated");
    }

    #[test]
    fn a_request_that_a_busy_api_server_refuses_shows_nothing_about_the_budget() {
        let seen = |cause: Option<&str>| {
            let mut run = under(0, [true, true]);
            let refused = Some("429: Too many requests, please try again later.".to_owned());
            let cause = cause.map(str::to_owned);
            run.deed(
                4.5,
                probity_model::history::Did::Evicted { pod: "b".to_owned(), refused, code: Some(429), cause },
            );
            let judged = crate::tests::judgement(&run.done(), CLAUSE);
            judged.is_some_and(|judged| judged.facets.iter().any(|facet| facet.value == "refused"))
        };
        assert!(seen(Some("DisruptionBudget")));
        assert!(!seen(None));
    }

    #[test]
    fn an_eviction_under_a_budget_that_is_shown_late_is_not_judged() {
        let evicted = |shown: f64| {
            let mut run = under(0, [true, true]);
            run.deed(
                4.5,
                probity_model::history::Did::Evicted {
                    pod: "b".to_owned(),
                    refused: None,
                    code: None,
                    cause: None,
                },
            );
            let budget = json!({
                "metadata": { "name": "all" },
                "spec": { "minAvailable": 2, "selector": { "matchLabels": { "app": "x" } } },
                "status": { "disruptionsAllowed": 1, "currentHealthy": 3 },
            });
            run.sighting(shown, "PodDisruptionBudget", "all", Change::Modified, budget);
            verdict(&run.done(), CLAUSE)
        };
        assert_ne!(evicted(4.9), "violated", "the budget may have allowed it");
        assert_eq!(evicted(5.9), "violated");
    }

    #[test]
    fn a_restart_that_waits_for_the_budget_is_a_violation() {
        assert_eq!(verdict(&under(0, [true, false]).done(), CLAUSE), "violated");
    }

    #[test]
    fn a_budget_that_allows_it_shows_nothing() {
        assert_eq!(verdict(&under(1, [true, true]).done(), CLAUSE), "inconclusive");
    }
}

mod rollout {
    use super::*;

    const UNREADY: &str = "scenario.rollout.blocked-by-unready";
    const CRASHES: &str = "scenario.rollout.blocked-by-crashloop";

    fn deployment(run: &mut Composer, at: f64, version: u64, available: u64, reason: &str) {
        run.sighting(at, "Deployment", "web", Change::Modified, deployed(version, available, reason));
    }

    fn deployed(version: u64, available: u64, reason: &str) -> Value {
        json!({
            "metadata": { "name": "web", "generation": version },
            "spec": {
                "replicas": 2, "progressDeadlineSeconds": 20, "selector": { "matchLabels": { "app": "web" } },
                "template": { "version": version }, "strategy": { "rollingUpdate": { "maxUnavailable": 0 } },
            },
            "status": {
                "replicas": 2 + u64::from(version > 1), "updatedReplicas": if version > 1 { 1 } else { 2 }, "availableReplicas": available,
                "conditions": [{ "type": "Progressing", "status": if reason.is_empty() { "True" } else { "False" }, "reason": reason }],
            },
        })
    }

    /// Two old pods that are ready, and an update at 5 s that creates one new pod.
    fn updated(clause: &str, probes: &Value) -> Composer {
        let mut run = Composer::new(&[clause]);
        deployment(&mut run, 0.2, 1, 2, "");
        for name in ["old-a", "old-b"] {
            labeled(
                &mut run,
                name,
                &json!({ "app": "web", "pod-template-hash": "one" }),
                &target(&json!({}), &json!({})),
            );
            run.running(1.5, true, true, 0);
        }
        deployment(&mut run, 5.0, 2, 2, "");
        labeled(
            &mut run,
            "new",
            &json!({ "app": "web", "pod-template-hash": "two" }),
            &target(probes, &json!({})),
        );
        run.running(6.0, false, true, 0);
        run
    }

    fn unready() -> Composer {
        let mut run = updated(UNREADY, &json!({ "readinessProbe": http("/ready", 1, 3) }));
        probes(&mut run, 7, 10, "/ready", 503);
        run
    }

    #[test]
    fn a_rollout_that_stalls_holds() {
        let mut run = unready();
        deployment(&mut run, 26.0, 2, 2, "ProgressDeadlineExceeded");
        assert_eq!(verdict(&run.done(), UNREADY), "holds");
    }

    #[test]
    fn too_few_old_pods_are_a_violation() {
        let mut run = unready();
        deployment(&mut run, 18.0, 2, 1, "");
        assert_eq!(verdict(&run.done(), UNREADY), "violated");
    }

    #[test]
    fn a_stall_that_nobody_tells_is_a_violation() {
        let mut run = unready();
        deployment(&mut run, 60.0, 2, 2, "");
        assert_eq!(verdict(&run.done(), UNREADY), "violated");
    }

    #[test]
    fn a_new_version_that_becomes_ready_shows_nothing() {
        let mut run = updated(UNREADY, &json!({ "readinessProbe": http("/ready", 1, 3) }));
        probes(&mut run, 7, 3, "/ready", 200);
        run.running(7.3, true, true, 0);
        deployment(&mut run, 26.0, 2, 3, "");
        assert_eq!(verdict(&run.done(), UNREADY), "inconclusive");
    }

    fn crashes() -> Composer {
        let mut run = updated(CRASHES, &json!({ "livenessProbe": http("/live", 1, 2) }));
        probes(&mut run, 7, 2, "/live", 500);
        run.signal(8.1, "SIGTERM");
        run.left(8.2).start(9.0, 1);
        run
    }

    #[test]
    fn a_new_version_that_is_killed_again_and_again_holds() {
        let mut run = crashes();
        deployment(&mut run, 20.0, 2, 2, "");
        assert_eq!(verdict(&run.done(), CRASHES), "holds");
    }

    #[test]
    fn an_end_of_the_old_ones_is_a_violation() {
        let mut run = crashes();
        deployment(&mut run, 20.0, 2, 0, "");
        assert_eq!(verdict(&run.done(), CRASHES), "violated");
    }

    /// The new version stays ready through its restart and is counted as available. `settle` is the Deployment's
    /// minReadySeconds.
    fn counted(settle: u64) -> Composer {
        let mut run = updated(CRASHES, &json!({ "livenessProbe": http("/live", 1, 2) }));
        run.running(6.5, true, true, 0);
        probes(&mut run, 7, 2, "/live", 500);
        run.signal(8.1, "SIGTERM");
        run.left(8.2).start(9.0, 1);
        run.running(9.2, true, true, 1);
        let labels = json!({ "pod-template-hash": "two" });
        let set = object("web-two", &labels, &json!({}), &json!({ "availableReplicas": 1 }));
        run.sighting(10.0, "ReplicaSet", "web-two", Change::Modified, set);
        let mut short = deployed(2, 1, "");
        short["spec"]["minReadySeconds"] = json!(settle);
        run.sighting(20.0, "Deployment", "web", Change::Modified, short);
        run
    }

    #[test]
    fn a_new_pod_that_is_heard_of_before_the_update_is_new() {
        let mut run = Composer::new(&[UNREADY]);
        deployment(&mut run, 0.2, 1, 2, "");
        for (name, version) in [("old", "one"), ("new", "two")] {
            let labels = json!({ "app": "web", "pod-template-hash": version });
            labeled(
                &mut run,
                name,
                &labels,
                &target(&json!({ "readinessProbe": http("/ready", 1, 3) }), &json!({})),
            );
        }
        deployment(&mut run, 2.0, 2, 2, "");
        probes(&mut run, 7, 10, "/ready", 503);
        run.of("old", "target").running(8.0, true, true, 0);
        deployment(&mut run, 26.0, 2, 2, "ProgressDeadlineExceeded");
        assert_eq!(verdict(&run.done(), UNREADY), "holds");
    }

    #[test]
    fn restarts_too_quick_to_be_seen_diverge() {
        assert_eq!(verdict(&counted(3).done(), CRASHES), "diverges");
    }

    #[test]
    fn a_restart_that_shows_starts_the_seconds_anew() {
        let mut run = updated(CRASHES, &json!({ "livenessProbe": http("/live", 1, 2) }));
        run.running(6.5, true, true, 0);
        probes(&mut run, 7, 4, "/live", 500);
        run.signal(10.1, "SIGTERM");
        run.left(10.2).running(10.3, false, true, 0);
        run.start(11.0, 1);
        run.running(11.2, true, true, 1);
        let labels = json!({ "pod-template-hash": "two" });
        let set = object("web-two", &labels, &json!({}), &json!({ "availableReplicas": 1 }));
        // The controller's status comes after the pod is shown as not ready.
        run.sighting(10.4, "ReplicaSet", "web-two", Change::Modified, set);
        let mut short = deployed(2, 1, "");
        short["spec"]["minReadySeconds"] = json!(3);
        run.sighting(20.0, "Deployment", "web", Change::Modified, short);
        assert_eq!(verdict(&run.done(), CRASHES), "diverges");
    }

    #[test]
    fn more_old_pods_away_than_new_ones_were_counted_is_a_violation() {
        let mut run = counted(3);
        let mut none = deployed(2, 0, "");
        none["spec"]["minReadySeconds"] = json!(3);
        run.sighting(21.0, "Deployment", "web", Change::Modified, none);
        assert_eq!(verdict(&run.done(), CRASHES), "violated");
    }

    #[test]
    fn after_the_first_back_off_nothing_is_excused() {
        let mut run = updated(CRASHES, &json!({ "livenessProbe": http("/live", 1, 2) }));
        run.running(7.0, true, true, 0);
        probes(&mut run, 7, 2, "/live", 500);
        run.signal(8.1, "SIGTERM");
        let mut waits = probity_composer::running_status("target", 8.3, false, false, 1);
        waits["containerStatuses"][0]["state"] = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
        run.left(8.2).status(8.3, &waits);
        run.start(18.0, 1);
        run.running(18.2, true, true, 1);
        let labels = json!({ "pod-template-hash": "two" });
        let set = object("web-two", &labels, &json!({}), &json!({ "availableReplicas": 1 }));
        run.sighting(23.0, "ReplicaSet", "web-two", Change::Modified, set);
        let mut short = deployed(2, 2, "");
        short["spec"]["minReadySeconds"] = json!(3);
        run.sighting(24.0, "Deployment", "web", Change::Modified, short);
        assert_eq!(verdict(&run.done(), CRASHES), "violated");
    }

    #[test]
    fn to_be_counted_too_soon_is_a_violation() {
        assert_eq!(verdict(&counted(9).done(), CRASHES), "violated");
    }

    #[test]
    fn no_update_is_doubt() {
        let mut run = Composer::new(&[CRASHES]);
        deployment(&mut run, 1.0, 1, 2, "");
        assert_eq!(verdict(&run.done(), CRASHES), "inconclusive");
    }
}
