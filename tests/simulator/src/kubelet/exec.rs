//! Commands that are run in containers, by probes and by hooks.

use std::collections::BTreeMap;

use probity_composer::NODE;
use probity_script::answer::CommandOrders;
use probity_script::witness::{Command, ExecEnded, ExecSeen};
use probity_script::{Endpoint, Fact};

use super::Back;
use super::prober::Outcome;
use crate::Defect;
use crate::pod::{Kind, micros};
use crate::world::{At, LifeAt, MS, SECOND, World};

/// How long a command takes to start.
const BEGINS: i64 = 40 * MS;
/// How much of a command's output is read.
const MOST_READ: u64 = 10_240;

impl World<'_> {
    /// Runs a command in a container. Returns the time at which it ends, and its result.
    pub(super) fn execute(&mut self, at: At, command: &[String], deadline: i64) -> (i64, Back) {
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        let began = self.now + BEGINS;
        let Some(of) = self.life_mut(life) else {
            return (self.now + MS, Back::Unsent("container not running".to_owned()));
        };
        let program = command.first().map_or("", String::as_str);
        if !["/agnhost-rs", "/agnhost", "/agnhost-2"].contains(&program) {
            return (began, Back::Unsent(format!("exec: \"{program}\": no such file or directory")));
        }
        let name = command.get(2).cloned().unwrap_or_default();
        let Some(script) = of.plan.exec.get(&name).cloned() else {
            return (began + MS, Back::Command(Some(1), format!("the plan has no command `{name}`")));
        };
        self.reached = Some(life);
        let Some(of) = self.life_mut(life) else {
            return (self.now, Back::Command(Some(137), String::new()));
        };
        of.exec += 1;
        let exec = of.exec - 1;
        let endpoint = Endpoint::Exec(name);
        let word = endpoint.to_string();
        let probe = of.count(&endpoint);
        let choice = self.choose(began, life, (&endpoint, &script), probe, None);
        let orders = CommandOrders::from(&choice.answer);
        let began_mono_us = self.mono() + u64::try_from(BEGINS - 10 * MS).unwrap_or(0);
        let on_node = self.has(Defect::ExecOnTheNode);
        let host = if on_node { NODE.to_owned() } else { self.pods[at.pod].name.clone() };
        let mut namespaces = self.namespaces(at);
        for (kind, number) in &mut namespaces {
            if on_node || (kind == "pid" && self.has(Defect::ExecInTheNodesProcesses)) {
                *number = 1;
            }
        }
        let args = command.to_vec();
        let seen = Command { args, pid: 20, host, namespaces, began_mono_us, ..Command::default() };
        let seen = self.given_to_command(at, seen);
        let fact =
            ExecSeen { exec, endpoint, probe, step: choice.step, answer: orders.to_string(), command: seen };
        self.note_at(began, life, Fact::Exec(fact));
        if let Some(mark) = choice.mark {
            self.mark(life, &mark, &word);
        }
        let CommandOrders { hang, settings } = orders;
        let over = (!hang).then(|| began + MS + settings.sleep.map_or(0, micros));
        let ended = |when: i64, exit| {
            let lived_us = u64::try_from(when - began).unwrap_or(0);
            Fact::ExecEnded(ExecEnded { exec, exit, signals: Vec::new(), lived_us })
        };
        match over.filter(|over| *over <= deadline) {
            Some(over) => {
                self.note_at(over, life, ended(over, Some(settings.exit)));
                if let Some(lives) = settings.fork {
                    self.leave_child(life, &word, over, micros(lives));
                }
                let spared = settings.fork.is_some() && self.has(Defect::ExecWithChildPasses);
                let much = settings.print_bytes.is_some_and(|size| size.0 > MOST_READ);
                let exit = match settings.exit {
                    _ if spared || (much && self.has(Defect::ExecMuchOutputPasses)) => 0,
                    _ if much && self.has(Defect::ExecMuchOutputFails) => 1,
                    exit => exit,
                };
                let error = settings.print_error.filter(|_| !self.has(Defect::StandardErrorUnsaid));
                let said: Vec<String> = [settings.print, error].into_iter().flatten().collect();
                (over + 20 * MS, Back::Command(Some(exit), said.join("\n")))
            }
            None => {
                self.note_at(deadline, life, ended(deadline, None));
                let seconds = (deadline - self.now) / SECOND;
                let said = format!("command timed out: \"{}\" timed out after {seconds}s", command.join(" "));
                (deadline + 10 * MS, Back::Command(None, said))
            }
        }
    }
    /// The result of a command.
    pub(super) fn judge_command(&self, back: Back) -> Outcome {
        match back {
            Back::Command(Some(0), _) => Outcome::Passed,
            Back::Command(Some(_), _) if self.has(Defect::ExecStatusIgnored) => Outcome::Passed,
            Back::Command(Some(126..), said) if self.has(Defect::ExecHighStatusIsError) => {
                Outcome::Erred("unknown", said)
            }
            Back::Command(Some(127), said) if self.has(Defect::Exec127Discarded) => {
                Outcome::Erred("unknown", said)
            }
            Back::Command(Some(2), _) if self.has(Defect::Exec2Passes) => Outcome::Passed,
            Back::Command(Some(_), _) if self.has(Defect::CommandOutputUnsaid) => {
                Outcome::Failed(String::new())
            }
            Back::Command(Some(_), said) => Outcome::Failed(said),
            Back::Command(None, _) if self.has(Defect::TimeoutIsSuccess) => Outcome::Passed,
            Back::Command(None, said) if self.has(Defect::ExecTimeoutIsError) => {
                Outcome::Erred("unknown", said)
            }
            Back::Command(None, said) => Outcome::Failed(said),
            Back::Unsent(why) if self.has(Defect::MissingCommandFails) => Outcome::Failed(why),
            Back::Unsent(_) if self.has(Defect::MissingCommandPasses) => Outcome::Passed,
            Back::Unsent(why) => Outcome::Erred("unknown", why),
            Back::Answer(_) => Outcome::Failed("EOF".to_owned()),
        }
    }

    /// The namespaces of a container's processes.
    pub(crate) fn namespaces(&self, at: At) -> BTreeMap<String, u64> {
        let container = &self.pods[at.pod].containers[at.container];
        let of_pod = 4_026_532_000 + 100 * at.pod as u64;
        let own = of_pod + 10 + 2 * at.container as u64 + 50 * container.attempt();
        let users = self.user_namespace(at.pod);
        let shared = self.pods[at.pod].object["spec"]["shareProcessNamespace"] == true;
        let apart = container.kind == Kind::Sidecar && self.has(Defect::SidecarsApartFromProcesses);
        let processes = if shared && !apart { of_pod + 3 } else { own + 1 };
        let kinds = [
            ("ipc", of_pod),
            ("mnt", own),
            ("net", of_pod + 1),
            ("pid", processes),
            ("user", users),
            ("uts", of_pod + 2),
        ];
        let mut all: BTreeMap<String, u64> = kinds.map(|(kind, number)| (kind.to_owned(), number)).into();
        self.misplace_namespaces(at, &mut all);
        all
    }
}
