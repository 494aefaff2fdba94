//! The target's process: its lifetime, its witness, and the effects of the control port.
//!
//! As in the real target, [`probity_script::Script::choose`] chooses the answer that is due, and
//! [`probity_script::wire`] composes what it puts on the wire. This module decides only the time of an answer, and how
//! a client interprets the answer.

mod awaited;
mod client;
mod connection;
mod downward;
mod looks;
mod lookups;
mod mounted;
mod orphans;
mod reply;
mod request;
mod workers;

use std::collections::BTreeMap;

use probity_case::{ContainerRef, Step};
use probity_composer::NODE;
use probity_model::history::{Did, Happening, Heard, Way};
use probity_script::answer::ListenState;
use probity_script::witness::{ChangeSeen, Entry, Hello, Listening, Mark, ResetSeen, Started};
use probity_script::{Change, Choice, Endpoint, ExitFrom, Fact, Moment, Plan, Script, WitnessLine};

use crate::Defect;
use crate::pod::{Life, micros, span};
use crate::world::{Act, At, LifeAt, MS, World};

pub(crate) use client::Errand;

/// The interval at which a process checks the plan for its ports.
const DOORS_EVERY: i64 = 10 * MS;
/// The status of a process that lacks a variable.
const MISCONFIGURED: u8 = 78;
/// Why such a process exits.
const UNSET: &str = "not set in the environment";

