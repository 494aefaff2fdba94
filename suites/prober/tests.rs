//! Hand-written histories for the judges of the prober.

mod commands;
mod kept;
mod machinery;
mod outside;

use probity_composer::Composer;
use probity_model::history::{Did, KubeletSigns, NodeProof, ProbeCount};
use serde_json::{Value, json};

use crate::tests::{judgement, verdict};

fn http(path: &str, port: u16, period: u64) -> Value {
    json!({ "httpGet": { "path": path, "port": port }, "periodSeconds": period, "failureThreshold": 2 })
}

/// A pod with one container `target`, whose process starts at 1 s.
fn one(clause: &str, container: &Value) -> Composer {
    let mut container = container.clone();
    container["name"] = json!("target");
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [container], "terminationGracePeriodSeconds": 20 })).start(1.0, 0);
    run
}

/// One answer a second to a path.
fn answers(run: &mut Composer, path: &str, status: u16, seconds: std::ops::Range<u16>) {
    for second in seconds {
        run.probe(f64::from(second), path, status);
    }
}

fn delete(run: &mut Composer, at: f64) {
    run.deed(at, Did::Deleted { kind: "Pod".to_owned(), name: "pod".to_owned(), grace: None });
}

fn over(run: &mut Composer, at: f64) {
    run.deed(at, Did::Over { why: "done".to_owned() });
}

fn counted(run: &mut Composer, at: f64, counts: &[(&str, u64)]) {
    measured(run, at, counts, &[]);
}

/// A reading of the kubelet's counters, and of its histograms for these pods.
fn measured(run: &mut Composer, at: f64, counts: &[(&str, u64)], durations: &[&str]) {
    let count = |(result, count): &(&str, u64)| ProbeCount {
        pod: "pod".to_owned(),
        uid: "uid-pod".to_owned(),
        container: "target".to_owned(),
        probe: "Liveness".to_owned(),
        result: (*result).to_owned(),
        count: *count,
    };
    let probes = counts.iter().map(count).collect();
    let durations = durations.iter().map(|pod| (*pod).to_owned()).collect();
    run.deed(at, Did::Measured { node: probity_composer::NODE.to_owned(), probes, on_node: None, durations });
}

/// The proof from a node of a kubelet restart that had ended at this second.
fn proof(over: f64, starts: u64) -> Option<NodeProof> {
    let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
    Some(NodeProof { ended_us: probity_composer::us(over), before: shown(1), after: shown(starts) })
}
