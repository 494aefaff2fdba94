//! A kubelet's counters of its probes: they count each success and failure, by worker, as long as the worker exists. A
//! probe
//! whose attempts all end in an error has no result and is not counted.

use probity_composer::NODE;
use probity_model::history::{Did, ProbeCount};
use probity_model::timeline::ProbeKind;

use crate::Defect;
use crate::pod::Pod;
use crate::world::{At, World};

impl World<'_> {
    /// Counts the result of a probe.
    pub(super) fn count_result(&mut self, at: At, kind: ProbeKind, passed: bool) {
        let kind = self.counted_as(kind, passed);
        let times = if self.has(Defect::CountsTwice) { 2 } else { 1 };
        let lost = (!passed && self.has(Defect::CountsNoFailures))
            || (kind == ProbeKind::Liveness && self.has(Defect::CountsReadinessOnly))
            || (self.is_sidecar(at) && self.has(Defect::CountsNoSidecars));
        let result = passed != self.has(Defect::CountsUnderTheOtherResult);
        let Some(worker) = self.worker(at, kind).filter(|_| !lost) else { return };
        let counter = if result { &mut worker.passed } else { &mut worker.failed };
        *counter += times;
    }

    /// A client reads the kubelet's counters of the case's pods.
    pub(crate) fn measure(&mut self) {
        let keeps = self.has(Defect::CountersOutliveTheirPod);
        let mut probes: Vec<_> = self.pods.iter().flat_map(|pod| counters(pod, keeps)).collect();
        if self.has(Defect::StartupCountersDropped) {
            let of = |count: &ProbeCount| (count.uid.clone(), count.container.clone());
            let is_startup = |count: &ProbeCount| count.probe == "Startup";
            let started = probes.iter().filter(|count| is_startup(count) && count.result == "successful");
            let started: Vec<_> = started.map(of).collect();
            probes.retain(|count| !is_startup(count) || !started.contains(&of(count)));
        }
        let on_node = u64::try_from(probes.len()).ok();
        if self.has(Defect::CountersUnderPodName) {
            probes.iter_mut().for_each(|count| count.uid.clone_from(&count.pod));
        }
        let kept = self.has(Defect::DurationsOutliveTheirPod);
        let durations = self.pods.iter().flat_map(|pod| durations(pod, kept)).collect();
        self.did(Did::Measured { node: NODE.to_owned(), probes, on_node, durations });
    }
}

/// The name of a pod for each of its probes that has succeeded: only then does a kubelet record how long the probe took.
fn durations(pod: &Pod, of_the_stopped_too: bool) -> Vec<String> {
    let workers = pod.containers.iter().flat_map(|container| &container.workers);
    let timed = workers.filter(|worker| (!worker.stopped || of_the_stopped_too) && worker.passed > 0);
    timed.map(|_| pod.name.clone()).collect()
}

fn counters(pod: &Pod, of_the_stopped_too: bool) -> Vec<ProbeCount> {
    let mut counters = Vec::new();
    for container in &pod.containers {
        for worker in container.workers.iter().filter(|worker| !worker.stopped || of_the_stopped_too) {
            let probe = match worker.kind {
                ProbeKind::Startup => "Startup",
                ProbeKind::Liveness => "Liveness",
                ProbeKind::Readiness => "Readiness",
            };
            for (result, count) in [("failed", worker.failed), ("successful", worker.passed)] {
                if count > 0 {
                    counters.push(ProbeCount {
                        pod: pod.name.clone(),
                        uid: pod.uid.clone(),
                        container: container.name.clone(),
                        probe: probe.to_owned(),
                        result: result.to_owned(),
                        count,
                    });
                }
            }
        }
    }
    counters
}
