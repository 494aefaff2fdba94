//! The class of a pod, and the amounts that its containers request, according to the Kubernetes documentation on
//! quality of service.

use serde_json::Value;

use super::quantities::thousandths;

pub(crate) const GUARANTEED: &str = "Guaranteed";
pub(crate) const BURSTABLE: &str = "Burstable";
pub(crate) const BEST_EFFORT: &str = "BestEffort";
/// The resources that decide the class.
pub(crate) const DECIDING: [&str; 2] = ["cpu", "memory"];
/// The lists of containers that count.
const LISTS: [&str; 2] = ["initContainers", "containers"];

/// The containers of a pod's spec that count for its class.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> + use<'_> {
    LISTS.into_iter().filter_map(|list| spec.get(list)?.as_array()).flatten()
}

/// How much of a resource a container requests, or is limited to; none if the amount is missing or zero.
pub(crate) fn amount(container: &Value, list: &str, resource: &str) -> Option<i128> {
    let given = container.get("resources")?.get(list)?.get(resource)?;
    let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    thousandths(&given).filter(|amount| *amount > 0)
}

/// The amount of a resource that a whole pod gets, and whether an init container determines the amount.
#[derive(Clone, Copy)]
pub(crate) struct Effective {
    pub(crate) amount: i128,
    pub(crate) of_init: bool,
}

/// The effective amount of a pod: the larger of two amounts. One is the sum for all main containers and sidecars, and the
/// other is the highest amount for an init container together with the sidecars before it. None if the amount of a
/// container is not known.
pub(crate) fn effective(spec: &Value, amount: impl Fn(&Value) -> Option<i128>) -> Option<Effective> {
    let list = |field: &str| spec[field].as_array().into_iter().flatten();
    let mains: Option<Vec<i128>> = list("containers").map(&amount).collect();
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

/// How much of a resource a whole pod requests, in thousandths. None if an amount cannot be evaluated.
pub(crate) fn total_request(spec: &Value, resource: &str) -> Option<i128> {
    let requested = |of: &Value| match &of["resources"]["requests"][resource] {
        Value::Null => Some(0),
        amount => amount.as_str().and_then(thousandths),
    };
    effective(spec, requested).map(|total| total.amount)
}

/// Whether a container has a limit for each deciding resource, and no request that differs from the limit.
pub(crate) fn is_limited(container: &Value) -> bool {
    DECIDING.into_iter().all(|resource| {
        let limit = amount(container, "limits", resource);
        limit.is_some() && amount(container, "requests", resource).is_none_or(|asked| Some(asked) == limit)
    })
}

/// Whether a container has a request or a limit for a deciding resource.
pub(crate) fn asks(container: &Value) -> bool {
    ["requests", "limits"]
        .iter()
        .any(|list| DECIDING.into_iter().any(|resource| amount(container, list, resource).is_some()))
}

/// The class of a pod with this spec, as sent or as stored. Pod-level resources are not evaluated.
pub(crate) fn class_of(spec: &Value) -> &'static str {
    match () {
        () if containers(spec).all(is_limited) => GUARANTEED,
        () if containers(spec).any(asks) => BURSTABLE,
        () => BEST_EFFORT,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_class_follows_from_all_containers() {
        let full = json!({ "resources": { "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "1000m" } } });
        let of = |spec: Value| class_of(&spec);
        assert_eq!(of(json!({ "containers": [full] })), GUARANTEED);
        assert_eq!(of(json!({ "containers": [full], "initContainers": [{}] })), BURSTABLE);
        assert_eq!(
            of(json!({ "containers": [{ "resources": { "requests": { "memory": "1" } } }] })),
            BURSTABLE
        );
        assert_eq!(of(json!({ "containers": [{}] })), BEST_EFFORT);
        let zero = json!({ "resources": { "requests": { "cpu": "0", "ephemeral-storage": "1Gi" } } });
        assert_eq!(of(json!({ "containers": [zero] })), BEST_EFFORT);
    }
}
