//! The files in which the processes of a container look up names: the hosts file, and the configuration of the resolver.

use std::net::IpAddr;

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::shared::{namespace, qualified_name, short_name};
use crate::reading::dumps::{Look, looks};
use crate::reading::volumes::list;

/// The file with the names of hosts: Linux, hosts(5).
const HOSTS: &str = "/etc/hosts";
/// The file with the configuration of the resolver: Linux, resolv.conf(5).
const RESOLVER: &str = "/etc/resolv.conf";
/// The policy of a pod that does not name another one, according to the Kubernetes documentation.
const CLUSTER_FIRST: &str = "ClusterFirst";
/// The beginning of the domain of all Services of a cluster, according to the Kubernetes documentation.
const OF_SERVICES: &str = "svc.";
/// The reason of the event about a pod whose kubelet does not know the DNS service, in the reference implementation of
/// Kubernetes. The pod then has the search list of its node, which may itself run in a pod of another cluster.
const UNKNOWN_SERVICE: &str = "MissingClusterDNS";

/// The addresses at which other pods can reach a container, as its process sees them.
fn own_addresses(look: &Look<'_, '_>) -> Vec<IpAddr> {
    let all = look.dump.interfaces.values().flatten();
    all.filter_map(|of| of.parse().ok()).filter(|address: &IpAddr| !address.is_loopback()).collect()
}

/// The names that a hosts file gives to addresses.
fn names_of<'l>(hosts: &'l str, addresses: &[IpAddr]) -> Vec<&'l str> {
    let named = hosts.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let address: IpAddr = words.next()?.parse().ok()?;
        addresses.contains(&address).then_some(words)
    });
    named.flatten().collect()
}

/// The hosts file of each container contains the host name of its pod and, if the pod has a subdomain, its fully
/// qualified domain name.
pub(super) fn know_own_name(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &looks(run) {
        let pod = look.life.pod;
        let (Some(short), Some(hosts)) = (short_name(pod), look.dump.files.get(HOSTS)) else { continue };
        let replaced =
            list(look.life.container.spec, "volumeMounts").any(|mount| mount["mountPath"] == HOSTS);
        let own = own_addresses(look);
        if replaced || own.is_empty() {
            continue;
        }
        let (names, qualified) = (names_of(hosts, &own), qualified_name(pod));
        let lacks = match &qualified {
            _ if !names.contains(&short) => Some(short.to_owned()),
            Some(start) if !names.iter().any(|name| name.starts_with(start.as_str())) => {
                Some(format!("{start}DOMAIN"))
            }
            _ => None,
        };
        match lacks {
            Some(name) => {
                let finding = format!("the hosts file of {} does not contain {name}", look.life.name());
                seen.violated(finding, [look.line.id]);
            }
            None => {
                seen.fine([look.line.id]);
                seen.facet("name", if qualified.is_some() { "qualified" } else { "short" });
            }
        }
    }
}

/// The search list of a pod has the domain of its own namespace directly before the domain of all Services. A kubelet that
/// does not know the DNS service of its cluster gives its pods the configuration of the node, which has neither.
pub(super) fn search_own_namespace(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &looks(run) {
        let spec = look.life.pod.spec;
        let policy = spec.get("dnsPolicy").and_then(Value::as_str).unwrap_or(CLUSTER_FIRST);
        let on_node = spec.get("hostNetwork").is_some_and(|is| *is == true);
        let (Some(own), Some(text)) = (namespace(look.life.pod), look.dump.files.get(RESOLVER)) else {
            continue;
        };
        let mut on_same_node = run.pods.iter().filter(|pod| pod.node == look.life.pod.node);
        let is_unknown =
            on_same_node.any(|pod| pod.events.iter().any(|event| event.reason == UNKNOWN_SERVICE));
        if policy != CLUSTER_FIRST || on_node || is_unknown || spec.get("dnsConfig").is_some() {
            continue;
        }
        let list = text.lines().rev().find_map(|line| line.trim().strip_prefix("search "));
        let domains: Vec<&str> = list.into_iter().flat_map(str::split_whitespace).collect();
        let Some(at) = domains.iter().position(|domain| domain.starts_with(OF_SERVICES)) else { continue };
        let wanted = format!("{own}.{}", domains[at]);
        let there = at.checked_sub(1).is_some_and(|before| domains[before] == wanted);
        let finding = || {
            format!("{} does not have {wanted} before {} in its search list", look.life.name(), domains[at])
        };
        seen.check(there, finding, [look.line.id]);
    }
}
