//! A gRPC probe has no host: it goes to the pod's address.

use probity_model::timeline::{Handler, Through};
use probity_model::{Clause, Seen, Timeline};

use crate::refusals;

/// Every check goes to the pod's address and names it as its authority.
pub(super) fn is_the_pods(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    refusals::judge(run, clause, seen);
    for (pod, container, spec) in run.probes() {
        let Handler::Grpc { .. } = &spec.handler else { continue };
        let Some(ip) = pod.ip() else { continue };
        seen.applies();
        for attempt in &container.attempts {
            for probe in attempt.probes_of(spec.kind) {
                let Through::Request(at) = probe.through else { continue };
                let Some(asked) = attempt.requests.get(at) else { continue };
                let Some(connection) = attempt.connection(asked) else { continue };
                let Some(port) = connection.port() else { continue };
                let of = format!("the {} probe of {}/{}", spec.kind.word(), pod.key, container.name);
                let host = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
                let (expected, named) = (format!("{host}:{port}"), asked.header(":authority").next());
                if connection.address() != ip {
                    let finding = format!("{of} came to {} instead of {ip}", connection.address());
                    seen.violated(finding, [connection.id, asked.id]);
                } else if named != Some(expected.as_str()) {
                    let named = named.unwrap_or("nobody");
                    let finding = format!("{of} names {named} instead of {expected}");
                    seen.violated(finding, [asked.id]);
                } else {
                    seen.fine([connection.id, asked.id]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
