//! Kernel parameters that a pod sets, which may be unsafe.

use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::names::is_ours;
use crate::reading::dumps::all_looks;
use crate::reading::statuses::{has_run, runs_something};
use crate::reading::volumes::list;

/// The safe kernel parameters, according to the Kubernetes documentation, separated by spaces. Every kubelet must reject
/// others unless its configuration allows them.
const SAFE: &str = "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies \
    net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start net.ipv4.ip_local_reserved_ports \
    net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl \
    net.ipv4.tcp_keepalive_probes net.ipv4.tcp_rmem net.ipv4.tcp_wmem";
/// The safe kernel parameters that a kubelet allows on each kernel, separated by spaces. It allows the other safe ones
/// only if the kernel is new enough: Kubernetes' `pkg/kubelet/sysctl`.
const SAFE_ON_EACH_KERNEL: &str = "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies \
    net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start";
/// The reason of the rejection, in the reference implementation of Kubernetes.
const FORBIDDEN: &str = "SysctlForbidden";

/// A name with its dots replaced by slashes and its slashes replaced by dots.
fn swapped(name: &str) -> String {
    let other = |sign| match sign {
        '.' => '/',
        '/' => '.',
        _ => sign,
    };
    name.chars().map(other).collect()
}

/// The name of a kernel parameter with dots between its parts. If the first separator in the spec is a slash, slashes
/// separate the parts: Linux, sysctl.d(5).
fn dotted(name: &str) -> String {
    let first = name.chars().find(|sign| matches!(sign, '.' | '/'));
    if first == Some('/') { swapped(name) } else { name.to_owned() }
}

/// Whether a kernel parameter is in a list.
fn is_in(all: &str, name: &str) -> bool {
    let name = dotted(name);
    all.split(' ').any(|one| one == name)
}

/// The names of the kernel parameters in the spec of a pod.
fn names<'h>(pod: &PodLife<'h>) -> impl Iterator<Item = &'h str> + use<'h> {
    let context = pod.spec.get("securityContext");
    let all = context.into_iter().flat_map(|context| list(context, "sysctls"));
    all.filter_map(|of| of.get("name")?.as_str())
}

/// The first kernel parameter in the spec of a pod that is not safe.
fn unsafe_one<'h>(pod: &PodLife<'h>) -> Option<&'h str> {
    names(pod).find(|name| !is_in(SAFE, name))
}

/// A pod that sets an unsafe kernel parameter fails, and none of its containers runs.
pub(super) fn unsafe_ones_fail(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !pod.is_static && run.deletion(pod).is_none()) {
        let bound = pod.revisions.iter().find(|shown| shown.object["spec"].get("nodeName").is_some());
        if let (Some(name), Some(bound)) = (unsafe_one(pod), bound) {
            judge(run, clause, (pod, bound, name), seen);
        }
    }
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, bound, name): (&PodLife<'_>, &Revision<'_>, &str),
    seen: &mut Seen,
) {
    let key = &pod.key;
    if has_run(pod) {
        let shown = pod.revisions.iter().find(|shown| runs_something(pod, shown)).or_else(|| pod.last());
        let finding = format!("{key} sets the unsafe sysctl {name}, but a container ran");
        return seen.violated(finding, [Some(bound.id), shown.map(|shown| shown.id)].into_iter().flatten());
    }
    let Some(failed) = pod.revisions.iter().find(|shown| shown.phase() == "Failed") else {
        if run.watched_for(pod, &bound.at, clause.slack_us()) {
            let finding = format!("{key} sets the unsafe sysctl {name}, but did not fail");
            seen.violated(finding, run.to_the_end([bound.id]));
        }
        return;
    };
    let reason = failed.object["status"].get("reason").and_then(Value::as_str).unwrap_or("no reason");
    if reason == FORBIDDEN {
        seen.fine([bound.id, failed.id]);
    } else {
        // A full node may have rejected the pod for something else.
        let why = format!("{key} failed with {reason}, but perhaps not because of the sysctl {name}");
        seen.doubt(Doubt::Ambiguous, why, [bound.id, failed.id]);
    }
}

/// The directory in which the kernel shows its parameters: Linux, proc_sys(5).
const SHOWN: &str = "/proc/sys/";

/// A pod is not rejected because of safe kernel parameters, and its processes see them with the values in its spec.
pub(super) fn safe_ones_are_set(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| !pod.is_static && !run.node_was_touched()) {
        judge_rejection(run, pod, seen);
    }
    for look in &all_looks(run) {
        let Some(context) = look.life.pod.spec.get("securityContext") else { continue };
        for parameter in list(context, "sysctls") {
            let text = |field: &str| parameter.get(field).and_then(Value::as_str);
            let (Some(name), Some(wanted)) = (text("name"), text("value")) else { continue };
            let shown = look.dump.files.get(&format!("{SHOWN}{}", swapped(&dotted(name))));
            let Some(shown) = shown.filter(|_| is_in(SAFE, name)) else { continue };
            let finding = || {
                format!(
                    "{} should see the sysctl {name} with {wanted}, but sees {}",
                    look.life.name(),
                    shown.trim()
                )
            };
            // The kernel puts tabs between the numbers of a parameter.
            seen.check(shown.split_whitespace().eq(wanted.split_whitespace()), finding, [look.line.id]);
        }
    }
}

/// Judges a pod that sets only kernel parameters that are safe on each kernel. A pod in a namespace of its node may not
/// set parameters of this namespace.
fn judge_rejection(run: &Timeline<'_>, pod: &PodLife<'_>, seen: &mut Seen) {
    let shares = ["hostNetwork", "hostIPC"].iter().any(|field| pod.spec[*field] == true);
    let Some(name) = names(pod).next().filter(|_| !shares && is_ours(run, &pod.node)) else { return };
    let safe = names(pod).all(|name| is_in(SAFE_ON_EACH_KERNEL, name));
    let failed = pod.over().filter(|over| over.phase() == "Failed" && pod.reason() == Some(FORBIDDEN));
    if let Some(failed) = failed.filter(|_| safe && !has_run(pod)) {
        let finding = format!("{} sets the safe sysctl {name} and no unsafe one, but was rejected", pod.key);
        seen.violated(finding, [failed.id]);
    }
}
