//! The target of TCP probes: they go to the pod's address, unless `host` is set. The name of a Service does not work as
//! `host`.

use std::net::IpAddr;

use probity_model::timeline::Handler;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::http::reaction::CountsAs;
use crate::reading::origin::tcp_comes_to_the_pod;
use crate::reading::unreachable::judge_unreachable;
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

/// A node cannot resolve the name of a Service, so such a probe fails.
pub(super) fn service_name_fails(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let why = ("whose host is the name of a Service", CountsAs::Failure);
    judge_unreachable(run, clause, seen, why, |probe| match &probe.spec.handler {
        Handler::Tcp { host: Some(host), .. } => names_a_service(host),
        _ => false,
    });
}

/// Whether a host is a name that only the cluster's DNS can resolve.
fn names_a_service(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.parse::<IpAddr>().is_err() && (host.ends_with(".svc") || host.ends_with(".svc.cluster.local"))
}

#[cfg(test)]
mod tests;
