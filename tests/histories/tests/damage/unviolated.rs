//! The clauses that neither a damage nor a defect of a real kubelet makes `violated`, each with the reason.

use std::collections::BTreeSet;

/// The clauses whose cases are not recorded yet, so that no damage is written for them.
const NOT_RECORDED: &[&str] = &[
    "disruptiontarget.critical-pod",
    "disruptiontarget.eviction-api",
    "disruptiontarget.job-policy",
    "disruptiontarget.node-shutdown",
    "disruptiontarget.preemption",
    "disruptiontarget.taint-manager",
    "ephemeral.fields-forbidden",
    "ephemeral.immutable",
    "ephemeral.no-effect-on-readiness",
    "ephemeral.resources-forbidden",
    "ephemeral.same-spec-type",
    "ephemeral.static-pod-refused",
    "eviction.graceful",
    "eviction.pending-terminal-bypass",
    "init.all-fields-except",
    "init.container-restart-no-rerun",
    "init.idempotent-advice",
    "init.names-unique",
    "init.only-image-mutable",
    "init.ports-not-in-services",
    "init.rerun-on-pod-restart",
    "init.resources.effective-init",
    "init.resources.effective-pod",
    "init.resources.qos-same",
    "init.resources.quota",
    "init.resources.scheduling",
    "init.restart-reason-all-terminated",
    "pdb.drain-retries",
    "pdb.rolling-update-not-limited",
    "pdb.selector",
    "pdb.statefulset-replacement",
    "pdb.unhealthy-alwaysallow",
    "pdb.worked-example",
    "pod.co-scheduled",
    "pod.command-references",
    "pod.condition.custom-preserved",
    "pod.configuration-files",
    "pod.dns-none",
    "pod.dns-search",
    "pod.environment",
    "pod.hosts-file",
    "pod.lifecycle.node-pressure-not-survived",
    "pod.name-subdomain",
    "pod.phase.rejected-for-resources",
    "pod.privileged",
    "pod.run-as-non-root",
    "pod.safe-sysctls",
    "pod.scheduling.gates-delay",
    "pod.security-context",
    "pod.shared.ipc",
    "pod.shared.volumes",
    "pod.subpath-expr",
    "pod.template-change",
    "pod.unsafe-sysctls",
    "pod.update.activedeadline",
    "pod.update.metadata-immutable",
    "pod.update.no-new-finalizers",
    "pod.windows-hostprocess",
    "podgc.failed-pods-kept",
    "podgc.out-of-service",
    "qos.besteffort",
    "qos.burstable",
    "qos.eviction-priority",
    "qos.guaranteed",
    "qos.pod-sums",
    "qos.preemption-ignores",
    "readinessgate.name-format",
    "readinessgate.set-by-patch",
    "report.status.image-always",
    "report.status.pod-allocated-resources",
    "resize.class-kept",
    "resize.deferred",
    "resize.infeasible",
    "restart.backoff.config-range",
    "restart.backoff.image-change-resets",
    "restart.rules.all-announced",
    "restart.rules.all-in-place",
    "restart.rules.validation",
    "shutdown.cancelled",
    "shutdown.critical-pods-last",
    "shutdown.delayed",
    "shutdown.grace-period",
    "shutdown.no-new-pods",
    "sidecar.policy-values",
    "termination.stopsignal-field",
    "userns.forbidden-combos",
];

/// Other clauses, each with the reason why nothing in the tables violates it.
const KNOWN: &[(&str, &str)] = &[
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
        "termination.prestop-not-with-zero-grace",
        "no damage is written yet: the clause is new, and no recorded pod has a grace period of zero yet",
    ),
    (
        "termination.prestop-not-on-self-exit",
        "no damage is written yet: the clause is new, and no recorded hook asks another container yet",
    ),
    (
        "termination.endpoint-proxy-fallback",
        "no damage is written yet: the clause is new, and no recorded Service loses its last pod under traffic yet",
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
        "qos.oom-score",
        "no damage is written yet: the clause is new, and the score is in a line that only some targets record",
    ),
    (
        "probe.success-threshold.after-restart",
        "no damage is written yet: the first success of a second life would have to be shown too early",
    ),
    (
        "probe.tcp.host-service-name-unusable",
        "no damage is written yet: such a probe arrives nowhere, so only the status of its pod could be changed",
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
];

#[test]
fn each_testable_clause_is_violated_by_a_damage_or_a_real_defect_or_says_why_not() {
    let damages = super::FOUND.iter().filter(|(_, damage, _)| damage.word == "violated");
    let mut broken: BTreeSet<String> =
        damages.flat_map(|(.., found)| found.iter().flat_map(|found| found.by.clone())).collect();
    broken.extend(probity_suites::real_defects().into_keys().map(str::to_owned));
    let testable = super::REGISTRY.catalogue.iter().filter(|clause| clause.untestable.is_none());
    let whole: BTreeSet<&str> = testable.map(|clause| clause.id.as_str()).collect();
    let known: BTreeSet<&str> =
        KNOWN.iter().map(|(clause, _)| *clause).chain(NOT_RECORDED.iter().copied()).collect();
    let left = whole.iter().filter(|clause| !broken.contains(**clause) && !known.contains(**clause));
    let stale = known.iter().filter(|clause| broken.contains(**clause) || !whole.contains(**clause));
    let wrong: Vec<String> = left
        .map(|clause| format!("nothing violates {clause}"))
        .chain(stale.map(|clause| format!("{clause} is violated, or is no clause, and still has a reason")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
