//! TCP probes as a mechanism: who can connect has succeeded, whatever comes after.

use probity_model::timeline::{Handler, Through};
use probity_model::{Clause, Seen, Timeline};

use crate::probe_http::bodies::refused::{closed_times, refused};
use crate::reading::answers::{Answer, Answers, of_others};
use crate::reading::http::reaction::CountsAs;
use crate::reading::http::reaction::Reaction;
use crate::reading::unreachable::{There, UnreachableProbe, own_port, there};

/// What a target does with a connection once it is open, and that cannot be mistaken for a refusal.
const OPEN: [&str; 5] = ["serve", "hold", "close", "echo", "garbage"];

/// A connection that was accepted.
fn opened(
    answers: &Answers<'_, '_>,
    exchange: &crate::reading::http::exchange::Exchange<'_, '_>,
) -> Option<String> {
    match answers.told(exchange)? {
        Answer::Opened(how) if OPEN.contains(&how.as_str()) => Some(how.clone()),
        _ => None,
    }
}

/// A connection that opens is a success, and one that is refused a failure.
pub(super) fn open_is_success(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        answers.judge(run, clause, seen, |exchange| {
            opened(&answers, exchange).map(|_| (true, "connected".to_owned()))
        });
        let jury = Reaction::new(run, clause, &answers.course);
        for closed in closed_times(&answers.course) {
            refused(run, &jury, &closed, seen);
        }
    }
    for (pod, container, spec) in run.probes() {
        let Handler::Tcp { .. } = &spec.handler else { continue };
        if own_port(&spec.handler).is_some_and(|port| there(pod, port) == There::Nobody) {
            let why = "whose port nobody opened";
            UnreachableProbe { pod, container, spec }.judge(run, clause, seen, why, CountsAs::Failure);
        }
    }
}

/// A connection that is closed as soon as it is accepted is a success.
pub(super) fn closing_at_once_is_healthy(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        answers.judge(run, clause, seen, |exchange| {
            let closed = opened(&answers, exchange)? == "close";
            closed.then(|| (true, "were closed at once".to_owned()))
        });
    }
}

/// Connections are successes while whoever asks on the same port for more gets an error, or nothing.
pub(super) fn blind_to_the_application(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in tcp(run) {
        let (attempt, port) = (answers.course.attempt, answers.course.spec.handler.port());
        let asked: Vec<(i64, bool)> = attempt
            .requests
            .iter()
            .filter(|asked| attempt.connection(asked).and_then(|connection| connection.port()) == port)
            .map(|asked| (asked.at.at.lo, asked.status().is_none_or(|status| status >= 500)))
            .collect();
        answers.judge(run, clause, seen, |exchange| {
            opened(&answers, exchange)?;
            let last = asked.iter().rfind(|(at, _)| *at <= exchange.at.at.lo)?;
            last.1.then(|| (true, "connected to an application in trouble".to_owned()))
        });
    }
}

/// The TCP probes.
fn tcp<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Answers<'t, 'h>> {
    let is_tcp = |answers: &Answers<'_, '_>| {
        matches!(answers.course.spec.handler, Handler::Tcp { .. })
            && answers
                .course
                .attempt
                .probes_of(answers.course.spec.kind)
                .all(|probe| matches!(probe.through, Through::Connection(_)))
    };
    of_others(run).into_iter().filter(is_tcp).collect()
}

#[cfg(test)]
mod tests;
