//! Which fields of a pod are kept and which are replaced. All others are left out; which fields there are at all is the
//! business of `probity_case::pod_rules`, which every pod has passed before it comes here.

/// What is kept of a pod's spec besides its containers.
pub(super) const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];

/// What is kept of a container.
pub(super) const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];

/// What the target's own replaces.
pub(super) const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];

/// The handlers of a probe.
pub(super) const HANDLERS: [&str; 4] = ["httpGet", "tcpSocket", "grpc", "exec"];

/// What a reproduction keeps besides: it runs no standard faults, so settings of the pod's life may stay as they are.
pub(super) const KEPT_TO_REPRODUCE: [&str; 4] =
    ["activeDeadlineSeconds", "enableServiceLinks", "readinessGates", "shareProcessNamespace"];

/// What it keeps of a container besides.
pub(super) const KEPT_OF_CONTAINER_TO_REPRODUCE: [&str; 3] =
    ["restartPolicyRules", "terminationMessagePath", "terminationMessagePolicy"];
