//! Containers that cannot start because an image, a ConfigMap or a Secret is missing: their statuses, the events, and
//! their start.

use super::*;

/// A status that a kubelet wrote for a pod with its network, in which the container waits for this reason.
fn waits(reason: &str) -> Value {
    match reason {
        "CreateContainerConfigError" => waits_with("no key later in words, and no probity-no-such-words"),
        reason => shown(json!({ "waiting": { "reason": reason } })),
    }
}

/// A status in which the container waits because of its configuration, with this message.
fn waits_with(message: &str) -> Value {
    shown(json!({ "waiting": { "reason": "CreateContainerConfigError", "message": message } }))
}

fn runs() -> Value {
    shown(json!({ "running": { "startedAt": timestamp(1.0) } }))
}

fn shown(state: Value) -> Value {
    json!({
        "phase": "Pending", "startTime": timestamp(0.0),
        "conditions": [{ "type": "PodReadyToStartContainers", "status": "True" }],
        "containerStatuses": [{ "name": "target", "restartCount": 0, "image": "none", "state": state }],
    })
}

/// Shows the statuses and events at 2 s, 3 s and so on, until 30 s.
fn judged(mut run: Composer, clause: &str, statuses: &[Value], events: &[Value]) -> &'static str {
    for (at, status) in (2_u32..).zip(statuses) {
        run.status(f64::from(at), status);
    }
    for (at, event) in (4_u32..).zip(events) {
        told(&mut run, f64::from(at), event);
    }
    concluded(run, clause)
}

fn about(kind: &str, reason: &str, message: &str) -> Value {
    let event = event(4.0, "target", kind, reason, message);
    with(event, "/metadata/name", json!(format!("pod.{reason}")))
}

// ---- images

fn of_image(image: &str, policy: &str) -> Value {
    one(json!({ "name": "target", "image": image, "imagePullPolicy": policy }))
}

const NOWHERE: &str = "localhost:9/none:1";

#[test]
fn a_container_without_an_image_waits_for_it() {
    let clause = "report.status.image-missing";
    let judged = |image: &str, policy: &str, reasons: &[&str]| {
        let statuses: Vec<Value> = reasons.iter().map(|reason| waits(reason)).collect();
        judged(pod(clause, &of_image(image, policy)), clause, &statuses, &[])
    };
    assert_eq!(judged(NOWHERE, "Never", &["ContainerCreating", "ErrImageNeverPull"]), "holds");
    assert_eq!(judged(NOWHERE, "Always", &["ErrImagePull", "ImagePullBackOff", "ErrImagePull"]), "holds");
    assert_eq!(judged("local/None:1", "Always", &["InvalidImageName"]), "holds");
    assert_eq!(judged(NOWHERE, "Always", &["SignatureValidationFailed", "ImagePullBackOff"]), "holds");
    assert_eq!(judged(NOWHERE, "Never", &["ErrImagePull"]), "violated", "nobody may pull it");
    assert_eq!(judged("local/None:1", "IfNotPresent", &["ErrImagePull"]), "violated", "nobody can pull it");
    assert_eq!(judged(NOWHERE, "Always", &["ErrImagePull", "ContainerCreating"]), "violated");
    assert_eq!(judged(NOWHERE, "Always", &["ContainerCreating"]), "violated", "it is never told");
    assert_eq!(judged("local/none:1", "Always", &["ErrImagePull"]), "inconclusive", "it may be there");
    assert_eq!(judged(NOWHERE, "Always", &[]), "inconclusive");
}

#[test]
fn a_container_without_an_image_does_not_run() {
    let clause = "report.status.image-missing";
    assert_eq!(judged(pod(clause, &of_image(NOWHERE, "Never")), clause, &[runs()], &[]), "violated");
}

#[test]
fn a_kubelet_always_asks_for_an_image_if_it_must() {
    let clause = "report.status.image-always";
    let images = |policy: &str| {
        json!({ "containers": [
            { "name": "target", "image": "local/there:1", "imagePullPolicy": policy },
            { "name": "other", "image": "local/there:1", "imagePullPolicy": "IfNotPresent" },
        ] })
    };
    let beside = |state: Value| {
        let other =
            json!({ "name": "other", "restartCount": 0, "state": { "running": {} }, "lastState": {} });
        let target = json!({ "name": "target", "restartCount": 0, "state": state, "lastState": {} });
        json!({ "phase": "Pending", "startTime": timestamp(0.0), "containerStatuses": [target, other] })
    };
    let present = about("Normal", "Pulled", "Container image \"local/there:1\" already present on machine");
    let (failed, started) = (json!({ "waiting": { "reason": "ErrImagePull" } }), json!({ "running": {} }));
    let of = |policy: &str, state: &Value, events: &[Value]| {
        judged(pod(clause, &images(policy)), clause, &[beside(state.clone())], events)
    };
    assert_eq!(of("Always", &failed, &[]), "holds");
    assert_eq!(of("Always", &started, &[about("Normal", "Pulling", "Pulling image")]), "holds");
    assert_eq!(of("Always", &started, std::slice::from_ref(&present)), "violated");
    assert_eq!(of("IfNotPresent", &started, &[present]), "inconclusive", "it may use the image of the node");
}

