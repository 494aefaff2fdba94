//! Which of the target's records are probes, and what their answers mean.

use probity_script::Plan;
use probity_script::wire::{HttpRequestFacts, WireAction, compose_http};
use probity_script::witness::Answered;

use crate::clocks::Stamp;
use crate::measure::Interval;
use crate::mechanisms::NEAR;

use super::at::{At, Completion};
use super::attempt::{Asked, Attempt, Connection, Probe, Through};
use super::result::ProbeOutcome;
use super::spec::{Handler, ProbeKind, ProbeSpec};

/// The records that were probes. A record is a probe if its port and path, its service, or its command is the same as
/// in the spec.
pub(super) fn probes<'h>(attempt: &Attempt<'h>, specs: &[ProbeSpec], plan: Option<&Plan>) -> Vec<Probe<'h>> {
    let mut probes = Vec::new();
    for (at, asked) in attempt.requests.iter().enumerate() {
        let connection = asked.connection.and_then(|at| attempt.connections.get(at));
        let port = connection.and_then(Connection::port);
        if asked.request.hop.is_some_and(|hop| hop > 0) || asked.from_our_client() {
            continue;
        }
        let kinds = kinds(specs, |handler| match handler {
            Handler::Http { path, port: of, headers, .. } => {
                let own =
                    !asked.followed() || headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("referer"));
                of.number == port && same_path(path, &asked.request.target) && own
            }
            Handler::Grpc { service, port: of } => {
                of.number == port && asked.request.service.as_deref() == Some(service)
            }
            _ => false,
        });
        let grpc = asked.request.service.is_some();
        let settled = asked.answer.as_ref().map(answered_at);
        let (passed, endpoint) = (passed(asked, grpc, plan), asked.request.endpoint.as_ref());
        let (id, when) = (asked.id, arrived_at(asked, connection).clone());
        push(
            &mut probes,
            Probe { kinds, id, at: when, through: Through::Request(at), passed, settled, endpoint },
        );
    }
    for (at, connection) in attempt.connections.iter().enumerate() {
        let bare = connection.requests == 0 && connection.accepted.listener != "control";
        let port = connection.port();
        let kinds = kinds(
            specs,
            |handler| matches!(handler, Handler::Tcp { port: of, .. } if bare && of.number == port),
        );
        let (id, when) = (connection.id, connection.at.clone());
        let settled = Some(At::new(id, when.clone()));
        let through = Through::Connection(at);
        push(
            &mut probes,
            Probe { kinds, id, at: when, through, passed: Some(true), settled, endpoint: None },
        );
    }
    for (at, command) in attempt.commands.iter().enumerate() {
        let args: Vec<&str> = command.seen.command.args.iter().map(String::as_str).collect();
        let kinds =
            kinds(specs, |handler| matches!(handler, Handler::Exec { command } if ran_as(command, &args)));
        let passed = command.ended.as_ref().map(|ended| ended.exit == Some(0));
        let settled = command.ended.as_ref().map(At::of);
        let endpoint = Some(&command.seen.endpoint);
        let (id, when) = (command.id, command.at.clone());
        push(
            &mut probes,
            Probe { kinds, id, at: when, through: Through::Command(at), passed, settled, endpoint },
        );
    }
    probes.sort_by_key(|probe| (probe.at.at.lo, probe.id));
    probes
}

/// Whether a command can have run with these arguments. A variable may be expanded, so the first word with a variable
/// and all later words are not compared.
fn ran_as(command: &[String], args: &[&str]) -> bool {
    match command.iter().position(|word| word.contains('$')) {
        Some(fixed @ 1..) => args.get(..fixed).is_some_and(|same| same == &command[..fixed]),
        _ => command == args,
    }
}

fn kinds(specs: &[ProbeSpec], fits: impl Fn(&Handler) -> bool) -> Vec<ProbeKind> {
    specs.iter().filter(|spec| fits(&spec.handler)).map(|spec| spec.kind).collect()
}

fn push<'h>(probes: &mut Vec<Probe<'h>>, probe: Probe<'h>) {
    if !probe.kinds.is_empty() {
        probes.push(probe);
    }
}

/// Whether two paths are the same. A path in a spec may lack its leading slash and may have a query.
fn same_path(spec: &str, target: &str) -> bool {
    spec.trim_start_matches('/') == target.trim_start_matches('/')
}

/// When the probe behind a request arrived. A stalled target reads a request long after it has accepted the connection,
/// while the kubelet's clock for the probe is running.
fn arrived_at<'t>(asked: &'t Asked<'_>, connection: Option<&'t Connection<'_>>) -> &'t Stamp {
    let opened = connection.filter(|of| {
        let unread = asked.at.at.lo - of.at.at.hi;
        asked.request.nth == 1 && of.at.clock == asked.at.clock && unread > NEAR
    });
    opened.map_or(&asked.at, |connection| &connection.at)
}

/// When a request was answered: between the time at which its last bytes were sent, if that is known, and the time of
/// the line that records the answer.
fn answered_at(answer: &Completion<'_, Answered>) -> At {
    let mut at = At::of(answer);
    if let Some(sent) = answer.last_send_us.and_then(|us| i64::try_from(us).ok()) {
        at.stamp.at = Interval::new(sent.min(at.at.lo), at.at.hi);
    }
    at
}

/// Whether the probe succeeded, judging by the answer alone.
fn passed(asked: &Asked<'_>, grpc: bool, plan: Option<&Plan>) -> Option<bool> {
    let answer = asked.answer.as_ref()?;
    if grpc {
        // The target records the status that it sent. Histories of older simulated targets contain the word in the
        // plan.
        let serving = ["serving", "status 1"].contains(&answer.answer.as_str());
        return Some(serving && answer.error.is_none());
    }
    let whole = answer.error.is_none() && !plan.is_some_and(|plan| may_break_off(plan, answer));
    match asked.status().map(ProbeOutcome::of_status) {
        Some(ProbeOutcome::Success) if whole => Some(true),
        Some(ProbeOutcome::Success | ProbeOutcome::Unclear) => None,
        Some(ProbeOutcome::Failure) => whole.then_some(false),
        // Raw bytes can be any answer, including a success.
        None => (answer.answer != "raw").then_some(false),
    }
}

/// Whether the plan may interrupt the answer or send it in parts, so that the status alone does not show how a kubelet
/// counts it. If the plan was changed later, the result may be about another step. Then a conclusion may be lost, but
/// no conclusion is wrong.
fn may_break_off(plan: &Plan, answer: &Answered) -> bool {
    let planned = answer.endpoint.as_ref().and_then(|endpoint| plan.http_answer(endpoint, answer.step));
    planned.is_some_and(|planned| match compose_http(planned, &HttpRequestFacts::default()).action {
        WireAction::Respond(response) => response.may_break_off(),
        WireAction::Hang | WireAction::SendAndEnd { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::ran_as;

    #[test]
    fn a_command_with_variables_is_known_by_what_stands_before_them() {
        let command = ["/agnhost-rs", "exec", "ready", "$(A)", "last"].map(str::to_owned);
        assert!(ran_as(&command, &["/agnhost-rs", "exec", "ready", "one two", "last"]));
        assert!(ran_as(&command, &["/agnhost-rs", "exec", "ready", "one", "two", "last"]));
        assert!(!ran_as(&command, &["/agnhost-rs", "exec", "live", "one two", "last"]));
        assert!(!ran_as(&command[..3], &["/agnhost-rs", "exec", "ready", "more"]));
        assert!(!ran_as(&["$(A)".to_owned()], &["/agnhost-rs"]));
    }
}
