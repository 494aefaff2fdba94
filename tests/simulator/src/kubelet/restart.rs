//! A kubelet restart: the state of its probes is lost, and the kubelet uses the last status in the API instead.
//!
//! Containers keep running. A container that had run for longer than a grace period stays started and ready, if it was,
//! until a probe gives another result. A younger container counts as new. Each worker waits for a random part of its
//! period.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_model::history::{Did, KubeletSigns, NodeProof};
use probity_model::timeline::ProbeKind;
use serde_json::Value;

use crate::Defect;
use crate::pod::{Container, Kind, State, Worker};
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// A delay that is longer than any case.
const NEVER: i64 = 600 * SECOND;
/// A container that has run for this long is not new.
const OLD: i64 = 10 * SECOND;

impl World<'_> {
    /// The kubelet is restarted.
    pub(crate) fn restart_kubelet(&mut self, of: &NodeStep, output: Option<Value>) {
        let shown = |starts| KubeletSigns { starts: Some(starts), process_us: None };
        let (before, after) = (shown(1), shown(2));
        let proof = Some(NodeProof { ended_us: self.now, before, after });
        let (node, verb, input) = (NODE.to_owned(), of.verb.clone(), of.input.clone());
        self.did(Did::NodeVerb { node, verb, uid: None, input, exit: Some(0), output, proof });
        self.flights.clear();
        self.node.restarted = Some(self.now);
        for pod in 0..self.pods.len() {
            let object = &self.pods[pod].object;
            let over = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            if object["spec"]["nodeName"] != NODE || over {
                self.run_the_finished(pod);
                continue;
            }
            let down = self.between(300 * MS, 1_500 * MS);
            self.pods[pod].next_sync = self.now + down;
            for container in 0..self.pods[pod].containers.len() {
                self.forget(At { pod, container }, down);
            }
            self.run_the_ended(pod, down);
            self.restart_the_running(pod, down);
            self.later(down, Act::Sync(pod));
            self.terminate_again(pod, self.now + down);
        }
    }

    /// A defective kubelet no longer knows which containers had ended for good.
    fn run_the_ended(&mut self, pod: usize, down: i64) {
        let policy = self.pods[pod].restart_policy().to_owned();
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            let State::Ended(ended) = &of.state else { continue };
            let for_good = policy == "Never" || (policy == "OnFailure" && ended.code == 0);
            if for_good && of.kind == Kind::Main && self.has(Defect::KubeletRestartForgetsEnds) {
                self.later(down + 200 * MS, Act::Start(At { pod, container }));
            }
        }
    }

    /// A restarted kubelet starts the termination of a pod again. The runtime does not repeat the stop signal, but
    /// the kill waits for the full grace period.
    fn terminate_again(&mut self, pod: usize, from: i64) {
        let going = self.pods[pod].deleted.is_some() && !self.pods[pod].gone;
        if !going || self.has(Defect::RestartKeepsDeadline) {
            return;
        }
        let grace = match () {
            () if self.has(Defect::RestartForgetsTermination) => NEVER,
            () if self.has(Defect::RestartHalvesGrace) => self.grace_in_force(pod) / 2,
            () => self.grace_in_force(pod),
        };
        for container in 0..self.pods[pod].containers.len() {
            let at = At { pod, container };
            let life = LifeAt { at, attempt: self.pods[pod].containers[container].attempt() };
            if let Some(of) = self.life_mut(life) {
                of.spared_until = from + grace;
                self.at(from + grace, Act::Force(life));
            }
            if let Some(turn) = &mut self.pods[pod].containers[container].turn {
                turn.deadline = from + grace;
                self.at(from + grace, Act::Turn(pod));
            }
        }
    }

    /// The results of a container's probes and the state of their workers are lost.
    fn forget(&mut self, at: At, down: i64) {
        let now = self.now;
        let (unstarted, unready) =
            (self.has(Defect::RestartForgetsStarted), self.has(Defect::RestartForgetsReady));
        let unstarted = unstarted || (self.is_again(at) && self.has(Defect::RestartForgetsStartedAgain));
        let made_ready = self.has(Defect::RestartMakesReady);
        let of_sidecar = self.is_sidecar(at) && self.has(Defect::RestartMakesSidecarsReady);
        let container = &mut self.pods[at.pod].containers[at.container];
        container.view.ready |= made_ready && container.is_running();
        container.results = crate::pod::Results::default();
        container.forgotten = container.attempt();
        let old = matches!(container.state, State::Running(since) if now - since > OLD);
        container.view.ready |= of_sidecar && old;
        container.survived = old.then(|| container.view.id.clone()).filter(|_| !unready);
        if unstarted && container.probe(ProbeKind::Startup).is_some() {
            container.view.started = false;
        }
        for at_worker in 0..self.pods[at.pod].containers[at.container].workers.len() {
            self.work_anew(at, at_worker, down);
        }
        let young = !old && self.has(Defect::RestartRestartsYoung);
        if self.has(Defect::RestartRunsInits) && at.container == 0 {
            self.run_inits_again(at.pod);
        }
        if young || (old && self.has(Defect::RestartRestartsContainers)) {
            self.kill_by_probe(at, ProbeKind::Liveness);
        }
    }

    fn work_anew(&mut self, at: At, which: usize, down: i64) {
        let readiness = self.has(Defect::RestartStopsReadiness);
        let sidecar = self.is_sidecar(at) && self.has(Defect::RestartStopsSidecarProbes);
        let container = &self.pods[at.pod].containers[at.container];
        let starting = container.is_running() && !container.view.started;
        let liveness = container.workers[which].kind == ProbeKind::Liveness;
        let lost = starting && liveness && self.has(Defect::RestartLosesLivenessOfStarting);
        let ungated = starting && self.has(Defect::RestartOpensGateOfStarting);
        let repeats = self.has(Defect::RestartRepeatsStartupProbes);
        let silent = sidecar || lost || self.has(Defect::RestartStopsProbing);
        let worker = &mut self.pods[at.pod].containers[at.container].workers[which];
        worker.stopped &= !(repeats && worker.kind == ProbeKind::Startup);
        worker.stopped |= silent || (readiness && worker.kind == ProbeKind::Readiness);
        if worker.stopped {
            return;
        }
        let (kind, generation) = (worker.kind, worker.generation + 1);
        *worker = Worker { generation, asleep: true, ungated, ..Worker::new(kind) };
        let period = self.setting_of(at, kind, "periodSeconds").max(1) * SECOND;
        let sleeps = if self.has(Defect::RestartProbesAtOnce) { 0 } else { self.between(0, period) };
        self.later(down + sleeps, Act::Tick(at, kind, generation));
    }
}

impl Container {
    /// Whether this instance existed, and was no longer new, when the kubelet was restarted.
    pub(super) fn outlived_kubelet(&self) -> bool {
        self.survived.as_deref() == Some(self.view.id.as_str())
    }
}