#[test]
fn what_is_tried_for_an_image_is_reported() {
    let clause = "report.event.image-missing";
    let judged = |name: &str, policy: &str, events: &[(&str, &str)]| {
        let events: Vec<Value> =
            events.iter().map(|(kind, reason)| about(kind, reason, "no image")).collect();
        judged(pod(clause, &of_image(name, policy)), clause, &[waits("ContainerCreating")], &events)
    };
    let (failed, pulling, backs_off) = (("Warning", "Failed"), ("Normal", "Pulling"), ("Normal", "BackOff"));
    assert_eq!(judged(NOWHERE, "Never", &[("Warning", "ErrImageNeverPull"), failed]), "holds");
    assert_eq!(judged("local/None:1", "Never", &[("Warning", "InspectFailed"), failed]), "holds");
    assert_eq!(judged(NOWHERE, "Always", &[pulling, failed, backs_off]), "holds");
    assert_eq!(judged(NOWHERE, "Always", &[pulling, failed]), "violated", "it waits for the next pull");
    assert_eq!(judged(NOWHERE, "Never", &[failed]), "violated", "what was tried is not told");
    assert_eq!(judged(NOWHERE, "Never", &[]), "violated");
    assert_eq!(judged("local/none:1", "Always", &[]), "inconclusive", "it may be there");
}

/// The verdict on pulls that begin at these times. Each one fails at the second time, if there is one, with an event.
fn pulled(pulls: &[(f64, Option<f64>)], until: f64) -> &'static str {
    let mut run = pod("report.event.pull-back-off", &of_image(NOWHERE, "Always"));
    run.status(2.0, &waits("ErrImagePull"));
    for (count, (begun, failed)) in (1_u32..).zip(pulls) {
        let mut tell = |at: f64, kind: &str, reason: &str| {
            let event = with(about(kind, reason, "no image"), "/count", json!(count));
            told(&mut run, at, &with(event, "/lastTimestamp", json!(timestamp(at))));
        };
        tell(*begun, "Normal", "Pulling");
        if let Some(failed) = failed {
            tell(*failed, "Warning", "Failed");
        }
    }
    run.status(until, &waits("ImagePullBackOff"));
    run.reading(until);
    verdict(&run.done(), "report.event.pull-back-off")
}

#[test]
fn each_pull_waits_longer() {
    let judged = |pulls: &[f64], until: f64| {
        let pulls: Vec<_> = pulls.iter().map(|at| (*at, Some(*at + 0.1))).collect();
        pulled(&pulls, until)
    };
    assert_eq!(judged(&[4.0, 16.0, 40.0], 42.0), "holds");
    assert_eq!(judged(&[4.0, 6.0], 8.0), "violated", "it did not wait");
    assert_eq!(judged(&[4.0, 16.0, 28.0], 30.0), "violated", "the delay did not grow");
    assert_eq!(judged(&[4.0, 16.0, 40.0, 64.0], 66.0), "violated", "the delay did not grow the third time");
    assert_eq!(judged(&[4.0, 50.0], 52.0), "violated", "much too late");
    assert_eq!(judged(&[4.0, 16.0], 70.0), "violated", "it gave up");
    assert_eq!(judged(&[4.0, 16.0], 30.0), "holds", "too early to say anything about the third");
}

#[test]
fn a_wait_begins_at_the_end_of_a_pull() {
    assert_eq!(pulled(&[(4.0, Some(44.0)), (56.0, Some(96.0)), (120.0, None)], 122.0), "holds");
    assert_eq!(pulled(&[(4.0, Some(44.0)), (48.0, Some(88.0))], 90.0), "violated", "it did not wait");
    assert_eq!(pulled(&[(4.0, Some(44.0)), (90.0, Some(90.1))], 92.0), "violated", "much too late");
    assert_eq!(pulled(&[(4.0, Some(44.0))], 90.0), "violated", "it gave up");
    assert_eq!(pulled(&[(4.0, None)], 90.0), "inconclusive", "the pull may still go on");
    assert_eq!(pulled(&[(4.0, None), (90.0, None)], 92.0), "inconclusive", "its end is not known");
    assert_eq!(
        pulled(&[(4.0, None), (6.0, None)], 8.0),
        "violated",
        "it did not even wait since the beginning"
    );
}

