//! Defects in which something beside a container changes how it is probed.

use probity_model::timeline::ProbeKind;

use crate::Defect;
use crate::pod::{Kind, State};
use crate::world::{At, World};

impl World<'_> {
    /// Whether something beside a container keeps this probe from being sent.
    pub(super) fn is_paused(&self, at: At, kind: ProbeKind) -> bool {
        let liveness = kind == ProbeKind::Liveness;
        (self.has(Defect::FailureBesideEndsProbes) && self.has_failed_for_good(at.pod))
            || (liveness && self.has(Defect::DebuggerPausesLiveness) && self.is_debugged(at.pod))
            || (liveness && self.has(Defect::PendingResizePausesLiveness) && self.has_pending_resize(at.pod))
    }

    /// Whether a main container of a pod has failed that does not restart.
    fn has_failed_for_good(&self, pod: usize) -> bool {
        let of = &self.pods[pod];
        let failed = |state: &State| matches!(state, State::Ended(ended) if ended.code != 0);
        let mut mains = of.containers.iter().filter(|container| container.kind == Kind::Main);
        of.object["spec"]["restartPolicy"] == "Never" && mains.any(|container| failed(&container.state))
    }

    /// Whether an ephemeral container of a pod is running.
    fn is_debugged(&self, pod: usize) -> bool {
        let added = self.pods.iter().filter(|of| of.within == Some(pod));
        added.flat_map(|of| &of.containers).any(|container| matches!(container.state, State::Running(_)))
    }

    fn has_pending_resize(&self, pod: usize) -> bool {
        let conditions = self.pods[pod].object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| condition["type"] == "PodResizePending")
    }

    /// What an event says about a failed probe.
    pub(super) fn said_of(&self, output: String) -> String {
        if self.has(Defect::OutputAsFormat) { output.replace("% ", "%! ") } else { output }
    }
}
