//! The results that are read from histories in which something else failed or was slow.

use super::*;
use probity_composer::running_status;
use probity_model::history::{Deed, Did, Happening};

fn unseen(result: &TrialResult, why: &str) {
    for row in &result.observations {
        let Err(said) = &row.seen else { panic!("{row:?}") };
        assert!(said.contains(why), "{said}");
        assert!(matches!(row.fit, Some(Fit::Undecided) | None), "{row:?}");
    }
}

#[test]
fn a_trial_that_was_cut_short_breaks_no_promise() {
    for (over, why) in
        [("interrupted", "the run was interrupted"), ("a door is shut", "ended early: a door is shut")]
    {
        // The kubelet had not killed it by then, and the time was over.
        let (trial, mut history) = hang(&stand(&web()), 500.0);
        assert_eq!(TrialResult::of(&trial, &history).fit(), Fit::Missed);
        let did = Did::Over { why: over.to_owned() };
        history.push(600 * SECOND, Happening::Deed(Deed { began_us: 600 * SECOND, did }));
        let result = TrialResult::of(&trial, &history);
        assert_eq!(result.fit(), Fit::Undecided);
        unseen(&result, why);
    }
}

#[test]
fn a_fault_of_a_pod_that_never_was_ready_was_not_tried() {
    let stand = stand(&web());
    let history = || {
        let mut run = Composer::new(&[]);
        run.of("app", "web");
        run.create(0.0, &stand.pod.pod["spec"]).reading(0.1);
        run.start(1.0, 0).running(2.0, false, true, 0);
        let endpoints = vec!["port-8080:/live".parse::<Endpoint>().unwrap()];
        run.fact(50.0, Fact::Change(ChangeSeen { endpoints, change: String::new() }));
        run.reading(90.0);
        run
    };
    for fault in [Fault::Hang, Fault::Calm] {
        let trial = trial(&stand, fault, 0).unwrap();
        unseen(&TrialResult::of(&trial, &history().done()), "the pod did not become ready");
    }
    let trial = trial(&stand, Fault::Hang, 0).unwrap();
    let mut late = history();
    late.running(60.0, true, true, 0);
    unseen(&TrialResult::of(&trial, &late.done()), "the pod did not become ready");
}

#[test]
fn the_readiness_of_a_slower_container_is_not_that_of_the_subject() {
    let spec = json!({ "containers": [web(), { "name": "slow" }] });
    let stand = StandIn::of(&workload(&spec)).unwrap();
    let trial = trial(&stand, Fault::Calm, 0).unwrap();
    let mut run = Composer::new(&[]);
    run.of("app", "web");
    run.create(0.0, &stand.pod.pod["spec"]).reading(0.1);
    run.start(1.0, 0);
    let mut own = running_status("web", 5.0, false, true, 0);
    own["containerStatuses"][0]["ready"] = json!(true);
    run.status(5.0, &own);
    run.running(40.0, true, true, 0).reading(60.0);
    let row = row(&trial, &run.done(), Quantity::Ready);
    assert_eq!(row.fit, Some(Fit::Met), "{row:?}");
    let Ok(span) = row.seen else { panic!("{row:?}") };
    assert_eq!(span.hi / SECOND, 4);
}

#[test]
fn a_sidecar_is_read_from_the_list_in_which_it_stands() {
    let mut sidecar = web();
    sidecar["restartPolicy"] = json!("Always");
    let spec = json!({ "initContainers": [sidecar], "containers": [{ "name": "main" }] });
    let stand = StandIn::of(&workload(&spec)).unwrap();
    assert_eq!(stand.subject, "web");
    let trial = trial(&stand, Fault::Calm, 0).unwrap();
    let mut run = Composer::new(&[]);
    run.of("app", "web");
    run.create(0.0, &stand.pod.pod["spec"]).reading(0.1);
    run.start(1.0, 0);
    let mut status = running_status("web", 4.0, true, true, 0);
    status["initContainerStatuses"] = status["containerStatuses"].take();
    status["containerStatuses"] = json!([]);
    run.status(4.0, &status).reading(60.0);
    assert_eq!(row(&trial, &run.done(), Quantity::Ready).fit, Some(Fit::Met));
}
