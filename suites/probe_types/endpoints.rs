//! Endpoints and traffic: how readiness and deletion affect a pod's endpoints in its Services.
//!
//! Slices are judged from the time when the API itself shows the pod's change. Traffic is judged by the requests of the
//! case's own clients that arrive at a target through the address of a Service.

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
