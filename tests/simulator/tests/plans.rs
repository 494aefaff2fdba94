//! Whatever the plan of a target and the settings of its probes, no clause is ever violated on a faithful cluster.

#![expect(clippy::unwrap_used, reason = "tests")]

mod book;

use probity_case::Case;
use probity_simulator::simulate;
use proptest::prelude::*;

/// An answer of an HTTP path, in the form of a plan.
fn answer() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("200".to_owned()),
        2 => Just("503".to_owned()),
        1 => Just("hang".to_owned()),
        1 => Just("close".to_owned()),
        1 => Just("reset".to_owned()),
        1 => Just("garbage".to_owned()),
        1 => (200_u16..600).prop_map(|status| status.to_string()),
        1 => (0_u64..2500).prop_map(|ms| format!("{{ delay: {ms}ms }}")),
        1 => (0_u64..30_000).prop_map(|bytes| format!("{{ body: {{ bytes: {bytes} }} }}")),
        1 => Just("{ body: { bytes: 1MiB } }".to_owned()),
        1 => Just("{ body: { endless: true } }".to_owned()),
        1 => (0_u64..20_000).prop_map(|bytes| format!("{{ body: {{ bytes: 20000 }}, stall-after: {bytes} }}")),
        1 => (0_u64..20_000).prop_map(|bytes| format!("{{ body: {{ bytes: 20000 }}, close-after: {bytes} }}")),
        1 => (1_u64..14).prop_map(|hops| format!("{{ redirect: {{ hops: {hops} }} }}")),
        1 => Just("{ status: 302, headers: [\"Location: http://elsewhere.invalid/x\"] }".to_owned()),
        1 => Just("{ status: 304 }".to_owned()),
        1 => Just("{ status: 301, headers: [\"Location: http://{ip}:8081/x\"] }".to_owned()),
    ]
}

/// A script: answers for some seconds each, and a last one.
fn script() -> impl Strategy<Value = String> {
    (proptest::collection::vec((answer(), 1_u64..6), 0..3), answer()).prop_map(|(steps, last)| {
        let steps: String =
            steps.iter().map(|(answer, lasts)| format!("{{ answer: {answer}, for: {lasts}s }}, ")).collect();
        format!("[{steps}{{ answer: {last} }}]")
    })
}

fn probe(field: &'static str, path: &'static str) -> impl Strategy<Value = String> {
    let successes = if field == "readinessProbe" { 1_u64..3 } else { 1..2 };
    let settings = (1_u64..4, 1_u64..3, 1_u64..4, successes, 0_u64..4);
    (any::<bool>(), settings).prop_map(move |(there, (period, timeout, failures, successes, delay))| {
        if !there {
            return String::new();
        }
        format!(
            "        {field}: {{ httpGet: {{ path: {path}, port: 8080 }}, periodSeconds: {period}, timeoutSeconds: {timeout}, \
             failureThreshold: {failures}, successThreshold: {successes}, initialDelaySeconds: {delay} }}\n"
        )
    })
}

fn process() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => Just("    process: { on-stop: ignore }\n".to_owned()),
        1 => (1_u64..4).prop_map(|after| format!("    process: {{ on-stop: {{ exit: 3, after: {after}s }} }}\n")),
        1 => (2_u64..8, 0_u64..3)
            .prop_map(|(after, code)| format!("    process: {{ exit: [{{ after: {after}s, code: {code}, attempt: 0 }}] }}\n")),
    ]
}

fn case() -> impl Strategy<Value = String> {
    let policy = prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")];
    let probes =
        (probe("startupProbe", "/start"), probe("livenessProbe", "/live"), probe("readinessProbe", "/ready"));
    let scripts = (script(), script(), script());
    (policy, probes, scripts, process(), any::<bool>(), 1_u64..4).prop_map(
        |(policy, (startup, live, ready), (on_start, on_live, on_ready), process, deleted, grace)| {
            let delete = if deleted { "  - delete: {}\n  - watch: 4s\n" } else { "" };
            format!(
                "case: random/plan\nstory: Anything at all.\nobjects:\n  - {{ apiVersion: v1, kind: Service, metadata: \
                 {{ name: web }}, spec: {{ ports: [{{ port: 80, targetPort: 8080 }}] }} }}\npod:\n  spec:\n    \
                 restartPolicy: {policy}\n    terminationGracePeriodSeconds: {grace}\n    containers:\n      - name: \
                 target\n{startup}{live}{ready}target:\n  target:\n    listeners:\n      web:\n        port: 8080\n        \
                 paths:\n          /start: {on_start}\n          /live: {on_live}\n          /ready: {on_ready}\n      \
                 other: {{ port: 8081, paths: {{ /x: 200 }} }}\n{process}steps:\n  - watch: 18s\n{delete}"
            )
        },
    )
}

proptest! {
    #![proptest_config(book::searching(4000))]

    #[test]
    fn no_plan_makes_a_faithful_cluster_violate_a_clause(text in case(), seed in any::<u64>()) {
        let cases = Case::read("random", &text).map_err(|problem| problem.to_string()).unwrap();
        let history = simulate(&cases[0], &[], seed);
        prop_assert_eq!(book::violated(&history), Vec::new(), "{}", text);
    }
}
