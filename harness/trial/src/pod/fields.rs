//! Which fields of a pod are kept and which are replaced. All others are left out; which fields there are at all is the
//! business of `probity_case::pod_rules`, which every pod has passed before it comes here.

/// The fields of a pod's spec that are kept, besides its containers.
pub(super) const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];

/// The fields of a container that are kept.
pub(super) const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];

/// The fields that the target replaces.
pub(super) const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];

/// The handlers of a probe.
pub(super) const HANDLERS: [&str; 4] = ["httpGet", "tcpSocket", "grpc", "exec"];

/// What a reproduction keeps besides: it runs no standard faults, so settings of the pod's life may stay as they are.
pub(super) const KEPT_TO_REPRODUCE: [&str; 4] =
    ["activeDeadlineSeconds", "enableServiceLinks", "readinessGates", "shareProcessNamespace"];

/// What it keeps of a container besides.
pub(super) const KEPT_OF_CONTAINER_TO_REPRODUCE: [&str; 3] =
    ["restartPolicyRules", "terminationMessagePath", "terminationMessagePolicy"];
