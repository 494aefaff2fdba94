//! What the containers of a pod share: a network, interprocess communication and a node. Also what different pods do
//! not share.

use std::net::IpAddr;

use probity_model::clocks::Order;
use probity_model::timeline::{PodLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use super::lookups::is_on_node_network;
use crate::reading::dumps::{Look, all_looks, looks, side_by_side};
use crate::reading::volumes::list;

/// The word in the result of a call to a port on which no process listens.
const REFUSED: &str = "refused";

/// Whether this field of a pod's spec makes it use a host namespace.
fn uses_node(pod: &PodLife<'_>, field: &str) -> bool {
    pod.spec.get(field).is_some_and(|is| *is == true)
}

/// Containers of one pod share a namespace of this kind, and containers of two pods do not.
fn judge_namespaces(run: &Timeline<'_>, (kind, of_node): (&str, &str), seen: &mut Seen) {
    let all: Vec<Look<'_, '_>> =
        looks(run).into_iter().filter(|look| !uses_node(look.life.pod, of_node)).collect();
    for (one, other) in side_by_side(run, &all).filter(|_| !run.node_was_touched()) {
        let (Some(here), Some(there)) = (one.dump.namespaces.get(kind), other.dump.namespaces.get(kind))
        else {
            continue;
        };
        let (a, b) = (one.life.name(), other.life.name());
        let events = [one.line.id, other.line.id];
        if one.life.pod.uid == other.life.pod.uid {
            seen.check(here == there, || format!("{a} and {b} have different {kind} namespaces"), events);
            if here == there {
                seen.facet("shared", "namespace");
            }
        } else {
            let finding =
                || format!("{a} and {b} belong to different pods, but have the same {kind} namespace");
            seen.check(here != there, finding, events);
            if here != there {
                seen.facet("shared", "not-by-pods");
            }
        }
    }
}

/// The containers of a pod have one network namespace with the pod's address, and reach each other through localhost.
pub(super) fn network(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_namespaces(run, ("net", "hostNetwork"), seen);
    // With a new sandbox a pod may have a new address.
    let all = looks(run);
    let own_network = |look: &&Look<'_, '_>| !look.dump.interfaces.is_empty() && !is_on_node_network(look);
    for look in all.iter().filter(own_network).filter(|_| !run.lost_a_sandbox()) {
        let Some(ip) = look.life.pod.ip() else { continue };
        let there = look.dump.interfaces.values().flatten().any(|address| address == ip);
        let finding = || format!("{} does not have the address {ip} of its pod", look.life.name());
        seen.check(there, finding, [look.line.id]);
        if there {
            seen.facet("shared", "address");
        }
    }
    judge_localhost(run, seen);
}

/// A request to localhost reaches the port of another container of the pod.
fn judge_localhost(run: &Timeline<'_>, seen: &mut Seen) {
    for life in run.lives() {
        for line in &life.attempt.lines {
            let Fact::Call(call) = &line.line.fact else { continue };
            let place = call.url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.split('/').next());
            let Some(port) = place.and_then(|port| port.parse::<u16>().ok()) else { continue };
            let Some(opened) = opened(run, life.pod, &life.container.name, port) else { continue };
            // The call was refused before it was recorded.
            let asked =
                line.at.earlier(i64::try_from(call.took_us).unwrap_or_default() + run.stalled_at(&line.at));
            if run.clocks.order(opened.1, &asked) != Order::Before {
                continue;
            }
            let refused = call.error.as_ref().is_some_and(|why| why.contains(REFUSED));
            if refused {
                let finding = format!(
                    "{} cannot reach port {port} of another container of its pod on localhost",
                    life.name()
                );
                seen.violated(finding, [opened.0, line.id]);
            } else if call.status.is_some() {
                seen.fine([opened.0, line.id]);
                seen.facet("shared", "localhost");
            }
        }
    }
}

