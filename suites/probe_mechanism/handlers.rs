//! Handlers in manifests: each probe has exactly one.

use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

const HANDLERS: [&str; 4] = ["exec", "grpc", "httpGet", "tcpSocket"];

/// A probe in a manifest.
pub(crate) struct Written<'h> {
    /// `livenessProbe` or another.
    pub(crate) field: &'static str,
    pub(crate) probe: &'h Value,
}

/// All probes of a pod's manifest.
pub(crate) fn probes(pod: &Value) -> Vec<Written<'_>> {
    let lists = ["initContainers", "containers"];
    let containers = lists.iter().filter_map(|list| pod.get("spec")?.get(list)?.as_array()).flatten();
    let fields = ["startupProbe", "livenessProbe", "readinessProbe"];
    containers
        .flat_map(|container| {
            fields.iter().filter_map(|field| Some(Written { field, probe: container.get(field)? }))
        })
        .collect()
}

/// A probe with one handler is accepted, and one with none or several is refused.
pub(super) fn exactly_one(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for (id, tried) in &run.tried {
        let written = probes(&tried.manifest);
        let count = |of: &Written<'_>| HANDLERS.iter().filter(|name| of.probe.get(name).is_some()).count();
        if written.is_empty() {
            continue;
        }
        let wrong = written.iter().find(|of| count(of) != 1);
        let named = wrong.is_some_and(|of| tried.message.contains(of.field));
        let of_handlers = tried.message.contains("handler type");
        match (wrong, tried.code) {
            (Some(of), ..300) => {
                let finding =
                    format!("`{}` was accepted: its {} has {} handlers", tried.name, of.field, count(of));
                seen.violated(finding, [*id]);
            }
            (Some(_), 422) if named => seen.fine([*id]),
            (Some(of), 422) => {
                let why =
                    format!("`{}` was refused without a word of {}: {}", tried.name, of.field, tried.message);
                seen.doubt(Doubt::Ambiguous, why, [*id]);
            }
            (None, ..300) => seen.fine([*id]),
            (None, 422) if of_handlers => {
                let finding =
                    format!("`{}` has one handler a probe, and was refused: {}", tried.name, tried.message);
                seen.violated(finding, [*id]);
            }
            _ => seen.applies(),
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_composer::Composer;
    use serde_json::{Value, json};

    use crate::tests::verdict;

    const ONE: &str = "probe.handler.exactly-one";

    fn tried(probe: Value, code: u16, message: &str) -> &'static str {
        let mut run = Composer::new(&[ONE]);
        let spec = json!({ "containers": [{ "name": "c", "livenessProbe": probe }] });
        run.tried(0.0, "it", json!({ "kind": "Pod", "spec": spec }), code, message, Value::Null);
        verdict(&run.done(), ONE)
    }

    #[test]
    fn one_handler_is_accepted() {
        let one = || json!({ "tcpSocket": { "port": 80 } });
        assert_eq!(tried(one(), 201, ""), "holds");
        let refusal = "spec.containers[0].livenessProbe: Required value: must specify a handler type";
        assert_eq!(tried(one(), 422, refusal), "violated");
        assert_eq!(tried(one(), 403, "exceeded quota"), "inconclusive");
    }

    #[test]
    fn none_and_two_are_refused() {
        let two = || json!({ "tcpSocket": { "port": 80 }, "exec": { "command": ["x"] } });
        let refusal =
            "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type";
        assert_eq!(tried(two(), 422, refusal), "holds");
        assert_eq!(tried(two(), 201, ""), "violated");
        assert_eq!(tried(json!({ "periodSeconds": 1 }), 201, ""), "violated");
        assert_eq!(tried(json!({}), 422, "spec.hostname: Invalid value"), "inconclusive");
    }

    #[test]
    fn a_pod_without_probes_says_nothing() {
        let mut run = Composer::new(&[]);
        run.tried(0.0, "it", json!({ "spec": { "containers": [{ "name": "c" }] } }), 201, "", Value::Null);
        assert_eq!(verdict(&run.done(), ONE), "none");
    }
}
