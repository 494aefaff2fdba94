//! A clause that was not exercised: the verdict says what kept the case from exercising it.
#![expect(clippy::unwrap_used, reason = "tests")]

use probity_composer::Composer;
use probity_model::history::{Change, Did};
use probity_model::verdict::{Doubt, Verdict};
use probity_model::{Catalogue, Clause, Judge, Registry, Seen, Timeline};
use serde_json::{Value, json};

const CLAUSES: &str = "- { id: a.b, level: must, says: s, source: { document: d, edition: e }, tested: t }";
const UNSEEN: &str = "the situation that the clause is about was not observed, although the case targets it";

/// Sees nothing.
fn nothing(_: &Timeline<'_>, _: &Clause, _: &mut Seen) {}

/// Why the clause is inconclusive, after the sentence that is always the same, and how many events show it.
fn why(mut run: Composer) -> (String, usize) {
    let mut catalogue = Catalogue::default();
    catalogue.add_chapter("test", CLAUSES).unwrap();
    let registry = Registry::new(catalogue, [Judge { clause: "a.b", judge: nothing }]).unwrap();
    run.deed(90.0, Did::Over { why: "done".to_owned() });
    // What happens during the cleanup explains nothing.
    run.status(91.0, &json!({ "phase": "Failed", "reason": "Cleanup" }));
    let judged = registry.judge(&run.done()).remove(0);
    let Verdict::Inconclusive { doubt: Doubt::Unseen, why, events } = judged.verdict else {
        panic!("{:?}", judged.verdict)
    };
    (why.strip_prefix(UNSEEN).unwrap().to_owned(), events.len())
}

fn pod(status: &Value) -> Composer {
    let mut run = Composer::new(&["a.b"]);
    let spec = json!({ "containers": [{ "name": "target" }] });
    run.pod_seen(1.0, &spec, status, Change::Added);
    run
}

fn waiting(reason: &str, message: &str) -> Value {
    let state = json!({ "waiting": { "reason": reason, "message": message } });
    json!({ "phase": "Pending", "containerStatuses": [{ "name": "target", "state": state }] })
}

#[test]
fn a_wait_that_timed_out_is_named_with_the_pod_that_could_not_be_scheduled() {
    let condition = json!({
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/5 nodes are available: 5 Insufficient memory.",
    });
    let mut run = pod(&json!({ "phase": "Pending", "conditions": [condition] }));
    run.deed(70.0, Did::Waited { what: "wait until the pod is ready".to_owned(), came: false });
    let said = "; a step timed out: wait until the pod is ready; the pod pod could not be scheduled: \
                0/5 nodes are available: 5 Insufficient memory.";
    assert_eq!(why(run), (said.to_owned(), 2));
}

#[test]
fn a_container_that_waits_for_an_image_and_a_pod_that_failed_are_named() {
    let (said, events) = why(pod(&waiting("ImagePullBackOff", "no such image")));
    let image = "; the container target of the pod pod was waiting: ImagePullBackOff: no such image";
    assert_eq!((said.as_str(), events), (image, 1));
    let (said, events) = why(pod(&json!({ "phase": "Failed", "reason": "OutOfmemory" })));
    assert_eq!((said.as_str(), events), ("; the pod pod failed with OutOfmemory", 1));
}

#[test]
fn a_pod_whose_containers_are_not_created_is_explained_by_its_last_warning() {
    let mut run = pod(&waiting("ContainerCreating", ""));
    run.event(3.0, "Warning", "FailedMount", "no such volume").event(4.0, "Normal", "Pulled", "pulled");
    let said = "; the pod pod did not start, with the warning FailedMount: no such volume";
    assert_eq!(why(run), (said.to_owned(), 1));
}

#[test]
fn a_workload_without_pods_is_explained_by_its_controller() {
    let mut run = Composer::new(&["a.b"]);
    let event = json!({
        "involvedObject": { "kind": "ReplicaSet", "name": "web-5d8f" },
        "reason": "FailedCreate", "type": "Warning", "message": "exceeded quota",
    });
    run.sighting(2.0, "Event", "web-5d8f.1", Change::Added, event);
    let said = "; the pods of the ReplicaSet web-5d8f could not be created: exceeded quota";
    assert_eq!(why(run), (said.to_owned(), 1));
}

#[test]
fn what_is_usual_explains_nothing() {
    for status in [
        json!({ "phase": "Running" }),
        waiting("ContainerCreating", ""),
        waiting("CrashLoopBackOff", "back-off 10s restarting failed container"),
    ] {
        let mut run = pod(&status);
        run.event(3.0, "Normal", "Pulled", "pulled");
        run.deed(4.0, Did::Waited { what: "wait until the pod runs".to_owned(), came: true });
        assert_eq!(why(run), (String::new(), 0), "{status}");
    }
}
