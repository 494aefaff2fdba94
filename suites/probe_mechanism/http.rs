//! HTTP probes as a mechanism: a probe sends a GET for its path, and the status decides.

use probity_model::timeline::{Asked, Handler};
use probity_model::{Clause, Seen, Timeline};

use crate::reading::answers::of_http;
use crate::reading::arrivals::{Get, arrivals, gets, strays};
use crate::reading::http::exchange::HttpOutcome;
use crate::reading::http::exchanges::scheme;
use crate::reading::http::reaction::CountsAs;
use crate::reading::wrong_protocol::judge_wrong_protocol;

/// A status from 200 to 399 is a success, and any higher status is a failure. Redirects count as well, but only if they
/// are not followed.
pub(super) fn status_range(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for answers in of_http(run) {
        let Some(scheme) = scheme(&answers.course.spec.handler) else { continue };
        seen.in_facet("scheme", &scheme, |seen| {
            answers.judge(clause, seen, |exchange| {
                let [only] = exchange.hops.as_slice() else { return None };
                let counts_as = match exchange.outcome() {
                    HttpOutcome::Good | HttpOutcome::Parted => CountsAs::Success,
                    HttpOutcome::Bad => CountsAs::Failure,
                    _ => return None,
                };
                Some((counts_as, format!("were answered with {}", only.said.status()?)))
            });
        });
    }
}

/// A probe is a GET for its path, with an empty body.
pub(super) fn method_get(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for arrival in arrivals(run) {
        let asked = arrival.hit.asked;
        if asked.request.body > 0 {
            let finding = format!("{} came with a body of {} bytes", arrival.get.words(), asked.request.body);
            seen.violated(finding, [asked.id]);
        } else {
            let (target, wanted) = (&asked.request.target, with_slash(arrival.get.path));
            let finding = || format!("{} requested {target} instead of {wanted}", arrival.get.words());
            seen.check(*target == wanted || !is_plain(arrival.get.path), finding, [asked.id]);
        }
    }
    for (hit, gets) in strays(run) {
        if gets.iter().all(|get| is_plain(get.path)) {
            let words: Vec<String> = gets.iter().map(Get::words).collect();
            let finding = format!("{} requested {}", words.join(", or "), hit.asked.request.target);
            seen.violated(finding, [hit.asked.id]);
        }
    }
    judge_wrong_protocol(
        run,
        seen,
        |handler| matches!(handler, Handler::Http { scheme, .. } if scheme != "HTTPS"),
    );
    let gets = gets(run);
    for asked in run.lives().iter().flat_map(|life| &life.attempt.requests) {
        if is_other_method(asked) && gets.iter().any(|get| get.asks_for(&asked.request.target)) {
            let (method, target) = (&asked.request.method, &asked.request.target);
            seen.violated(format!("a probe came as {method} {target}"), [asked.id]);
        }
    }
}

/// A path as the kubelet requests it: a missing leading slash is added.
fn with_slash(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// Whether a path is sent unchanged: other paths are escaped, or lose their fragment. Parts that are already escaped do
/// not change.
fn is_plain(path: &str) -> bool {
    let escape =
        |at: usize| path.get(at + 1..at + 3).is_some_and(|hex| hex.bytes().all(|c| c.is_ascii_hexdigit()));
    !path.starts_with("//")
        && path.bytes().all(|c| c.is_ascii_alphanumeric() || b"/-_.?=&%$()".contains(&c))
        && path.match_indices('%').all(|(at, _)| escape(at))
}

/// Whether a kubelet's prober sent an HTTP request other than GET.
fn is_other_method(asked: &Asked<'_>) -> bool {
    let http = asked.request.service.is_none() && !asked.followed();
    asked.from_prober() && http && asked.request.method != "GET"
}

#[cfg(test)]
mod tests;
