//! Hand-written histories of kubelets that give containers exclusive CPUs.

use std::collections::BTreeMap;

use probity_model::history::CONFIGURE_KUBELET;
use probity_script::Fact;
use probity_script::witness::Dump;
use serde_json::{Value, json};

use crate::reading::shortage::scene::Scene;

const CLAUSE: &str = "qos.static-cpu";

/// At this time, a container records the CPUs on which the kernel allows it to run.
fn view(scene: &mut Scene, at: f64, name: &str, cpus: &str) {
    let status = format!("Name:\tx\nCpus_allowed_list:\t{cpus}\n");
    let files = BTreeMap::from([("/proc/self/status".to_owned(), status)]);
    scene.run.of(name, "target").fact(at, Fact::Dump(Dump { files, ..Dump::default() }));
}

/// A pod with this CPU limit that starts at this time.
fn pod(scene: &mut Scene, at: f64, name: &str, cpu: Option<&str>) {
    let limits = cpu.map_or(Value::Null, |cpu| json!({ "limits": { "cpu": cpu, "memory": "64Mi" } }));
    let spec = json!({ "containers": [{ "name": "target", "resources": limits }] });
    scene.run.of(name, "target").create(at, &spec).start(at + 0.5, 0);
}

/// The verdict on three containers. A container that requests one CPU may run on the CPUs `owner`, a container that
/// began earlier on `before`, and a container that begins later on `later`.
fn judged(owner: &str, before: &str, later: &str) -> &'static str {
    let mut scene = Scene::new(CLAUSE, "4000Mi", &[]);
    pod(&mut scene, 1.0, "before", None);
    view(&mut scene, 2.0, "before", "0-3");
    scene.kubelet(5.0, CONFIGURE_KUBELET, Some(json!({ "cpuManagerPolicy": "static" })), 2);
    pod(&mut scene, 10.0, "owner", Some("1"));
    view(&mut scene, 11.0, "owner", owner);
    view(&mut scene, 12.0, "before", "0-3");
    pod(&mut scene, 14.0, "later", Some("50m"));
    view(&mut scene, 15.0, "later", later);
    view(&mut scene, 40.0, "before", before);
    scene.kubelet(50.0, "restore-kubelet", None, 3);
    view(&mut scene, 52.0, "before", "0-3");
    scene.at(60.0)
}

#[test]
fn exclusive_cpus_belong_to_one_container() {
    assert_eq!(
        judged("3", "0-2", "0-2"),
        "holds",
        "a container that was running is adjusted after some seconds"
    );
    assert_eq!(judged("0-3", "0-3", "0-3"), "violated", "it got none of its own");
    assert_eq!(judged("2-3", "0-1", "0-1"), "violated", "it got one too many");
    assert_eq!(judged("3", "0-3", "0-2"), "violated", "one that was running may still use it");
    assert_eq!(judged("3", "0-2", "1,3"), "violated", "one that started later may use it");
}

#[test]
fn without_a_view_nothing_is_said() {
    assert_eq!(judged("", "0-2", "0-2"), "inconclusive");
    assert_eq!(judged("0-99999999", "0-2", "0-2"), "inconclusive", "no such machine exists");
}
