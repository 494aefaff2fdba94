//! The verbs of `node` steps: which exist, which have an input, and what a case must declare to use them.

use probity_model::clause::Need;
use probity_model::history::{NODE_VERBS, NodeVerb, PLACE_STATIC_POD};
use probity_script::problem::pin;
use serde_json::Value;

use super::one_of;
use crate::case::Case;
use crate::step::{NodeStep, Step};

/// Checks the verb of a step, and its input.
pub(crate) fn check(of: &NodeStep) -> Result<(), String> {
    let known: Vec<&str> =
        NODE_VERBS.iter().map(|verb| verb.word).filter(|word| *word != PLACE_STATIC_POD).collect();
    if of.verb == PLACE_STATIC_POD {
        let why = "mark the pod with `static: true`: the harness prepares its manifest and places it";
        return Err(pin(why, &["node", "verb"]));
    }
    one_of("a verb for nodes", &of.verb, &known, &["node", "verb"])?;
    let verb = NodeVerb::of(&of.verb);
    match (&of.input, verb.input) {
        (Some(_), false) => Err(pin(&format!("`{}` takes no input", verb.word), &["node", "input"])),
        (None, true) => Err(pin(&format!("`{}` needs an `input`", verb.word), &["node"])),
        (Some(Value::Object(fields)), true) if !fields.is_empty() => Ok(()),
        (Some(_), true) => Err(pin(
            &format!("the input of `{}` must be a map with at least one setting", verb.word),
            &["node", "input"],
        )),
        (None, false) => Ok(()),
    }
}

/// The fields of a volume or a variable that refer to objects of the API server. A static pod cannot use them.
const REFERENCES: [&str; 8] = [
    "configMap",
    "secret",
    "projected",
    "persistentVolumeClaim",
    "configMapKeyRef",
    "secretKeyRef",
    "configMapRef",
    "secretRef",
];

/// Whether a part of a spec refers to an object of the API server.
fn refers(part: &Value) -> bool {
    match part {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| REFERENCES.contains(&name.as_str()) || refers(value))
        }
        Value::Array(values) => values.iter().any(refers),
        _ => false,
    }
}

/// Checks that the kubelet can run the static pods of a case without the API server.
fn check_static_pods(case: &Case) -> Result<(), String> {
    for (key, pod) in case.pods.iter().filter(|(_, pod)| pod.is_static) {
        if !(case.quiet && case.needs.contains(&Need::NodeVerbs)) {
            let why = "a case with a static pod needs `needs: [node-verbs]` and `quiet: true`, because other cases \
                       use the same node";
            return Err(pin(why, &["pods", key, "static"]));
        }
        let spec = &pod.pod["spec"];
        if refers(spec) || spec.get("serviceAccountName").is_some() {
            let why = "a static pod cannot refer to objects of the API server: ConfigMaps, Secrets, claims, a ServiceAccount";
            return Err(pin(why, &["pods", key, "pod", "spec"]));
        }
    }
    Ok(())
}

/// Checks that a case declares what its verbs do to nodes that other cases also use.
pub(crate) fn check_case(case: &Case) -> Result<(), String> {
    check_static_pods(case)?;
    for (at, step) in case.steps.iter().enumerate() {
        let Step::Node(of) = step else { continue };
        let verb = NodeVerb::of(&of.verb);
        let needs = [Some(Need::NodeVerbs), verb.needs].into_iter().flatten();
        let declared = needs.into_iter().all(|need| case.needs.contains(&need));
        let alone = case.quiet || verb.undo.is_none();
        if declared && alone {
            continue;
        }
        let more = match verb.needs {
            Some(Need::MultiNode) => ", multi-node",
            Some(Need::KubeletConfig) => ", kubelet-config",
            Some(Need::CpConfig) => ", cp-config",
            _ => "",
        };
        let (quiet, why) = match (verb.takes_away || verb.ends_pods, verb.undo) {
            (true, _) => {
                (" and `quiet: true`", ", so that the case runs alone, on a node without the recorder")
            }
            (_, Some(_)) => (" and `quiet: true`", ", because the change affects other cases, too"),
            _ => ("", ""),
        };
        let why = format!(
            "a step uses the node verb `{}`: write `needs: [node-verbs{more}]`{quiet}{why}",
            verb.word
        );
        return Err(pin(&why, &["steps", &at.to_string()]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::Case;

    fn read(more: &str, step: &str) -> Result<(), String> {
        let text = format!(
            "case: a/b\nstory: x\n{more}pod: {{ spec: {{ containers: [{{ name: c }}] }} }}\nsteps:\n  - node: {step}\n"
        );
        Case::read("case", &text).map(|_| ()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_static_pod_runs_alone_and_refers_to_nothing() {
        let read = |more: &str, spec: &str| {
            let text = format!(
                "case: a/b\nstory: x\n{more}pods: {{ web: {{ static: true, pod: {{ spec: {{ containers: [{{ name: c }}]{spec} }} }} }} }}\n"
            );
            Case::read("case", &text).map(|mut cases| cases.remove(0)).map_err(|problem| problem.to_string())
        };
        let needs = "needs: [node-verbs]\nquiet: true\n";
        let case = read(needs, "").unwrap();
        assert!(case.configures_a_node() && !case.takes_a_node_away());
        assert_eq!(crate::manifest::pod_name(&case, "web"), "a-b-web");
        assert_eq!(crate::manifest::pod_name(&case.with_static_pods_on("n1"), "web"), "a-b-web-n1");
        assert!(read("", "").unwrap_err().contains("quiet: true"));
        for spec in [", volumes: [{ name: v, configMap: { name: x } }]", ", serviceAccountName: x"] {
            assert!(read(needs, spec).unwrap_err().contains("cannot refer"), "{spec}");
        }
    }

    #[test]
    fn what_a_verb_takes_and_what_it_changes_must_be_said() {
        let kubelet = "needs: [node-verbs, kubelet-config]\nquiet: true\n";
        let plain = "needs: [node-verbs]\n";
        for (more, step) in [
            (kubelet, "{ verb: configure-kubelet, input: { maxPods: 9 } }"),
            (plain, "{ verb: describe-pod }"),
            (plain, "{ verb: restart-kubelet }"),
            (
                "needs: [node-verbs, cp-config]\nquiet: true\n",
                "{ verb: configure-controllers, input: { a: 1 } }",
            ),
            ("needs: [node-verbs, multi-node]\nquiet: true\n", "{ verb: cut }"),
        ] {
            assert_eq!(read(more, step), Ok(()), "{step}");
        }
        for (more, step, why) in [
            (kubelet, "{ verb: configure-kubelet }", "needs an `input`"),
            (kubelet, "{ verb: configure-kubelet, input: [1] }", "must be a map with at least one setting"),
            (plain, "{ verb: restart-kubelet, input: { a: 1 } }", "takes no input"),
            (
                plain,
                "{ verb: configure-kubelet, input: { a: 1 } }",
                "[node-verbs, kubelet-config]` and `quiet",
            ),
            (plain, "{ verb: place-static-pod, input: { a: 1 } }", "static: true"),
            ("", "{ verb: describe-pod }", "write `needs: [node-verbs]`"),
            (
                plain,
                "{ verb: freeze }",
                "[node-verbs, multi-node]` and `quiet: true`, so that the case runs alone",
            ),
            (plain, "{ verb: describe-pods }", "did you mean `describe-pod`?"),
        ] {
            let told = read(more, step).unwrap_err();
            assert!(told.contains(why), "{step}: {told}");
        }
    }
}