#[test]
fn a_status_shows_the_end_of_a_pull() {
    let judged = |shown: f64, next: f64| {
        let clause = "report.event.pull-back-off";
        let mut run = pod(clause, &of_image(NOWHERE, "Always"));
        run.status(2.0, &waits("ContainerCreating"));
        told(&mut run, 4.0, &about("Normal", "Pulling", "no image"));
        run.status(shown, &waits("ErrImagePull"));
        told(&mut run, next, &with(about("Normal", "Pulling", "no image"), "/count", json!(2)));
        run.reading(next + 2.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(44.0, 56.0), "holds");
    assert_eq!(judged(4.1, 50.0), "violated", "much too late");
}

#[test]
fn the_pull_for_another_container_delays_the_next_one() {
    let judged = |took: f64| {
        let clause = "report.event.pull-back-off";
        let container =
            |name: &str, image: &str| json!({ "name": name, "image": image, "imagePullPolicy": "Always" });
        let spec = json!({ "containers": [container("target", NOWHERE), container("other", "localhost:9/other:1")] });
        let mut run = pod(clause, &spec);
        let of_other = |mut event: Value| {
            event["involvedObject"]["fieldPath"] = json!("spec.containers{other}");
            let name = format!("{}.other", event["metadata"]["name"].as_str().unwrap_or_default());
            with(event, "/metadata/name", json!(name))
        };
        let (pulling, failed) =
            (about("Normal", "Pulling", "no image"), about("Warning", "Failed", "no image"));
        told(&mut run, 4.0, &pulling);
        told(&mut run, 4.1, &failed);
        told(&mut run, 4.2, &of_other(pulling.clone()));
        told(&mut run, 4.2 + took, &of_other(failed.clone()));
        told(&mut run, 54.0, &with(pulling, "/count", json!(2)));
        told(&mut run, 54.1, &with(failed, "/count", json!(2)));
        run.reading(55.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(40.0), "holds");
    assert_eq!(judged(0.1), "violated", "much too late");
}

#[test]
fn a_pull_that_takes_long_delays_its_status_and_its_events() {
    for (clause, reason) in
        [("report.status.image-missing", "ContainerCreating"), ("report.event.image-missing", "ErrImagePull")]
    {
        let judged = |failed: Option<f64>, until: f64| {
            let mut run = pod(clause, &of_image(NOWHERE, "Always"));
            run.status(2.0, &waits("ContainerCreating"));
            let in_time = |at: f64, kind: &str, reason: &str| {
                with(about(kind, reason, "no image"), "/lastTimestamp", json!(timestamp(at)))
            };
            told(&mut run, 2.5, &in_time(2.5, "Normal", "Pulling"));
            if let Some(failed) = failed {
                told(&mut run, failed, &in_time(failed, "Warning", "Failed"));
                run.status(failed + 0.1, &waits(reason));
            }
            run.reading(until);
            verdict(&run.done(), clause)
        };
        assert_eq!(judged(None, 60.0), "inconclusive", "{clause}: the pull has not ended");
        assert_ne!(judged(Some(42.0), 60.0), "violated", "{clause}: something else is due later");
        assert_eq!(judged(Some(42.0), 70.0), "violated", "{clause}");
        assert_eq!(judged(Some(2.6), 40.0), "violated", "{clause}");
    }
}

#[test]
fn the_image_of_each_instance_is_reported() {
    let clause = "report.event.pulled-each-time";
    let judged = |counts: &[u64]| {
        let mut run = pod(clause, &three());
        run.start(2.0, 0);
        exits(&mut run, 3.0, 1);
        run.start(5.0, 1);
        for (at, count) in [(2.5, 1), (5.5, 2)].into_iter().filter(|(_, count)| counts.contains(count)) {
            told(&mut run, at, &with(about("Normal", "Pulled", "it is there"), "/count", json!(count)));
        }
        concluded(run, clause)
    };
    assert_eq!(judged(&[1, 2]), "holds");
    assert_eq!(judged(&[1]), "violated", "only the first start was reported");
    assert_eq!(judged(&[]), "violated");
    assert_eq!(concluded(pod(clause, &three()), clause), "inconclusive");
}

// ---- ConfigMaps and Secrets

fn of_variable(kind: &str, name: &str) -> Value {
    let source = json!({ kind: { "name": name, "key": "later" } });
    one(json!({ "name": "target", "env": [{ "name": "LATER", "valueFrom": source }] }))
}

fn of_volume(name: &str) -> Value {
    let mut spec = one(json!({ "name": "target", "env": [{ "name": "AGNHOST_PLAN", "value": "{}" }] }));
    let items = json!([{ "key": "later", "path": "later" }]);
    spec["volumes"] = json!([{ "name": "settings", "configMap": { "name": name, "items": items } }]);
    spec
}

/// A ConfigMap with a key, and a pod that is created after it.
fn beside_a_map(clause: &str, key: &str, spec: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    let manifest = json!({ "data": { key: "word" } });
    run.deed(0.0, Did::Created { kind: "ConfigMap".to_owned(), name: "words".to_owned(), manifest });
    run.create(0.1, spec);
    run
}

fn supplies(run: &mut Composer, at: f64) {
    let (kind, name, subresource) = ("ConfigMap".to_owned(), "words".to_owned(), String::new());
    run.deed(at, Did::Patched { kind, name, patch: json!({ "data": { "later": "now" } }), subresource });
}

#[test]
fn a_container_without_its_environment_waits_for_it() {
    let clause = "report.status.settings-missing";
    let nobodys = of_variable("secretKeyRef", "probity-no-such-words");
    let lacking = of_variable("configMapKeyRef", "words");
    let after = |spec: &Value, key: &str, reasons: &[&str]| {
        let statuses: Vec<Value> = reasons.iter().map(|reason| waits(reason)).collect();
        judged(beside_a_map(clause, key, spec), clause, &statuses, &[])
    };
    let creating = "ContainerCreating";
    assert_eq!(after(&nobodys, "hello", &[creating, "CreateContainerConfigError"]), "holds");
    assert_eq!(after(&lacking, "hello", &["CreateContainerConfigError"]), "holds");
    assert_eq!(after(&lacking, "hello", &["CreateContainerConfigError", creating]), "violated");
    assert_eq!(after(&lacking, "hello", &["RunContainerError"]), "violated");
    assert_eq!(after(&lacking, "hello", &[creating]), "violated", "it is never told");
    assert_eq!(after(&lacking, "later", &[creating]), "inconclusive", "the key exists");
    let others = of_variable("secretKeyRef", "somebodys");
    assert_eq!(after(&others, "hello", &[creating]), "inconclusive", "it may exist");
}

#[test]
fn the_message_names_what_is_missing() {
    let clause = "report.status.settings-missing";
    let judged = |messages: &[&str]| {
        let statuses: Vec<Value> = messages.iter().map(|message| waits_with(message)).collect();
        let spec = of_variable("configMapKeyRef", "words");
        judged(beside_a_map(clause, "hello", &spec), clause, &statuses, &[])
    };
    assert_eq!(judged(&["couldn't find key later in ConfigMap words"]), "holds");
    assert_eq!(judged(&["timed out", "couldn't find key later in ConfigMap words"]), "holds");
    assert_eq!(judged(&["timed out"]), "violated");
    assert_eq!(judged(&[""]), "violated");
}

#[test]
fn an_ephemeral_container_without_an_image_is_shown_as_waiting_for_it() {
    let clause = "report.status.image-missing";
    let judged = |reason: &str| {
        let debug = json!({ "name": "debug", "image": NOWHERE, "imagePullPolicy": "Never" });
        let spec = json!({ "containers": [{ "name": "target" }], "ephemeralContainers": [debug] });
        let mut shown = runs();
        shown["ephemeralContainerStatuses"] =
            json!([{ "name": "debug", "restartCount": 0, "state": { "waiting": { "reason": reason } } }]);
        judged(pod(clause, &spec), clause, &[shown], &[])
    };
    assert_eq!(judged("ErrImageNeverPull"), "holds");
    assert_eq!(judged("ContainerCreating"), "violated");
}

#[test]
fn all_variables_of_an_object_are_waited_for_too() {
    let of = |clause: &str, reason: &str| {
        let spec = one(
            json!({ "name": "target", "envFrom": [{ "secretRef": { "name": "probity-no-such-words" } }] }),
        );
        judged(beside_a_map(clause, "hello", &spec), clause, &[waits(reason)], &[])
    };
    assert_eq!(of("report.status.settings-missing", "CreateContainerConfigError"), "holds");
    assert_eq!(of("report.status.settings-missing", "RunContainerError"), "violated");
    assert_eq!(of("report.event.settings-missing", "CreateContainerConfigError"), "violated", "no event");
}

#[test]
fn what_is_optional_is_not_waited_for() {
    let clause = "report.status.settings-supplied";
    let after = |optional: bool, starts: bool, until: f64| {
        let mut spec = of_volume("words");
        spec["volumes"][0]["configMap"]["optional"] = json!(optional);
        let mut run = beside_a_map(clause, "hello", &spec);
        run.status(1.0, &waits("ContainerCreating"));
        if starts {
            run.start(2.0, 0);
        }
        run.reading(until);
        crate::tests::verdict(&run.done(), clause)
    };
    assert_eq!(after(true, true, 30.0), "holds");
    assert_eq!(after(true, false, 30.0), "violated");
    assert_eq!(after(true, false, 15.0), "inconclusive", "it may start later");
    assert_eq!(after(false, true, 30.0), "violated");
}

#[test]
fn a_key_of_a_projected_volume_can_be_optional() {
    let clause = "report.status.settings-supplied";
    let after = |optional: bool, starts: bool| {
        let mut spec = of_volume("words");
        let items = json!([{ "key": "later", "path": "later" }]);
        let source = json!({ "configMap": { "name": "words", "items": items, "optional": optional } });
        spec["volumes"] = json!([{ "name": "settings", "projected": { "sources": [source] } }]);
        let mut run = beside_a_map(clause, "hello", &spec);
        run.status(1.0, &waits("ContainerCreating"));
        if starts {
            run.start(2.0, 0);
        }
        concluded(run, clause)
    };
    assert_eq!(after(true, true), "holds");
    assert_eq!(after(true, false), "violated");
    assert_eq!(after(false, true), "violated", "it needs the key");
}

#[test]
fn a_container_without_its_volume_is_being_created() {
    let clause = "report.status.settings-missing";
    let after = |statuses: &[Value]| {
        judged(beside_a_map(clause, "hello", &of_volume("words")), clause, statuses, &[])
    };
    assert_eq!(after(&[waits("ContainerCreating")]), "holds");
    assert_eq!(after(&[waits("CreateContainerError")]), "violated");
    assert_eq!(after(&[runs()]), "violated");
}

#[test]
fn what_does_not_exist_is_reported() {
    let clause = "report.event.settings-missing";
    let after = |spec: &Value, events: &[Value]| {
        judged(beside_a_map(clause, "hello", spec), clause, &[waits("ContainerCreating")], events)
    };
    let lacking = of_variable("configMapKeyRef", "words");
    let failed = |message: &str| about("Warning", "Failed", message);
    assert_eq!(after(&lacking, &[failed("Error: there is no key later")]), "holds");
    let unmounted = about("Warning", "FailedMount", "no volume \"settings\"");
    assert_eq!(
        after(&of_volume("words"), &[with(unmounted, "/involvedObject/fieldPath", json!(""))]),
        "holds"
    );
    assert_eq!(after(&lacking, &[failed("Error: something does not exist")]), "violated");
    assert_eq!(after(&lacking, &[about("Normal", "Failed", "no key later")]), "violated", "it is no warning");
    assert_eq!(after(&lacking, &[]), "violated");
    let others = of_variable("secretKeyRef", "somebodys");
    assert_eq!(after(&others, &[]), "inconclusive", "it may exist");
}

#[test]
fn a_pod_starts_once_it_has_what_it_refers_to() {
    let clause = "report.status.settings-supplied";
    let after = |supplied: Option<f64>, started: Option<f64>| {
        let mut run = beside_a_map(clause, "hello", &of_volume("words"));
        run.status(1.0, &waits("ContainerCreating"));
        let mut steps: Vec<(f64, bool)> = supplied.map(|at| (at, false)).into_iter().collect();
        steps.extend(started.map(|at| (at, true)));
        steps.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (at, starts) in steps {
            if starts {
                run.start(at, 0);
            } else {
                supplies(&mut run, at);
            }
        }
        run.reading(90.0);
        crate::tests::verdict(&run.done(), clause)
    };
    assert_eq!(after(Some(12.0), Some(20.0)), "holds");
    assert_eq!(after(Some(30.0), Some(75.0)), "holds", "the delays double");
    assert_eq!(after(Some(12.0), Some(60.0)), "violated", "it was not tried again for too long");
    assert_eq!(after(Some(12.0), None), "violated");
    assert_eq!(after(Some(12.0), Some(5.0)), "violated", "it started without");
    assert_eq!(after(None, Some(5.0)), "violated");
    assert_eq!(after(Some(80.0), None), "inconclusive", "the case ends too early");
}
