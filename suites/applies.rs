//! Checks whether a clause can apply to a case at all: the case must have what the clause's judge looks for. The
//! requirements of each clause are in `applies.txt`.
//!
//! If a clause cannot apply, it is never exercised, and a case that targets it is inconclusive in every run. A clause
//! that can apply is not necessarily tested: the events of the case must also expose a fault.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use probity_case::{Case, Step};
use serde_json::Value;

static TABLE: LazyLock<BTreeMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("applies.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(id, words)| (id, words.split_whitespace().collect()))
        .collect()
});

/// A word of the table, with the condition that it stands for and the message if a case does not meet this condition.
struct Word {
    word: &'static str,
    /// Whether a container in its pod has what the word requires.
    holds: fn(&Subject<'_>) -> bool,
    absent: &'static str,
}

/// A container with its pod and its case. A case without containers is treated as if it had one empty container.
struct Subject<'c> {
    case: &'c Case,
    spec: &'c Value,
    container: &'c Value,
    sidecar: bool,
}

const fn word(word: &'static str, holds: fn(&Subject<'_>) -> bool, absent: &'static str) -> Word {
    Word { word, holds, absent }
}

/// The words. Numbers are compared with the defaults from the Kubernetes API reference.
const WORDS: &[Word] = &[
    word("startup", |of| of.has("startupProbe"), "no container has a startup probe"),
    word("liveness", |of| of.has("livenessProbe"), "no container has a liveness probe"),
    word("readiness", |of| of.has("readinessProbe"), "no container has a readiness probe"),
    word("no-startup", |of| !of.has("startupProbe"), "every container has a startup probe"),
    word("no-liveness", |of| !of.has("livenessProbe"), "every container has a liveness probe"),
    word("no-readiness", |of| !of.has("readinessProbe"), "every container has a readiness probe"),
    word("probe", |of| of.probes().next().is_some(), "no container has a probe"),
    word("http", |of| of.asks("httpGet"), "no probe uses httpGet"),
    word("https", |of| of.get("scheme").any(|scheme| scheme == "HTTPS"), "no probe has the scheme HTTPS"),
    word("tcp", |of| of.asks("tcpSocket"), "no probe uses tcpSocket"),
    word("grpc", |of| of.asks("grpc"), "no probe uses grpc"),
    word("exec", |of| of.asks("exec"), "no probe uses exec"),
    word(
        "by-network",
        |of| ["httpGet", "tcpSocket", "grpc"].into_iter().any(|handler| of.asks(handler)),
        "it needs a network probe, but the pod has none",
    ),
    word("host", |of| of.get("host").next().is_some(), "no probe has a `host`"),
    word("header", |of| of.get("httpHeaders").next().is_some(), "no probe has `httpHeaders`"),
    word("port-name", |of| of.get("port").any(Value::is_string), "no probe refers to a port by name"),
    word("delay", |of| of.number("initialDelaySeconds") > 0, "no probe has `initialDelaySeconds`"),
    word("successes", |of| of.number("successThreshold") > 1, "no probe has a `successThreshold` above 1"),
    word(
        "failures",
        |of| of.probes().any(|probe| probe["failureThreshold"].as_i64().is_none_or(|failures| failures > 1)),
        "every probe has `failureThreshold: 1`",
    ),
    word(
        "probe-grace",
        |of| of.number("terminationGracePeriodSeconds") > 0,
        "no probe has its own `terminationGracePeriodSeconds`",
    ),
    word("restarting", |of| of.policy() != "Never", "it needs restarts, but the restart policy is Never"),
    word("never-restarting", |of| of.policy() == "Never", "it needs the restart policy Never"),
    word("on-failure", |of| of.policy() == "OnFailure", "it needs the restart policy OnFailure"),
    word("sidecar", |of| of.sidecar, "no container is a sidecar"),
    word("hook", |of| of.has("lifecycle"), "no container has a hook"),
    word(
        "post-start",
        |of| !of.container["lifecycle"]["postStart"].is_null(),
        "no container has a postStart hook",
    ),
    word(
        "service",
        |of| of.case.objects.iter().any(|object| object["kind"] == "Service"),
        "the case has no Service",
    ),
    word("workload", |of| !of.case.workloads.is_empty(), "the case has no workload"),
    word(
        "gate",
        |of| of.spec["readinessGates"].as_array().is_some_and(|gates| !gates.is_empty()),
        "no pod has readiness gates",
    ),
    word(
        "status-patch",
        |of| of.does(|step| matches!(step, Step::Patch(patch) if patch.patch["status"].is_object())),
        "no step patches a pod's status",
    ),
    word(
        "deletion",
        |of| of.does(|step| matches!(step, Step::Delete(_) | Step::Evict(_))),
        "no step deletes or evicts the pod",
    ),
    word(
        "dry-run",
        |of| of.does(|step| matches!(step, Step::Try(_))),
        "it needs a dry run, but no step is a `try`",
    ),
    word("node-verb", |of| of.does(|step| matches!(step, Step::Node(_))), "no step affects the node"),
    word(
        "metrics",
        |of| of.does(|step| matches!(step, Step::Metrics(_))),
        "no step reads the kubelet's metrics",
    ),
];

