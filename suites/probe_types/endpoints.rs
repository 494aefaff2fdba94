//! Endpoints and traffic: how readiness and deletion affect a pod's endpoints in its Services.
//!
//! Slices are judged after the API itself showed the pod's change, traffic by the requests of our own clients that a
//! target saw arrive through a service's address.

mod deletion;
mod leaving;
#[cfg(test)]
mod tests;

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.readiness.service-traffic-stops", judge: leaving::traffic_stops },
    Judge { clause: "probe.readiness.endpoint-removed", judge: leaving::endpoint_removed },
    Judge { clause: "probe.readiness.publish-not-ready", judge: leaving::publishes_not_ready },
    Judge { clause: "probe.readiness.no-auto-unready-on-delete", judge: deletion::unready_on_delete },
    Judge { clause: "probe.readiness.drain-without-probe", judge: deletion::drain_without_probe },
];
