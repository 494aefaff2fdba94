//! A scene for tests: a node whose kubelet is configured to keep much memory free, and the pods on it.

use probity_composer::{Composer, NODE, us};
use probity_model::history::{CONFIGURE_KUBELET, Did, KubeletSigns, NodeProof};
use probity_script::Fact;
use probity_script::witness::Consumed;
use serde_json::{Value, json};

use crate::tests::verdict_of_all_facets;

/// How much memory a pod requests and takes, in mebibytes.
pub(crate) enum Uses {
    /// It has no requests, and takes this many mebibytes.
    Unclassed(u64),
    /// It requests the first amount, and takes the second.
    Burstable(u64, u64),
    /// Its request and its limit are the first amount, and it takes the second.
    Guaranteed(u64, u64),
}

/// A history that a test builds.
pub(crate) struct Scene {
    pub(crate) run: Composer,
    clause: String,
}

impl Scene {
    /// A node with this much memory, and these pods.
    pub(crate) fn new(clause: &str, memory: &str, pods: &[(&str, Uses)]) -> Self {
        let mut header = Composer::new(&[clause]).done().header;
        if let Some(facts) = header.nodes.get_mut(NODE) {
            facts.allocatable.insert("memory".to_owned(), memory.to_owned());
        }
        let mut scene = Self { run: Composer::with_header(header), clause: clause.to_owned() };
        for (name, uses) in pods {
            scene.add_of(0, name, uses);
        }
        scene
    }

    /// Another pod, of this priority.
    pub(crate) fn add_of(&mut self, priority: i64, name: &str, uses: &Uses) {
        let amount = |mebibytes: &u64| json!({ "memory": format!("{mebibytes}Mi"), "cpu": "50m" });
        let (resources, taken) = match uses {
            Uses::Unclassed(taken) => (json!({}), taken),
            Uses::Burstable(asked, taken) => (json!({ "requests": amount(asked) }), taken),
            Uses::Guaranteed(limit, taken) => {
                (json!({ "limits": amount(limit), "requests": amount(limit) }), taken)
            }
        };
        let side = match uses {
            Uses::Guaranteed(..) => json!({ "limits": amount(&1) }),
            _ => json!({}),
        };
        let containers = [("target", resources), ("side", side)]
            .map(|(name, resources)| json!({ "name": name, "resources": resources }));
        let spec = json!({ "priority": priority, "containers": containers });
        self.run.of(name, "side").create(1.0, &spec).start(1.4, 0);
        self.run.of(name, "target").start(1.5, 0);
        let amount = taken << 20;
        self.run.fact(2.0, Fact::Consumed(Consumed { resource: "memory".to_owned(), amount, error: None }));
        self.shown(3.0, name, &json!({ "phase": "Running" }));
    }

    /// The kubelet is configured to keep this much memory free.
    pub(crate) fn keeps_free(&mut self, at: f64, least: &str) -> &mut Self {
        self.kubelet(at, CONFIGURE_KUBELET, Some(json!({ "evictionHard": { "memory.available": least } })), 2)
    }

    /// The kubelet gets its own settings again.
    pub(crate) fn restored(&mut self, at: f64) -> &mut Self {
        self.kubelet(at, "restore-kubelet", None, 2)
    }

    /// Applies a verb to the node. The node shows one start of its kubelet before the verb, and this number of starts
    /// after it.
    pub(crate) fn kubelet(&mut self, at: f64, verb: &str, input: Option<Value>, starts: u64) -> &mut Self {
        let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
        let proof = Some(NodeProof { ended_us: us(at), before: shown(1), after: shown(starts) });
        let (node, verb, output) = (NODE.to_owned(), verb.to_owned(), Some(json!({ "running": true })));
        self.run.deed(at, Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output, proof });
        self
    }

    /// A container gets the stop signal, and is killed a second later.
    pub(crate) fn killed(&mut self, at: f64, name: &str, container: &str) -> &mut Self {
        self.run.of(name, container).signal(at, "SIGTERM");
        self.run.left(at + 1.0);
        self
    }

    /// A revision of a pod with this status.
    pub(crate) fn shown(&mut self, at: f64, name: &str, status: &Value) -> &mut Self {
        self.run.of(name, "target").status(at, status);
        self
    }

    /// A pod is evicted as it should be: both containers are killed, and its status gives the reason.
    pub(crate) fn evicted(&mut self, at: f64, name: &str) -> &mut Self {
        self.killed(at, name, "target").killed(at + 0.01, name, "side");
        self.shown(at + 1.5, name, &status("Failed", Some("Evicted"), Some("TerminationByKubelet")))
    }

    /// The verdict, if nothing else happens until then.
    pub(crate) fn at(&mut self, end: f64) -> &'static str {
        self.run.reading(end);
        let run = std::mem::replace(&mut self.run, Composer::new(&[]));
        verdict_of_all_facets(&run.done(), &self.clause)
    }
}

/// A status with a phase, a reason, and the reason of its condition.
pub(crate) fn status(phase: &str, reason: Option<&str>, target: Option<&str>) -> Value {
    let mut status = json!({ "phase": phase, "conditions": [{ "type": "Ready", "status": "False" }] });
    if let Some(reason) = reason {
        status["reason"] = json!(reason);
    }
    if let (Some(reason), Some(conditions)) = (target, status["conditions"].as_array_mut()) {
        conditions.push(json!({ "type": "DisruptionTarget", "status": "True", "reason": reason }));
    }
    status
}
