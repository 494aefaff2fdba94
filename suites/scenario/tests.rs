//! Hand-written histories for the judges of the scenarios.

mod dependency;
mod disruption;
mod service;
mod thirty_seconds;
mod zombies;

use probity_composer::{Composer, NODE, Told, running_status};
use probity_model::history::Change;
use probity_script::witness::{Call, ChangeSeen, Fact, Listening};
use serde_json::{Value, json};

use crate::tests::verdict;

/// A probe of a path on port 8080.
fn http(path: &str, period: u64, failures: u64) -> Value {
    json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": period, "failureThreshold": failures })
}

/// The container `target` with these fields and this plan.
fn target(fields: &Value, plan: &Value) -> Value {
    let mut target =
        json!({ "name": "target", "env": [{ "name": "AGNHOST_PLAN", "value": plan.to_string() }] });
    for (field, value) in fields.as_object().into_iter().flatten() {
        target[field] = value.clone();
    }
    target
}

/// A plan with one listener on port 8080.
fn web(paths: Value) -> Value {
    json!({ "listeners": { "web": { "port": 8080, "paths": paths } } })
}

/// A pod with one container, whose process starts at 1 s.
fn pod(clause: &str, target: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    run.create(0.0, &json!({ "containers": [target], "terminationGracePeriodSeconds": 2 })).start(1.0, 0);
    run
}

/// A pod with a label by which a Service or a Deployment selects it, running and ready at 1.5 s.
fn labeled(run: &mut Composer, name: &str, labels: &Value, target: &Value) {
    let spec = json!({ "nodeName": NODE, "containers": [target], "terminationGracePeriodSeconds": 2 });
    run.of(name, "target").sighting(0.5, "Pod", name, Change::Added, object(name, labels, &spec, &json!({})));
    run.start(1.0, 0);
}

fn object(name: &str, labels: &Value, spec: &Value, status: &Value) -> Value {
    json!({ "metadata": { "name": name, "uid": format!("uid-{name}"), "labels": labels }, "spec": spec, "status": status })
}

/// A status of the pod with this address.
fn status_at(run: &mut Composer, at: f64, address: &str, ready: bool) {
    let mut status = running_status("target", at, ready, true, 0);
    status["podIP"] = json!(address);
    run.status(at, &status);
}

/// The plan was changed.
fn changed(run: &mut Composer, at: f64, endpoint: &str) {
    let endpoints = endpoint.parse().into_iter().collect();
    run.fact(at, Fact::Change(ChangeSeen { endpoints, change: "{}".to_owned() }));
}

/// A port was opened.
fn opened(run: &mut Composer, at: f64, listener: &str, port: u16) {
    let (listener, address) = (listener.to_owned(), format!("0.0.0.0:{port}"));
    run.fact(at, Fact::Listening(Listening { listener, address, state: "open".to_owned() }));
}

/// A request that a process sent, at the time of its end.
fn called(run: &mut Composer, at: f64, by: &str, url: &str, status: Option<u16>, took: f64) {
    let error = status.is_none().then(|| "connection refused".to_owned());
    let took_us = u64::try_from(probity_composer::us(took)).unwrap_or_default();
    let (by, url) = (by.to_owned(), url.to_owned());
    run.fact(at, Fact::Call(Call { by, url, status, answered_by: None, error, took_us }));
}

/// Probes of a path, one each second from the given time on.
fn probes(run: &mut Composer, from: u32, count: u32, path: &str, status: u16) {
    for at in from..from + count {
        run.probe(f64::from(at), path, status);
    }
}

/// A probe that is answered after this time.
fn late(run: &mut Composer, at: f64, path: &str, took: f64) {
    run.http(at, &Told { took, ..Told::get(path, 200) });
}
