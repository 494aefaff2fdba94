//! Which pod is preempted when a new pod wants a slot that others hold.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use crate::tests::verdict;

const CLAUSE: &str = "qos.preemption-ignores";

struct Story {
    run: Composer,
}

fn object(name: &str, spec: &Value, going: bool) -> Value {
    let group = name.split('-').next().unwrap_or_default();
    let labels = json!({ "probity.dev/pod": name, "group": group });
    let mut metadata = json!({ "name": name, "uid": format!("uid-{name}"), "labels": labels });
    if going {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    json!({ "metadata": metadata, "spec": spec, "status": { "phase": "Running" } })
}

impl Story {
    fn new() -> Self {
        let mut run = Composer::new(&[CLAUSE]);
        for (name, value) in [("low", -3), ("middle", -2), ("high", -1)] {
            let manifest = json!({ "metadata": { "name": name }, "value": value });
            run.deed(0.1, Did::Created { kind: "PriorityClass".to_owned(), name: name.to_owned(), manifest });
        }
        Self { run }
    }

    fn spec(class: &str, guaranteed: bool) -> Value {
        let resources =
            if guaranteed { json!({ "limits": { "cpu": "1", "memory": "1Gi" } }) } else { json!({}) };
        json!({ "nodeName": NODE, "priorityClassName": class, "containers": [{ "name": "c", "resources": resources }] })
    }

    fn create(&mut self, at: f64, name: &str, spec: &Value) {
        let (kind, manifest) = ("Pod".to_owned(), json!({ "metadata": { "name": name }, "spec": spec }));
        self.run.deed(at, Did::Created { kind, name: name.to_owned(), manifest });
        self.run.sighting(at + 0.1, "Pod", name, Change::Added, object(name, spec, false));
    }

    /// Two pods that hold the slots of a group, and one that is created at 10 s and wants a slot.
    fn group(&mut self, group: &str, guaranteed: &str, best_effort: &str, wants: &str) {
        self.create(1.0, &format!("{group}-guaranteed"), &Self::spec(guaranteed, true));
        self.create(1.0, &format!("{group}-besteffort"), &Self::spec(best_effort, false));
        let mut spec = Self::spec(wants, false);
        spec["nodeName"] = json!(null);
        spec["topologySpreadConstraints"] = json!([{
            "topologyKey": "kubernetes.io/os", "maxSkew": 2, "minDomains": 2, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": { "matchLabels": { "group": group } },
        }]);
        self.create(10.0, &format!("{group}-wants"), &spec);
    }

    fn goes(&mut self, at: f64, name: &str, class: &str) {
        let spec = Self::spec(class, name.ends_with("guaranteed"));
        self.run.sighting(at, "Pod", name, Change::Modified, object(name, &spec, true));
    }

    fn verdict(mut self) -> &'static str {
        self.run.reading(60.0);
        verdict(&self.run.done(), CLAUSE)
    }
}

fn judged(choice: &[(&str, &str)], equals: &[&str]) -> &'static str {
    let mut story = Story::new();
    story.group("choice", "low", "middle", "high");
    story.group("equals", "middle", "middle", "middle");
    for (name, class) in choice {
        story.goes(10.5, &format!("choice-{name}"), class);
    }
    for name in equals {
        story.goes(10.5, &format!("equals-{name}"), "middle");
    }
    story.verdict()
}

#[test]
fn the_priority_decides_and_not_the_class() {
    assert_eq!(judged(&[("guaranteed", "low")], &[]), "holds");
    assert_eq!(judged(&[("besteffort", "middle")], &[]), "violated", "the class decided");
    assert_eq!(judged(&[("guaranteed", "low"), ("besteffort", "middle")], &[]), "violated", "one was enough");
    assert_eq!(judged(&[], &[]), "violated", "nobody went");
    assert_eq!(judged(&[("guaranteed", "low")], &["besteffort"]), "violated", "equals are not preempted");
    assert_eq!(judged(&[("guaranteed", "low")], &["guaranteed"]), "violated");
}

#[test]
fn without_a_contest_nothing_is_known() {
    let mut story = Story::new();
    story.create(1.0, "alone", &Story::spec("low", true));
    story.goes(10.5, "alone", "low");
    assert_eq!(story.verdict(), "inconclusive");
    assert_eq!(Story::new().verdict(), "inconclusive");
}
