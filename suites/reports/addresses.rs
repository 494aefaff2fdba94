//! The addresses of a pod, and when its kubelet got the pod.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use probity_model::history::Did;
use probity_model::timeline::{At, ContainerLife, Life, PodLife, Revision};
use probity_model::{Clause, EventId, Seen, Stamp, Timeline};
use serde_json::Value;

use crate::reading::arrivals::on_node_network;
use crate::reading::kubelet_restarts::is_proven_restart;
use crate::reading::kubelet_restarts::is_written_anew;
use crate::reading::mains::lives_of;
use crate::reading::statuses::{of_kubelet, runs_something};

/// The two addresses in a status, each with its list.
const ADDRESSES: [(&str, &str); 2] = [(POD_IP, "podIPs"), (HOST_IP, HOST_IPS)];
const POD_IP: &str = "podIP";
const HOST_IP: &str = "hostIP";
const HOST_IPS: &str = "hostIPs";

fn status<'h>(shown: &Revision<'h>, field: &str) -> Option<&'h Value> {
    shown.object.get("status")?.get(field)
}

/// The addresses agree with their lists, do not change, and are those to which probes connect.
pub(super) fn as_connections_show(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.lost_a_sandbox() {
        return;
    }
    for pod in &run.pods {
        let (mut first, mut said) = ([None; ADDRESSES.len()], BTreeSet::new());
        for shown in of_kubelet(pod) {
            for ((field, list), known) in ADDRESSES.into_iter().zip(&mut first) {
                let one = status(shown, field).and_then(Value::as_str).filter(|text| !text.is_empty());
                let of_list = status(shown, list).and_then(|all| all.get(0)?.get("ip")?.as_str());
                if one != of_list {
                    let finding = format!(
                        "{field} of {} is {}, but {list} begins with {}",
                        pod.key,
                        one.unwrap_or("not set"),
                        of_list.unwrap_or("nothing")
                    );
                    seen.violated(finding, [shown.id]);
                    continue;
                }
                let Some(one) = one else {
                    if let Some((old, id)) = *known {
                        let finding = format!("{field} of {} was {old}, but is missing now", pod.key);
                        let gone = is_torn_down(run, pod, shown) || was_over_for_its_kubelet(run, pod, shown);
                        if field == POD_IP && gone {
                            seen.diverges(finding, [id, shown.id]);
                        } else {
                            seen.violated(finding, [id, shown.id]);
                        }
                    } else if runs_something(pod, shown) {
                        let finding =
                            format!("a container of {} is running, but the pod has no {field}", pod.key);
                        seen.violated(finding, [shown.id]);
                    }
                    continue;
                };
                let (old, id) = *known.get_or_insert((one, shown.id));
                if old != one {
                    seen.violated(format!("{field} of {} went from {old} to {one}", pod.key), [id, shown.id]);
                } else if said.insert(field) {
                    seen.fine([shown.id]);
                    seen.facet("field", field);
                }
            }
        }
        let [shown, _] = first;
        judge_connections(run, pod, shown, seen);
        judge_network(run, pod, seen);
    }
    judge_nodes(run, seen);
}

/// The first revision in which a kubelet shows an address of a pod, with this address.
fn first_with<'p, 'h>(pod: &'p PodLife<'h>, field: &str) -> Option<(&'p Revision<'h>, &'h str)> {
    of_kubelet(pod).find_map(|shown| {
        let address = status(shown, field).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some((shown, address?))
    })
}

/// The hostIP of a pod is an address of its node, all pods of a node have the same one, and pods of different nodes have
/// different ones.
fn judge_nodes(run: &Timeline<'_>, seen: &mut Seen) {
    let (mut of_node, mut of_address) = (BTreeMap::new(), BTreeMap::new());
    for pod in run.pods.iter().filter(|pod| !pod.node.is_empty() && !run.node_was_touched()) {
        let Some((shown, address)) = first_with(pod, HOST_IP) else { continue };
        if !is_of_node(run, &pod.node, address) {
            seen.violated(
                format!("the hostIP of {} is {address}, which is not an address of its node", pod.key),
                [shown.id],
            );
            continue;
        }
        let (known, by) = *of_node.entry(pod.node.as_str()).or_insert((address, shown.id));
        if known != address {
            let finding = format!("pods of {} have the hostIPs {known} and {address}", pod.node);
            seen.violated(finding, [by, shown.id]);
            continue;
        }
        let (node, by) = *of_address.entry(address).or_insert((pod.node.as_str(), shown.id));
        if node != pod.node {
            let finding = format!("pods of {node} and of {} have the hostIP {address}", pod.node);
            seen.violated(finding, [by, shown.id]);
        }
    }
}

/// Whether an address belongs to a node, as far as the addresses of the node are known.
fn is_of_node(run: &Timeline<'_>, node: &str, address: &str) -> bool {
    let known = run.history.header.nodes.get(node).map_or(&[][..], |facts| &facts.addresses);
    let same = |one: &String| one == address || parsed(one).is_some_and(|one| parsed(address) == Some(one));
    known.is_empty() || known.iter().any(same)
}

fn parsed(address: &str) -> Option<IpAddr> {
    address.parse().ok()
}

