use probity_composer::{Composer, Told, running_status};
use probity_model::history::{Did, KubeletSigns, NodeProof};
use probity_script::witness::Ending;
use serde_json::{Value, json};

use crate::tests::verdict;

const GAINED: &str = "prober.kubelet-restart.nothing-gained";
const RESUMES: &str = "prober.kubelet-restart.probing-resumes";
const KILLS: &str = "prober.kubelet-restart.failures-still-kill";
const ENDS: &str = "prober.kubelet-restart.ends-count-once";

fn http(path: &str, period: u64) -> Value {
    json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": period, "failureThreshold": 3 })
}

/// A container with these probes that runs from 1 s on, neither ready nor (with a startup probe) started.
fn pod(clause: &str, probes: &Value) -> Composer {
    let mut container = probes.clone();
    container["name"] = json!("target");
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [container], "terminationGracePeriodSeconds": 5 })).start(1.0, 0);
    let started = probes.get("startupProbe").is_none();
    run.running(1.2, false, started, 0);
    run
}

/// The kubelet is restarted at this second, and the restart takes one second.
fn restart(run: &mut Composer, at: f64) {
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    let proof = NodeProof { ended_us: probity_composer::us(at + 1.0), before: shown(1), after: shown(2) };
    run.deed(at, Did::verb(probity_composer::NODE, "restart-kubelet", Some(0), Some(proof)));
}

/// The status of the instance that began at 1 s.
fn shown(run: &mut Composer, at: f64, ready: bool, started: bool) {
    run.status(at, &running_status("target", 1.2, ready, started, 0));
}

fn unready(status: u16, ready: Option<f64>) -> &'static str {
    let mut run = pod(GAINED, &json!({ "readinessProbe": http("/r", 2) }));
    for second in [3.0, 5.0, 7.0, 9.0] {
        run.probe(second, "/r", 503);
    }
    restart(&mut run, 20.0);
    run.probe(22.5, "/r", status);
    if let Some(at) = ready {
        shown(&mut run, at, true, true);
    }
    run.probe(26.0, "/r", status);
    run.probe(36.0, "/r", status);
    verdict(&run.done(), GAINED)
}

#[test]
fn a_restart_makes_nothing_ready() {
    assert_eq!(unready(503, None), "holds");
    assert_eq!(unready(503, Some(23.0)), "violated");
    assert_eq!(unready(200, Some(21.0)), "violated");
    assert_eq!(unready(200, Some(23.0)), "holds");
}

#[test]
fn only_a_container_that_has_just_started_is_known_to_be_shown_as_ready() {
    let told = |began: f64, first: Option<bool>, ready: f64, falls: Option<f64>| {
        let mut run = pod(GAINED, &json!({ "readinessProbe": http("/r", 2) }));
        run.probe(3.0, "/r", 503);
        restart(&mut run, began);
        if let Some(first) = first {
            shown(&mut run, began + 1.1, first, true);
        }
        shown(&mut run, ready, true, true);
        run.probe(ready + 1.0, "/r", 503);
        if let Some(at) = falls {
            shown(&mut run, at, false, true);
        }
        run.reading(40.0);
        verdict(&run.done(), GAINED)
    };
    assert_eq!(told(8.0, None, 9.5, Some(10.7)), "diverges");
    assert_eq!(told(12.0, None, 13.5, Some(14.7)), "violated", "the container has run for too long");
    assert_eq!(told(8.0, Some(false), 9.5, Some(10.7)), "violated", "an earlier status was correct");
    assert_eq!(told(8.0, None, 9.5, Some(14.0)), "violated", "the container stays ready for too long");
    assert_eq!(told(8.0, None, 9.5, None), "violated", "the container stays ready");
    assert_eq!(told(8.0, None, 21.0, Some(22.5)), "violated", "the status comes too late");
}

#[test]
fn a_restart_makes_nothing_started() {
    for (at, word) in [(22.0, "diverges"), (24.0, "holds")] {
        let mut run = pod(GAINED, &json!({ "startupProbe": http("/s", 2) }));
        run.probe(3.0, "/s", 503);
        restart(&mut run, 20.0);
        run.probe(23.0, "/s", 200);
        shown(&mut run, at, true, true);
        run.reading(40.0);
        assert_eq!(verdict(&run.done(), GAINED), word, "{at}");
    }
}

#[test]
fn what_is_shown_as_started_later_without_a_success_is_no_known_deviation() {
    let mut run = pod(GAINED, &json!({ "startupProbe": http("/s", 2) }));
    run.probe(3.0, "/s", 503);
    restart(&mut run, 20.0);
    for at in [23.0, 25.0, 27.0, 29.0, 31.0, 33.0] {
        run.probe(at, "/s", 503);
    }
    shown(&mut run, 34.0, false, true);
    run.reading(40.0);
    assert_eq!(verdict(&run.done(), GAINED), "violated");
}