impl World<'_> {
    /// The process of a container starts.
    pub(crate) fn begin(&mut self, at: At) {
        let now = self.now;
        let dice = self.between(0, i64::MAX);
        let container = &mut self.pods[at.pod].containers[at.container];
        let attempt = container.attempt();
        let plan = container.plan.clone();
        container.life = Some(Life {
            boot: format!("{:016x}", dice),
            attempt,
            began: now,
            is_target: plan.is_some(),
            plan: plan.unwrap_or_default(),
            resources: container.spec["resources"].clone(),
            ..Life::default()
        });
        let life = LifeAt { at, attempt };
        if self.life(life).is_some_and(|life| life.is_target) {
            self.introduce(life);
            self.begin_children(life);
        }
        if self.lacks_environment(life) {
            self.complain(life, UNSET);
            self.later(3 * MS, Act::Exit(life, MISCONFIGURED, UNSET));
            return;
        }
        self.begin_consuming(life);
        self.plan_exit(life, ExitFrom::Start);
        self.later(2 * MS, Act::Await(life, 0, 1));
    }

    /// Plans the end of the process, if the time in its plan counts from this event.
    fn plan_exit(&mut self, life: LifeAt, from: ExitFrom) {
        let process = self.earlier_processes(life);
        let exit = self.life(life).and_then(|of| of.plan.process.exit_for(process).cloned());
        if let Some(exit) = exit.filter(|exit| exit.from == from) {
            self.later(micros(exit.after), Act::Exit(life, exit.way.status(exit.code), "plan"));
        }
    }

    /// The first lines: the connection to the recorder, and the identity.
    fn introduce(&mut self, life: LifeAt) {
        let pod = &self.pods[life.at.pod];
        let container = pod.containers[life.at.container].name.clone();
        let identity: BTreeMap<String, String> = [
            ("CONTAINER_NAME", container.as_str()),
            ("NODE_NAME", NODE),
            ("POD_IP", &pod.ip),
            ("POD_NAME", pod.shown_name()),
            ("POD_UID", &pod.uid),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let (host, peer) = (self.host_of(life.at), format!("{}:40000", pod.ip));
        let Some(of) = self.life(life) else { return };
        let (boot, seed) = (of.boot.clone(), of.plan.seed);
        let hello =
            Hello { v: 1, boot, attempt: self.told_attempt(life), hello: 0, identity: identity.clone() };
        self.tell(life, Entry::Joined { hello, peer });
        let began_mono_us = self.mono();
        let started = Started {
            version: "0.1.0".to_owned(),
            pid: 1,
            args: self.arguments(life.at),
            host,
            plan: String::new(),
            seed,
            attempt_known: true,
            began_mono_us,
            identity,
        };
        self.note(life, Fact::Started(started));
        if self.life(life).is_some_and(|of| of.plan.process.dump) {
            self.note(life, Fact::Dump(self.look(life.at)));
        }
    }

    /// Whether a variable that the plan requires is not set.
    fn lacks_environment(&self, life: LifeAt) -> bool {
        let spec = &self.pods[life.at.pod].containers[life.at.container].spec;
        let env = spec["env"].as_array();
        let set = |name: &String| env.into_iter().flatten().any(|variable| variable["name"] == name.as_str());
        self.life(life).is_some_and(|of| !of.plan.process.require_env.iter().all(set))
    }

    /// The attempt number of the process, according to the file on its volume.
    fn told_attempt(&self, life: LifeAt) -> u64 {
        let of = &self.pods[life.at.pod];
        if self.has(Defect::RestartEmptiesVolume) {
            return 0;
        }
        let before = self.pods[..life.at.pod].iter().filter(|other| other.name == of.name);
        let found: u64 = before.map(|other| other.containers[life.at.container].starts).sum();
        self.earlier_processes(life) + if self.has(Defect::VolumeGoesWithName) { found } else { 0 }
    }

    /// The process, if this instance is the current instance of its container.
    pub(crate) fn life(&self, of: LifeAt) -> Option<&Life> {
        let life = self.pods.get(of.at.pod)?.containers.get(of.at.container)?.life.as_ref();
        life.filter(|life| life.attempt == of.attempt)
    }

    pub(crate) fn life_mut(&mut self, of: LifeAt) -> Option<&mut Life> {
        let life = self.pods.get_mut(of.at.pod)?.containers.get_mut(of.at.container)?.life.as_mut();
        life.filter(|life| life.attempt == of.attempt)
    }

    /// Records a fact, if the process still runs.
    pub(crate) fn note(&mut self, life: LifeAt, fact: Fact) {
        let mono_us = self.mono();
        let wall_us = u64::try_from(self.now + probity_composer::ZERO_WALL_US).unwrap_or_default();
        let attempt = self.told_attempt(life);
        let Some(of) = self.life_mut(life).filter(|of| of.is_target) else { return };
        let line = WitnessLine { v: 1, boot: of.boot.clone(), attempt, seq: of.seq, mono_us, wall_us, fact };
        of.seq += 1;
        self.log(life, &line);
        self.tell(life, Entry::Line(Box::new(line)));
    }

    /// Records a fact at a later time.
    pub(crate) fn note_at(&mut self, when: i64, life: LifeAt, fact: Fact) {
        self.at(when, Act::Note(life, Box::new(fact)));
    }

    fn tell(&mut self, life: LifeAt, entry: Entry) {
        let pod = &self.pods[life.at.pod];
        let heard = Heard {
            pod: pod.shown_name().to_owned(),
            uid: pod.uid.clone(),
            container: pod.containers[life.at.container].name.clone(),
            node: self.node_of(life.at),
            by: Way::Recorder,
            received_us: Some(self.mono() + 300),
            entry,
        };
        self.hear_witness(Happening::Witness(heard));
    }

    /// Chooses the answer to a probe of an endpoint at a moment.
    pub(crate) fn choose<A: Clone>(
        &self,
        when: i64,
        life: LifeAt,
        (endpoint, script): (&Endpoint, &Script<A>),
        probe: u64,
        host: Option<&str>,
    ) -> Choice<A> {
        let (elapsed, since, dice) = self.life(life).map_or_else(Default::default, |of| {
            (span(when - of.began), of.since(when), of.plan.dice(&endpoint.chance_name()))
        });
        let attempt = self.earlier_processes(life);
        script.choose(&Moment { attempt, elapsed, probe, host, since: &since, dice })
    }

    /// Sets a mark, from which steps can count.
    pub(crate) fn mark(&mut self, life: LifeAt, name: &str, by: &str) {
        let now = self.now;
        if let Some(of) = self.life_mut(life) {
            of.marks.insert(name.to_owned(), now);
        }
        self.note(life, Fact::Mark(Mark { name: name.to_owned(), by: by.to_owned() }));
    }

    /// The process opens its ports and starts to send.
    pub(crate) fn open(&mut self, life: LifeAt) {
        let Some(of) = self.life_mut(life) else { return };
        of.opened = true;
        let clients: Vec<i64> =
            of.plan.process.clients.iter().map(|client| client.after.map_or(0, micros)).collect();
        self.doors(life);
        for (number, after) in clients.into_iter().enumerate() {
            self.later(after, Act::Ask(life, number, 0));
        }
    }

    /// Whether a port is open.
    pub(crate) fn door(&self, life: LifeAt, listener: &str) -> ListenState {
        let Some(of) = self.life(life).filter(|of| of.opened && !of.shut) else { return ListenState::Closed };
        let Some(script) = of.plan.listeners.get(listener).map(|listener| &listener.listen) else {
            return ListenState::Closed;
        };
        self.choose(self.now, life, (&Endpoint::Listen(listener.to_owned()), script), 0, None).answer
    }

    /// Records which ports changed their state, and checks again later if the plan changes them.
    pub(crate) fn doors(&mut self, life: LifeAt) {
        let Some(of) = self.life(life).filter(|of| of.is_target) else { return };
        let listeners = of.plan.listeners.clone();
        for (listener, settings) in &listeners {
            let state = self.door(life, listener);
            let known = self.life_mut(life).and_then(|of| of.doors.insert(listener.clone(), state));
            if known.unwrap_or(ListenState::Closed) != state {
                let host = settings.bind.map_or_else(|| "[::]".to_owned(), |bind| bind.to_string());
                let (listener, address) = (listener.clone(), format!("{host}:{}", settings.port));
                self.note(
                    life,
                    Fact::Listening(Listening { listener, address, state: state.word().to_owned() }),
                );
            }
        }
        if listeners.values().any(|listener| listener.listen.steps().len() > 1) {
            self.later(DOORS_EVERY, Act::Doors(life));
        }
    }

    /// The process is gone, so the recorder sees the end of its connection.
    pub(crate) fn leave(&mut self, life: LifeAt) {
        let last_mono_us = self.mono();
        self.break_flights(life);
        self.break_errands(life);
        let of = self.pods[life.at.pod].containers[life.at.container].life.take();
        let Some(of) = of.filter(|of| of.is_target) else { return };
        self.tell(life, Entry::Left { boot: of.boot, how: "closed".to_owned(), last_mono_us, told: of.seq });
    }

    /// A change through the control port.
    pub(crate) fn change(&mut self, of: &ContainerRef, change: Change, step: &Step) {
        let Some((life, pod, container)) = self.reach(of, step) else { return };
        let text = serde_json::to_string(&change).unwrap_or_default();
        let plan = self.life(life).map(|life| life.plan.clone()).unwrap_or_default();
        match change.apply(&plan) {
            Err(why) => {
                self.did(Did::Failed { what: step.in_words(), why });
            }
            Ok((plan, endpoints)) => {
                self.set_plan(life, plan);
                self.note(life, Fact::Change(ChangeSeen { endpoints: endpoints.clone(), change: text }));
                self.did(Did::Changed { pod, container, endpoints, mono_us: self.mono() });
                self.doors(life);
            }
        }
    }

    /// The plan is reset.
    pub(crate) fn reset(&mut self, of: &ContainerRef, step: &Step) {
        let Some((life, pod, container)) = self.reach(of, step) else { return };
        let plan = self.pods[life.at.pod].containers[life.at.container].plan.clone().unwrap_or_default();
        self.set_plan(life, plan);
        let changes = self.life_mut(life).map_or(0, |of| std::mem::take(&mut of.changes));
        self.note(life, Fact::Reset(ResetSeen { changes }));
        self.did(Did::Called { pod, container, call: "reset".to_owned() });
    }

    /// A mark through the control port.
    pub(crate) fn mark_by_control(&mut self, of: &ContainerRef, name: &str, step: &Step) {
        let Some((life, pod, container)) = self.reach(of, step) else { return };
        self.mark(life, name, "control");
        self.did(Did::Called { pod, container, call: name.to_owned() });
    }

    fn set_plan(&mut self, life: LifeAt, plan: Plan) {
        if let Some(of) = self.life_mut(life) {
            of.plan = plan;
            of.changes += 1;
        }
    }

    /// The process behind a container's control port, with the names of its pod and container.
    fn reach(&mut self, of: &ContainerRef, step: &Step) -> Option<(LifeAt, String, String)> {
        let place = self.place_of(of);
        let process = place.and_then(|at| {
            let pod = &self.pods[at.pod];
            let container = &pod.containers[at.container];
            let life = LifeAt { at, attempt: container.life.as_ref()?.attempt };
            Some((life, pod.name.clone(), container.name.clone()))
        });
        if process.is_none() {
            let why = "nobody answers at the control port".to_owned();
            self.did(Did::Failed { what: step.in_words(), why });
        }
        process
    }
}
