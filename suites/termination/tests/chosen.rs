//! Stop signals that the image or the container names.

use probity_composer::{Composer, NODE, running_status};
use probity_model::history::Change;
use serde_json::{Value, json};

use super::{ASKED, at, delete, exits, killed, pod, shown};

const IMAGE: &str = "probity.local/agnhost-rs:dev-sigusr1";

/// The status of running containers, each with the stop signal that the runtime reports.
fn tells(run: &mut Composer, of: &[(&str, &str)]) {
    let mut status = running_status("target", 1.0, true, true, 0);
    let usual = status["containerStatuses"][0].clone();
    let each = of.iter().map(|(name, signal)| {
        let mut shown = usual.clone();
        shown["name"] = json!(name);
        shown["stopSignal"] = json!(signal);
        shown
    });
    status["containerStatuses"] = each.collect();
    let metadata = json!({ "name": "pod", "uid": "uid-pod", "labels": { "probity.dev/pod": "pod" } });
    let object = json!({ "metadata": metadata, "spec": { "nodeName": NODE }, "status": status });
    run.sighting(1.2, "Pod", "pod", Change::Modified, object);
}

/// The verdict on a pod with this container that receives this signal, or is killed without one. The runtime reports a
/// stop signal.
fn judged(clause: &str, container: &Value, signal: Option<&str>) -> &'static str {
    judged_by(clause, container, signal, true)
}

/// Like [`judged`], with a runtime that knows of stop signals or does not know of them.
fn judged_by(clause: &str, container: &Value, signal: Option<&str>, known: bool) -> &'static str {
    let spec = json!({ "terminationGracePeriodSeconds": 3, "containers": [container] });
    let mut run = pod(clause, &spec);
    if known {
        tells(&mut run, &[("target", "SIGUSR1")]);
    }
    delete(&mut run, ASKED, None);
    shown(&mut run, 10.1, (13.0, 3), Change::Modified);
    match signal {
        Some(signal) => {
            run.of("pod", "target").signal(10.2, signal);
            exits(&mut run, "target", 11.2, 0);
        }
        None => killed(&mut run, "target", 13.1),
    }
    at(run, 15.0, clause)
}

#[test]
fn the_image_names_the_stop_signal() {
    let clause = "termination.stopsignal-honoured";
    let of = |signal| judged(clause, &json!({ "name": "target", "image": IMAGE }), signal);
    assert_eq!(of(Some("SIGUSR1")), "holds");
    assert_eq!(of(Some("SIGTERM")), "violated");
    assert_eq!(of(None), "violated", "a kill is not a stop signal");
    let plain = json!({ "name": "target", "image": "probity.local/agnhost-rs:dev" });
    assert_eq!(judged(clause, &plain, Some("SIGTERM")), "inconclusive", "its image names none");
    let own = json!({ "name": "target", "image": IMAGE, "lifecycle": { "stopSignal": "SIGUSR2" } });
    assert_eq!(judged(clause, &own, Some("SIGUSR2")), "inconclusive", "the container knows better");
}

#[test]
fn the_container_names_the_stop_signal() {
    let clause = "termination.stopsignal-field";
    let own = |image: &str, signal| {
        let container = json!({ "name": "target", "image": image, "lifecycle": { "stopSignal": "SIGUSR2" } });
        judged(clause, &container, signal)
    };
    assert_eq!(own(IMAGE, Some("SIGUSR1")), "violated");
    assert_eq!(own("probity.local/agnhost-rs:dev", Some("SIGTERM")), "violated");
    assert_eq!(own(IMAGE, Some("SIGUSR2")), "holds");
}

#[test]
fn a_runtime_that_does_not_know_the_field_is_no_fault_of_the_kubelet() {
    let container = json!({ "name": "target", "image": IMAGE, "lifecycle": { "stopSignal": "SIGUSR2" } });
    let verdict = |known| judged_by("termination.stopsignal-field", &container, Some("SIGUSR1"), known);
    assert_eq!(verdict(false), "inconclusive");
    assert_eq!(verdict(true), "violated");
}

#[test]
fn a_container_is_stopped_by_its_own_signal_over_the_image_and_over_the_default() {
    let clause = "termination.stopsignal-field";
    let container = |name: &str, image: &str| json!({ "name": name, "image": image, "lifecycle": { "stopSignal": "SIGUSR2" } });
    let spec =
        json!({ "containers": [container("a", IMAGE), container("b", "probity.local/agnhost-rs:dev")] });
    let mut run = pod(clause, &spec);
    tells(&mut run, &[("a", "SIGUSR2"), ("b", "SIGUSR2")]);
    delete(&mut run, ASKED, Some(30));
    shown(&mut run, 10.1, (40.0, 30), Change::Modified);
    for name in ["a", "b"] {
        run.of("pod", name).signal(10.2, "SIGUSR2");
        exits(&mut run, name, 11.2, 0);
    }
    assert_eq!(at(run, 15.0, clause), "holds");
}
