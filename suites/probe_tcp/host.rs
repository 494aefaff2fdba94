//! The target of TCP probes: they go to the pod's address, unless `host` is set. The name of a Service does not work as
//! `host`.

use std::net::IpAddr;

use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::http::reaction::CountsAs;
use crate::reading::origin::tcp_comes_to_the_pod;
use crate::reading::unreachable::{UnreachableProbe, judge_unreachable};
use crate::reading::unvisited::must_be_visited;

/// Without `host`, a probe arrives at the pod's address.
pub(super) fn pod_ip_by_default(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for (pod, container, spec) in run.probes() {
        if matches!(spec.handler, Handler::Tcp { host: None, .. }) {
            must_be_visited(run, clause, seen, (pod, container, spec));
        }
    }
    tcp_comes_to_the_pod(run, seen);
}

/// A node cannot resolve the name of a Service, so such a probe fails. A success is only a doubt, because some nodes use
/// the cluster's DNS, unless no Service can have the name.
pub(super) fn service_name_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let why = ("whose host is the name of a Service", CountsAs::Failure);
    // Nothing but the time at which its container is stopped shows that a liveness probe succeeds.
    let may_be_found = |probe: &UnreachableProbe<'_, '_>| {
        probe.spec.kind == ProbeKind::Liveness || probe.succeeded(run).is_some()
    };
    judge_unreachable(run, clause, seen, why, |probe| {
        service(probe.spec).is_some_and(|host| cannot_exist(host) || !may_be_found(probe))
    });
    for (pod, container, spec) in run.probes() {
        let exists = service(spec).is_some_and(|host| !cannot_exist(host));
        let probe = UnreachableProbe { pod, container, spec };
        if let Some(id) = probe.succeeded(run).filter(|_| exists) {
            let of = format!("the {} probe of {}/{}", spec.kind.word(), pod.key, container.name);
            let doubt = format!("{of}, {}, succeeded: the node may resolve the names of Services", why.0);
            seen.doubt(Doubt::Ambiguous, doubt, [id]);
        }
    }
}

/// The host of a TCP probe, if it is the name of a Service.
fn service(spec: &ProbeSpec) -> Option<&str> {
    match &spec.handler {
        Handler::Tcp { host: Some(host), .. } => Some(host.as_str()).filter(|host| names_a_service(host)),
        _ => None,
    }
}

/// Whether a host is a name that only the cluster's DNS can resolve.
fn names_a_service(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.parse::<IpAddr>().is_err() && (host.ends_with(".svc") || host.ends_with(".svc.cluster.local"))
}

/// Whether no Service can have this name: neither its own name nor the name of its namespace can contain an underscore.
/// Only the names of ports and protocols begin with one.
fn cannot_exist(host: &str) -> bool {
    host.split('.').any(|label| label.trim_start_matches('_').contains('_'))
}

#[cfg(test)]
mod tests;
