//! A plan as a user would write it: without defaults.

use probity_script::{Plan, Process};
use serde_json::{Map, Value, json};

/// The plan without defaults. A script with a single answer is written as that answer.
pub(crate) fn of(plan: &Plan) -> Value {
    let written = simple(serde_json::to_value(plan).unwrap_or_default());
    let usual = simple(serde_json::to_value(Process::default()).unwrap_or_default());
    let Value::Object(mut plan) = written else { return written };
    plan.retain(|field, value| !(field == "seed" && *value == 0));
    if let Some(process) = plan.get_mut("process").and_then(Value::as_object_mut) {
        process.retain(|field, value| usual.get(field) != Some(value));
    }
    if let Some(listeners) = plan.get_mut("listeners").and_then(Value::as_object_mut) {
        listeners.values_mut().for_each(plain_listener);
    }
    plan.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
    Value::Object(plan)
}

fn plain_listener(listener: &mut Value) {
    let usual = json!({ "listen": "open", "connections": "serve", "protocol": "http" });
    if let Some(fields) = listener.as_object_mut() {
        fields.retain(|field, value| usual.get(field) != Some(value));
        if fields.get("tls").is_some_and(Value::is_object) {
            fields.insert("tls".to_owned(), json!({}));
        }
    }
}

/// A value with scripts and answers in their shortest form.
fn simple(value: Value) -> Value {
    match value {
        Value::Array(steps) => {
            let mut steps: Vec<Value> = steps.into_iter().map(simple).collect();
            match steps.as_mut_slice() {
                [only]
                    if only
                        .as_object()
                        .is_some_and(|step| step.len() == 1 && step.contains_key("answer")) =>
                {
                    only["answer"].take()
                }
                _ => Value::Array(steps),
            }
        }
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.into_iter().map(|(field, value)| (field, simple(value))).collect();
            match fields.get("status") {
                Some(status) if fields.len() == 1 => status.clone(),
                _ => Value::Object(fields),
            }
        }
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_plain_plan_means_the_same() {
        let written = json!({
            "listeners": {
                "web": { "port": 8080, "paths": { "/live": 200, "/ready": [{ "answer": 503, "for": "5s" }, { "answer": 200 }] } },
                "rpc": { "port": 9090, "protocol": "grpc", "services": { "*": "serving" } },
                "tls": { "port": 8443, "tls": {}, "paths": { "*": 200 } }
            },
            "exec": { "live": "succeed" },
            "process": { "exit": [{ "after": "100ms", "code": 0 }] }
        });
        let plan: Plan = serde_json::from_value(written).unwrap();
        let plain = of(&plan);
        assert_eq!(plain["listeners"]["web"]["paths"]["/live"], 200);
        assert!(plain["listeners"]["web"].get("listen").is_none(), "{plain}");
        assert_eq!(serde_json::from_value::<Plan>(plain).unwrap(), plan);
        assert_eq!(of(&Plan::default()), json!({}));
    }
}
