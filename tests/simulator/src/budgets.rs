//! Pod disruption budgets: the status that their controller writes, and the evictions that they forbid.

use probity_model::history::Change;
use serde_json::{Map, Value, json};

use crate::Defect;
use crate::world::{Act, MS, SECOND, World};

/// The delay after which a defective controller updates a budget.
const LATE: i64 = 20 * SECOND;

/// A budget.
pub(crate) struct Budget {
    pub(crate) name: String,
    object: Value,
    touched: bool,
    /// The pods that were evicted under the budget.
    disrupted: Vec<usize>,
}

impl World<'_> {
    /// A budget is created.
    pub(crate) fn create_budget(&mut self, mut object: Value) {
        let number = self.budgets.len();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-a000-{number:012}"));
        object["status"] =
            json!({ "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0 });
        self.budgets.push(Budget { name, object, touched: false, disrupted: Vec::new() });
        self.show_budget(number, Change::Added);
        self.touch_budgets();
    }

    fn show_budget(&mut self, budget: usize, change: Change) {
        if self.case.watch.iter().any(|kind| kind == "PodDisruptionBudget") {
            let (name, object) = (self.budgets[budget].name.clone(), self.budgets[budget].object.clone());
            self.show("PodDisruptionBudget", &name, change, &object);
        }
    }

    /// Something about pods changed: the controller will soon update all budgets.
    pub(crate) fn touch_budgets(&mut self) {
        for budget in 0..self.budgets.len() {
            if !std::mem::replace(&mut self.budgets[budget].touched, true) {
                let late = if self.has(Defect::BudgetsCountedLate) { LATE } else { 0 };
                let delay = self.between(40 * MS, 200 * MS) + late;
                self.later(delay, Act::Weigh(budget));
            }
        }
    }

    /// The controller updates a budget.
    pub(crate) fn weigh(&mut self, budget: usize) {
        self.budgets[budget].touched = false;
        let (spec, old) = {
            let object = &self.budgets[budget].object;
            (object["spec"].clone(), object["status"].clone())
        };
        let members: Vec<usize> =
            (0..self.pods.len()).filter(|pod| !self.pods[*pod].gone && self.is_under(budget, *pod)).collect();
        let healthy = |pod: &&usize| {
            let of = &self.pods[**pod];
            let counts = self.is_healthy(**pod) || self.has(Defect::UnreadyCountAsHealthy);
            let stays = of.deleted.is_none() || self.has(Defect::BudgetCountsTerminating);
            counts && stays && !self.budgets[budget].disrupted.contains(*pod)
        };
        let all = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let current = i64::try_from(members.iter().filter(healthy).count()).unwrap_or(i64::MAX);
        // No pod in the simulator has a controller that defines the number of pods, so only an absolute number of
        // available pods counts.
        let (expected, desired) = spec["minAvailable"].as_i64().map_or((0, 0), |least| (all, least));
        let more = i64::from(self.has(Defect::BudgetAllowsOneMore));
        let allowed = if expected > 0 { (current - desired + more).max(0) } else { 0 };
        let spent = self.has(Defect::BudgetsNeverRecover) && !self.budgets[budget].disrupted.is_empty();
        let allowed = if spent { allowed.min(self.budgets[budget].allowed()) } else { allowed };
        let status = json!({
            "conditions": [self.allowance_condition(&old, allowed)],
            "currentHealthy": current, "desiredHealthy": desired, "disruptionsAllowed": allowed,
            "expectedPods": expected, "observedGeneration": 1,
        });
        if status != old {
            self.budgets[budget].object["status"] = status;
            self.show_budget(budget, Change::Modified);
        }
    }

    fn allowance_condition(&self, old: &Value, allowed: i64) -> Value {
        let word = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        let known = &old["conditions"][0];
        let since = if known["status"] == word.0 {
            known["lastTransitionTime"].clone()
        } else {
            json!(self.timestamp(self.now))
        };
        json!({
            "type": "DisruptionAllowed", "status": word.0, "reason": word.1, "message": "",
            "lastTransitionTime": since, "observedGeneration": 1,
        })
    }

    /// A pod is evicted: its budget allows one disruption less, and no longer counts it.
    pub(crate) fn use_up(&mut self, budget: usize, pod: usize) {
        let allowed = self.budgets[budget].allowed();
        let mut status = self.budgets[budget].object["status"].clone();
        status["disruptionsAllowed"] = json!((allowed - 1).max(0));
        status["conditions"] = json!([self.allowance_condition(&status, allowed - 1)]);
        self.budgets[budget].object["status"] = status;
        self.budgets[budget].disrupted.push(pod);
        self.show_budget(budget, Change::Modified);
    }

    fn is_under(&self, budget: usize, pod: usize) -> bool {
        let labels = &self.pods[pod].object["metadata"]["labels"];
        let selector = &self.budgets[budget].object["spec"]["selector"];
        let selects =
            |all: &Map<String, Value>| all.iter().all(|(name, value)| labels.get(name) == Some(value));
        let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
        let met = expressions.all(|of| meets(of, labels)) || self.has(Defect::BudgetsIgnoreExpressions);
        self.has(Defect::BudgetSelectsAll)
            || (met && selector["matchLabels"].as_object().is_some_and(selects))
    }

    /// The budgets that select a pod.
    pub(crate) fn budgets_of(&self, pod: usize) -> Vec<usize> {
        (0..self.budgets.len()).filter(|budget| self.is_under(*budget, pod)).collect()
    }

    /// Whether the API shows a pod as ready.
    pub(crate) fn is_healthy(&self, pod: usize) -> bool {
        let counts = if self.has(Defect::BudgetIgnoresGates) { "ContainersReady" } else { "Ready" };
        let conditions = self.pods[pod].object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|of| of["type"] == counts && of["status"] == "True")
    }

    /// The budget that allows no disruption of a pod, if there is one.
    pub(crate) fn forbidding(&self, pod: usize) -> Option<&str> {
        let found = self.budgets_of(pod).into_iter().find(|budget| self.budgets[*budget].allowed() == 0)?;
        Some(&self.budgets[found].name)
    }
}

/// Whether labels meet an expression of a selector.
fn meets(expression: &Value, labels: &Value) -> bool {
    let label = expression["key"].as_str().and_then(|key| labels.get(key));
    let among =
        label.is_some_and(|label| expression["values"].as_array().is_some_and(|all| all.contains(label)));
    match expression["operator"].as_str() {
        Some("In") => among,
        Some("NotIn") => !among,
        Some("Exists") => label.is_some(),
        _ => label.is_none(),
    }
}

impl Budget {
    /// How many disruptions the budget allows.
    pub(crate) fn allowed(&self) -> i64 {
        self.object["status"]["disruptionsAllowed"].as_i64().unwrap_or_default()
    }

    /// How many healthy pods the controller has counted, and how many there should be.
    pub(crate) fn health(&self) -> (i64, i64) {
        let of = |field: &str| self.object["status"][field].as_i64().unwrap_or_default();
        (of("currentHealthy"), of("desiredHealthy"))
    }

    /// Whether pods that are not ready can always be evicted.
    pub(crate) fn always_allows(&self) -> bool {
        self.object["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    }
}
