use std::time::Duration;

use bytes::Bytes;
use probity_script::Span;

use super::{Plan, concerns, ended_with};
use crate::cri::{
    fault::{CallEffect, CreateEffect, CriFault, ExecEffect, ExitCodes, GraceEffect, Method},
    grpc::{CallAnswer, DEADLINE_EXCEEDED},
    wire::Message,
};

fn span(milliseconds: u64) -> Span {
    Span(Duration::from_millis(milliseconds))
}

fn exec(effect: ExecEffect) -> CriFault {
    CriFault::Exec { command: None, effect }
}

/// An `ExecSync` of `agnhost-rs exec live` with a timeout of two seconds.
fn exec_request() -> Message {
    let mut request = Message::default();
    request.set_bytes(1, "container-1");
    for word in ["agnhost-rs", "exec", "live"] {
        request.push(2, word);
    }
    request.set_integer(3, 2);
    request
}

/// The message that is sent to the runtime.
fn sent(plan: &Plan) -> Message {
    plan.request.as_ref().and_then(|bytes| Message::parse(bytes).ok()).unwrap_or_default()
}

/// The exit code that the kubelet sees for a command that ended with `code`.
fn seen_exit(effect: ExecEffect, code: i32) -> i64 {
    let answer = Plan::of(vec![exec(effect)], &exec_request()).answer(CallAnswer::success(&ended_with(code)));
    answer.message().and_then(|bytes| Message::parse(&bytes).ok()).unwrap_or_default().integer(3)
}

#[test]
fn without_a_fault_a_call_passes_as_it_came() {
    let plan = Plan::of(Vec::new(), &exec_request());
    assert_eq!((plan.request.as_ref(), plan.instead.is_none(), plan.late), (None, true, Duration::ZERO));
}

#[test]
fn the_timeout_of_a_command_is_removed_or_multiplied() {
    assert_eq!(sent(&Plan::of(vec![exec(ExecEffect::Timeout(0))], &exec_request())).integer(3), 0);
    assert_eq!(sent(&Plan::of(vec![exec(ExecEffect::TimeoutTimes(0.4))], &exec_request())).integer(3), 1);
    assert_eq!(sent(&Plan::of(vec![exec(ExecEffect::TimeoutTimes(3.0))], &exec_request())).integer(3), 6);
}

#[test]
fn an_exit_code_changes_only_if_it_is_meant() {
    let effect = ExecEffect::ExitCode { from: ExitCodes::NonZero, to: 0 };
    assert_eq!([seen_exit(effect.clone(), 7), seen_exit(effect, 0)], [0, 0]);
    let effect = ExecEffect::ExitCode { from: ExitCodes::Only(7), to: 3 };
    assert_eq!([seen_exit(effect.clone(), 7), seen_exit(effect, 8)], [3, 8]);
    assert_eq!(seen_exit(ExecEffect::ExitCode { from: ExitCodes::Zero, to: -1 }, 0), -1);
}

#[test]
fn a_timeout_is_reported_as_success() {
    let plan = Plan::of(vec![exec(ExecEffect::TimedOutAs(0))], &exec_request());
    assert!(plan.answer(CallAnswer::failure(DEADLINE_EXCEEDED)).message().is_some());
    assert!(plan.answer(CallAnswer::failure(2)).message().is_none());
}

#[test]
fn a_command_can_be_left_unrun() {
    let plan = Plan::of(vec![exec(ExecEffect::Unrun(1))], &exec_request());
    assert_eq!(plan.instead.and_then(|answer| answer.message()), Some(ended_with(1)));
}

#[test]
fn the_output_is_replaced_and_the_exit_code_stays() {
    let plan = Plan::of(vec![exec(ExecEffect::Output("other".into()))], &exec_request());
    let mut response = Message::default();
    response.set_bytes(1, "out");
    response.set_bytes(2, "err");
    response.set_integer(3, 4);
    let seen = plan.answer(CallAnswer::success(&response.encode())).message().unwrap_or_default();
    let seen = Message::parse(&seen).unwrap_or_default();
    assert_eq!((seen.text(1).as_str(), seen.text(2).as_str(), seen.integer(3)), ("other", "", 4));
}

#[test]
fn a_command_is_struck_only_if_it_has_the_word() {
    let live = |command: &str| CriFault::Exec { command: Some(command.into()), effect: ExecEffect::Unrun(0) };
    assert!(concerns(&live("live"), Method::Exec, &exec_request()));
    assert!(!concerns(&live("ready"), Method::Exec, &exec_request()));
    assert!(!concerns(&live("live"), Method::Stop, &exec_request()));
}

#[test]
fn a_grace_period_is_stretched_cut_and_never_negative() {
    let mut stop = Message::default();
    stop.set_integer(2, 10);
    let seconds = |effect| sent(&Plan::of(vec![CriFault::Grace(effect)], &stop)).integer(2);
    assert_eq!(seconds(GraceEffect::Seconds(30)), 30);
    assert_eq!(seconds(GraceEffect::Times(0.5)), 5);
    assert_eq!(seconds(GraceEffect::Added(-20)), 0);
}

#[test]
fn effects_on_one_call_add_up() {
    let call = |effect| CriFault::Call { method: Method::Stop, command: None, effect };
    let plan = Plan::of(
        vec![
            call(CallEffect::Late(span(1500))),
            call(CallEffect::AnsweredLate(span(2000))),
            call(CallEffect::Twice),
        ],
        &Message::default(),
    );
    assert_eq!((plan.late.as_millis(), plan.answered_late.as_secs(), plan.twice), (1500, 2, true));
}

#[test]
fn a_call_is_refused_or_pretended() {
    let instead = |effect| {
        let fault = CriFault::Call { method: Method::Start, command: None, effect };
        Plan::of(vec![fault], &Message::default()).instead
    };
    assert_eq!(instead(CallEffect::Refused(2)).map(|answer| answer.code()), Some(2));
    assert_eq!(instead(CallEffect::Pretended).and_then(|answer| answer.message()), Some(Bytes::new()));
}

#[test]
fn a_container_is_made_with_other_settings() {
    let mut request = Message::default();
    request.change(2, |config| {
        config.set_entry(6, "PLAN", "a");
        config.set_entry(6, "OTHER", "b");
        config.push(3, "/agnhost-rs");
        let mut mount = Message::default();
        mount.set_bytes(1, "/dev/termination-log");
        config.push(7, mount.encode());
    });
    let config = |effect| sent(&Plan::of(vec![CriFault::Create(effect)], &request)).message(2);
    let without = config(CreateEffect::EnvironmentWithout("PLAN".into()));
    assert_eq!((without.entry(6, "PLAN"), without.entry(6, "OTHER").as_deref()), (None, Some("b")));
    let with = config(CreateEffect::EnvironmentWith { name: "PLAN".into(), value: "c".into() });
    assert_eq!(with.entry(6, "PLAN").as_deref(), Some("c"));
    assert_eq!(config(CreateEffect::MountWithout("/dev/termination-log".into())).messages(7).count(), 0);
    let command = config(CreateEffect::Command(vec!["/a".into(), "b".into()]));
    assert_eq!(command.all_bytes(3).collect::<Vec<_>>(), ["/a", "b"]);
    assert_eq!(config(CreateEffect::StopSignal(9)).integer(18), 9);
    let noted = config(CreateEffect::Annotation {
        key: "io.kubernetes.container.restartCount".into(),
        value: "5".into(),
    });
    assert_eq!(noted.entry(10, "io.kubernetes.container.restartCount").as_deref(), Some("5"));
}
