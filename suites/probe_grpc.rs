//! gRPC probes: what they request, what the call looks like on the wire, and what the answers mean.

mod call;
pub(crate) mod health;
mod host;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "probe.grpc.no-host", judge: host::is_the_pods },
        Judge { clause: "probe.grpc.service-field", judge: call::service_is_passed },
        Judge { clause: "probe.grpc.naming-advice", judge: call::joined_names_pass },
        Judge { clause: "probe.grpc.wrong-port-fails", judge: health::wrong_port_fails },
        Judge { clause: "probe.grpc.wrong-service-fails", judge: health::wrong_service_fails },
        Judge { clause: "probe.grpc.unimplemented-fails", judge: health::unimplemented_fails },
        Judge { clause: "probe.grpc.uses-same-endpoint-three-kinds", judge: health::three_kinds_at_one_port },
        Judge { clause: "probe.grpc.plaintext-only", judge: health::plaintext_only },
        Judge { clause: "probe.grpc.user-agent", judge: call::metadata },
        Judge { clause: "probe.grpc.new-connection-each", judge: call::fresh_each_time },
    ]
}
