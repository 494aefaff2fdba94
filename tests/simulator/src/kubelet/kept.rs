//! What a kubelet keeps of earlier probes and instances, although it must not, and what it says of probes.

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use super::prober::Run;
use crate::Defect;
use crate::pod::{Container, Kind, Worker};
use crate::world::{At, NEXT_NETWORK, World};

impl World<'_> {
    /// Whether a restarted container keeps the readiness of its last instance, because of the cause of its restart. The
    /// last probe of the container has succeeded.
    pub(super) fn keeps_readiness(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let container = &of.containers[at.container];
        let succeeded = |worker: &Worker| worker.kind == ProbeKind::Readiness && worker.last == Some(true);
        if container.attempt() == 0 || !container.workers.iter().any(succeeded) {
            return false;
        }
        let listed = |list: &Value, field: &str, word: &str| {
            list.as_array().is_some_and(|list| list.iter().any(|entry| entry[field] == word))
        };
        let as_one =
            |of: &Container| listed(&of.spec["restartPolicyRules"], "action", "RestartAllContainers");
        (of.containers.iter().any(as_one) && self.has(Defect::RestartOfAllKeepsReadiness))
            || (of.ip.starts_with(NEXT_NETWORK) && self.has(Defect::NewSandboxKeepsReadiness))
            || (listed(&container.spec["resizePolicy"], "restartPolicy", "RestartContainer")
                && self.has(Defect::RestartForResizeKeepsReadiness))
    }

    /// Whether the success of a startup probe triggers no readiness probe.
    pub(super) fn misses_trigger(&self, at: At) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        let again = container.attempt() > 0 && container.probe(ProbeKind::Startup).is_some();
        self.has(Defect::NoReadinessTrigger) || (again && self.has(Defect::RestartLosesReadinessTrigger))
    }

    /// Whether a container stays ready although it has ended. It has no readiness probe.
    pub(super) fn stays_ready_at_its_end(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let leaves = of.deleted.is_some() && of.containers[at.container].kind == Kind::Main;
        self.has(Defect::EndedStaysReady) || (leaves && self.has(Defect::EndedReadyInTermination))
    }

    /// Whether the failures of a container's probes are not reported because its pod is deleted.
    pub(super) fn is_silent_at_the_end(&self, at: At) -> bool {
        let leaves = self.pods[at.pod].deleted.is_some();
        leaves && self.is_sidecar(at) && self.has(Defect::SidecarSilentInTermination)
    }

    /// An attempt of a probe has ended in an error, and the next one follows.
    pub(super) fn report_attempt(&mut self, run: &Run, state: &str, why: &str) {
        if self.has(Defect::EachAttemptReported) {
            let kind = match run.kind {
                ProbeKind::Startup => "Startup",
                ProbeKind::Liveness => "Liveness",
                ProbeKind::Readiness => "Readiness",
            };
            let message = format!("{kind} probe errored and resulted in {state} state: {why}");
            self.record(run.at.pod, run.at.container, "Warning", "Unhealthy", &message);
        }
    }

    /// How the output of a command is reported.
    pub(super) fn retold_output(&mut self, run: &Run, message: String) -> String {
        let probe = self.pods[run.at.pod].containers[run.at.container].probe(run.kind);
        let of_command = probe.is_some_and(|probe| probe.get("exec").is_some());
        if !of_command {
            return message;
        }
        if self.has(Defect::OutputFirstLineOnly) {
            return message.lines().next().unwrap_or_default().to_owned();
        }
        if !self.has(Defect::FirstOutputRepeated) {
            return message;
        }
        match self.worker(run.at, run.kind) {
            Some(worker) => worker.said.get_or_insert(message).clone(),
            None => message,
        }
    }
}
