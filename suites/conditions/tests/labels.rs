//! Pods whose labels change, so that a Service begins or ceases to select them.

use probity_composer::{Composer, NODE};
use probity_model::history::{Change, Did};
use serde_json::{Value, json};

use super::{ready_as, whole};
use crate::tests::verdict;

const CLAUSE: &str = "pod.condition.ready";
/// When the labels change.
const CHANGED: f64 = 10.0;

/// A slice of the Service that shows this readiness of the pod, or no endpoint.
fn slice(run: &mut Composer, at: f64, ready: Option<bool>) {
    if let Some(ready) = ready {
        run.slice(at, "web", &json!({ "ready": ready, "serving": ready, "terminating": false }));
        return;
    }
    let labels = json!({ "kubernetes.io/service-name": "web" });
    let object = json!({ "metadata": { "name": "web-abcde", "labels": labels }, "endpoints": [] });
    run.sighting(at, "EndpointSlice", "web-abcde", Change::Modified, object);
}

/// Judges a pod with this status, whose label gets the second of these values. The Service selects the value `web`.
fn relabeled(values: [&str; 2], status: &Value, slices: &[(f64, Option<bool>)]) -> &'static str {
    let mut run = Composer::new(&[CLAUSE]);
    let manifest = json!({ "spec": { "selector": { "app": "web" } } });
    run.deed(0.0, Did::Created { kind: "Service".to_owned(), name: "web".to_owned(), manifest });
    let object = |value: &str| {
        json!({
            "metadata": { "name": "pod", "uid": "uid-pod", "labels": { "app": value } },
            "spec": { "nodeName": NODE, "containers": [{ "name": "target" }] }, "status": status,
        })
    };
    let (early, late): (Vec<_>, Vec<_>) = slices.iter().copied().partition(|(at, _)| *at < CHANGED);
    run.sighting(1.0, "Pod", "pod", Change::Added, object(values[0]));
    early.into_iter().for_each(|(at, ready)| slice(&mut run, at, ready));
    run.sighting(CHANGED, "Pod", "pod", Change::Modified, object(values[1]));
    late.into_iter().for_each(|(at, ready)| slice(&mut run, at, ready));
    run.reading(30.0);
    verdict(&run.done(), CLAUSE)
}

#[test]
fn a_pod_leaves_a_service_that_no_longer_selects_it() {
    let left = |slices: &[(f64, Option<bool>)]| relabeled(["web", "other"], &whole(), slices);
    assert_eq!(left(&[(2.0, Some(true)), (10.3, None)]), "holds");
    assert_eq!(left(&[(2.0, Some(true)), (9.99, None)]), "holds", "the slice is shown first");
    assert_eq!(left(&[(2.0, Some(true))]), "violated", "it stays");
    assert_eq!(left(&[(2.0, Some(true)), (10.3, Some(false))]), "violated", "it stays, but is not ready");
    assert_eq!(left(&[(2.0, Some(true)), (18.0, None)]), "violated", "it leaves late");
    assert_eq!(left(&[]), "inconclusive", "it never was there");
}

#[test]
fn a_ready_pod_joins_a_service_that_begins_to_select_it() {
    let joined = |slices: &[(f64, Option<bool>)]| relabeled(["other", "web"], &whole(), slices);
    assert_eq!(joined(&[(10.3, Some(true))]), "holds");
    assert_eq!(joined(&[]), "violated");
    assert_eq!(joined(&[(10.3, Some(false))]), "violated", "it is ready");
    assert_eq!(joined(&[(18.0, Some(true))]), "violated", "it joins late");
    let unready = ready_as("False", "False", &[]);
    assert_eq!(relabeled(["other", "web"], &unready, &[]), "inconclusive", "it is not ready");
}

#[test]
fn other_labels_change_nothing() {
    let of = |slices: &[(f64, Option<bool>)]| relabeled(["old", "new"], &whole(), slices);
    assert_eq!(of(&[]), "inconclusive", "the Service never selects it");
}
