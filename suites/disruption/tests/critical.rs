//! Pods that a kubelet ends to make room for a critical pod.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "disruptiontarget.critical-pod";
const RESOURCE: &str = "probity.dev/room";

fn spec(asks: bool, critical: bool) -> Value {
    let mut container = json!({ "name": "target" });
    if asks {
        container["resources"] = json!({ "requests": { RESOURCE: "1" }, "limits": { RESOURCE: "1" } });
    }
    let mut spec = json!({ "nodeName": NODE, "terminationGracePeriodSeconds": 6, "containers": [container] });
    if critical {
        spec["priorityClassName"] = json!("system-node-critical");
        spec["priority"] = json!(2_000_001_000);
    }
    spec
}

struct Scene(Composer);

impl Scene {
    /// One unit is advertised at 2 s, and a critical pod that needs it is created at 10 s.
    fn new(amount: u32) -> Self {
        let mut scene = Self(Composer::new(&[CLAUSE]));
        scene.created(1.0, "beside", &spec(false, false)).shown(1.5, "beside", "Running", None);
        let (node, resource) = (NODE.to_owned(), RESOURCE.to_owned());
        scene.0.deed(2.0, Did::Advertised { node, resource, amount });
        scene.created(3.0, "holder", &spec(true, false)).shown(3.5, "holder", "Running", None);
        scene.created(10.0, "critical", &spec(true, true)).shown(10.1, "critical", "Pending", None);
        scene
    }

    fn created(&mut self, at: f64, name: &str, spec: &Value) -> &mut Self {
        let (kind, manifest) = ("Pod".to_owned(), json!({ "metadata": { "name": name }, "spec": spec }));
        self.0.deed(at, Did::Created { kind, name: name.to_owned(), manifest });
        self
    }

    /// A revision of a pod, with this reason in its condition.
    fn shown(&mut self, at: f64, name: &str, phase: &str, told: Option<&str>) -> &mut Self {
        let told =
            told.map(|reason| json!({ "type": "DisruptionTarget", "status": "True", "reason": reason }));
        let conditions: Vec<Value> = told.into_iter().collect();
        let object = json!({
            "metadata": { "name": name, "uid": format!("uid-{name}"), "labels": { "probity.dev/pod": name } },
            "spec": spec(name != "beside", name == "critical"),
            "status": { "phase": phase, "conditions": conditions },
        });
        let change = if phase == "Pending" { Change::Added } else { Change::Modified };
        self.0.sighting(at, "Pod", name, change, object);
        self
    }

    fn judged(&mut self) -> &'static str {
        self.0.reading(60.0);
        let run = std::mem::replace(&mut self.0, Composer::new(&[CLAUSE]));
        verdict(&run.done(), CLAUSE)
    }
}

const RIGHT: Option<&str> = Some("TerminationByKubelet");

#[test]
fn the_holder_gives_way_and_says_why() {
    let of = |told, phase| {
        let mut scene = Scene::new(1);
        scene.shown(14.0, "holder", phase, told).shown(15.0, "critical", "Running", None).judged()
    };
    assert_eq!(of(RIGHT, "Failed"), "holds");
    assert_eq!(of(None, "Failed"), "violated", "no condition");
    assert_eq!(of(Some("PreemptionByScheduler"), "Failed"), "violated", "another reason");
    assert_eq!(of(RIGHT, "Running"), "violated", "it never failed");
    assert_eq!(of(None, "Running"), "violated", "both have the only unit");
    assert_eq!(of(RIGHT, "Succeeded"), "violated", "another phase");
}

#[test]
fn the_condition_comes_with_the_phase_and_stays() {
    let mut early = Scene::new(1);
    early.shown(11.0, "holder", "Running", RIGHT).shown(14.0, "holder", "Failed", RIGHT);
    assert_eq!(early.shown(15.0, "critical", "Running", None).judged(), "violated");
    let mut lost = Scene::new(1);
    lost.shown(14.0, "holder", "Failed", RIGHT).shown(16.0, "holder", "Failed", None);
    assert_eq!(lost.shown(15.0, "critical", "Running", None).judged(), "violated");
}

#[test]
fn the_critical_pod_runs_and_others_stay() {
    let mut rejected = Scene::new(1);
    assert_eq!(rejected.shown(10.5, "critical", "Failed", None).judged(), "violated");
    let mut waiting = Scene::new(1);
    assert_eq!(waiting.shown(14.0, "holder", "Failed", RIGHT).judged(), "violated", "it never ran");
    let mut another = Scene::new(1);
    another.shown(14.0, "holder", "Failed", RIGHT).shown(15.0, "critical", "Running", None);
    assert_eq!(another.shown(14.0, "beside", "Failed", RIGHT).judged(), "violated");
}

#[test]
fn without_a_lack_of_room_nothing_is_judged() {
    let mut enough = Scene::new(2);
    assert_eq!(enough.shown(12.0, "critical", "Running", None).judged(), "inconclusive");
}
