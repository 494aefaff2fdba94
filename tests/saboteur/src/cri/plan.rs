//! Determines the effect of the active defects on one call. The module is pure: it turns the request into a [`Plan`],
//! and later the answer into the altered answer.

use std::time::Duration;

use bytes::Bytes;

use super::{
    call::command_line,
    fault::{CallEffect, CreateEffect, CriFault, ExecEffect, GraceEffect, Method},
    grpc::{CallAnswer, DEADLINE_EXCEEDED},
    users,
    wire::Message,
};

/// What happens to one call.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The runtime receives the call this much later.
    pub(super) late: Duration,
    /// The kubelet receives the answer this much later.
    pub(super) answered_late: Duration,
    /// The call goes to the runtime twice.
    pub(super) twice: bool,
    /// The runtime never receives the call; the kubelet receives this answer.
    pub(super) instead: Option<CallAnswer>,
    /// The call goes to the runtime with this message.
    pub(super) request: Option<Bytes>,
    /// Changes of the answer.
    effects: Vec<ExecEffect>,
    address: Option<String>,
}

/// Whether a fault applies to this call.
pub(super) fn concerns(fault: &CriFault, method: Method, request: &Message) -> bool {
    let said = |command: &Option<String>| {
        command
            .as_ref()
            .is_none_or(|part| method == Method::Exec && command_line(request).contains(part.as_str()))
    };
    match fault {
        CriFault::Call { method: of, command, .. } => *of == method && said(command),
        CriFault::Exec { command, .. } => method == Method::Exec && said(command),
        CriFault::Grace(_) => method == Method::Stop,
        CriFault::Create(_) => method == Method::Create,
        CriFault::Users(_) => matches!(method, Method::RunSandbox | Method::Create),
        CriFault::Address(_) => method == Method::SandboxStatus,
        CriFault::Shown(_) | CriFault::Event(_) | CriFault::ReplacedUnseen(_) => false,
    }
}

impl Plan {
    /// The plan for the call under `faults`, all of which apply to it and are due.
    pub(super) fn of(faults: Vec<CriFault>, request: &Message) -> Self {
        let mut plan = Self::default();
        let mut altered = request.clone();
        for fault in faults {
            match fault {
                CriFault::Call { effect, .. } => plan.call(&effect),
                CriFault::Exec { effect, .. } => plan.exec(effect, &mut altered),
                CriFault::Grace(effect) => altered.set_integer(2, grace(effect, altered.integer(2))),
                CriFault::Create(effect) => altered.change(2, |config| create(effect, config)),
                CriFault::Users(first) => users::begin_with(&mut altered, first),
                CriFault::Address(ip) => plan.address = Some(ip.to_string()),
                CriFault::Shown(_) | CriFault::Event(_) | CriFault::ReplacedUnseen(_) => {}
            }
        }
        if altered != *request {
            plan.request = Some(altered.encode());
        }
        plan
    }

    fn call(&mut self, effect: &CallEffect) {
        match effect {
            CallEffect::Late(by) => self.late += by.0,
            CallEffect::AnsweredLate(by) => self.answered_late += by.0,
            CallEffect::Refused(code) => self.instead = Some(CallAnswer::failure(*code)),
            CallEffect::Pretended => self.instead = Some(CallAnswer::success(&Bytes::new())),
            CallEffect::Twice => self.twice = true,
        }
    }

    fn exec(&mut self, effect: ExecEffect, request: &mut Message) {
        match effect {
            ExecEffect::Timeout(seconds) => request.set_integer(TIMEOUT, seconds),
            ExecEffect::TimeoutTimes(factor) => {
                request.set_integer(TIMEOUT, scaled(request.integer(TIMEOUT), factor));
            }
            ExecEffect::Unrun(code) => self.instead = Some(CallAnswer::success(&ended_with(code))),
            ExecEffect::ExitCode { .. }
            | ExecEffect::TimedOutAs(_)
            | ExecEffect::TimedOutRefused(_)
            | ExecEffect::Output(_) => self.effects.push(effect),
        }
    }

