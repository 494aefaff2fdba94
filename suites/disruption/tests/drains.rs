//! Histories of `kubectl drain`: the pods that it evicts, the evictions that it retries, and when it ends.

use probity_composer::{Composer, NODE, us};
use probity_model::history::{Change, Deed, Did, Happening, Printed};
use serde_json::{Value, json};

use crate::tests::verdict;

const RETRIES: &str = "pdb.drain-retries";
const EXAMPLE: &str = "pdb.worked-example";

struct Story {
    run: Composer,
}

fn pod(name: &str, node: &str, ready: bool, going: Option<&str>) -> Value {
    let word = if ready { "True" } else { "False" };
    let mut conditions = vec![json!({ "type": "Ready", "status": word })];
    let mut metadata = json!({ "name": name, "uid": format!("uid-{name}"), "labels": { "app": "web" } });
    if let Some(reason) = going {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        conditions.push(json!({ "type": "DisruptionTarget", "status": "True", "reason": reason }));
    }
    let spec = json!({ "nodeName": node, "containers": [{ "name": "target" }] });
    json!({ "metadata": metadata, "spec": spec, "status": { "phase": "Running", "conditions": conditions } })
}

const EVICTED: &str = "EvictionByEvictionAPI";

impl Story {
    fn of(clause: &str, least: u64) -> Self {
        let mut run = Composer::new(&[clause]);
        let spec = json!({ "minAvailable": least, "selector": { "matchLabels": { "app": "web" } } });
        let manifest = json!({ "metadata": { "name": "web" }, "spec": spec });
        run.deed(
            0.1,
            Did::Created { kind: "PodDisruptionBudget".to_owned(), name: "web".to_owned(), manifest },
        );
        Self { run }
    }

    fn ready(&mut self, at: f64, name: &str, node: &str) -> &mut Self {
        self.run.sighting(at, "Pod", name, Change::Added, pod(name, node, true, None));
        self
    }

    fn goes(&mut self, at: f64, name: &str, node: &str, reason: &str) -> &mut Self {
        let object = pod(name, node, true, Some(reason));
        self.run.sighting(at, "Pod", name, Change::Modified, object.clone());
        self.run.sighting(at + 1.0, "Pod", name, Change::Deleted, object);
        self
    }

    /// A drain, and the times at which kubectl reported that it would retry a pod.
    fn drain(
        &mut self,
        (from, to): (f64, f64),
        node: &str,
        timeout: u64,
        exit: i32,
        refused: &[(f64, &str)],
    ) {
        let line = |(at, name): &(f64, &str)| Printed {
            us: us(*at),
            line: format!(
                "error when evicting pods/\"{name}\" -n \"n\" (will retry after 5s): Cannot evict pod"
            ),
        };
        let output = refused.iter().map(line).collect();
        let did = Did::Drained { node: node.to_owned(), timeout, exit: Some(exit), output };
        self.run.push(to, Happening::Deed(Deed { began_us: us(from), did }));
    }

    fn verdict(mut self, clause: &str) -> &'static str {
        self.run.reading(120.0);
        verdict(&self.run.done(), clause)
    }
}

/// One of two pods is needed: the first is evicted at once, and the second when a third pod is ready at 18 s. A later
/// drain of another node is refused until its timeout.
fn retried(
    second: Option<(f64, &str)>,
    first_ends: f64,
    tries: &[(f64, &str)],
    gives_up: f64,
) -> &'static str {
    let mut story = Story::of(RETRIES, 1);
    story.ready(1.0, "a", NODE).ready(1.0, "b", NODE);
    story.goes(10.3, "a", NODE, EVICTED).ready(18.0, "c", "other");
    if let Some((at, reason)) = second {
        story.goes(at, "b", NODE, reason);
    }
    story.drain((10.0, first_ends), NODE, 60, 0, &[(10.4, "b"), (15.4, "b")]);
    story.drain((40.0, gives_up), "other", 12, 1, tries);
    story.verdict(RETRIES)
}

#[test]
fn a_drain_tries_again_and_ends_in_time() {
    let tries = [(40.4, "c"), (45.4, "c"), (50.4, "c")];
    assert_eq!(retried(Some((20.4, EVICTED)), 22.0, &tries, 52.2), "holds");
    assert_eq!(retried(None, 22.0, &tries, 52.2), "violated", "b is still there");
    assert_eq!(retried(Some((20.4, "")), 22.0, &tries, 52.2), "violated", "b was not evicted");
    assert_eq!(retried(Some((20.4, EVICTED)), 19.0, &tries, 52.2), "violated", "b was not gone");
    assert_eq!(retried(Some((20.4, EVICTED)), 22.0, &tries, 44.0), "violated", "it gave up early");
    assert_eq!(retried(Some((20.4, EVICTED)), 22.0, &tries, 70.0), "violated", "it did not give up");
    assert_eq!(Story::of(RETRIES, 1).verdict(RETRIES), "inconclusive");
}

/// Three pods on three nodes; two pods are needed.
fn example(second: f64, replaced: f64, blocked: bool) -> &'static str {
    let mut story = Story::of(EXAMPLE, 2);
    story.ready(1.0, "a", "n1").ready(1.0, "b", "n2").ready(1.0, "c", "n3");
    story.goes(10.3, "a", "n1", EVICTED);
    story.drain((10.0, 12.0), "n1", 60, 0, &[]);
    let mut events = [(replaced, "d"), (second, "b")];
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, name) in events {
        match name {
            "d" => story.ready(at, "d", "n3"),
            _ => story.goes(at, "b", "n2", EVICTED),
        };
    }
    story.drain((12.1, 27.0), "n2", 60, 0, &[(12.5, "b"), (17.5, "b")]);
    if blocked {
        story.drain((27.1, 42.1), "n3", 15, 1, &[(27.5, "c"), (27.5, "d"), (32.5, "c")]);
    } else {
        story.goes(30.0, "c", "n3", EVICTED).goes(30.0, "d", "n3", EVICTED);
        story.drain((27.1, 42.1), "n3", 15, 0, &[]);
    }
    story.verdict(EXAMPLE)
}

#[test]
fn a_drain_waits_for_the_replacements_of_the_one_before() {
    assert_eq!(example(22.5, 18.0, true), "holds");
    assert_eq!(example(15.0, 25.0, true), "violated", "the replacement was not ready");
    assert_eq!(example(22.5, 18.0, false), "violated", "nobody is left");
    assert_eq!(Story::of(EXAMPLE, 2).verdict(EXAMPLE), "inconclusive");
}

#[test]
fn a_drain_goes_on_once_there_are_enough_pods() {
    let mut story = Story::of(EXAMPLE, 1);
    story.ready(1.0, "a", "n1").ready(1.0, "b", "n2").ready(1.0, "c", "n3");
    story.drain((10.0, 40.0), "n1", 30, 1, &[(10.4, "a"), (15.4, "a"), (20.4, "a")]);
    assert_eq!(story.verdict(EXAMPLE), "violated", "one is needed and three are available");
}
