//! Hand-written histories of containers with their own policies and rules.

use probity_composer::Composer;
use serde_json::{Value, json};

use super::{ended, exits, runs, status};
use crate::tests::verdict;

const OWN: &str = "restart.rules.container-policy";
const CODES: &str = "restart.rules.exit-codes";

/// A pod with this policy whose container has these fields and starts at 1 s.
fn pod(clause: &str, policy: &str, fields: &Value) -> Composer {
    let mut run = Composer::new(&[clause]);
    let mut container = json!({ "name": "target" });
    for (field, value) in fields.as_object().into_iter().flatten() {
        container[field] = value.clone();
    }
    run.create(0.0, &json!({ "restartPolicy": policy, "containers": [container] })).start(1.0, 0);
    run
}

/// A container with these fields exits at 3 s with a status, and restarts a second later or not.
fn after(clause: &str, policy: &str, fields: &Value, code: u8, again: bool) -> &'static str {
    let mut run = pod(clause, policy, fields);
    run.status(1.5, &status("Running", 0, runs(1.0), json!({})));
    exits(&mut run, 3.0, code, "plan");
    if again {
        run.start(4.0, 1).status(4.5, &status("Running", 1, runs(4.0), ended(code.into())));
    } else {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        run.status(3.5, &status(phase, 0, ended(code.into()), json!({})));
    }
    run.reading(30.0);
    verdict(&run.done(), clause)
}

/// Like [`after`] under a policy, with a restart at this time.
fn restarted_at(clause: &str, fields: &Value, code: u8, at: f64) -> &'static str {
    let mut run = pod(clause, "Never", fields);
    exits(&mut run, 3.0, code, "plan");
    run.start(at, 1).reading(at + 10.0);
    verdict(&run.done(), clause)
}

#[test]
fn a_first_restart_comes_at_once_whatever_decides_it() {
    for (clause, fields, code) in [(OWN, own("Always"), 0), (CODES, ruled("In"), 42)] {
        assert_eq!(restarted_at(clause, &fields, code, 5.0), "holds");
        assert_eq!(restarted_at(clause, &fields, code, 14.0), "violated", "after a back-off");
    }
    assert_eq!(restarted_at("restart.first-crash-immediate", &ruled("In"), 42, 14.0), "violated");
    assert_eq!(restarted_at("restart.first-crash-immediate", &ruled("In"), 1, 14.0), "inconclusive");
}

fn own(policy: &str) -> Value {
    json!({ "restartPolicy": policy })
}

fn ruled(operator: &str) -> Value {
    let rule = json!({ "action": "Restart", "exitCodes": { "operator": operator, "values": [42] } });
    json!({ "restartPolicy": "Never", "restartPolicyRules": [rule] })
}

#[test]
fn the_policy_of_a_container_comes_before_the_one_of_its_pod() {
    assert_eq!(after(OWN, "Never", &own("Always"), 0, true), "holds");
    assert_eq!(after(OWN, "Never", &own("Always"), 0, false), "violated");
    assert_eq!(after(OWN, "Never", &own("OnFailure"), 1, false), "violated");
    assert_eq!(after(OWN, "Always", &own("Never"), 1, true), "violated");
    assert_eq!(after(OWN, "Always", &own("OnFailure"), 0, true), "violated");
    assert_eq!(after(OWN, "Always", &own("Never"), 1, false), "holds");
}

#[test]
fn a_policy_that_decides_the_same_shows_nothing() {
    assert_eq!(after(OWN, "OnFailure", &own("Always"), 1, false), "inconclusive");
    assert_eq!(after(OWN, "Always", &json!({}), 1, false), "inconclusive");
}

#[test]
fn a_rule_comes_before_the_policy() {
    assert_eq!(after(CODES, "Never", &ruled("In"), 42, true), "holds");
    assert_eq!(after(CODES, "Never", &ruled("In"), 42, false), "violated");
    assert_eq!(after(CODES, "Never", &ruled("In"), 1, true), "violated");
    assert_eq!(after(CODES, "Never", &ruled("NotIn"), 1, false), "violated");
    assert_eq!(after(CODES, "Never", &ruled("NotIn"), 42, true), "violated");
    assert_eq!(after(CODES, "Always", &ruled("In"), 1, true), "violated", "the container's policy is Never");
}

/// A container with this rule is killed at 6 s because it takes more memory than its limit, and restarts or not.
fn out_of_memory(code: u8, again: bool) -> &'static str {
    let plan = r#"{"process":{"consume":[{"memory":{"bytes":"64MiB"}}]}}"#;
    let mut fields = ruled("In");
    fields["restartPolicyRules"][0]["exitCodes"]["values"] = json!([code]);
    fields["env"] = json!([{ "name": "AGNHOST_PLAN", "value": plan }]);
    fields["resources"] = json!({ "limits": { "memory": "32Mi" } });
    let mut run = pod(CODES, "Never", &fields);
    run.left(6.0);
    if again {
        run.start(7.0, 1);
    }
    run.reading(30.0);
    verdict(&run.done(), CODES)
}

#[test]
fn a_rule_also_applies_to_a_lack_of_memory() {
    assert_eq!(out_of_memory(137, true), "holds");
    assert_eq!(out_of_memory(137, false), "violated");
    assert_eq!(out_of_memory(1, true), "violated");
    assert_ne!(out_of_memory(1, false), "violated");
}

#[test]
fn containers_without_rules_are_left_alone() {
    assert_eq!(after(CODES, "Never", &own("Never"), 42, true), "inconclusive");
    assert_eq!(after("restart.policy.never", "Never", &ruled("In"), 42, true), "inconclusive");
    assert_eq!(after("restart.policy.scope", "Never", &own("Always"), 1, true), "inconclusive");
}
