//! HTTP hooks with a host: the kubelet sends the requests of these hooks to their hosts, not to their own pods.
//!
//! A hook is judged only if its host is the address of one other pod of the run, and if no other hook has its path. Then
//! each of its requests leaves a record, wherever it arrives.

use std::net::IpAddr;

use probity_model::timeline::{At, Attempt, Life, PodLife};
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use super::hook_requests::{HookRequest, bare, http_hooks};
use crate::reading::arrivals::has_ip;
use crate::reading::mains::lives_of;
use crate::reading::ports::opens;

/// The requests of a hook with the address of another pod arrive in this pod, and in no other.
pub(super) fn sent_to_their_hosts(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for hook in hooks_to_others(run).iter().filter(|hook| hooks_with_path(run, hook.path()) == 1) {
        judge_places(run, hook, seen);
        for life in lives_of(run, hook.pod, hook.container) {
            judge_absence(hook, &life, seen);
        }
    }
}

/// The hooks whose host is the address of another pod.
fn hooks_to_others<'t, 'h>(run: &'t Timeline<'h>) -> Vec<HookRequest<'t, 'h>> {
    let hooks = http_hooks(run).filter_map(|(pod, container, hook, get)| {
        let to = pod_at(run, get.get("host")?.as_str()?).filter(|to| to.uid != pod.uid)?;
        HookRequest::of((pod, container), (hook, get), to)
    });
    hooks.collect()
}

/// The only pod that ever had this address.
fn pod_at<'t, 'h>(run: &'t Timeline<'h>, host: &str) -> Option<&'t PodLife<'h>> {
    let ip: IpAddr = host.parse().ok()?;
    let mut pods = run.pods.iter().filter(|pod| has_ip(pod, ip));
    let first = pods.next()?;
    pods.next().is_none().then_some(first)
}

/// How many hooks of the run request this path.
fn hooks_with_path(run: &Timeline<'_>, path: &str) -> usize {
    let paths = http_hooks(run).map(|(.., get)| get.get("path").and_then(Value::as_str).unwrap_or_default());
    paths.filter(|other| bare(other) == path).count()
}

/// Judges where the requests of a hook arrived.
fn judge_places(run: &Timeline<'_>, hook: &HookRequest<'_, '_>, seen: &mut Seen) {
    for (asked, _) in hook.arrivals() {
        seen.fine([asked.id]);
        seen.facet("hook", hook.hook);
    }
    for pod in run.pods.iter().filter(|pod| pod.uid != hook.to.uid) {
        for (asked, _) in hook.arrivals_in(pod) {
            let (to, there) = (&hook.to.key, &pod.key);
            let finding = format!("the host of {} is {to}, but its request went to {there}", hook.words());
            seen.violated(finding, [asked.id]);
        }
    }
}

/// Reports an instance that was shown as running, or got its stop signal, before the request of its hook arrived.
fn judge_absence(hook: &HookRequest<'_, '_>, life: &Life<'_, '_>, seen: &mut Seen) {
    let Some(by) = hook.due_by(life).filter(|_| life.is_numbered()) else { return };
    let mut servers = hook.to.containers.iter().flat_map(|container| &container.attempts);
    if servers.any(|server| served_throughout(hook, server, life, &by)) {
        hook.judge_arrival(life, &by, seen);
    }
}

/// Whether a process listened on the port of a hook before an instance began, and recorded something after `by`: it has
/// then recorded every request that arrived between these times.
fn served_throughout(hook: &HookRequest<'_, '_>, server: &Attempt<'_>, life: &Life<'_, '_>, by: &At) -> bool {
    let run = life.run;
    let opened = server.lines.iter().any(|line| opens(line, hook.port) && run.before(&line.at, &life.began));
    opened && server.holes.is_empty() && server.lines.iter().any(|line| run.before(by, &line.at))
}
