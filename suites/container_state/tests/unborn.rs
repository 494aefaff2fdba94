//! Containers that never ran.

use probity_composer::Composer;
use serde_json::{Value, json};

use super::{STATES, ended};
use crate::tests::verdict;

#[test]
fn a_container_that_never_ran_has_not_ended() {
    let judged = |main: Value| {
        let mut run = Composer::new(&[STATES]);
        let inits = [json!({ "name": "first" })];
        let spec = json!({ "restartPolicy": "Never", "initContainers": inits, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec);
        let one = |name: &str, state: Value| json!({ "name": name, "restartCount": 0, "ready": false, "state": state, "lastState": {} });
        let failed = one("first", ended(1, "Error", 1.0, 3.0));
        run.status(
            4.0,
            &json!({ "phase": "Failed", "initContainerStatuses": [failed], "containerStatuses": [one("target", main)] }),
        );
        run.reading(20.0);
        verdict(&run.done(), STATES)
    };
    assert_ne!(judged(json!({ "waiting": { "reason": "PodInitializing" } })), "violated");
    assert_eq!(judged(ended(137, "ContainerStatusUnknown", 0.0, 0.0)), "violated");
}
