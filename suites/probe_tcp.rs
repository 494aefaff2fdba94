//! TCP probes: where they come from and go to, and what they send.

mod host;
mod wire;

use probity_model::Judge;

use crate::reading::origin;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "probe.tcp.from-node", judge: origin::tcp_probes },
        Judge { clause: "probe.tcp.host-service-name-unusable", judge: host::service_name_fails },
        Judge { clause: "probe.tcp.default-host", judge: host::pod_ip_by_default },
        Judge { clause: "probe.tcp.no-payload", judge: wire::says_nothing },
        Judge { clause: "probe.tcp.port-forms", judge: wire::number_or_name },
    ]
}
