//! Redirects that the kubelet does not follow, because they lead to other hosts or have no target. They count as
//! successes, with a warning.

use std::ops::Range;

use probity_model::mechanisms::REDIRECTED_LATE;
use probity_model::timeline::Connection;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::answer::HttpAnswer;

use crate::reading::http::exchange::{Exchange, Hop, HttpOutcome, Leads, exchanges, location};
use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::location::Url;
use crate::reading::http::reaction::{CountsAs, Reaction};

/// A redirect to a different hostname is not followed, and is a success with a warning.
pub(super) fn other_hosts_are_not_asked(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    parted(run, clause, seen, |_, _, _| true);
}

/// A different name of the same machine is a different host. A relative redirect keeps the custom Host header.
pub(super) fn another_name_is_another_host(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    parted(run, clause, seen, is_another_spelling);
    for course in exchanges(run) {
        for exchange in course.exchanges.iter().filter(|_| custom_host(&course).is_some()) {
            let Some(first) = exchange.hops.first() else { continue };
            for pair in exchange.hops.windows(2) {
                relative_keeps_host(first, &pair[0], &pair[1], seen);
            }
        }
    }
}

fn relative_keeps_host(first: &Hop<'_, '_>, from: &Hop<'_, '_>, to: &Hop<'_, '_>, seen: &mut Seen) {
    let (Some(HttpAnswer::Reply(reply)), Some(connection)) = (&from.planned, from.connection) else { return };
    let relative = |location: &String| !location.starts_with("//") && !location.contains("://");
    let http1 = first.asked.is_http1() && to.asked.is_http1();
    if !http1 || !location(reply, from.asked, connection).as_ref().is_some_and(relative) {
        return;
    }
    let host = |hop: &Hop<'_, '_>| hop.asked.header("host").map(str::to_owned).collect::<Vec<_>>();
    let (was, is) = (host(first), host(to));
    let finding = || format!("the Host header was {was:?}, and {is:?} after a relative redirect");
    seen.check(was == is, finding, [first.asked.id, from.asked.id, to.asked.id]);
}

/// The Host header that the pod's spec sets, without a port.
fn custom_host<'c>(course: &'c Exchanges<'_, '_>) -> Option<&'c str> {
    let (_, host) = course.headers().iter().find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    Some(host.split(':').next().unwrap_or(host)).filter(|host| !host.is_empty())
}

/// Whether this URL names the requested machine in another way: by the custom Host header, or by its address mapped to
/// IPv6.
fn is_another_spelling(course: &Exchanges<'_, '_>, to: &Hop<'_, '_>, url: &Url) -> bool {
    let own = to.connection.map(Connection::address).unwrap_or_default();
    custom_host(course) == Some(url.host.as_str()) || url.host.strip_prefix("::ffff:") == Some(own)
}

/// Judges redirects to other hosts.
fn parted(
    run: &Timeline<'_>,
    clause: &Clause,
    seen: &mut Seen,
    of_this_sort: impl Fn(&Exchanges<'_, '_>, &Hop<'_, '_>, &Url) -> bool,
) {
    for course in exchanges(run) {
        let leaves = |exchange: &Exchange<'_, '_>| {
            let last = exchange.last()?;
            let Some(Leads::Elsewhere(url)) = &last.leads else { return None };
            of_this_sort(&course, last, url).then(|| url.clone())
        };
        for exchange in &course.exchanges {
            let Some((last, url)) = exchange.last().zip(leaves(exchange)) else { continue };
            seen.applies();
            if let Some(id) = trespass(run, last, &url, course.spec.timeout) {
                let finding = format!("a redirect to {}:{}{} was followed", url.host, url.port, url.target);
                seen.violated(finding, exchange.events.iter().copied().chain([id]));
            }
        }
        let reaction = Reaction::new(run, clause, &course);
        for (_, range) in course.runs(|exchange| leaves(exchange).map(|_| ())) {
            succeeds_with_a_warning(&reaction, &range, "were redirected to another host", seen);
        }
    }
}

fn succeeds_with_a_warning(
    reaction: &Reaction<'_, '_, '_>,
    range: &Range<usize>,
    what: &str,
    seen: &mut Seen,
) {
    seen.applies();
    reaction.decide(range, CountsAs::Success, what, seen);
    reaction.expect_warning(range, seen);
}

/// A request that followed this redirect and reached any of the targets.
fn trespass(run: &Timeline<'_>, last: &Hop<'_, '_>, url: &Url, timeout: i64) -> Option<EventId> {
    let latest = timeout.saturating_add(REDIRECTED_LATE);
    for life in run.lives().iter() {
        for asked in &life.requests {
            let Some(connection) = life.connection(asked) else { continue };
            let Some(after) = run.clocks.between(&last.asked.at, &asked.at) else { continue };
            let named = asked.header("host").any(|host| host.split(':').next() == Some(&url.host));
            let there = connection.port() == Some(url.port) && asked.request.target == url.target;
            let sent_on =
                asked.header("referer").any(|referer| referer.ends_with(&last.asked.request.target));
            let in_time = after.hi >= 0 && after.lo <= latest;
            if there && sent_on && in_time && (named || connection.address() == url.host) {
                return Some(asked.id);
            }
        }
    }
    None
}

/// A 3xx answer without a redirect target is a success with a warning. A 3xx answer whose target cannot be requested is
/// a failure.
pub(super) fn nowhere_is_a_warning(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for course in exchanges(run) {
        let reaction = Reaction::new(run, clause, &course);
        let ends_nowhere = |exchange: &Exchange<'_, '_>| match (exchange.outcome(), &exchange.last()?.leads) {
            (HttpOutcome::Parted, Some(Leads::Nowhere)) => Some(true),
            (HttpOutcome::Unusable, _) => Some(false),
            _ => None,
        };
        for (nowhere, range) in course.runs(ends_nowhere) {
            if nowhere {
                let what = "were redirected without a target";
                succeeds_with_a_warning(&reaction, &range, what, seen);
            } else {
                seen.applies();
                let what = "were redirected to a target that cannot be requested";
                reaction.decide(&range, CountsAs::Failure, what, seen);
            }
        }
    }
}