/// A container with a readiness and a startup probe. Of these, the startup probe is due, and arrives again at these
/// times.
fn resumed(next: &[f64]) -> &'static str {
    let mut run = pod(RESUMES, &json!({ "startupProbe": http("/s", 2), "readinessProbe": http("/r", 2) }));
    run.probe(3.0, "/s", 503);
    restart(&mut run, 20.0);
    for at in next {
        run.probe(*at, "/s", 503);
    }
    run.connection(60.0, "web", 8080);
    verdict(&run.done(), RESUMES)
}

#[test]
fn the_probe_that_is_due_comes_again() {
    assert_eq!(resumed(&[22.0, 24.0]), "holds");
    assert_eq!(resumed(&[50.0]), "violated");
}

#[test]
fn a_probe_that_never_comes_again_is_a_violation() {
    let mut run = pod(RESUMES, &json!({ "readinessProbe": http("/r", 2) }));
    run.probe(3.0, "/r", 503);
    restart(&mut run, 20.0);
    run.connection(70.0, "web", 8080);
    assert_eq!(verdict(&run.done(), RESUMES), "violated");
}

fn ill(failures: u16, stop: Option<f64>) -> &'static str {
    let mut run = pod(KILLS, &json!({ "livenessProbe": http("/l", 1) }));
    run.probe(18.0, "/l", 500);
    run.probe(19.0, "/l", 500);
    restart(&mut run, 20.0);
    for second in 0..failures {
        run.probe(22.0 + f64::from(second), "/l", 500);
    }
    match stop {
        Some(at) => run.signal(at, "SIGTERM"),
        None => run.probe(60.0, "/l", 500),
    };
    verdict(&run.done(), KILLS)
}

#[test]
fn failures_after_a_restart_kill() {
    assert_eq!(ill(3, Some(24.3)), "holds");
    assert_eq!(ill(30, None), "violated");
    assert_eq!(ill(2, Some(24.3)), "inconclusive", "the count may have begun with an unseen probe");
}

/// One failure before the restart of the kubelet, one after it, and a stop signal at this time.
fn soon_after(stop: f64) -> &'static str {
    let mut run = pod(KILLS, &json!({ "livenessProbe": http("/l", 5) }));
    run.probe(13.0, "/l", 200);
    run.probe(18.0, "/l", 500);
    restart(&mut run, 20.0);
    run.probe(23.0, "/l", 500);
    run.signal(stop, "SIGTERM");
    verdict(&run.done(), KILLS)
}

#[test]
fn one_failure_after_a_restart_is_not_enough() {
    assert_eq!(soon_after(23.5), "violated");
    assert_ne!(soon_after(33.5), "violated");
}

/// A connection before the restart of the kubelet, handled like this, and a stop signal right after the restart.
fn after_connection(handled: &str) -> &'static str {
    let mut probe = http("/l", 5);
    probe["failureThreshold"] = json!(2);
    let mut run = pod(KILLS, &json!({ "livenessProbe": probe }));
    run.probe(13.0, "/l", 200);
    let (connection, ending) = (handled.to_owned(), Ending::PeerClosed);
    run.tcp(18.0, &Told { connection, took: 1.0, ending, ..Told::get("", "") });
    restart(&mut run, 20.0);
    run.signal(21.5, "SIGTERM");
    verdict(&run.done(), KILLS)
}

#[test]
fn a_connection_that_the_target_did_not_serve_was_a_failure() {
    assert_eq!(after_connection("serve"), "violated");
    assert_eq!(after_connection("hold"), "inconclusive");
}

/// A container that terminates while the kubelet is down, and how its next instance is shown.
fn ended(next: Option<u64>) -> &'static str {
    let mut run = pod(ENDS, &json!({}));
    shown(&mut run, 1.5, true, true);
    // The end of the container is recorded before the deed has ended.
    run.left(20.5);
    restart(&mut run, 20.0);
    if let Some(restarts) = next {
        run.start(23.0, 1);
        run.running(23.5, true, true, restarts);
    }
    run.reading(90.0);
    verdict(&run.done(), ENDS)
}

#[test]
fn an_end_while_the_kubelet_is_away_counts_once() {
    assert_eq!(ended(Some(1)), "holds");
    assert_eq!(ended(Some(2)), "violated");
    assert_eq!(ended(None), "violated");
}

#[test]
fn without_a_restart_nothing_is_said() {
    for clause in [GAINED, RESUMES, KILLS, ENDS] {
        let mut run =
            pod(clause, &json!({ "readinessProbe": http("/r", 2), "livenessProbe": http("/l", 2) }));
        run.probe(3.0, "/r", 503);
        assert_eq!(verdict(&run.done(), clause), "inconclusive");
    }
}
