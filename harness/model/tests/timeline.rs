//! How events are joined to pods.

use probity_composer::Composer;
use probity_model::Timeline;
use probity_model::history::{Change, Did};
use serde_json::json;

#[test]
fn a_pod_that_is_seen_before_its_creation_is_answered_is_one_pod() {
    let spec = json!({ "containers": [{ "name": "target" }] });
    let mut run = Composer::new(&[]);
    run.pod_seen(0.1, &spec, &json!({ "phase": "Pending" }), Change::Added);
    let manifest = json!({ "metadata": { "name": "pod" }, "spec": spec });
    run.deed(0.2, Did::Created { kind: "Pod".to_owned(), name: "pod".to_owned(), manifest });
    run.start(0.5, 0);
    let history = run.done();
    let timeline = Timeline::of(&history);
    assert_eq!(timeline.pods.len(), 1);
    assert!(timeline.pods[0].created.is_some());
    assert_eq!(timeline.pods[0].containers[0].attempts.len(), 1);
}
