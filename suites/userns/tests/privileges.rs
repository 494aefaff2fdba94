//! What processes in their own user namespace may do, and with which files.

use probity_composer::Composer;
use probity_script::witness::{Fact, TrialSeen};
use serde_json::{Value, json};

use super::{IDENTITY, OF_NODE, looks, spec};
use crate::tests::verdict_of_all_facets as verdict;

const OWN: &str = "0 131072 65536\n";

/// An attempt that succeeds, or is not permitted.
fn trial(what: &str, path: Option<&str>, ok: bool, value: Option<&str>) -> Fact {
    let (trial, path, value) = (what.to_owned(), path.map(str::to_owned), value.map(str::to_owned));
    Fact::Tried(TrialSeen { trial, path, ok, value, denied: !ok, error: None })
}

/// The verdict on the attempts of a pod with its own users, and of a pod with the users of its node.
fn capable(own: [bool; 2], node: [bool; 2]) -> &'static str {
    let clause = "userns.capabilities-scoped";
    let mut run = Composer::new(&[clause]);
    for (pod, asks, [mount, device], space) in [("own", true, own, 7), ("node", false, node, OF_NODE)] {
        looks(&mut run, pod, &spec(asks), (if asks { OWN } else { IDENTITY }, space), &[0, 0]);
        run.fact(1.2, trial("mount", Some("/tmp"), mount, None));
        run.fact(1.3, trial("make-device", Some("/data/d"), device, None));
    }
    run.reading(10.0);
    verdict(&run.done(), clause)
}

#[test]
fn capabilities_end_at_the_namespace() {
    assert_eq!(capable([true, false], [true, true]), "holds");
    assert_eq!(capable([true, true], [true, true]), "violated", "the device is the node's");
    assert_eq!(capable([false, false], [true, true]), "violated", "its own namespace counts");
    assert_eq!(capable([true, false], [true, false]), "inconclusive", "nobody may make devices here");
}

#[test]
fn without_a_pod_with_the_users_of_the_node_nothing_is_compared() {
    let clause = "userns.capabilities-scoped";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "own", &spec(true), (OWN, 7), &[0, 0]);
    run.fact(1.2, trial("make-device", Some("/data/d"), false, None));
    run.reading(10.0);
    assert_eq!(verdict(&run.done(), clause), "inconclusive");
}

fn with_folder(own: bool) -> Value {
    let mut spec = spec(own);
    let path = "/var/lib/kubelet/pods/uid-maker/volumes/kubernetes.io~empty-dir/v";
    spec["volumes"] = json!([{ "name": "others", "hostPath": { "path": path } }]);
    spec["containers"][0]["volumeMounts"] = json!([{ "name": "others", "mountPath": "/others" }]);
    spec
}

/// A file of this user of the node, as a pod with its own users sees it, and whether the two pods could write it.
fn file_of(user: u32, owner: &str, own: bool, node: bool) -> &'static str {
    let clause = "userns.overflow-id";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "maker", &spec(false), (IDENTITY, OF_NODE), &[user, 0]);
    for (pod, asks, space, writes) in [("own", true, 7, own), ("node", false, OF_NODE, node)] {
        looks(&mut run, pod, &with_folder(asks), (if asks { OWN } else { IDENTITY }, space), &[0, 0]);
        run.fact(1.2, trial("owner", Some("/others/f"), true, Some(owner)));
        run.fact(1.3, trial("write", Some("/others/f"), writes, None));
    }
    run.reading(10.0);
    verdict(&run.done(), clause)
}

#[test]
fn files_of_users_that_do_not_exist_inside_belong_to_nobody() {
    assert_eq!(file_of(200_000, "65534:65534", false, true), "holds");
    assert_eq!(file_of(200_000, "0:0", false, true), "violated");
    assert_eq!(file_of(200_000, "65534:65534", true, true), "violated", "root could write it");
    assert_eq!(file_of(200_000, "65534:65534", false, false), "inconclusive", "nobody could write it");
    assert_eq!(file_of(1000, "1000:1000", true, true), "inconclusive", "that user exists inside");
}
