//! Which fields of a pod are kept, left out or replaced. Whatever is in none of these lists is refused.

use probity_script::problem::{nearest, pin};

/// What is kept of a pod's spec besides its containers.
pub(super) const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];
/// What is left out of it.
pub(super) const DROPPED: [&str; 37] = [
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];
/// What is kept of a container.
pub(super) const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];
/// What is left out of it.
pub(super) const DROPPED_OF_CONTAINER: [&str; 15] = [
    "env",
    "envFrom",
    "imagePullPolicy",
    "resizePolicy",
    "resources",
    "restartPolicyRules",
    "securityContext",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
];
/// What the target's own replaces.
pub(super) const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];
/// The fields of a probe.
pub(super) const OF_PROBE: [&str; 10] = [
    "httpGet",
    "tcpSocket",
    "grpc",
    "exec",
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
];

/// The refusal of a field that nobody knows.
pub(super) fn unknown<'k>(
    of: &str,
    wrong: &str,
    known: impl Iterator<Item = &'k &'k str>,
    path: &[String],
) -> String {
    let near = nearest(wrong, known.copied());
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    pin(&format!("{of} has no field `{wrong}`{hint}"), path)
}
