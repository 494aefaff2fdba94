//! The files in which the processes of a container look up names: the hosts file, and the configuration of the resolver.

use std::collections::{BTreeMap, BTreeSet};
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
/// The policy of a pod that brings its whole configuration, according to the Kubernetes documentation.
const NO_POLICY: &str = "None";
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
        let Some(hosts) = look.dump.files.get(HOSTS) else { continue };
        let replaced =
            list(look.life.container.spec, "volumeMounts").any(|mount| mount["mountPath"] == HOSTS);
        if replaced || hosts.is_empty() && may_be_rewritten(look) {
            continue;
        }
        judge_aliases(look, hosts, seen);
        let own = own_addresses(look);
        let Some(short) = short_name(pod).filter(|_| !own.is_empty()) else { continue };
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

/// The DNS policy of a pod.
fn policy<'h>(look: &Look<'_, 'h>) -> &'h str {
    look.life.pod.spec.get("dnsPolicy").and_then(Value::as_str).unwrap_or(CLUSTER_FIRST)
}

/// Whether a pod uses the network of its node.
pub(super) fn is_on_node_network(look: &Look<'_, '_>) -> bool {
    look.life.pod.spec.get("hostNetwork").is_some_and(|is| *is == true)
}

/// The configuration of the resolver of a pod without a dnsConfig that has the same DNS policy and runs on the same node.
fn of_same_policy<'h>(look: &Look<'_, 'h>, all: &[Look<'_, 'h>]) -> Option<&'h String> {
    let (pod, network) = (look.life.pod, is_on_node_network(look));
    let mut same = all.iter().filter(|other| {
        let plain = other.life.pod.spec.get("dnsConfig").is_none();
        plain && other.life.pod.node == pod.node && namespace(other.life.pod) == namespace(pod)
    });
    let same = same.find(|other| policy(other) == policy(look) && is_on_node_network(other) == network);
    same?.dump.files.get(RESOLVER)
}

/// A search domain or an option of its DNS policy that a resolver does not have. An option with the same name may replace it.
fn lost(of_policy: &str, text: &str) -> Option<String> {
    let name = |option: &&str| option.split(':').next().unwrap_or_default().to_owned();
    let (domains, options) = (configured(text, "search"), configured(text, "options"));
    let names: BTreeSet<String> = options.iter().map(name).collect();
    let domain = configured(of_policy, "search").into_iter().find(|domain| !domains.contains(domain));
    let option = configured(of_policy, "options").into_iter().find(|option| !names.contains(&name(option)));
    let option = option.map(|option| format!("the option {option}"));
    domain.map(|domain| format!("the search domain {domain}")).or(option)
}

/// The resolver of a container has the options and the search domains in the dnsConfig of its pod, in addition to those of
/// its DNS policy.
fn judge_configuration(run: &Timeline<'_>, look: &Look<'_, '_>, all: &[Look<'_, '_>], seen: &mut Seen) {
    let Some(own) = look.life.pod.spec.get("dnsConfig") else { return };
    let Some(text) = look.dump.files.get(RESOLVER) else { return };
    if let Some(what) = unconfigured(own, text) {
        let finding = format!("{} does not have {what} of its dnsConfig", look.life.name());
        seen.violated(finding, [look.line.id]);
    }
    // The settings of a kubelet may have changed in between.
    let of_policy = of_same_policy(look, all).filter(|_| !run.node_was_touched());
    if let Some(what) = of_policy.and_then(|of_policy| lost(of_policy, text)) {
        let finding = format!("{} does not have {what} of its dnsPolicy", look.life.name());
        seen.violated(finding, [look.line.id]);
    }
}

/// The search list of a pod has the domain of its own namespace directly before the domain of all Services, and the pod has
/// a DNS server. A kubelet that does not know the DNS service of its cluster gives its pods the configuration of the node,
/// which has neither domain.
pub(super) fn search_own_namespace(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let all = all_looks(run);
    for look in &all {
        judge_configuration(run, look, &all, seen);
        let spec = look.life.pod.spec;
        let (Some(own), Some(text)) = (namespace(look.life.pod), look.dump.files.get(RESOLVER)) else {
            continue;
        };
        let mut on_same_node = run.pods.iter().filter(|pod| pod.node == look.life.pod.node);
        let is_unknown =
            on_same_node.any(|pod| pod.events.iter().any(|event| event.reason == UNKNOWN_SERVICE));
        if policy(look) != CLUSTER_FIRST
            || is_on_node_network(look)
            || is_unknown
            || spec.get("dnsConfig").is_some()
        {
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

/// What the resolver of a pod without a DNS policy should have for a keyword, and what it has. The order of options does not
/// matter.
fn wanted_and_found(own: &Value, text: &str) -> [(&'static str, Vec<String>, Vec<String>); 3] {
    // A kubelet leaves out what is there twice.
    let texts = |field: &str| {
        let mut all = BTreeSet::new();
        let texts = list(own, field).filter_map(Value::as_str).filter(|text| all.insert(*text));
        texts.map(str::to_owned).collect()
    };
    let found = |keyword: &str| configured(text, keyword).into_iter().map(str::to_owned).collect();
    let option = |of: &Value| {
        let name = of["name"].as_str().unwrap_or_default();
        match of.get("value").and_then(Value::as_str).filter(|value| !value.is_empty()) {
            Some(value) => format!("{name}:{value}"),
            None => name.to_owned(),
        }
    };
    let in_order = |all: BTreeSet<String>| all.into_iter().collect();
    let options = list(own, "options").map(option).collect();
    let found_options = configured(text, "options").into_iter().map(str::to_owned).collect();
    [
        ("nameserver", texts("nameservers"), found("nameserver")),
        ("search", texts("searches"), found("search")),
        ("options", in_order(options), in_order(found_options)),
    ]
}

/// The resolver of a pod with the dnsPolicy None has what its dnsConfig says, and nothing else.
pub(super) fn configure_own_resolver(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for look in &all_looks(run) {
        let spec = look.life.pod.spec;
        let own = spec.get("dnsConfig").filter(|_| spec.get("dnsPolicy").is_some_and(|is| *is == NO_POLICY));
        let replaced =
            list(look.life.container.spec, "volumeMounts").any(|mount| mount["mountPath"] == RESOLVER);
        let (Some(own), Some(text), false) = (own, look.dump.files.get(RESOLVER), replaced) else { continue };
        for (keyword, wanted, found) in wanted_and_found(own, text) {
            let finding = || {
                let (name, wanted, found) = (look.life.name(), wanted.join(" "), found.join(" "));
                format!("the resolver of {name} should have {keyword} {wanted:?}, but it has {found:?}")
            };
            let right = wanted == found;
            seen.check(right, finding, [look.line.id]);
            if right && !wanted.is_empty() {
                seen.facet("part", keyword);
            }
        }
    }
}