    /// The answer as the kubelet gets it.
    pub(super) fn answer(&self, mut answer: CallAnswer) -> CallAnswer {
        for effect in &self.effects {
            answer = alter_exec(effect, answer);
        }
        let Some(address) = &self.address else { return answer };
        alter(answer, |response| {
            response.change(1, |status| status.change(5, |network| network.set_bytes(1, address.clone())));
        })
    }
}

/// The fields of `ExecSyncRequest` and `ExecSyncResponse`.
const TIMEOUT: u32 = 3;
const STDOUT: u32 = 1;
const STDERR: u32 = 2;
const EXIT_CODE: u32 = 3;

fn alter_exec(effect: &ExecEffect, answer: CallAnswer) -> CallAnswer {
    match effect {
        ExecEffect::TimedOutRefused(code) if answer.code() == DEADLINE_EXCEEDED => CallAnswer::failure(*code),
        ExecEffect::TimedOutAs(code) if answer.code() == DEADLINE_EXCEEDED => {
            CallAnswer::success(&ended_with(*code))
        }
        ExecEffect::ExitCode { from, to } => alter(answer, |response| {
            if from.include(code_of(response, EXIT_CODE)) {
                response.set_integer(EXIT_CODE, i64::from(*to));
            }
        }),
        ExecEffect::Output(text) => alter(answer, |response| {
            response.set_bytes(STDOUT, text.clone());
            response.remove(STDERR);
        }),
        _ => answer,
    }
}

/// Changes the message of an answer that has a message, and leaves all other answers unchanged.
pub(super) fn alter(answer: CallAnswer, change: impl FnOnce(&mut Message)) -> CallAnswer {
    let Some(mut message) = answer.message().and_then(|bytes| Message::parse(&bytes).ok()) else {
        return answer;
    };
    let before = message.clone();
    change(&mut message);
    if message == before { answer } else { answer.with_message(&message.encode()) }
}

fn ended_with(code: i32) -> Bytes {
    let mut response = Message::default();
    response.set_integer(EXIT_CODE, i64::from(code));
    response.encode()
}

/// An exit code, which has 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "an int32 is on the wire as the int64 of the same value")]
pub(super) fn code_of(message: &Message, field: u32) -> i32 {
    message.integer(field) as i32
}

fn grace(effect: GraceEffect, seconds: i64) -> i64 {
    match effect {
        GraceEffect::Seconds(new) => new,
        GraceEffect::Times(factor) => scaled(seconds, factor),
        GraceEffect::Added(more) => (seconds + more).max(0),
    }
}

/// Rounded up, so that no factor removes a timeout: 0 means none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "seconds of a timeout are few"
)]
fn scaled(seconds: i64, factor: f64) -> i64 {
    (seconds as f64 * factor).ceil() as i64
}

fn create(effect: CreateEffect, config: &mut Message) {
    const COMMAND: u32 = 3;
    const ARGUMENTS: u32 = 4;
    const ENVIRONMENT: u32 = 6;
    const MOUNTS: u32 = 7;
    const ANNOTATIONS: u32 = 10;
    const STOP_SIGNAL: u32 = 18;
    let replace = |config: &mut Message, field, words: Vec<String>| {
        config.remove(field);
        words.into_iter().for_each(|word| config.push(field, word));
    };
    match effect {
        CreateEffect::EnvironmentWithout(name) => {
            config.change_each(ENVIRONMENT, |variable| variable.text(1) != name)
        }
        CreateEffect::EnvironmentWith { name, value } => config.set_entry(ENVIRONMENT, &name, &value),
        CreateEffect::MountWithout(path) => config.change_each(MOUNTS, |mount| mount.text(1) != path),
        CreateEffect::Command(words) => replace(config, COMMAND, words),
        CreateEffect::Arguments(words) => replace(config, ARGUMENTS, words),
        CreateEffect::StopSignal(number) => config.set_integer(STOP_SIGNAL, number),
        CreateEffect::Annotation { key, value } => config.set_entry(ANNOTATIONS, &key, &value),
    }
}

#[cfg(test)]
mod tests;
