//! The clauses that no damage makes `violated`, and no defect of a real kubelet, each with the reason.

use std::collections::BTreeSet;

/// A clause, and why nothing in the tables breaks it.
const KNOWN: &[(&str, &str)] = &[
    ("downward.two-ways", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "downward.fieldref-both",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("downward.env-only", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "downward.volume-only",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "downward.resourcefieldref",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "downward.no-client-needed",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.update.generation",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.update.allowed-fields",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.update.activedeadline",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.update.no-new-finalizers",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.update.metadata-immutable",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("pod.shared.network", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    ("pod.shared.ipc", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "pod.shared.ip-per-family",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("pod.co-scheduled", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    ("pod.hostname", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "restart.backoff.cap",
        "no damage is written yet: the clause is new, and no recorded container has crashed often enough yet",
    ),
    (
        "restart.backoff.reset-after-10min",
        "no damage is written yet: the clause is new, and no recorded container has run for so long yet",
    ),
    (
        "restart.backoff.probe-causes",
        "no damage is written yet: the clause is new, and no recorded container was killed three times in a row yet",
    ),
    (
        "termination.grace-only-shortens",
        "no damage is written yet: the clause is new, and no recorded pod was deleted twice yet",
    ),
    (
        "termination.negative-grace",
        "no damage is written yet: the clause is new, and no recorded dry run has a negative grace period yet",
    ),
    (
        "termination.no-restart-while-terminating",
        "no damage is written yet: the clause is new, and no recorded pod goes with several main containers yet",
    ),
    (
        "termination.prestop-not-with-zero-grace",
        "no damage is written yet: the clause is new, and no recorded pod has a grace period of zero yet",
    ),
    (
        "termination.prestop-not-on-self-exit",
        "no damage is written yet: the clause is new, and no recorded hook asks another container yet",
    ),
    (
        "termination.sidecar.prestop-overrun",
        "no damage is written yet: the clause is new, and no recorded pod with sidecars uses up its grace period yet",
    ),
    (
        "termination.sidecar.prestop-not-ordered",
        "no damage is written yet: the clause is new, and no recorded sidecar has a hook yet",
    ),
    (
        "termination.endpoint-proxy-fallback",
        "no damage is written yet: the clause is new, and no recorded Service loses its last pod under traffic yet",
    ),
    (
        "termination.controllers-stop-counting",
        "no damage is written yet: the clause is new, and no recorded workload is scaled yet",
    ),
    (
        "termination.unscheduled-immediate",
        "no damage is written yet: the clause is new, and no recorded pod is deleted by a step after its end yet",
    ),
    (
        "termination.forced.immediate-api-removal",
        "no damage is written yet: the clause is new, and no recorded pod is deleted by force yet",
    ),
    (
        "termination.forced.name-reusable",
        "no damage is written yet: the clause is new, and no recorded pod is deleted by force yet",
    ),
    (
        "probe.success-threshold.after-restart",
        "no damage is written yet: the first success of a second life would have to be shown too early",
    ),
    (
        "probe.tcp.blind-to-app",
        "in the only recorded lives with such probes somebody was held up, and a run of probes that was held up leaves a doubt",
    ),
    (
        "probe.tcp.host-service-name-unusable",
        "no damage is written yet: such a probe arrives nowhere, so only the status of its pod could be changed",
    ),
    (
        "probe.exec.fork-then-exit-fails",
        "no damage is written yet: a command that leaves a child behind was recorded in one case, with one outcome",
    ),
    (
        "prober.kubelet-restart.ends-count-once",
        "no damage is written yet: the clause is new, and so are the recorded restarts of kubelets",
    ),
    (
        "prober.kubelet-restart.failures-still-kill",
        "no damage is written yet: the clause is new, and so are the recorded restarts of kubelets",
    ),
    (
        "prober.kubelet-restart.status-kept",
        "a revision that shows a container as not ready after the restart went unnoticed; why has not been looked into",
    ),
    (
        "prober.worker.restart-jitter",
        "no damage is written yet: the first probes of all containers of a node would have to move together",
    ),
    (
        "scenario.dependency.peer-pods",
        "no damage is written yet: it must strike a pod in the midst of a chain, for of the last one the clause does not speak",
    ),
    (
        "scenario.exec.zombies",
        "no damage is written yet: the list of the processes of a container would have to be changed",
    ),
    (
        "scenario.liveness.overload-cascade",
        "the effect is counted and not promised: accused is only who stops a container without a probe under load",
    ),
    (
        "scenario.readiness.mgmt-port-hides-saturation",
        "no damage is written yet: the requests of a client would have to be changed together with the readiness of a pod",
    ),
    (
        "init.ports-not-in-services",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.all-fields-except",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.app-containers-start-parallel",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.container-restart-no-rerun",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.only-image-mutable",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.idempotent-advice",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("init.names-unique", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "init.resources.effective-init",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.resources.effective-pod",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.resources.quota",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.delays-app-start",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.resources.scheduling",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "init.resources.qos-same",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("sidecar.definition", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "sidecar.always-restarted",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "sidecar.policy-values",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.condition.custom-preserved",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "readinessgate.name-format",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "readinessgate.set-by-patch",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.phase.unknown",
        "no damage is written yet: the clause is new, and its case needs two nodes and is not recorded yet",
    ),
    (
        "pod.phase.node-loss-failed",
        "no damage is written yet: the clause is new, and its case needs two nodes and is not recorded yet",
    ),
    (
        "pod.lifecycle.node-failure-deletes",
        "no damage is written yet: the clause is new, and its case needs two nodes and is not recorded yet",
    ),
    (
        "pod.lifecycle.never-started-on-dead-node",
        "no damage is written yet: the clause is new, and its case needs two nodes and is not recorded yet",
    ),
    (
        "pod.scheduling.gates-delay",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pod.lifecycle.controller-replaces",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "termination.kubelet-restart-restarts-grace",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "restart.backoff.image-change-resets",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "podgc.failed-pods-kept",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("podgc.orphaned", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "podgc.unscheduled-terminating",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "podgc.orphaned-condition",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "disruption.pods-stay",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pdb.limits-voluntary",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pdb.example-one-at-a-time",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("pdb.selector", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "pdb.involuntary-counts",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pdb.direct-delete-ignores",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pdb.unhealthy-default",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "pdb.unhealthy-alwaysallow",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("eviction.graceful", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
    (
        "eviction.pending-terminal-bypass",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "disruptiontarget.eviction-api",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.event.image-missing",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.image-missing",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.event.settings-missing",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.settings-missing",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.settings-supplied",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.termination-message-limit",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.termination-message-log",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.allocated-resources",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    (
        "report.status.resources",
        "no damage is written yet: the clause is new, and its cases are not recorded yet",
    ),
    ("report.status.user", "no damage is written yet: the clause is new, and its cases are not recorded yet"),
];

#[test]
fn each_testable_clause_is_violated_by_a_damage_or_a_real_defect_or_says_why_not() {
    let damages = super::FOUND.iter().filter(|(_, damage, _)| damage.word == "violated");
    let mut broken: BTreeSet<String> =
        damages.flat_map(|(.., found)| found.iter().flat_map(|found| found.by.clone())).collect();
    broken.extend(probity_suites::real_defects().into_keys().map(str::to_owned));
    let testable = super::REGISTRY.catalogue.iter().filter(|clause| clause.untestable.is_none());
    let whole: BTreeSet<&str> = testable.map(|clause| clause.id.as_str()).collect();
    let known: BTreeSet<&str> = KNOWN.iter().map(|(clause, _)| *clause).collect();
    let left = whole.iter().filter(|clause| !broken.contains(**clause) && !known.contains(**clause));
    let stale = known.iter().filter(|clause| broken.contains(**clause) || !whole.contains(**clause));
    let wrong: Vec<String> = left
        .map(|clause| format!("nothing violates {clause}"))
        .chain(stale.map(|clause| format!("{clause} is violated, or is no clause, and still has a reason")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
