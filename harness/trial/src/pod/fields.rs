//! Which fields of a pod are kept, left out or replaced. A field that is in none of these lists is refused.

/// What is kept of a pod's spec besides its containers.
pub(super) const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];

/// What is left out of it.
pub(super) const DROPPED: &str = "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy \
    enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride \
    imagePullSecrets nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates \
    resourceClaims resources runtimeClassName schedulerName schedulingGates securityContext serviceAccount \
    serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain tolerations topologySpreadConstraints volumes";

/// What is kept of a container.
pub(super) const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];

/// What is left out of it.
pub(super) const DROPPED_OF_CONTAINER: &str = "env envFrom imagePullPolicy resizePolicy resources restartPolicyRules \
    securityContext stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts \
    workingDir";

/// What the target's own replaces.
pub(super) const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];

/// The handlers of a probe.
pub(super) const HANDLERS: [&str; 4] = ["httpGet", "tcpSocket", "grpc", "exec"];

/// The numbers of a probe.
pub(super) const NUMBERS: [&str; 6] = [
    "initialDelaySeconds",
    "periodSeconds",
    "timeoutSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
];

/// The fields of a lifecycle.
pub(super) const LIFECYCLE: [&str; 3] = ["postStart", "preStop", "stopSignal"];
