//! The defaults of an HTTP probe: its path and its scheme.

use probity_model::{Clause, Seen, Timeline};

use crate::reading::arrivals::{Arrival, arrivals, astray};
use crate::refusals;

/// Without `path`, the default `/` is stored and requested.
pub(super) fn path(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for arrival in arrivals(run).into_iter().chain(astray(run)).filter(|arrival| omits(arrival, "path")) {
        let asked = arrival.hit.asked;
        let target = &asked.request.target;
        let finding = || format!("{} has no path, but requested {target}", arrival.get.words());
        seen.check(target == "/", finding, [asked.id]);
    }
}

/// Without `scheme`, the default HTTP is stored and used; only HTTP and HTTPS are accepted.
pub(super) fn scheme(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for arrival in arrivals(run).into_iter().filter(|arrival| omits(arrival, "scheme")) {
        let asked = arrival.hit.asked;
        match arrival.hit.connection.tls {
            Some((tls, handshake)) if handshake.version.is_some() => {
                let finding = format!("{} has no scheme, but used TLS", arrival.get.words());
                seen.violated(finding, [tls, asked.id]);
            }
            _ => seen.fine([asked.id]),
        }
    }
}

fn omits(arrival: &Arrival<'_, '_>, field: &str) -> bool {
    arrival.get.as_sent().is_some_and(|sent| refusals::is_unset(&sent[field]))
}

#[cfg(test)]
mod tests;