/// The time at which another container of a pod opened a port that it never closed. `None` if the container has ended,
/// or if several instances or containers opened the port.
fn opened<'t>(
    run: &'t Timeline<'_>,
    pod: &PodLife<'_>,
    caller: &str,
    port: u16,
) -> Option<(probity_model::EventId, &'t probity_model::clocks::Stamp)> {
    let end = format!(":{port}");
    let mut found = None;
    for life in run.lives() {
        if life.pod.uid != pod.uid || life.container.name == caller {
            continue;
        }
        for line in &life.attempt.lines {
            let Fact::Listening(listening) = &line.line.fact else { continue };
            if !listening.address.ends_with(&end) {
                continue;
            }
            if listening.state != "open" || life.attempt.ended.is_some() || found.is_some() {
                return None;
            }
            found = Some((line.id, &line.at));
        }
    }
    found
}

/// The containers of a pod have one namespace for interprocess communication.
pub(super) fn ipc(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_namespaces(run, ("ipc", "hostIPC"), seen);
}

/// The processes of all containers of a pod run on one node.
pub(super) fn one_node(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let told = |container: &probity_model::timeline::ContainerLife<'_>| {
            let attempt = container.attempts.first()?;
            Some((container.name.clone(), attempt.node.clone(), attempt.began.id))
        };
        let all: Vec<_> =
            pod.containers.iter().filter_map(told).filter(|(_, node, _)| !node.is_empty()).collect();
        let Some((first, home, began)) = all.first() else { continue };
        for (name, node, id) in all.iter().skip(usize::from(true)) {
            let finding = || format!("{first} of {} runs on {home}, and {name} runs on {node}", pod.key);
            seen.check(node == home, finding, [*began, *id]);
        }
    }
}

/// The addresses of a pod.
fn addresses(shown: &Revision<'_>) -> Vec<IpAddr> {
    let list = shown.object.pointer("/status/podIPs").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|of| of["ip"].as_str()?.parse().ok()).collect()
}

/// A pod has one address of each family, and does not share it with another pod.
pub(super) fn own_addresses(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let own = run.pods.iter().filter(|pod| !uses_node(pod, "hostNetwork"));
    let shown: Vec<(&PodLife<'_>, &Revision<'_>, Vec<IpAddr>)> = own
        .filter_map(|pod| {
            let shown = pod.revisions.iter().find(|shown| !addresses(shown).is_empty())?;
            Some((pod, shown, addresses(shown)))
        })
        .collect();
    for (at, (pod, first, ips)) in shown.iter().enumerate() {
        let twice = ips
            .iter()
            .enumerate()
            .any(|(at, ip)| ips.iter().take(at).any(|other| other.is_ipv4() == ip.is_ipv4()));
        let finding = || format!("{} has several addresses of one family: {ips:?}", pod.key);
        seen.check(!twice, finding, [first.id]);
        if !twice {
            seen.facet("address", "one-of-a-family");
        }
        for (other, theirs, others) in shown.iter().skip(at).filter(|(other, ..)| other.name != pod.name) {
            if !lived_at(run, pod, theirs) || !lived_at(run, other, first) {
                continue;
            }
            let shared = ips.iter().find(|ip| others.contains(ip));
            let finding = || format!("{} and {} both have the address {:?}", pod.key, other.key, shared);
            seen.check(shared.is_none(), finding, [first.id, theirs.id]);
            if shared.is_none() {
                seen.facet("address", "of-one-pod");
            }
        }
    }
}

/// Whether a pod had neither ended nor begun to terminate when a revision of another pod arrived.
fn lived_at(run: &Timeline<'_>, pod: &PodLife<'_>, other: &Revision<'_>) -> bool {
    let over = |shown: &&Revision<'_>| {
        shown.gone || shown.terminating() || matches!(shown.phase(), "Succeeded" | "Failed")
    };
    pod.revisions.iter().find(over).is_none_or(|over| run.before(&other.at, &over.at))
}

/// The longest host name, according to Linux and the Kubernetes documentation on pod hostnames.
const LONGEST: usize = 63;
/// The fields of a spec that give a pod a host name that is neither its own name nor its `hostname`.
const OTHER_NAMES: [&str; 2] = ["hostnameOverride", "hostNetwork"];
/// The folder and the file with the host name: Linux, hostname(5).
const NAME_PLACES: [&str; 2] = ["/etc", "/etc/hostname"];
/// The variable in which runtimes give a container its host name.
const NAME_VARIABLE: &str = "HOSTNAME";

/// The namespace of a pod.
pub(super) fn namespace<'h>(pod: &PodLife<'h>) -> Option<&'h str> {
    pod.revisions.first()?.object.pointer("/metadata/namespace")?.as_str()
}

