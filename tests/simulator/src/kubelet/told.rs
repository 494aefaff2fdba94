//! The kubelet's reports about probes and about containers that have ended, and the data that it passes to commands.
//! The defects here are visible only in a comparison.

use std::collections::BTreeMap;

use probity_model::timeline::ProbeKind;
use probity_script::witness::Command;
use serde_json::{Value, json};

use super::prober::Run;
use crate::Defect;
use crate::pod::Kind;
use crate::world::{At, LifeAt, World};

/// The kubelet's words about a response that fails a probe.
const CODE: &str = "failed with statuscode";

impl World<'_> {
    /// Whether no event reports the failures of a probe, because it only connects or because its pod is deleted.
    pub(super) fn hides_failure(&self, run: &Run) -> bool {
        let probe = self.pods[run.at.pod].containers[run.at.container].probe(run.kind);
        let connects = probe.is_some_and(|probe| probe.get("tcpSocket").is_some());
        let leaves = self.pods[run.at.pod].deleted.is_some() && run.kind == ProbeKind::Readiness;
        (connects && self.has(Defect::TcpFailuresUnreported))
            || (leaves && self.has(Defect::FailuresUnreportedInTermination))
    }

    /// How a failure is reported: with another status code, if the kubelet is defective.
    pub(super) fn retold(&mut self, run: &Run, message: String) -> String {
        if !message.contains(CODE) {
            return message;
        }
        let Some(worker) = self.worker(run.at, run.kind) else { return message };
        let first = worker.said.get_or_insert_with(|| message.clone()).clone();
        if self.has(Defect::FailureCodeStays) {
            return first;
        }
        let others = self.pods[run.at.pod].containers.iter().enumerate();
        let mut others = others.filter(|(place, _)| *place != run.at.container).map(|(_, other)| other);
        let of_other = others.find_map(|other| {
            other.workers.iter().find(|worker| worker.kind == run.kind).and_then(|worker| worker.said.clone())
        });
        of_other.filter(|_| self.has(Defect::FailureCodeOfNeighbor)).unwrap_or(message)
    }

    /// How many more failures than its threshold a probe needs.
    pub(super) fn more_failures(&self, at: At, kind: ProbeKind) -> u64 {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        let counts = |probe: &Value| probe.get("tcpSocket").is_some() && probe["failureThreshold"] != 1;
        let more = kind == ProbeKind::Readiness && probe.is_some_and(counts);
        u64::from(more && self.has(Defect::TcpReadinessNeedsOneMore))
    }

    /// Whether the first failure of a probe kills the container.
    pub(super) fn kills_at_once(&self, at: At, kind: ProbeKind) -> bool {
        let probe = self.pods[at.pod].containers[at.container].probe(kind);
        let asks = kind == ProbeKind::Liveness && probe.is_some_and(|probe| probe.get("grpc").is_some());
        asks && self.has(Defect::GrpcFailureKills)
    }

    /// Applies defects to the ID of a container that has ended.
    pub(crate) fn misidentify_ended(&self, uid: &str, status: &mut Value) {
        if !status["state"]["terminated"].is_object() {
            return;
        }
        let id = match () {
            () if self.has(Defect::EndedHasSandboxId) => json!(format!("containerd://sandbox-{uid}")),
            () if self.has(Defect::EndedHasNoId) => json!(""),
            () => return,
        };
        status["state"]["terminated"]["containerID"] = id.clone();
        status["containerID"] = id;
    }

    /// Whether a defective kubelet does not read the message of a process.
    pub(super) fn loses_message(&self, life: LifeAt) -> bool {
        let container = &self.pods[life.at.pod].containers[life.at.container];
        let stopped = self.life(life).is_some_and(|of| of.stopping);
        let added = self.pods[life.at.pod].within.is_some();
        (container.kind != Kind::Main && self.has(Defect::MessageOfMainsOnly))
            || (stopped && self.has(Defect::MessageLostByStop))
            || (added && self.has(Defect::MessageOfEphemeralLost))
            || (container.out_of_memory && self.has(Defect::MessageLostByLackOfMemory))
    }

    /// The user, the environment and the directory that a command sees.
    pub(super) fn given_to_command(&self, at: At, seen: Command) -> Command {
        let ids = self.ids_inside(at.pod, self.ids_of(at.pod, &self.pods[at.pod].containers[at.container]));
        let own = (ids.first().copied().unwrap_or_default(), ids.get(1).copied().unwrap_or_default());
        let folder = if self.has(Defect::ExecInAnotherFolder) { "/tmp" } else { "/" };
        let bare = self.has(Defect::ExecWithoutEnvironment);
        Command {
            ids: if self.has(Defect::ExecAsRoot) { (0, 0) } else { own },
            env: if bare {
                BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())])
            } else {
                self.environment(at)
            },
            cwd: folder.to_owned(),
            ..seen
        }
    }

    /// Whether a defective kubelet waits for an optional reference, given its source and whether its object exists.
    pub(crate) fn needs_optional(&self, of: &Value, exists: bool) -> bool {
        let has = |fields: [&str; 2]| fields.iter().any(|field| of.get(*field).is_some());
        let volume = has(["configMap", "secret"]);
        (volume && self.has(Defect::OptionalVolumeAwaited))
            || (volume && exists && self.has(Defect::OptionalVolumeKeyAwaited))
            || (of.get("secretKeyRef").is_some() && exists && self.has(Defect::OptionalSecretKeyAwaited))
            || (has(["configMapKeyRef", "secretKeyRef"]) && exists && self.has(Defect::OptionalKeyAwaited))
            || (has(["configMapRef", "secretRef"]) && self.has(Defect::OptionalEnvFromAwaited))
    }
}
