//! The requests of containers, as the API server adds them up: for the class of a pod, and for quotas.

use probity_model::history::Change;
use serde_json::{Value, json};

use crate::Defect;
use crate::world::World;

fn list<'v>(spec: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    spec[field].as_array().into_iter().flatten()
}

/// An amount in thousandths, as cases write it.
pub(crate) fn thousandths(amount: &Value) -> Option<i64> {
    let text = amount.as_str()?;
    let factors = [("m", 1), ("Ki", 1_024_000), ("Mi", 1_048_576_000), ("", 1_000)];
    let (number, factor) = factors
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?.parse::<i64>().ok()?, factor)))?;
    Some(number * factor)
}

impl World<'_> {
    /// The class that a new pod gets.
    pub(crate) fn class_of(&self, spec: &Value) -> &'static str {
        let inits = list(spec, "initContainers").filter(|_| !self.has(Defect::ClassOfMainsOnly));
        let all: Vec<&Value> = inits.chain(list(spec, "containers")).map(|of| &of["resources"]).collect();
        let counted = |amount: &Value| {
            amount.as_str().is_some_and(|text| text != "0" || self.has(Defect::ClassCountsZero))
        };
        let same = |of: &Value, resource: &str| {
            let (limit, request) = (&of["limits"][resource], &of["requests"][resource]);
            let equal = match counted(request) {
                true => thousandths(limit) == thousandths(request) || self.has(Defect::ClassIgnoresRequests),
                false => !self.has(Defect::ClassNeedsRequests),
            };
            counted(limit) && equal
        };
        let limited = |of: &&Value| match () {
            () if self.has(Defect::ClassOfOneResource) => same(of, "cpu") || same(of, "memory"),
            () if self.has(Defect::ClassOfMemory) => same(of, "memory"),
            () => same(of, "cpu") && same(of, "memory"),
        };
        let any = |of: &Value| match () {
            () if self.has(Defect::ClassOfMemory) => counted(&of["memory"]),
            () if self.has(Defect::ClassOfAnyResource) => {
                of.as_object().is_some_and(|of| of.values().any(counted))
            }
            () => counted(&of["cpu"]) || counted(&of["memory"]),
        };
        let asks = |of: &&Value| {
            any(&of["requests"]) || (any(&of["limits"]) && !self.has(Defect::ClassIgnoresLimits))
        };
        match () {
            () if all.iter().all(limited) && !self.lacks_requests(spec) => "Guaranteed",
            () if all.iter().any(asks) => "Burstable",
            () => "BestEffort",
        }
    }

    /// Whether a sidecar has no request because a defective API server does not use its limit as the default.
    fn lacks_requests(&self, spec: &Value) -> bool {
        let bare = |of: &Value| {
            let [limits, requests] = ["limits", "requests"].map(|kind| &of["resources"][kind]);
            ["cpu", "memory"].iter().any(|one| limits[*one].is_string() && requests[*one].is_null())
        };
        let mut sidecars = list(spec, "initContainers").filter(|of| of["restartPolicy"] == "Always");
        sidecars.any(bare) && self.has(Defect::SidecarLimitsAreNoRequests)
    }

    /// A quota is created and is in force at once.
    pub(crate) fn create_quota(&mut self, mut object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let hard = object["spec"]["hard"].clone();
        let none = |resource: &String| (resource.clone(), json!("0"));
        let used: serde_json::Map<String, Value> =
            hard.as_object().into_iter().flat_map(|hard| hard.keys().map(none)).collect();
        object["status"] = json!({ "hard": hard, "used": used });
        self.quota = Some(object["spec"].clone());
        self.show("ResourceQuota", &name, Change::Added, &object);
    }

    /// Why a quota forbids a pod.
    pub(crate) fn over_quota(&self, pod: &Value) -> Option<String> {
        let (spec, quota) = (&pod["spec"], self.quota.as_ref()?);
        let applies = list(quota, "scopes").all(|scope| match scope.as_str() {
            Some("Terminating") => spec["activeDeadlineSeconds"].is_i64(),
            Some("CrossNamespacePodAffinity") => spec["affinity"].is_object(),
            _ => true,
        });
        if !applies || self.has(Defect::QuotaLetsPass) {
            return None;
        }
        let over = quota["hard"].as_object()?.iter().filter_map(|(resource, hard)| {
            let (asked, hard_amount) = (self.asked(spec, resource)?, thousandths(hard)?);
            let last = asked == hard_amount && self.has(Defect::QuotaRefusesTheLast);
            (asked > hard_amount || last).then(|| (resource.clone(), asked, hard.clone()))
        });
        let over: Vec<_> = over.collect();
        if over.is_empty() {
            return None;
        }
        let pairs = |of: &dyn Fn(&(String, i64, Value)) -> String| {
            over.iter().map(|one| format!("{}={}", one.0, of(one))).collect::<Vec<_>>().join(",")
        };
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        Some(format!(
            "pods \"{name}\" is forbidden: exceeded quota: half, requested: {}, used: {}, limited: {}",
            pairs(&|(_, asked, _)| format!("{asked}m")),
            pairs(&|_| "0".to_owned()),
            pairs(&|(_, _, hard)| hard.as_str().unwrap_or_default().to_owned()),
        ))
    }

    /// The total that a pod requests of a quota's resource, such as `requests.cpu`, in thousandths.
    fn asked(&self, spec: &Value, resource: &str) -> Option<i64> {
        let (field, resource) = resource.split_once('.')?;
        let ignored = resource == "memory" && self.has(Defect::QuotaIgnoresMemory)
            || field == "limits" && self.has(Defect::QuotaIgnoresLimits);
        if ignored {
            return None;
        }
        let own = |of: &Value| thousandths(&of["resources"][field][resource]).unwrap_or(0);
        let counted = if self.has(Defect::QuotaCountsFirst) { 1 } else { usize::MAX };
        let mains: i64 = list(spec, "containers").take(counted).map(own).sum();
        let (mut sidecars, mut inits) = (0, 0);
        for container in list(spec, "initContainers") {
            if container["restartPolicy"] == "Always" {
                sidecars += if self.has(Defect::QuotaIgnoresSidecars) { 0 } else { own(container) };
            } else if self.has(Defect::QuotaAddsInits) {
                inits += own(container);
            } else if !self.has(Defect::QuotaIgnoresInits) {
                inits = inits.max(own(container) + sidecars);
            }
        }
        Some(inits.max(mains + sidecars))
    }
}
