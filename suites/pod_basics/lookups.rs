//! The files in which the processes of a container look up names: the hosts file, and the configuration of the resolver.

use std::collections::BTreeMap;
use std::net::IpAddr;

use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::shared::{namespace, qualified_name, short_name};
use crate::reading::dumps::{Look, all_looks};
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
    for look in &all_looks(run) {
        let pod = look.life.pod;
        let (Some(short), Some(hosts)) = (short_name(pod), look.dump.files.get(HOSTS)) else { continue };
        if hosts.is_empty() && may_be_rewritten(look) {
            continue;
        }
        let replaced =
            list(look.life.container.spec, "volumeMounts").any(|mount| mount["mountPath"] == HOSTS);
        if !replaced {
            judge_aliases(look, hosts, seen);
        }
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

/// Whether a kubelet may have been writing the hosts file when a process read it. The kubelet empties the file and writes it
/// again before it creates another container of the pod (docs/findings/hosts-file-empty-for-a-moment.md).
fn may_be_rewritten(look: &Look<'_, '_>) -> bool {
    let mut instances = look.life.pod.containers.iter().flat_map(|container| &container.attempts);
    instances.any(|later| look.life.run.before(&look.line.at, &later.began))
}

/// The hosts file of a container contains all entries that the spec of its pod adds.
fn judge_aliases(look: &Look<'_, '_>, hosts: &str, seen: &mut Seen) {
    for alias in list(look.life.pod.spec, "hostAliases") {
        let address = alias.get("ip").and_then(Value::as_str).and_then(|ip| ip.parse().ok());
        let Some(address) = address else { continue };
        let names = names_of(hosts, &[address]);
        let mut wanted = list(alias, "hostnames").filter_map(Value::as_str);
        if let Some(name) = wanted.find(|name| !names.contains(name)) {
            let finding =
                format!("the hosts file of {} does not contain {name} with {address}", look.life.name());
            seen.violated(finding, [look.line.id]);
        } else {
            seen.fine([look.line.id]);
            seen.facet("name", "alias");
        }
    }
}

/// The words after a keyword in the configuration of a resolver.
fn configured<'l>(text: &'l str, keyword: &str) -> Vec<&'l str> {
    let lines = text.lines().map(str::split_whitespace);
    lines.filter_map(|mut words| (words.next()? == keyword).then_some(words)).flatten().collect()
}

/// An option or a search domain in the dnsConfig of a pod that its resolver does not have. An option replaces the one with
/// the same name of the DNS policy.
fn unconfigured(own: &Value, text: &str) -> Option<String> {
    let (options, domains) = (configured(text, "options"), configured(text, "search"));
    let mut wanted = BTreeMap::new();
    for option in list(own, "options") {
        let text = |field: &str| option.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        wanted.insert(text("name")?, text("value"));
    }
    let wrong = wanted.into_iter().find_map(|(name, value)| {
        let wanted = value.map_or_else(|| name.to_owned(), |value| format!("{name}:{value}"));
        let mut given = options.iter().filter(|option| option.split(':').next() == Some(name)).peekable();
        let right = given.peek().is_some() && given.all(|given| **given == wanted);
        (!right).then(|| format!("the option {wanted}"))
    });
    let mut searches = list(own, "searches").filter_map(Value::as_str);
    let lost = searches.find(|domain| !domains.contains(domain));
    wrong.or_else(|| lost.map(|domain| format!("the search domain {domain}")))
}

/// The resolver of a container has the options and the search domains in the dnsConfig of its pod.
fn judge_configuration(look: &Look<'_, '_>, seen: &mut Seen) {
    let Some(own) = look.life.pod.spec.get("dnsConfig") else { return };
    let Some(text) = look.dump.files.get(RESOLVER) else { return };
    if let Some(what) = unconfigured(own, text) {
        let finding = format!("{} does not have {what} of its dnsConfig", look.life.name());
        seen.violated(finding, [look.line.id]);
    }
}

/// The search list of a pod has the domain of its own namespace directly before the domain of all Services, and the pod has
/// a DNS server. A kubelet that does not know the DNS service of its cluster gives its pods the configuration of the node,
/// which has neither domain.
pub(super) fn search_own_namespace(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &all_looks(run) {
        judge_configuration(look, seen);
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
        if there && !text.lines().any(|line| line.trim().starts_with("nameserver ")) {
            let finding = format!("{} has a search list, but no DNS server", look.life.name());
            seen.violated(finding, [look.line.id]);
            continue;
        }
        seen.check(there, finding, [look.line.id]);
    }
}
