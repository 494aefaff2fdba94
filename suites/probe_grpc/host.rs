//! A gRPC probe has no host: it goes to the pod's address.

use probity_model::{Clause, Seen, Timeline};

use super::call::{asked, with_checks};
use crate::refusals;

/// Every check goes to the pod's address and names this address as the authority.
pub(super) fn is_the_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for life in with_checks(run) {
        let Some(ip) = life.pod.ip() else { continue };
        let host = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
        for asked in asked(&life) {
            let Some(connection) = life.connection(asked) else { continue };
            let Some(port) = connection.port() else { continue };
            let (of, address) = (life.words(), connection.address());
            let (expected, named) = (format!("{host}:{port}"), asked.header(":authority").next());
            if address != ip {
                let finding = format!("{of} arrived at {address} instead of {ip}");
                seen.violated(finding, [connection.id, asked.id]);
            } else if named != Some(expected.as_str()) {
                let named = named.unwrap_or("nobody");
                seen.violated(format!("{of} names {named} instead of {expected}"), [asked.id]);
            } else {
                seen.fine([connection.id, asked.id]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
