//! Checks that the cases of the book cover every combination: every mechanism for every kind of probe, in main
//! containers and in sidecars, with a success and with a failure.
//!
//! Only the arrangement of the cases is checked. The judges decide whether these successes and failures happen in a
//! run.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use probity_case::Case;
use probity_case::CasePod;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::answer::{ExecAnswer, GrpcAnswer, HttpAnswer, ListenState};
use probity_script::{Listener, Plan, Script};
use serde_json::Value;

const MECHANISMS: [&str; 4] = ["http", "tcp", "grpc", "exec"];
const CONTAINERS: [&str; 2] = ["container", "sidecar"];

fn all_cases() -> Vec<Case> {
    crate::cases().unwrap().into_iter().flat_map(|file| file.cases).collect()
}

fn mechanism(handler: &Handler) -> &'static str {
    match handler {
        Handler::Http { .. } => "http",
        Handler::Tcp { .. } => "tcp",
        Handler::Grpc { .. } => "grpc",
        Handler::Exec { .. } => "exec",
    }
}

/// The containers of a pod that keep running, and their kinds.
fn containers(pod: &CasePod) -> Vec<(&'static str, &Value)> {
    let of = |list: &str| pod.pod["spec"][list].as_array().into_iter().flatten();
    let sidecars = of("initContainers").filter(|container| container["restartPolicy"] == "Always");
    sidecars.map(|one| ("sidecar", one)).chain(of("containers").map(|one| ("container", one))).collect()
}

fn probes(container: &Value) -> impl Iterator<Item = ProbeSpec> {
    ProbeKind::ALL.into_iter().filter_map(|kind| ProbeSpec::of(container, kind))
}

/// Whether the plan of a probe's own container makes the probe succeed, and whether it makes the probe fail.
fn finds(plan: &Plan, handler: &Handler) -> (bool, bool) {
    let listener = handler.port().and_then(|port| plan.listeners.values().find(|of| of.port == port));
    match (handler, listener) {
        (Handler::Exec { command }, _) => {
            let script = command.get(2).and_then(|name| plan.exec.get(name));
            script.map_or((false, false), |script| {
                both(script, |answer| match answer {
                    ExecAnswer::Succeed => Some(true),
                    ExecAnswer::Fail | ExecAnswer::Hang => Some(false),
                    ExecAnswer::With(_) => answer.settings().map(|settings| settings.exit == 0),
                })
            })
        }
        (_, None) => (false, true),
        (Handler::Http { path, .. }, Some(of)) => of.paths.get(path).map_or((false, false), |script| {
            both(script, |answer| match answer {
                HttpAnswer::Reply(reply) => Some(reply.status.code() < 400),
                _ => Some(false),
            })
        }),
        (Handler::Tcp { .. }, Some(of)) => open(of),
        (Handler::Grpc { service, .. }, Some(of)) => {
            of.services.get(service).map_or((false, true), |script| {
                both(script, |answer| match answer {
                    GrpcAnswer::Serving => Some(true),
                    GrpcAnswer::With(_) => None,
                    _ => Some(false),
                })
            })
        }
    }
}

fn open(listener: &Listener) -> (bool, bool) {
    both(&listener.listen, |state| Some(*state == ListenState::Open))
}

/// Whether a script has a step that succeeds, and whether it has a step that fails.
fn both<A>(script: &Script<A>, good: impl Fn(&A) -> Option<bool>) -> (bool, bool) {
    let any = |wanted| script.steps().iter().any(|step| good(&step.answer) == Some(wanted));
    (any(true), any(false))
}

#[test]
fn each_mechanism_succeeds_and_fails_for_each_kind_of_probe_in_each_kind_of_container() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for case in all_cases() {
        for pod in case.pods.values() {
            for (kind, container) in containers(pod) {
                let plan = container["name"].as_str().and_then(|name| pod.target.get(name));
                for probe in probes(container) {
                    let Some(plan) = plan else { continue };
                    let what = format!("{} {} of a {kind}", mechanism(&probe.handler), probe.kind.word());
                    let (good, bad) = finds(plan, &probe.handler);
                    seen.extend(good.then(|| format!("{what} succeeds")));
                    seen.extend(bad.then(|| format!("{what} fails")));
                }
            }
        }
    }
    let mut missing = Vec::new();
    for mechanism in MECHANISMS {
        for probe in ProbeKind::ALL {
            for kind in CONTAINERS {
                for outcome in ["succeeds", "fails"] {
                    let what = format!("{mechanism} {} of a {kind} {outcome}", probe.word());
                    missing.extend(Some(what).filter(|what| !seen.contains(what)));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no case arranges these:\n{}", missing.join("\n"));
}

#[test]
fn ports_by_name_are_asked_in_each_kind_of_container_for_each_kind_of_probe() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for case in all_cases() {
        for pod in case.pods.values() {
            for (kind, container) in containers(pod) {
                for probe in probes(container) {
                    if let Handler::Http { port, .. } | Handler::Tcp { port, .. } = &probe.handler
                        && port.number.is_some_and(|number| port.written != number.to_string())
                    {
                        seen.insert(format!("{} {} {kind}", mechanism(&probe.handler), probe.kind.word()));
                    }
                }
            }
        }
    }
    assert_eq!(seen.len(), 2 * ProbeKind::ALL.len() * CONTAINERS.len(), "{seen:#?}");
}

#[test]
fn containers_of_one_pod_have_several_ports_of_the_same_names_in_each_kind() {
    for wanted in CONTAINERS {
        let shared = |pod: &CasePod| {
            let all = containers(pod);
            let mut names = all.iter().filter(|(kind, _)| *kind == wanted).map(|(_, container)| {
                let ports = container["ports"].as_array().into_iter().flatten();
                ports.filter_map(|port| port["name"].as_str()).collect::<BTreeSet<_>>()
            });
            let several: Vec<_> = names.by_ref().filter(|names| names.len() > 1).collect();
            several.iter().enumerate().any(|(at, names)| several[at + 1..].contains(names))
        };
        let cases = all_cases();
        assert!(cases.iter().flat_map(|case| case.pods.values()).any(shared), "no {wanted} case has them");
    }
}

#[test]
fn cases_come_in_both_kinds_by_the_matrix_and_not_by_a_copy() {
    let cases = all_cases();
    let sidecars = cases.iter().filter_map(|case| case.name.0.strip_suffix("/container-kind=sidecar"));
    let twins = sidecars.filter(|name| cases.iter().any(|case| case.name.0 == **name)).count();
    assert!(twins >= 17, "only {twins} cases come in both kinds");
}
