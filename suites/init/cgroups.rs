//! The control group of a pod: its values follow from the amounts that the scheduler and quotas count for the whole
//! pod.

use probity_model::timeline::PodLife;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use serde_json::Value;

use crate::reading::described::{Described, descriptions};
use crate::reading::quantities::{WHOLE, thousandths};

/// The CPU shares of one whole CPU in cgroup v1, as the Linux kernel counts them.
const SHARES: i128 = 1_024;

/// The amount of a resource that a pod gets, and whether an init container determines the amount.
#[derive(Clone, Copy)]
struct Effective {
    amount: i128,
    of_init: bool,
}

/// The effective amount of a resource: the larger of two amounts. One is the sum for all main containers and sidecars,
/// and the other is the highest amount for an init container together with the sidecars before it. None if a container
/// does not specify an amount.
fn effective(spec: &Value, kind: &str, resource: &str) -> Option<Effective> {
    let list = |field: &str| spec[field].as_array().into_iter().flatten();
    let amount = |of: &Value| of["resources"][kind][resource].as_str().and_then(thousandths);
    let mains: Option<Vec<i128>> = list("containers").map(amount).collect();
    let (mut together, mut sidecars, mut inits) = (mains?.into_iter().sum::<i128>(), 0, 0);
    for container in list("initContainers") {
        let own = amount(container)?;
        if container["restartPolicy"] == "Always" {
            together += own;
            sidecars += own;
        } else {
            inits = own.saturating_add(sidecars).max(inits);
        }
    }
    Some(Effective { amount: together.max(inits), of_init: inits > together })
}

/// The control group of a pod has the values that follow from the pod's effective amounts.
pub(super) fn are_the_same(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in run.pods.iter().filter(|pod| pod.spec["initContainers"].is_array()) {
        for described in descriptions(run, pod, seen) {
            judge(pod, &described, seen);
        }
    }
}

fn judge(pod: &PodLife<'_>, described: &Described<'_>, seen: &mut Seen) {
    let Some(values) = described.facts.get("cgroup").filter(|of| of.is_object()) else {
        let why = format!("the command found no control group of {}", pod.key);
        seen.doubt(Doubt::StepFailed, why, [described.id]);
        return;
    };
    let value = |field: &str| values.get(field).and_then(Value::as_i64).map(i128::from);
    let period = value("cpuPeriod").unwrap_or_default();
    let of = |kind: &str, resource: &str| effective(pod.spec, kind, resource);
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
        let finding = || {
            let found = found.map_or("not set".to_owned(), |found| found.to_string());
            format!("{field} of the control group of {} is {found}, not {wanted}", pod.key)
        };
        seen.check(found == Some(wanted), finding, [described.id]);
        if found == Some(wanted) {
            seen.facet("value", word);
            seen.facet("decided", if effective.of_init { "init" } else { "sum" });
        }
    }
}
