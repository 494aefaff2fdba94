//! The targets of HTTP probes: address, port, scheme and path. Each probe has its own connection.
//!
//! A probe is identified by the request that arrived. If a request can belong to several different
//! probes, nothing is concluded.

mod connection;
mod defaults;
mod host;
mod loopback;
mod port;
mod tcp_host;

pub(super) use port::counted_as_success;
use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.default-path", judge: defaults::path },
    Judge { clause: "probe.http.default-scheme", judge: defaults::scheme },
    Judge { clause: "probe.http.host-default-pod-ip", judge: host::pod_ip_by_default },
    Judge { clause: "probe.http.host-field-overrides-address", judge: host::field_overrides_address },
    Judge { clause: "probe.http.host-localhost-hostnetwork", judge: loopback::needs_host },
    Judge { clause: "probe.http.vhost-via-header", judge: host::virtual_host },
    Judge { clause: "probe.http.port-by-name", judge: port::by_name },
    Judge { clause: "probe.http.port-name-unresolvable", judge: port::undeclared_name },
    Judge { clause: "probe.http.new-connection-each", judge: connection::fresh_each_time },
];