/// Why a clause cannot apply to a case; `None` if it can.
#[must_use]
pub fn cannot_apply(clause: &str, case: &Case) -> Option<String> {
    let words = TABLE.get(clause)?;
    let subjects = Subject::all(case);
    let holds = |subject: &Subject<'_>, word: &str| {
        let known = |word: &str| WORDS.iter().find(|known| known.word == word);
        word.split('|').any(|word| known(word).is_some_and(|known| (known.holds)(subject)))
    };
    if subjects.iter().any(|subject| words.iter().all(|word| holds(subject, word))) {
        return None;
    }
    let missing = words.iter().find(|word| !subjects.iter().any(|subject| holds(subject, word)));
    Some(match missing {
        Some(word) => absence(word),
        None => format!("no single container meets all conditions: {}", words.join(", ")),
    })
}

/// Describes in words what a clause requires of a case. This shows users which cases the clause's judge ignores.
#[must_use]
pub fn looks_at(clause: &str) -> Option<String> {
    let words = TABLE.get(clause)?;
    Some(words.iter().map(|word| word.replace('|', " or ").replace('-', " ")).collect::<Vec<_>>().join(", "))
}

fn absence(word: &str) -> String {
    let parts = word.split('|').filter_map(|word| WORDS.iter().find(|known| known.word == word));
    parts.map(|word| word.absent).collect::<Vec<_>>().join(", and ")
}

impl<'c> Subject<'c> {
    fn all(case: &'c Case) -> Vec<Self> {
        let own = case.pods.values().map(|pod| &pod.pod["spec"]);
        let specs: Vec<&Value> =
            own.chain(case.workloads.values().map(probity_case::Workload::pod_spec)).collect();
        let mut all = Vec::new();
        for spec in specs {
            for list in ["initContainers", "containers"] {
                for container in spec[list].as_array().into_iter().flatten() {
                    let sidecar = list == "initContainers" && container["restartPolicy"] == "Always";
                    all.push(Self { case, spec, container, sidecar });
                }
            }
        }
        if all.is_empty() {
            all.push(Self { case, spec: &Value::Null, container: &Value::Null, sidecar: false });
        }
        all
    }

    fn has(&self, field: &str) -> bool {
        !self.container[field].is_null()
    }

    fn probes(&self) -> impl Iterator<Item = &'c Value> {
        let container = self.container;
        let fields = ["startupProbe", "livenessProbe", "readinessProbe"].into_iter();
        fields.map(move |field| &container[field]).filter(|probe| !probe.is_null())
    }

    fn asks(&self, handler: &str) -> bool {
        self.probes().any(|probe| !probe[handler].is_null())
    }

    /// The values of a field in the handlers of the container's probes.
    fn get(&self, field: &'static str) -> impl Iterator<Item = &'c Value> {
        let handlers =
            move |probe: &'c Value| ["httpGet", "tcpSocket", "grpc"].map(|handler| &probe[handler][field]);
        self.probes().flat_map(handlers).filter(|value| !value.is_null())
    }

    fn number(&self, field: &str) -> i64 {
        self.probes().filter_map(|probe| probe[field].as_i64()).max().unwrap_or(0)
    }

    fn policy(&self) -> &'c str {
        if self.sidecar {
            return "Always";
        }
        self.spec["restartPolicy"].as_str().unwrap_or("Always")
    }

    fn does(&self, what: impl Fn(&Step) -> bool) -> bool {
        self.case.steps.iter().any(what)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_table_speaks_of_clauses_and_words_that_exist() {
        let catalogue = crate::catalogue().unwrap();
        for (id, words) in TABLE.iter() {
            assert!(catalogue.iter().any(|clause| clause.id.as_str() == *id), "there is no clause {id}");
            for word in words.iter().flat_map(|word| word.split('|')) {
                assert!(WORDS.iter().any(|known| known.word == word), "{id}: {word}");
            }
        }
    }

    #[test]
    fn every_case_of_the_book_can_give_evidence_for_what_it_judges() {
        for file in crate::cases().unwrap() {
            for case in &file.cases {
                for id in &case.judges {
                    assert_eq!(cannot_apply(id.as_str(), case), None, "{id} in {}", case.name);
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_told() {
        let case = |spec: &str| {
            let text = format!("case: a/b\nstory: x\npod: {{ spec: {spec} }}\n");
            Case::read("f", &text).unwrap().remove(0)
        };
        let probe = "{ tcpSocket: { port: 80 } }";
        let one =
            case(&format!("{{ restartPolicy: Never, containers: [{{ name: c, livenessProbe: {probe} }}] }}"));
        let told = |clause: &str| cannot_apply(clause, &one).unwrap_or_default();
        assert_eq!(told("probe.startup.gates-liveness"), "no container has a startup probe");
        assert_eq!(told("probe.tgps.default-inherits"), "it needs restarts, but the restart policy is Never");
        assert_eq!(told("probe.liveness.needs-restarting-policy"), "");
        let two = case(&format!(
            "{{ containers: [{{ name: c, livenessProbe: {probe} }}, {{ name: d, startupProbe: {probe} }}] }}"
        ));
        let said = cannot_apply("probe.startup.gates-liveness", &two).unwrap();
        assert_eq!(said, "no single container meets all conditions: startup, liveness");
    }
}
