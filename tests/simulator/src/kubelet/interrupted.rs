//! Defects of a kubelet that show only if something comes between: an update or an error between two results of a probe, a
//! sandbox that is replaced, a sidecar that waits for its restart, or a stop that no probe caused.

use std::borrow::Cow;

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use super::expand::{expand, written};
use super::http::Leg;
use crate::Defect;
use crate::call::Request;
use crate::world::{At, FIRST_NETWORK, NEXT_NETWORK, SECOND, World};

/// The User-Agent header of the library with which the kubelet sends requests.
const AGENT_OF_LIBRARY: &str = "Go-http-client/1.1";

impl World<'_> {
    /// An update of a pod reaches a defective kubelet.
    pub(crate) fn misread_update(&mut self, pod: usize, relabeled: bool) {
        for container in 0..self.pods[pod].containers.len() {
            if self.has(Defect::UpdateEndsFailureRun) {
                for worker in &mut self.pods[pod].containers[container].workers {
                    worker.last = worker.last.filter(|passed| *passed);
                }
            }
            // A container that already starts because of another update does not start twice.
            let waits = self.pods[pod].containers[container].void_start.is_none();
            if relabeled && waits && self.has(Defect::LabelsEndBackOff) {
                self.begin_back_off_anew(At { pod, container });
            }
        }
    }

    /// Whether a probe needs several successes in a row.
    fn needs_successes(&self, at: At, kind: ProbeKind) -> bool {
        self.setting_of(at, kind, "successThreshold") > 1
    }

    /// A probe has ended in an error, which has an effect on a defective worker.
    pub(super) fn spoil_by_error(&mut self, at: At, kind: ProbeKind) {
        let readiness = kind == ProbeKind::Readiness;
        let ends_run = readiness && self.needs_successes(at, kind) && self.has(Defect::ErrorBreaksSuccessRun);
        let ends_probing = !readiness && self.has(Defect::ErrorEndsProbing);
        if let Some(worker) = self.worker(at, kind) {
            worker.last = worker.last.filter(|passed| !(ends_run && *passed));
            worker.hold |= ends_probing;
        }
    }

    /// Whether a success with a warning has no result.
    pub(super) fn ignores_warning(&self, at: At, kind: ProbeKind) -> bool {
        self.needs_successes(at, kind) && self.has(Defect::WarningBreaksSuccessRun)
    }

    /// A request as a client sends it over HTTP/2 to this place, or unchanged if it uses HTTP/1.1.
    pub(crate) fn as_addressed<'r>(
        &self,
        request: &'r Request,
        place: Option<&(String, u16)>,
    ) -> Cow<'r, Request> {
        let Some((host, port)) = place.filter(|_| self.has(Defect::Http2IgnoresHostHeader)) else {
            return Cow::Borrowed(request);
        };
        let mut request = request.clone();
        for (_, value) in request.headers.iter_mut().filter(|(name, _)| name == "Host") {
            *value = format!("{host}:{port}");
        }
        Cow::Owned(request)
    }

    /// Adds the User-Agent header that a defective kubelet sends in place of a removed one.
    pub(super) fn add_agent(&self, leg: &Leg, headers: &mut Vec<(String, String)>) {
        let removed = headers.iter().all(|(name, _)| name != "User-Agent");
        if leg.is_secure() && removed && self.has(Defect::HttpsAgentOfLibraryIfRemoved) {
            headers.push(("User-Agent".to_owned(), AGENT_OF_LIBRARY.to_owned()));
        }
    }

    /// The address to which the gRPC probes of a pod go.
    pub(super) fn address_for_grpc(&self, pod: usize) -> String {
        let own = &self.pods[pod].ip;
        let old = own.starts_with(NEXT_NETWORK) && self.has(Defect::GrpcKeepsFirstAddress);
        if old { own.replace(NEXT_NETWORK, FIRST_NETWORK) } else { own.clone() }
    }

    /// The value of a variable as it replaces a reference in the command of a probe.
    pub(super) fn value_in_command(&self, spec: &Value, value: &str) -> String {
        let known = |name: &str| {
            let entry = written(spec, name)?;
            entry["value"].as_str().map(str::to_owned)
        };
        let nested = value.contains('$') && self.has(Defect::ExecCommandExpandsValues);
        if nested { expand(value, &known) } else { value.to_owned() }
    }

    /// The grace period of a container that is not stopped because of a probe. With this defect, it is the grace period of its
    /// liveness probe if that probe has one.
    pub(super) fn grace_beside_probe(&self, at: At, grace: i64, defect: Defect) -> i64 {
        let probe = self.pods[at.pod].containers[at.container].probe(ProbeKind::Liveness);
        let own = probe.and_then(|probe| probe["terminationGracePeriodSeconds"].as_i64());
        own.filter(|_| self.has(defect)).map_or(grace, |own| own * SECOND)
    }

    /// Whether the sidecars of a pod wait for its ephemeral containers.
    pub(super) fn awaits_ephemeral(&self, pod: usize) -> bool {
        self.pods[pod].deleted.is_some()
            && self.has_running_ephemeral(pod)
            && self.has(Defect::SidecarsAwaitEphemerals)
    }

    /// An ephemeral container of a deleted pod has ended, for which its sidecars may have waited.
    pub(super) fn after_ephemeral(&mut self, pod: usize) {
        if self.has(Defect::SidecarsAwaitEphemerals) {
            self.give_turns(pod);
        }
    }
}
