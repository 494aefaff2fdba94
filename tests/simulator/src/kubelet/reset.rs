//! The restart of all containers of a pod because of a rule of one of them.

use probity_case::NodeStep;
use probity_composer::NODE;
use probity_model::history::{Did, REMOVE_SANDBOX};
use serde_json::Value;

use crate::Defect;
use crate::pod::{Container, Kind, State};
use crate::world::{Act, At, FIRST_NETWORK, LifeAt, MS, NEXT_NETWORK, SECOND, World};

/// When a defective kubelet starts the sidecars in a new sandbox.
const EARLY: i64 = 700 * MS;

fn restarts_all(rule: &Value) -> bool {
    rule["action"] == "RestartAllContainers"
}

impl World<'_> {
    /// Whether a rule of a container restarts all containers of its pod after this exit status.
    pub(super) fn restarts_all_by_rule(&self, at: At, code: i64) -> bool {
        let spec = &self.pods[at.pod].containers[at.container].spec;
        let rules = spec["restartPolicyRules"].as_array().into_iter().flatten();
        let any = self.has(Defect::RestartAllForAnyStatus);
        let again = self.pods[at.pod].containers[at.container].attempt() > 0;
        let init = self.pods[at.pod].containers[at.container].kind == Kind::Init;
        if self.has(Defect::RestartAllIgnored)
            || (again && self.has(Defect::RestartAllOnlyOnce))
            || (init && self.has(Defect::RestartAllOfInitIgnored))
        {
            return false;
        }
        let later = self.has(Defect::RestartAllByLaterRule);
        let mut rules = rules.filter(|rule| restarts_all(rule) || !(any || later));
        rules.find(|rule| any || self.matches(rule, code)).is_some_and(restarts_all)
    }

    /// Whether a container of a pod has a rule that restarts all of its containers.
    pub(crate) fn restarts_as_one(&self, pod: usize) -> bool {
        let rules =
            |of: &Container| of.spec["restartPolicyRules"].as_array().into_iter().flatten().any(restarts_all);
        self.pods[pod].containers.iter().any(rules)
    }

    /// Whether a defective kubelet does not run an init container again.
    fn keeps_init(&self, at: At, lost: bool) -> bool {
        let all = &self.pods[at.pod].containers;
        let later = all.get(at.container + 1).is_some_and(|next| next.kind == Kind::Init);
        let skips = match lost {
            true if self.has(Defect::SandboxLossRunsLastInit) => later,
            true => self.has(Defect::SandboxLossSkipsInits),
            false => self.has(Defect::RestartAllSkipsInits),
        };
        skips && all[at.container].kind == Kind::Init
    }

    /// Whether a container stays ended when its pod loses its sandbox, because of the restart policy.
    fn is_over_for_good(&self, at: At) -> bool {
        let of = &self.pods[at.pod];
        let done = matches!(&of.containers[at.container].state, State::Ended(ended) if ended.code == 0);
        let own = &of.containers[at.container].spec["restartPolicy"];
        match of.restart_policy() {
            "Never" => !self.has(Defect::SandboxLossForgetsNever),
            "OnFailure" => done && !self.has(Defect::SandboxLossForgetsSuccess),
            // A container's own policy takes precedence.
            _ => own == "OnFailure" && done && !self.has(Defect::SandboxLossForgetsOwnPolicy),
        }
    }

    /// Whether the pod restarts all its containers, or begins to do so now.
    pub(super) fn resets(&mut self, pod: usize) -> bool {
        let asks = |at: usize| {
            let container = &self.pods[pod].containers[at];
            match &container.state {
                State::Ended(ended) if !container.reset => {
                    self.restarts_all_by_rule(At { pod, container: at }, ended.code)
                }
                _ => false,
            }
        };
        if self.pods[pod].resetting || self.pods[pod].deleted.is_some() {
            return self.pods[pod].resetting;
        }
        let Some(trigger) = (0..self.pods[pod].containers.len()).find(|at| asks(*at)) else { return false };
        self.pods[pod].resetting = true;
        for container in 0..self.pods[pod].containers.len() {
            let of = &mut self.pods[pod].containers[container];
            of.restarting = true;
            if of.is_running() && !self.has(Defect::RestartAllOnlyOne) {
                let (at, attempt) = (At { pod, container }, self.pods[pod].containers[container].attempt());
                self.later(20 * MS, Act::Force(LifeAt { at, attempt }));
            }
        }
        let delay = self.between(200 * MS, 600 * MS);
        self.later(delay, Act::Reset(At { pod, container: trigger }));
        if self.has(Defect::RestartAllRunsEphemeral) {
            self.start_ephemeral_anew(pod);
        }
        true
    }

    /// The sandbox of a pod was removed: the kubelet stops the containers and starts the pod again.
    pub(crate) fn remove_sandbox(&mut self, of: &NodeStep) {
        let key = of.pod.as_deref().unwrap_or(probity_case::ONLY);
        // The API server may have rejected it.
        let pod = self.pods.iter().position(|pod| pod.key == key);
        let uid = pod.map(|pod| self.pods[pod].uid.clone());
        let (node, verb) = (NODE.to_owned(), REMOVE_SANDBOX.to_owned());
        self.did(Did::NodeVerb { node, verb, uid, input: None, exit: Some(0), output: None, proof: None });
        let Some(pod) = pod else { return };
        self.pods[pod].sandbox = false;
        self.pods[pod].resetting = true;
        self.touch(pod);
        for container in 0..self.pods[pod].containers.len() {
            self.pods[pod].containers[container].restarting = true;
            if self.pods[pod].containers[container].is_running() {
                let attempt = self.pods[pod].containers[container].attempt();
                let delay = self.between(500 * MS, 1500 * MS);
                self.later(delay, Act::Force(LifeAt { at: At { pod, container }, attempt }));
            }
        }
        self.later(2500 * MS, Act::Reset(At { pod, container: 0 }));
        self.run_ephemeral_again(pod);
    }

    /// All containers have ended: they are created again, from the first init container on.
    pub(crate) fn create_anew(&mut self, trigger: At) {
        let pod = trigger.pod;
        self.pods[pod].resetting = false;
        if self.pods[pod].deleted.is_some() || self.pods[pod].gone {
            return;
        }
        let initializes = self.pods[pod].containers.iter().any(|of| of.kind != crate::pod::Kind::Main);
        if !self.pods[pod].sandbox {
            self.pods[pod].ip = self.pods[pod].ip.replace(FIRST_NETWORK, NEXT_NETWORK);
        }
        let early = self.has(Defect::NewSandboxStartsSidecars);
        let waiting = State::Waiting(if initializes { "PodInitializing" } else { "ContainerCreating" });
        for container in 0..self.pods[pod].containers.len() {
            let lost = !self.pods[pod].sandbox;
            let kept = self.keeps_init(At { pod, container }, lost)
                || (lost && self.is_over_for_good(At { pod, container }));
            let of = &mut self.pods[pod].containers[container];
            of.restarting = false;
            let State::Ended(ended) = of.state.clone() else { continue };
            if kept {
                of.restarting = true;
                continue;
            }
            of.reset = true;
            of.back_off.wait = 0;
            of.state = waiting.clone();
            of.view.state = waiting.clone();
            of.last = Some(ended.clone());
            of.view.last = Some(ended);
            of.view.started = false;
            of.view.ready = false;
            if lost && of.kind == Kind::Sidecar && early {
                of.restarting = true;
                self.later(EARLY, Act::Start(At { pod, container }));
            }
        }
        self.touch(pod);
        self.create_containers(pod);
        if self.has(Defect::RestartAllTwice) && self.pods[pod].sandbox {
            self.stop_mains_again(pod);
        }
    }

    fn stop_mains_again(&mut self, pod: usize) {
        let grace = self.pods[pod].grace();
        for container in 0..self.pods[pod].containers.len() {
            let of = &self.pods[pod].containers[container];
            if of.kind == Kind::Main {
                let life = LifeAt { at: At { pod, container }, attempt: of.attempt() + 1 };
                self.later(3 * SECOND, Act::Terminate(life, self.now + 3 * SECOND + grace));
            }
        }
    }
}
