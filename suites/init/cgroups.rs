//! The control group of a pod: its values follow from the amounts that the scheduler and quotas count for the whole
//! pod, also after a resize.

use probity_model::timeline::{PodLife, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::cgroups::{NO_CPU_LIMITS, sets_cpu_limits};
use crate::reading::described::{Described, descriptions};
use crate::reading::patches::{Patch, RESIZE, is_resizing, of_part};
use crate::reading::qos::{Effective, amount, containers, effective};
use crate::reading::quantities::{WHOLE, thousandths};

/// The CPU shares of one whole CPU in cgroup v1, as the Linux kernel counts them.
const SHARES: i128 = 1_024;

/// The effective amount of a resource. None if a container does not specify an amount.
fn effective_of(spec: &Value, kind: &str, resource: &str) -> Option<Effective> {
    effective(spec, |of| of["resources"][kind][resource].as_str().and_then(thousandths))
}

/// The control group of a pod has the values that follow from the pod's effective amounts.
pub(super) fn are_the_same(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let resizes = of_part(run, RESIZE);
    let mut all = Vec::new();
    for pod in run.pods.iter().filter(|pod| pod.spec["initContainers"].is_array()) {
        all.extend(descriptions(run, pod, seen).into_iter().map(|described| (pod, described)));
    }
    for (pod, described) in &all {
        let own: Vec<&Patch<'_, '_>> = resizes.iter().filter(|resize| resize.pod.uid == pod.uid).collect();
        if let Some((spec, after)) = spec_at(run, clause, (*pod, &own), described) {
            let of_node = all.iter().filter(|(other, _)| other.node == pod.node);
            let limits = of_node.map(|(_, other)| other).any(has_quota) || sets_cpu_limits(run, &pod.node);
            judge((*pod, spec, limits), described, after, seen);
        }
    }
}

/// Whether the control group of a pod has a CPU limit, whatever its amount.
fn has_quota(described: &Described<'_>) -> bool {
    let quota = described.facts.get("cgroup").and_then(|values| values.get("cpuQuota")?.as_i64());
    quota.is_some_and(|quota| quota > 0)
}

/// The spec that a pod has when it is described, and whether a resize came before that. None if a resize may not be
/// complete by then, or is not shown by the API.
fn spec_at<'h>(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, resizes): (&PodLife<'h>, &[&Patch<'_, '_>]),
    described: &Described<'_>,
) -> Option<(&'h Value, &'static str)> {
    let accepted = |resize: &&&Patch<'_, '_>| resize.refused.is_none() && resize.id < described.id;
    let Some(last) = resizes.iter().rfind(accepted) else { return Some((pod.spec, "start")) };
    let settled = run.longer_than(pod, (&last.done, &described.began), clause.tolerance_us("resized"));
    let known = |shown: &&Revision<'_>| !shown.gone && run.before(&shown.at, &described.began);
    let shown = pod.revisions.iter().rfind(known).filter(|_| settled)?;
    let number = |path: &str| shown.object.pointer(path).and_then(Value::as_i64);
    let generations = number("/status/observedGeneration").zip(number("/metadata/generation"));
    // A kubelet that has not heard of the resize yet shows no condition either. A status without an observed generation
    // counts as up to date, because the kubelet has had enough time since the resize. `knows_its_spec` in
    // `reports/shares.rs` leaves such a status out instead, because nothing there waits for the kubelet.
    let behind = generations.is_some_and(|(seen, of)| seen < of);
    if is_resizing(shown) || behind { None } else { Some((&shown.object["spec"], "resize")) }
}

/// Judges the values of a control group. If no CPU limit is known on the node of the pod, the kubelet may have been
/// configured to set none.
fn judge(
    (pod, spec, limits): (&PodLife<'_>, &Value, bool),
    described: &Described<'_>,
    after: &'static str,
    seen: &mut Seen,
) {
    let Some(values) = described.facts.get("cgroup").filter(|of| of.is_object()) else {
        let why = format!("the command found no control group of {}", pod.key);
        seen.doubt(Doubt::StepFailed, why, [described.id]);
        return;
    };
    judge_missing_limits((pod, spec), described, values, seen);
    let value = |field: &str| values.get(field).and_then(Value::as_i64).map(i128::from);
    let period = value("cpuPeriod").unwrap_or_default();
    let of = |kind: &str, resource: &str| effective_of(spec, kind, resource);
    let cpu = of("limits", "cpu").map(|of| (of, of.amount.saturating_mul(period).checked_div(WHOLE)));
    let memory = of("limits", "memory").map(|of| (of, of.amount.checked_div(WHOLE)));
    // Version 2 has weights, and runtimes convert shares to them in different ways.
    let shares = of("requests", "cpu").filter(|_| values.get("cpuShares").is_some());
    let shares = shares.map(|of| (of, of.amount.saturating_mul(SHARES).checked_div(WHOLE)));
    for (word, field, wanted) in [
        ("cpu-limit", "cpuQuota", cpu),
        ("memory-limit", "memoryLimit", memory),
        ("cpu-request", "cpuShares", shares),
    ] {
        let Some((effective, Some(wanted))) = wanted else { continue };
        let found = value(field);
        if word == "cpu-limit" && found != Some(wanted) && !limits {
            let why = format!("the control group of {} has no CPU limit, but {NO_CPU_LIMITS}", pod.key);
            seen.doubt(Doubt::Ambiguous, why, [described.id]);
            continue;
        }
        let finding = || {
            let found = found.map_or("not set".to_owned(), |found| found.to_string());
            format!("{field} of the control group of {} is {found}, not {wanted}", pod.key)
        };
        seen.check(found == Some(wanted), finding, [described.id]);
        if found == Some(wanted) {
            seen.facet("value", word);
            seen.facet("decided", if effective.of_init { "init" } else { "sum" });
            seen.facet("after", after);
        }
    }
}

/// The limits that the cgroup of a pod lacks if one of its containers lacks them: the resource, the field of the cgroup and
/// the facet.
const MISSING: [(&str, &str, &str); 2] =
    [("cpu", "cpuQuota", "no-cpu-limit"), ("memory", "memoryLimit", "no-memory-limit")];

/// If only some containers of a pod have a limit for a resource, the control group of the pod has none, because a container
/// without a limit may use any amount.
fn judge_missing_limits(
    (pod, spec): (&PodLife<'_>, &Value),
    described: &Described<'_>,
    values: &Value,
    seen: &mut Seen,
) {
    for (resource, field, facet) in MISSING {
        let limited = |of: &Value| amount(of, "limits", resource).is_some();
        let only_some = containers(spec).any(limited) && !containers(spec).all(limited);
        let Some(found) = values.get(field).filter(|_| only_some && spec.get("resources").is_none()) else {
            continue;
        };
        let finding = || {
            format!(
                "{field} of the control group of {} is {found}, although a container has no {resource} limit",
                pod.key
            )
        };
        // Linux shows a missing CPU quota as a negative number.
        let none = found.is_null() || found.as_i64().is_some_and(i64::is_negative);
        seen.check(none, finding, [described.id]);
        if none {
            seen.facet("value", facet);
        }
    }
}
