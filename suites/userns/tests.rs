//! Hand-written histories of pods that request a user namespace.

use std::collections::BTreeMap;

use probity_composer::{Composer, NODE};
use probity_model::history::Change;
use probity_script::Fact;
use probity_script::witness::Dump;
use serde_json::{Value, json};

use crate::tests::verdict;

#[test]
fn namespaces_of_the_node_are_refused_beside_it() {
    let clause = "userns.forbidden-combos";
    let judged = |code: u16, message: &str| {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "hostUsers": false, "hostPID": true, "containers": [{ "name": "c" }] });
        run.tried(1.0, "both", json!({ "kind": "Pod", "spec": spec }), code, message, json!({}));
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(201, ""), "violated");
    assert_eq!(judged(422, "spec.hostPID: Forbidden"), "holds");
    assert_eq!(judged(403, "violates PodSecurity: hostPID"), "inconclusive");
}

#[test]
fn a_pod_starts_in_its_own_or_not_at_all() {
    let clause = "userns.unsupported-runtime";
    let judged = |map: Option<&str>| {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "hostUsers": false, "nodeName": NODE, "containers": [{ "name": "target" }] });
        run.create(0.0, &spec);
        run.pod_seen(0.5, &spec, &json!({ "phase": "Pending" }), Change::Modified);
        if let Some(map) = map {
            run.start(1.0, 0);
            let files = BTreeMap::from([("/proc/self/uid_map".to_owned(), map.to_owned())]);
            run.fact(1.1, Fact::Dump(Dump { files, ..Dump::default() }));
        }
        run.reading(60.0);
        verdict(&run.done(), clause)
    };
    assert_eq!(judged(None), "holds");
    assert_eq!(judged(Some("         0     131072      65536\n")), "holds");
    assert_eq!(judged(Some("         0          0 4294967295\n")), "violated");
}

mod maps;
mod privileges;
mod twins;

/// The user namespace of the node.
const OF_NODE: u64 = 1;
/// A map that does not change any id.
const IDENTITY: &str = "0 0 4294967295\n";

/// A pod whose process records how its users map, its user namespace, and its ids.
fn looks(run: &mut Composer, pod: &str, spec: &Value, (map, space): (&str, u64), ids: &[u32]) {
    run.of(pod, "target").create(0.0, spec).pod_seen(
        0.5,
        spec,
        &json!({ "phase": "Running" }),
        Change::Modified,
    );
    run.start(1.0, 0);
    records(run, (map, map), space, ids);
}

fn records(run: &mut Composer, (users, groups): (&str, &str), space: u64, ids: &[u32]) {
    let files = [("/proc/self/uid_map", users), ("/proc/self/gid_map", groups)];
    let files = files.map(|(path, map)| (path.to_owned(), map.to_owned())).into();
    let namespaces = BTreeMap::from([("user".to_owned(), space)]);
    run.fact(1.1, Fact::Dump(Dump { files, namespaces, ids: ids.to_vec(), ..Dump::default() }));
}

/// The spec of a pod with its own users, or with those of its node.
fn spec(own: bool) -> Value {
    let mut spec = json!({ "nodeName": NODE, "containers": [{ "name": "target" }] });
    if own {
        spec["hostUsers"] = json!(false);
    }
    spec
}
