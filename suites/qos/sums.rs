//! The total amount that the containers of a pod request, as a quota counts it.

use probity_model::history::Happening;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::admission::Admission;
use crate::reading::qos::amount;
use crate::reading::quantities::thousandths;

/// The words in the API server's rejection of a pod that exceeds a quota.
const EXCEEDED: &str = "exceeded quota";

/// A quota in force: its event, and for each resource the amount that is left.
struct Quota<'h> {
    id: EventId,
    left: Vec<(&'h str, i128)>,
}

fn quotas<'h>(run: &Timeline<'h>) -> Vec<Quota<'h>> {
    let quotas = run.history.events().filter_map(|(id, event)| match &event.what {
        Happening::Sighting(seen) if seen.kind == "ResourceQuota" => {
            let status = seen.object.get("status")?;
            let amounts =
                |field: &str, resource: &str| thousandths(status.get(field)?.get(resource)?.as_str()?);
            let hard = status.get("hard")?.as_object()?.keys();
            let left = hard.map(|of| Some((of.as_str(), amounts("hard", of)? - amounts("used", of)?)));
            Some(Quota { id, left: left.collect::<Option<_>>()? })
        }
        _ => None,
    });
    quotas.collect()
}

/// How much a pod's containers together request of a quota's resource, such as `limits.memory`.
fn sum(spec: &Value, resource: &str) -> Option<i128> {
    let (list, resource) = resource.split_once('.')?;
    Some(spec.get("containers")?.as_array()?.iter().filter_map(|of| amount(of, list, resource)).sum())
}

/// The amount of a resource that a pod requests according to a message, as in `requested: limits.cpu=600m, used:`.
fn told(message: &str, resource: &str) -> Option<i128> {
    let requested = message.split_once("requested: ")?.1.split_once(", used:")?.0;
    let mut pairs = requested.split(',').filter_map(|pair| pair.split_once('='));
    thousandths(pairs.find(|(name, _)| *name == resource)?.1)
}

/// A quota admits a pod if and only if the pod's containers together request no more than the quota has left. A
/// rejection reports the total of the requests.
pub(super) fn as_a_quota_counts(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let (quotas, admission) = (quotas(run), Admission::of(run));
    for (id, tried) in &run.tried {
        let Some(quota) = quotas.iter().rfind(|quota| quota.id < *id) else { continue };
        let Some(spec) = tried.manifest.get("spec").filter(|spec| spec.get("initContainers").is_none())
        else {
            continue;
        };
        let several = spec["containers"].as_array().is_some_and(|list| list.len() > 1);
        let sums: Option<Vec<_>> =
            quota.left.iter().map(|(of, left)| Some((*of, sum(spec, of)?, *left))).collect();
        let Some(sums) = sums.filter(|sums| several && sums.iter().any(|(_, sum, _)| *sum > 0)) else {
            continue;
        };
        let too_much: Vec<_> = sums.iter().filter(|(_, sum, left)| sum > left).collect();
        let refused = match tried.code {
            ..300 => false,
            403 if tried.message.contains(EXCEEDED) => true,
            _ => continue,
        };
        let (name, events) = (&tried.name, [quota.id, *id]);
        if admission.is_in_doubt(name, *id, seen) {
            continue;
        }
        if refused == too_much.is_empty() {
            let (done, why) = if refused { ("rejected", "fits into") } else { ("admitted", "exceeds") };
            let finding = format!("`{name}` was {done}, although it {why} what the quota has left");
            admission.accuse(refused, finding, events, seen);
            continue;
        }
        let wrong =
            too_much.iter().find(|(of, sum, _)| told(&tried.message, of).is_some_and(|told| told != *sum));
        if let Some((of, ..)) = wrong {
            let finding =
                format!("the quota counts a different amount of {of} for `{name}`: {}", tried.message);
            admission.accuse(refused, finding, events, seen);
            continue;
        }
        seen.fine(events);
        seen.facet("fits", if refused { "no" } else { "yes" });
        too_much.iter().for_each(|(of, ..)| seen.facet("resource", *of));
    }
}
