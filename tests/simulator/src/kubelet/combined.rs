//! Defects of a kubelet that have an effect only if two settings, or a setting and an earlier event, are combined.

use std::collections::BTreeMap;

use probity_model::timeline::ProbeKind;
use probity_script::wire::HealthReply;
use serde_json::{Value, json};

use super::http::resolve_port;
use crate::Defect;
use crate::call::CallResult;
use crate::pod::{Container, Kind, State};
use crate::world::{At, World};

/// The gRPC status code NOT_FOUND.
const NOT_FOUND: u8 = 5;

impl World<'_> {
    /// Whether sidecars get the whole grace period after they have waited for their turn.
    pub(super) fn gives_grace_anew(&self, pod: usize) -> bool {
        let at_deadline = self.pods[pod].expired && self.has(Defect::ExpiredSidecarsHaveGraceAnew);
        at_deadline || self.has(Defect::SidecarsHaveGraceAnew)
    }

    /// Whether a single failure does not end the run of successes of a container that was ready before.
    pub(super) fn keeps_successes(&self, at: At, kind: ProbeKind) -> bool {
        let was_ready = self.pods[at.pod].containers[at.container].was_ready;
        kind == ProbeKind::Readiness && was_ready && self.has(Defect::RecoveryRunUninterrupted)
    }

    /// Whether the successes of a container that was ready before, and is not ready now, count even if they are not in a row.
    pub(super) fn adds_successes(&self, at: At, kind: ProbeKind, passed: bool) -> bool {
        let ready = self.pods[at.pod].containers[at.container].view.ready;
        passed && !ready && self.keeps_successes(at, kind)
    }

    /// Removes the values of a header that a defective kubelet does not send again after a redirect.
    pub(super) fn lose_values(&self, headers: &mut BTreeMap<String, Vec<String>>) {
        for values in headers.values_mut().filter(|values| values.len() > 1) {
            if self.has(Defect::RedirectKeepsFirstValue) {
                values.truncate(1);
            }
        }
    }

    /// Whether a probe checks the empty service name because the server does not know the service.
    pub(super) fn asks_for_whole_server(&self, answer: &CallResult) -> bool {
        let unknown =
            matches!(answer, CallResult::Health(HealthReply::Error { code, .. }) if *code == NOT_FOUND);
        unknown && self.has(Defect::GrpcAsksForWholeServer)
    }

    /// The number that the first container with this port name gives to the port, if the defect for this is on.
    pub(super) fn port_of_first(&self, at: At, port: &Value) -> Option<u16> {
        if !port.is_string() || !self.has(Defect::TcpPortNameOfFirst) {
            return None;
        }
        self.pods[at.pod].containers.iter().find_map(|of| resolve_port(&of.spec, port))
    }

    /// The policy that decides whether a container restarts after it was killed because of a probe.
    pub(super) fn policy_after_kill(&self, at: At) -> &str {
        let mut all = self.pods[at.pod].containers.iter();
        let first = all.position(|of| of.kind == Kind::Main).unwrap_or(at.container);
        match () {
            () if self.has(Defect::KillsFollowPodPolicy) => self.pods[at.pod].restart_policy(),
            () if self.is_second(at) && self.has(Defect::KillsFollowFirstContainer) => {
                self.policy_of(At { container: first, ..at })
            }
            () => self.policy_of(at),
        }
    }

    /// Applies defects to the status of a container that waits for its restart.
    pub(super) fn misstate_wait(&self, container: &Container, old: &Value, status: &mut Value) {
        let view = &container.view;
        if !matches!(view.state, State::Waiting("CrashLoopBackOff")) || view.last.is_none() {
            return;
        }
        let unprobed = container.probe(ProbeKind::Startup).is_none();
        if unprobed && container.kind != Kind::Init && self.has(Defect::UnprobedStartedInBackOff) {
            status["started"] = json!(true);
        }
        let older = &old["lastState"];
        if older["terminated"].is_object() && self.has(Defect::BackOffShowsOlderEnd) {
            status["lastState"] = older.clone();
        }
    }

    /// Whether nothing waits for the startup probe of a sidecar because another sidecar follows.
    pub(super) fn skips_gate(&self, pod: usize, container: usize) -> bool {
        let all = &self.pods[pod].containers;
        let followed = all.get(container + 1).is_some_and(|next| next.kind == Kind::Sidecar);
        let gated = all[container].probe(ProbeKind::Startup).is_some();
        followed && gated && self.has(Defect::SidecarBeforeSidecarUnawaited)
    }

    /// Whether a container whose postStart hook failed is stopped without its preStop hook, and after two seconds instead of
    /// its grace period.
    pub(super) fn stops_hard(&self, at: At) -> bool {
        self.is_sidecar(at) && self.has(Defect::FailedHookStopsSidecarHard)
    }

    /// Whether the `stopSignal` of a container with this spec is ignored because the container has a hook.
    pub(super) fn loses_own_signal(&self, spec: &Value) -> bool {
        let hooked = ["postStart", "preStop"].iter().any(|hook| !spec["lifecycle"][*hook].is_null());
        hooked && self.has(Defect::OwnStopSignalLostWithHook)
    }
}
