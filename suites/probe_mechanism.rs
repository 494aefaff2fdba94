//! The mechanisms of probes and what their results mean: commands, requests, connections and health checks, for all
//! kinds of probes.
//!
//! [`crate::reading::answers`] reads which probes arrived, and [`crate::reading::http::reaction`] reads how the kubelet
//! counted them. Probes that can never succeed leave no trace in any target; they are judged by comparing the pod's
//! spec with its listeners ([`crate::reading::unreachable`]).

mod address;
mod before;
mod exec;
mod grpc;
mod http;
mod results;
mod tcp;

use probity_model::Judge;

use crate::reading::origin;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "probe.exec.exit-zero", judge: exec::exit_zero },
        Judge { clause: "probe.exec.runs-inside-container", judge: exec::runs_inside },
        Judge { clause: "probe.exec.timeout-fails", judge: exec::timeout_fails },
        Judge { clause: "probe.exec.fork-then-exit-fails", judge: exec::fork_then_exit_fails },
        Judge { clause: "probe.exec.spawn-error-not-counted", judge: exec::spawn_error_not_counted },
        Judge { clause: "probe.grpc.serving-success", judge: grpc::serving_alone_succeeds },
        Judge { clause: "probe.http.status-range", judge: http::status_range },
        Judge { clause: "probe.http.method-get", judge: http::method_get },
        Judge { clause: "probe.http.targets-pod-ip", judge: address::targets_pod_ip },
        Judge { clause: "probe.tcp.open-success", judge: tcp::open_is_success },
        Judge { clause: "probe.tcp.immediate-close-healthy", judge: tcp::closing_at_once_is_healthy },
        Judge { clause: "probe.tcp.blind-to-app", judge: tcp::blind_to_the_application },
        Judge { clause: "probe.kubelet.network-probes-from-node", judge: origin::network_probes },
        Judge { clause: "probe.result.success", judge: results::success_changes_nothing },
        Judge { clause: "probe.result.unknown-no-action", judge: results::unknown_changes_nothing },
        Judge { clause: "probe.result.readiness-failure-before-delay", judge: before::first_results },
    ]
}
