//! The verbs of `node` steps: which exist, which have an input, and what a case must say of itself to use them.

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
        (Some(_), true) => {
            Err(pin(&format!("the input of `{}` is a map of settings", verb.word), &["node", "input"]))
        }
        (None, false) => Ok(()),
    }
}

/// Checks that a case declares what its verbs do to the nodes that other cases use, too.
pub(crate) fn check_case(case: &Case) -> Result<(), String> {
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
        let (quiet, why) = match (verb.takes_away, verb.undo) {
            (true, _) => (" and `quiet: true`", ": the case runs alone and beside the node of the recorder"),
            (_, Some(_)) => (" and `quiet: true`", ": what it changes is there for other cases, too"),
            _ => ("", ""),
        };
        let why =
            format!("a step does `{}` to a node: write `needs: [node-verbs{more}]`{quiet}{why}", verb.word);
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
            (kubelet, "{ verb: configure-kubelet, input: [1] }", "is a map of settings"),
            (plain, "{ verb: restart-kubelet, input: { a: 1 } }", "takes no input"),
            (
                plain,
                "{ verb: configure-kubelet, input: { a: 1 } }",
                "[node-verbs, kubelet-config]` and `quiet",
            ),
            (plain, "{ verb: place-static-pod, input: { a: 1 } }", "static: true"),
            ("", "{ verb: describe-pod }", "write `needs: [node-verbs]`"),
            (plain, "{ verb: freeze }", "[node-verbs, multi-node]` and `quiet: true`: the case runs alone"),
            (plain, "{ verb: describe-pods }", "did you mean `describe-pod`?"),
        ] {
            let told = read(more, step).unwrap_err();
            assert!(told.contains(why), "{step}: {told}");
        }
    }
}