/// The `hostname` in the spec of a pod.
fn given_name<'h>(pod: &PodLife<'h>) -> Option<&'h str> {
    pod.spec.get("hostname").and_then(Value::as_str).filter(|name| !name.is_empty())
}

/// The host name of a pod, without a domain. `None` if another field of its spec determines it.
pub(super) fn short_name<'p>(pod: &'p PodLife<'_>) -> Option<&'p str> {
    if OTHER_NAMES.iter().any(|field| pod.spec.get(field).is_some()) {
        return None;
    }
    let name = given_name(pod).unwrap_or(pod.name.as_str());
    Some(name.get(..LONGEST).unwrap_or(name).trim_end_matches(['-', '.']))
}

/// The fully qualified host name of a pod with a subdomain, without the domain of the cluster.
pub(super) fn qualified_name(pod: &PodLife<'_>) -> Option<String> {
    let subdomain = pod.spec.get("subdomain").and_then(Value::as_str).filter(|of| !of.is_empty())?;
    Some(format!("{}.{subdomain}.{}.svc.", short_name(pod)?, namespace(pod)?))
}

/// The host name that a process sees is the `hostname` of its pod or, without one, the name of the pod. If the pod sets
/// `setHostnameAsFQDN`, the name also contains the pod's subdomain and the domain of the cluster.
pub(super) fn hostname(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    judge_copies(run, seen);
    for life in run.lives() {
        let Some(short) = short_name(life.pod) else { continue };
        let whole = life.pod.spec.get("setHostnameAsFQDN").is_some_and(|is| *is == true);
        let qualified = qualified_name(life.pod).filter(|_| whole);
        if whole && qualified.is_none() {
            continue;
        }
        let started = life.attempt.lines.iter().find_map(|line| match &line.line.fact {
            Fact::Started(started) => Some((line.id, started.host.as_str())),
            _ => None,
        });
        let Some((id, host)) = started.filter(|(_, host)| !host.is_empty()) else { continue };
        if let Some(start) = &qualified {
            let finding = || format!("{} sees the host name {host}, which is not {start}DOMAIN", life.name());
            seen.check(host.starts_with(start.as_str()), finding, [id]);
            continue;
        }
        let finding = || format!("{} sees the host name {host}, not {short}", life.name());
        seen.check(host == short, finding, [id]);
        if host == short {
            seen.facet("name", name_kind(life.pod));
        }
    }
}

/// The file and the variable with the host name agree with the host name that the process itself sees, unless the container
/// replaces them. In a pod that uses the network of its node, they need not agree.
fn judge_copies(run: &Timeline<'_>, seen: &mut Seen) {
    for look in &all_looks(run) {
        let (host, spec) = (look.dump.host.as_str(), look.life.container.spec);
        if host.is_empty() || uses_node(look.life.pod, "hostNetwork") {
            continue;
        }
        let path =
            |mount: &Value| mount["mountPath"].as_str().map(|path| path.trim_end_matches('/').to_owned());
        let mut paths = list(spec, "volumeMounts").filter_map(path);
        let replaced = paths.any(|path| NAME_PLACES.contains(&path.as_str()));
        let given =
            spec.get("envFrom").is_some() || list(spec, "env").any(|one| one["name"] == NAME_VARIABLE);
        let [_, file] = NAME_PLACES;
        let copies = [
            (file, look.dump.files.get(file).filter(|_| !replaced)),
            (NAME_VARIABLE, look.dump.env.get(NAME_VARIABLE).filter(|_| !given)),
        ];
        for (place, copy) in copies {
            let Some(copy) = copy.map(|copy| copy.trim()).filter(|copy| !copy.is_empty()) else { continue };
            if copy != host {
                let finding =
                    format!("{} sees the host name {host}, but {place} is {copy}", look.life.name());
                seen.violated(finding, [look.line.id]);
            }
        }
    }
}

/// Where a host name comes from: the `hostname` in the spec, or a pod's name that is too long or short enough.
fn name_kind(pod: &PodLife<'_>) -> &'static str {
    if given_name(pod).is_some() {
        "given"
    } else if pod.name.len() > LONGEST {
        "long"
    } else {
        "short"
    }
}
