//! The fields of a pod that are kept, and the fields that are replaced. All other fields are left out. Before that,
//! `probity_case::pod_rules` checks that all fields of the pod exist.

/// The fields of a pod's spec that are kept, apart from its containers.
pub(super) const KEPT: [&str; 2] = ["restartPolicy", "terminationGracePeriodSeconds"];

/// The fields of a container that are kept.
pub(super) const KEPT_OF_CONTAINER: [&str; 7] =
    ["name", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "restartPolicy"];

/// The fields that the target replaces.
pub(super) const REPLACED_OF_CONTAINER: [&str; 3] = ["image", "command", "args"];

/// The handlers of a probe.
pub(super) const HANDLERS: [&str; 4] = ["httpGet", "tcpSocket", "grpc", "exec"];

/// The additional fields that a reproduction keeps. It runs no standard faults, so settings of the lifecycle can stay as
/// they are.
pub(super) const KEPT_TO_REPRODUCE: [&str; 4] =
    ["activeDeadlineSeconds", "enableServiceLinks", "readinessGates", "shareProcessNamespace"];

/// The additional fields of a container that a reproduction keeps.
pub(super) const KEPT_OF_CONTAINER_TO_REPRODUCE: [&str; 3] =
    ["restartPolicyRules", "terminationMessagePath", "terminationMessagePolicy"];
