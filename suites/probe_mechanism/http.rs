//! HTTP probes as a mechanism: a GET for the path, and the status decides.

use probity_model::{Clause, EventId, Seen, Timeline};

use crate::reading::answers::of_http;
use crate::reading::arrivals::{arrivals, astray, gets};
use crate::reading::http::exchange::HttpOutcome;

/// A status from 200 to 399 is a success, and any above a failure. Redirects count where nobody is to follow them.
pub(super) fn status_range(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_http(run) {
        answers.judge(run, clause, seen, |exchange| {
            let [only] = exchange.hops.as_slice() else { return None };
            let status = only.said.status()?;
            match exchange.outcome() {
                HttpOutcome::Good | HttpOutcome::Parted => {
                    Some((true, format!("were answered with {status}")))
                }
                HttpOutcome::Bad => Some((false, format!("were answered with {status}"))),
                _ => None,
            }
        });
    }
}

/// A probe is a GET for its path, with nothing in its body.
pub(super) fn method_get(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        let asked = arrival.hit.asked;
        if asked.request.body > 0 {
            let finding = format!("{} came with a body of {} bytes", arrival.get.words(), asked.request.body);
            seen.violated(finding, [asked.id]);
        } else {
            seen.fine([asked.id]);
        }
    }
    for arrival in astray(run).into_iter().filter(|arrival| is_plain(arrival.get.path)) {
        let asked = arrival.hit.asked;
        let finding = format!("{} asked for {}", arrival.get.words(), asked.request.target);
        seen.violated(finding, [asked.id]);
    }
    for (id, method, target) in other_methods(run) {
        seen.violated(format!("a probe came as {method} {target}"), [id]);
    }
}

/// Whether a path goes on the wire as it is written: others are escaped, or lose their fragment.
fn is_plain(path: &str) -> bool {
    !path.starts_with("//") && path.bytes().all(|c| c.is_ascii_alphanumeric() || b"/-_.?=&".contains(&c))
}

/// Requests of a kubelet's prober for the path of a probe that are no GET.
fn other_methods<'h>(run: &Timeline<'h>) -> Vec<(EventId, &'h str, &'h str)> {
    let gets = gets(run);
    let mut found = Vec::new();
    for attempt in run.containers().flat_map(|(_, container)| &container.attempts) {
        for asked in &attempt.requests {
            let request = asked.request;
            let of_prober = asked.header("user-agent").any(|agent| agent.starts_with("kube-probe/"));
            let asks = |path: &str| path.trim_start_matches('/') == request.target.trim_start_matches('/');
            let other = request.method != "GET" && request.service.is_none() && !asked.followed();
            if of_prober && other && gets.iter().any(|get| asks(get.path)) {
                found.push((asked.id, request.method.as_str(), request.target.as_str()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