/// A pod has the address of its node if and only if it uses the node's network.
fn judge_network(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    let shown = first_with(pod, POD_IP).filter(|_| !run.node_was_touched());
    let Some((shown, ip)) = shown else { return };
    let of_host = status(shown, HOST_IPS).and_then(Value::as_array).into_iter().flatten();
    let mut of_host = of_host.filter_map(|one| one.get("ip")?.as_str()).peekable();
    if of_host.peek().is_none() {
        return;
    }
    let shares = of_host.any(|one| one == ip);
    // Some providers give each pod its own machine, whose address is the pod's address.
    let alone = !run.pods.iter().any(|other| other.node == pod.node && other.uid != pod.uid);
    match on_node_network(pod) {
        true if !shares => {
            let finding =
                format!("{} uses the host network, but its podIP {ip} is not one of its hostIPs", pod.key);
            seen.violated(finding, [shown.id]);
        }
        false if shares && !alone => {
            let finding = format!("{} has its own network, but its podIP {ip} is its hostIP", pod.key);
            seen.violated(finding, [shown.id]);
        }
        _ => {}
    }
}

/// Whether a pod had ended before its kubelet was restarted. The restarted kubelet takes addresses from sandboxes that
/// are ready, and the pod's sandbox is no longer ready.
fn was_over_for_its_kubelet(run: &Timeline<'_>, pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    let Some(over) = pod.over() else { return false };
    run.deeds.iter().any(|(id, deed)| {
        is_proven_restart(&deed.did) && over.id < *id && run.before(&Stamp::harness(deed.began_us), &shown.at)
    })
}

/// Whether a revision shows a pod that is being deleted and whose containers have all ended, and the records of the
/// containers confirm this.
fn is_torn_down(run: &Timeline<'_>, pod: &PodLife<'_>, shown: &Revision<'_>) -> bool {
    let stopped = |of: &ContainerLife<'_>| {
        let says_later =
            |life: Life<'_, '_>| life.last_line().is_some_and(|line| run.before(&shown.at, &line.at));
        let status = shown.container(&of.name);
        status.is_some_and(|status| !status.is_running()) && !lives_of(run, pod, of).any(says_later)
    };
    shown.terminating() && pod.containers.iter().all(stopped)
}

/// All probes without another host arrived at one address that others can reach, which is the pod's.
fn judge_connections(run: &Timeline<'_>, pod: &PodLife<'_>, shown: Option<(&str, EventId)>, seen: &mut Seen) {
    let Some((ip, id)) = shown else { return };
    let lives = pod.containers.iter().flat_map(|container| lives_of(run, pod, container));
    let mut came: BTreeSet<&str> = BTreeSet::new();
    let mut first: Option<EventId> = None;
    for life in lives {
        let elsewhere = life.container.probes.iter().any(|probe| probe.handler.host().is_some());
        for probe in life.attempt.probes.iter().filter(|_| !elsewhere) {
            let at = life.attempt.connection_of(probe);
            if let Some(at) = at.filter(|at| !is_loopback(at.address())) {
                came.insert(at.address());
                first.get_or_insert(at.id);
            }
        }
    }
    let mut came = came.into_iter();
    let (Some(address), None, Some(first)) = (came.next(), came.next(), first) else { return };
    let finding = || format!("podIP of {} is {ip}, but its probes arrive at {address}", pod.key);
    seen.check(address == ip, finding, [id, first]);
    seen.facet("field", "by connections");
}

fn is_loopback(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The kubelet had the pod before the pod's first container started, and the start time in the status does not change.
pub(super) fn before_its_containers(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !is_written_anew(run, pod)) {
        let first = of_kubelet(pod).find_map(|shown| Some((shown, shown.start_second()?)));
        if let Some(lacks) = of_kubelet(pod).find(|shown| shown.start_second().is_none()) {
            let before = first.map(|(shown, _)| shown.id).filter(|id| *id < lacks.id);
            let finding = match before {
                Some(_) => format!("the status of {} had a startTime, but has none now", pod.key),
                None => format!("the status of {} has no startTime", pod.key),
            };
            seen.violated(finding, before.into_iter().chain([lacks.id]));
            continue;
        }
        let Some((shown, second)) = first else { continue };
        let moved = of_kubelet(pod).find(|other| other.start_second() != Some(second));
        if let Some(other) = moved {
            seen.violated(format!("startTime of {} changed", pod.key), [shown.id, other.id]);
            continue;
        }
        let at = At::new(shown.id, Stamp::wall_second(&pod.node, second));
        if let Some(asked) = request(run, pod).filter(|asked| run.before(&at.stamp, asked)) {
            let finding = format!(
                "startTime of {} is before the request that created it or removed its last scheduling gate",
                pod.key
            );
            seen.violated(finding, [asked.id, shown.id]);
            continue;
        }
        let starts = pod.containers.iter().flat_map(|of| &of.attempts).map(|attempt| &attempt.began);
        for began in starts {
            if run.before(&began.stamp, &at.stamp) {
                let finding = format!("startTime of {} is after the start of a container", pod.key);
                seen.violated(finding, [shown.id, began.id]);
            } else if run.clocks.between(&at.stamp, &began.stamp).is_some() {
                seen.fine([shown.id, began.id]);
            }
        }
    }
}

/// When the harness sent the request that created the pod or removed its last scheduling gate, on its own clock. No
/// kubelet can have had the pod earlier.
fn request(run: &Timeline<'_>, pod: &PodLife<'_>) -> Option<At> {
    let (created, _) = pod.created?;
    let bound = pod.revisions.iter().find(|shown| shown.object["spec"]["nodeName"].is_string())?.id;
    let opens = |did: &Did| match did {
        Did::Patched { kind, name, patch, .. } if kind == "Pod" && *name == pod.name => {
            patch["spec"]["schedulingGates"].is_array()
        }
        _ => false,
    };
    let mut deeds = run.deeds.iter().filter(|(id, _)| (created..bound).contains(id));
    let (id, deed) = deeds.rfind(|(id, deed)| *id == created || opens(&deed.did))?;
    Some(At::new(*id, Stamp::harness(deed.began_us)))
}
