//! The bodies and the results of answers: how much of a body the kubelet reads, which answers are failures, and what
//! events report.

mod failure_event;
mod limit;
mod short;
#[cfg(test)]
mod tests;

use probity_model::timeline::{Handler, ProbeKind};
use probity_model::{Clause, Judge, Seen, Timeline};
use probity_script::ClientCertificate;

use crate::reading::http::closed_port::refusals_fail;
use crate::reading::http::exchange::{Exchange, HttpOutcome, exchanges};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{CountsAs, Reaction};
use crate::reading::unreachable::{There, UnreachableProbe, judge_unreachable};

pub(super) const JUDGES: &[Judge] = &[
    Judge { clause: "probe.http.event-omits-body", judge: failure_event::omits_the_body },
    Judge { clause: "probe.http.body.limit-10kib", judge: limit::no_more_is_read },
    Judge { clause: "probe.http.body.abrupt-close", judge: limit::closes_at_the_limit },
    Judge { clause: "probe.http.body.short-body-error", judge: short::the_status_decides },
    Judge { clause: "probe.http.refused-fails", judge: no_answer_is_a_failure },
];

/// What the target did instead of answering. Each kind is judged separately, because a faulty kubelet may count only
/// one of them as a success.
fn instead<'h>(course: &Exchanges<'_, 'h>, exchange: &Exchange<'_, 'h>) -> Option<&'h str> {
    let Some(last) = exchange.last() else {
        let connection = course.connections.iter().find(|connection| connection.id == exchange.id)?;
        return Some(connection.accepted.answer.as_str());
    };
    Some(last.asked.answer.as_ref()?.record.answer.as_str())
}

/// The facet of a closed port, by the kind of the probe.
fn closed(kind: ProbeKind) -> String {
    format!("closed-{}", kind.word())
}

/// A refused connection, a reset before the headers, or a malformed answer is a probe failure.
fn no_answer_is_a_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let reaction = Reaction::new(run, clause, &course);
        let unanswered = course.runs(|exchange| {
            let nothing = exchange.outcome() == HttpOutcome::Nothing;
            nothing.then(|| instead(&course, exchange)).flatten()
        });
        for (instead, range) in unanswered {
            let what = format!("got an answer that is not HTTP (`{instead}`)");
            seen.in_facet("instead", instead, |seen| {
                reaction.decide(&range, CountsAs::Failure, &what, seen);
            });
        }
        seen.in_facet("instead", &closed(course.spec.kind), |seen| refusals_fail(clause, &course, seen));
    }
    let why = ("whose port is closed", CountsAs::Failure);
    for kind in ProbeKind::ALL {
        seen.in_facet("instead", &closed(kind), |seen| {
            judge_unreachable(run, clause, seen, why, |probe| {
                let http = matches!(probe.spec.handler, Handler::Http { .. });
                http && probe.spec.kind == kind && probe.there() == There::Nobody
            });
        });
    }
    let why = ("whose TLS handshake fails", CountsAs::Failure);
    judge_unreachable(run, clause, seen, why, handshake_must_fail);
}

/// Whether the TLS handshakes of a probe must fail: the listener does not use TLS, or requires a client certificate.
fn handshake_must_fail(probe: &UnreachableProbe<'_, '_>) -> bool {
    let https = matches!(&probe.spec.handler, Handler::Http { scheme, .. } if scheme == "HTTPS");
    let There::Listener(listener) = probe.there() else { return false };
    https && listener.tls.is_none_or(|tls| tls.client_certificate == ClientCertificate::Required)
}
