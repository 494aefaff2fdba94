//! TCP probes as a mechanism: a connection that opens is a success, whatever follows.

use probity_model::measure::seconds;
use probity_model::timeline::{Asked, Connection, Handler, ProbeAnswer, ProbeKind, ProbedLife, Through};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};

use crate::reading::answers::{Answers, of_others};
use crate::reading::causes::only_its_probe;
use crate::reading::http::closed_port::refusals_fail;
use crate::reading::http::exchange::Exchange;
use crate::reading::http::reaction::CountsAs;
use crate::reading::unreachable::{There, judge_unreachable};
use crate::reading::unvisited::{opened_until, was_open_in_time};

/// The ways in which a target handles an open connection that cannot be mistaken for a refusal.
const OPEN: [&str; 5] = ["serve", "hold", "close", "echo", "garbage"];

/// The first status of a server's own errors (RFC 9110, 15.6).
const SERVER_ERROR: u16 = 500;

/// What the target did with a connection that opened.
fn opened<'h>(answers: &Answers<'_, 'h>, exchange: &Exchange<'_, '_>) -> Option<&'h str> {
    match answers.answer(exchange)? {
        ProbeAnswer::Connected(how) if OPEN.contains(&how) => Some(how),
        _ => None,
    }
}

/// A connection that opens is a success, and a refused connection is a failure.
pub(super) fn open_is_success(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        seen.in_facet("port", "open", |seen| {
            answers.judge(clause, seen, |exchange| {
                opened(&answers, exchange).map(|_| (CountsAs::Success, "connected".to_owned()))
            });
        });
        seen.in_facet("port", "closed", |seen| refusals_fail(clause, &answers.course, seen));
    }
    stopped_while_open(run, clause, seen, |_| true);
    let why = ("whose port is closed", CountsAs::Failure);
    seen.in_facet("port", "closed", |seen| {
        judge_unreachable(run, clause, seen, why, |probe| {
            matches!(probe.spec.handler, Handler::Tcp { .. }) && probe.there() == There::Nobody
        });
    });
}

/// A connection that is closed as soon as it is accepted is a success.
pub(super) fn closing_at_once_is_healthy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        answers.judge(clause, seen, |exchange| {
            let closed = opened(&answers, exchange)? == "close";
            closed.then(|| (CountsAs::Success, "were closed immediately".to_owned()))
        });
    }
}

/// Connections are successes even while requests on the same port get an error or no answer.
pub(super) fn blind_to_the_application(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        let life = &answers.course;
        let port = |asked: &Asked<'_>| life.connection(asked).and_then(Connection::port);
        let asked = || life.requests.iter().filter(|asked| port(asked) == life.spec.handler.port());
        answers.judge(clause, seen, |exchange| {
            opened(&answers, exchange)?;
            let last = asked().rfind(|asked| asked.at.at.lo <= exchange.at.at.lo)?;
            let in_trouble = last.status().is_none_or(|status| status >= SERVER_ERROR);
            in_trouble.then(|| (CountsAs::Success, "connected to an unhealthy application".to_owned()))
        });
    }
    stopped_while_open(run, clause, seen, |life| {
        life.requests.iter().any(|asked| asked.status().is_some_and(|status| status >= SERVER_ERROR))
    });
}

/// No connection to an open port can fail, so a container whose port is open must not be stopped because of its TCP probe,
/// whatever else connects to the port and cannot be told from the probe.
fn stopped_while_open(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    concerns: impl Fn(&ProbedLife<'_, '_>) -> bool,
) {
    let by_tcp = |life: &ProbedLife<'_, '_>| {
        let is_meant = matches!(life.spec.handler, Handler::Tcp { .. }) && life.spec.handler.host().is_none();
        is_meant && only_its_probe(life) && !life.pod.restarts_as_one() && concerns(life)
    };
    for life in run.lives().of_each(&ProbeKind::STOPPING).whole().only(by_tcp) {
        let (Some(stop), Some(port)) = (life.stop(), life.spec.handler.port()) else { continue };
        let Some(opened) = opened_until(life.attempt, port, &stop.at) else { continue };
        // If failures stop a container, the last of them is at most this old.
        let recent = life.spec.timeout + clause.slack_us();
        let open_for = run.at_least(&opened.at, &stop.at);
        if open_for <= recent && !was_open_in_time(&life, &opened.at) {
            continue;
        }
        let (words, span) = (life.words(), seconds(open_for));
        let finding = format!("{words}: stopped, although its port had been open for {span}");
        // A kubelet that gets no CPU in time may not notice a connection that the kernel made.
        if life.noise(&stop.at.earlier(recent), &stop.at) < life.spec.timeout {
            seen.violated(finding, [opened.id, stop.id]);
        } else {
            let why = format!("{finding}, but the node was stalled meanwhile");
            seen.doubt(Doubt::Ambiguous, why, [opened.id, stop.id]);
        }
    }
}

/// The instances whose TCP probes all arrived as bare connections.
fn tcp<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = Answers<'t, 'h>> {
    of_others(run).into_iter().filter(|answers| {
        let mut probes = answers.course.probes.iter();
        matches!(answers.course.spec.handler, Handler::Tcp { .. })
            && probes.all(|probe| matches!(probe.through, Through::Connection(_)))
    })
}

#[cfg(test)]
mod tests;
