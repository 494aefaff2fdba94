//! Id maps, from inside and from the node.

use probity_composer::Composer;
use probity_script::witness::{Dump, Fact, ProcessSeen, TrialSeen};
use serde_json::json;

use super::{IDENTITY, OF_NODE, looks, records, spec};
use crate::tests::verdict_of_all_facets as verdict;

const OWN: &str = "0 131072 65536\n";

/// Two pods that do not request their own users, in the user namespaces `plain`, and one that does, with these maps and
/// the user namespace `space`.
fn opted(maps: (&str, &str), space: u64, plain: [u64; 2]) -> &'static str {
    let clause = "userns.optin";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "plain", &spec(false), (IDENTITY, plain[0]), &[1000, 0]);
    looks(&mut run, "plain-too", &spec(false), (IDENTITY, plain[1]), &[1000, 0]);
    run.of("own", "target").create(0.0, &spec(true)).start(1.0, 0);
    records(&mut run, maps, space, &[1000, 0]);
    run.reading(10.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_has_users_of_its_own_if_it_asks_for_them() {
    assert_eq!(opted((OWN, OWN), 7, [OF_NODE; 2]), "holds");
    assert_eq!(opted((IDENTITY, IDENTITY), 7, [OF_NODE; 2]), "violated");
    assert_eq!(opted((OWN, IDENTITY), 7, [OF_NODE; 2]), "violated", "groups count too");
    assert_eq!(opted(("0 131072 1000\n", OWN), 7, [OF_NODE; 2]), "violated", "too few");
    assert_eq!(opted((OWN, OWN), OF_NODE, [OF_NODE; 2]), "violated", "it shares the namespace");
    assert_eq!(opted((OWN, OWN), 7, [OF_NODE, 9]), "violated", "nobody asked for that");
}

#[test]
fn without_a_pod_that_asks_for_nothing_only_half_was_seen() {
    let clause = "userns.optin";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "own", &spec(true), (OWN, 7), &[1000, 0]);
    run.reading(10.0);
    assert_eq!(verdict(&run.done(), clause), "inconclusive");
}

/// Two pods with these maps, at the same time or one after the other.
fn overlapping(one: &str, other: &str, at_once: bool) -> &'static str {
    let clause = "userns.no-overlap";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "one", &spec(true), (one, 7), &[0, 0]);
    if !at_once {
        run.left(1.5);
    }
    run.of("other", "target").create(0.0, &spec(true)).start(if at_once { 1.0 } else { 5.0 }, 0);
    records(&mut run, (other, other), 8, &[0, 0]);
    run.reading(10.0);
    verdict(&run.done(), clause)
}

#[test]
fn no_two_pods_have_a_user_in_common() {
    assert_eq!(overlapping(OWN, "0 196608 65536\n", true), "holds");
    assert_eq!(overlapping(OWN, "0 196607 65536\n", true), "violated");
    assert_eq!(overlapping(OWN, OWN, true), "violated");
    assert_eq!(overlapping(OWN, OWN, false), "inconclusive", "the first one was gone");
    assert_eq!(overlapping(OWN, "0 65535 100\n", true), "violated", "the node keeps the first ones");
}

/// A pod with these ids inside and a volume with this group, and another pod whose user usually does not exist.
fn inside(ids: &[u32], owner: &str, starts: bool) -> &'static str {
    beside(ids, owner, starts, None)
}

/// Like [`inside`]. The other pod may record this map of its users.
fn beside(ids: &[u32], owner: &str, starts: bool, map: Option<&str>) -> &'static str {
    let clause = "userns.ids-inside";
    let mut run = Composer::new(&[clause]);
    let mut wanted = spec(true);
    wanted["securityContext"] = json!({ "runAsUser": 1000, "runAsGroup": 2000, "fsGroup": 3000 });
    wanted["volumes"] = json!([{ "name": "data", "emptyDir": {} }]);
    wanted["containers"][0]["volumeMounts"] = json!([{ "name": "data", "mountPath": "/data" }]);
    looks(&mut run, "pod", &wanted, (OWN, 7), ids);
    let (trial, path) = ("owner".to_owned(), Some("/data".to_owned()));
    let value = Some(owner.to_owned());
    run.fact(1.2, Fact::Tried(TrialSeen { trial, path, ok: true, value, ..TrialSeen::default() }));
    let mut missing = spec(true);
    missing["securityContext"] = json!({ "runAsUser": 70000 });
    let status = json!({ "phase": "Pending" });
    run.of("missing", "target").create(0.0, &missing);
    run.pod_seen(0.5, &missing, &status, probity_model::history::Change::Modified);
    if starts {
        run.start(1.0, 0);
    }
    if let Some(map) = map {
        records(&mut run, (map, map), 9, &[70_000, 0]);
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_pod_may_have_more_users_than_usual() {
    let judged = |map: Option<&str>| beside(&[1000, 2000, 3000], "0:3000", true, map);
    assert_ne!(judged(Some("0 131072 131072\n")), "violated", "the user exists");
    assert_eq!(judged(Some("0 131072 65536\n")), "violated", "the user does not exist");
    assert_eq!(judged(Some(IDENTITY)), "violated", "it is a user of the node");
    assert_eq!(judged(None), "violated");
}

#[test]
fn ids_are_those_inside() {
    assert_eq!(inside(&[1000, 2000, 3000], "0:3000", false), "holds");
    assert_eq!(inside(&[132_072, 2000, 3000], "0:3000", false), "violated");
    assert_eq!(inside(&[1000, 0, 3000], "0:3000", false), "violated");
    assert_eq!(inside(&[1000, 2000], "0:3000", false), "violated", "not in its fsGroup");
    assert_eq!(inside(&[1000, 2000, 3000], "0:65534", false), "violated", "the volume is not its own");
    assert_eq!(inside(&[1000, 2000, 3000], "0:3000", true), "violated", "nobody has that user");
}

/// A pod that sees the processes of the node, and finds those of two other pods with these users.
fn from_outside(own: u64, seen: [u32; 2]) -> &'static str {
    let clause = "userns.root-unprivileged-on-host";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "root", &spec(true), (OWN, own), &[0, 0]);
    looks(&mut run, "other", &spec(true), ("0 196608 65536\n", 8), &[1000, 0]);
    let mut watching = spec(false);
    watching["hostPID"] = json!(true);
    run.of("node", "target").create(0.0, &watching).start(2.0, 0);
    let process = |users, uid| ProcessSeen { users: Some(users), uid: Some(uid), ..ProcessSeen::default() };
    // The sandbox of the first pod runs as a different user of that pod.
    let processes =
        vec![process(OF_NODE, 0), process(own, seen[0]), process(own, 131_172), process(8, seen[1])];
    let namespaces = [("user".to_owned(), OF_NODE)].into();
    run.fact(2.1, Fact::Dump(Dump { processes, namespaces, ..Dump::default() }));
    run.reading(10.0);
    verdict(&run.done(), clause)
}

#[test]
fn users_are_on_the_node_what_their_map_says() {
    assert_eq!(from_outside(7, [131_072, 197_608]), "holds");
    assert_eq!(from_outside(7, [0, 197_608]), "violated");
    assert_eq!(from_outside(7, [131_072, 1000]), "violated");
    assert_eq!(from_outside(7, [131_173, 197_608]), "violated", "nobody is its root");
    assert_eq!(from_outside(OF_NODE, [131_072, 197_608]), "violated", "it has the users of the node");
}

#[test]
fn who_sees_no_process_of_a_pod_says_nothing_about_it() {
    let clause = "userns.root-unprivileged-on-host";
    let mut run = Composer::new(&[clause]);
    looks(&mut run, "root", &spec(true), (OWN, 7), &[0, 0]);
    run.reading(10.0);
    assert_eq!(verdict(&run.done(), clause), "inconclusive");
}
