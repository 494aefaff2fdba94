//! Pod disruption budgets: what their controller writes into them, and evictions that they forbid.

use probity_model::history::Change;
use serde_json::{Value, json};

use crate::world::{Act, MS, World};

/// A budget.
pub(crate) struct Budget {
    pub(crate) name: String,
    object: Value,
    touched: bool,
}

impl World<'_> {
    /// A budget is created.
    pub(crate) fn create_budget(&mut self, mut object: Value) {
        let number = self.budgets.len();
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        object["metadata"]["uid"] = json!(format!("00000000-0000-4000-a000-{number:012}"));
        object["status"] =
            json!({ "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0 });
        self.budgets.push(Budget { name, object, touched: false });
        self.show_budget(number, Change::Added);
        self.touch_budgets();
    }

    fn show_budget(&mut self, budget: usize, change: Change) {
        if self.case.watch.iter().any(|kind| kind == "PodDisruptionBudget") {
            let (name, object) = (self.budgets[budget].name.clone(), self.budgets[budget].object.clone());
            self.show("PodDisruptionBudget", &name, change, &object);
        }
    }

    /// Something about pods changed: the controller will look at all budgets soon.
    pub(crate) fn touch_budgets(&mut self) {
        for budget in 0..self.budgets.len() {
            if !std::mem::replace(&mut self.budgets[budget].touched, true) {
                let delay = self.between(40 * MS, 200 * MS);
                self.later(delay, Act::Weigh(budget));
            }
        }
    }

    /// The controller looks at a budget.
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
            let conditions = of.object["status"]["conditions"].as_array();
            let ready =
                conditions.into_iter().flatten().any(|of| of["type"] == "Ready" && of["status"] == "True");
            ready && of.deleted.is_none()
        };
        let expected = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let current = i64::try_from(members.iter().filter(healthy).count()).unwrap_or(i64::MAX);
        let desired = match (spec["minAvailable"].as_i64(), spec["maxUnavailable"].as_i64()) {
            (Some(least), _) => least,
            (None, Some(most)) => expected - most,
            (None, None) => 1,
        };
        let allowed = (current - desired).max(0);
        let word = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        let known = &old["conditions"][0];
        let since = if known["status"] == word.0 {
            known["lastTransitionTime"].clone()
        } else {
            json!(self.timestamp(self.now))
        };
        let status = json!({
            "conditions": [{
                "type": "DisruptionAllowed", "status": word.0, "reason": word.1, "message": "",
                "lastTransitionTime": since, "observedGeneration": 1,
            }],
            "currentHealthy": current, "desiredHealthy": desired, "disruptionsAllowed": allowed,
            "expectedPods": expected, "observedGeneration": 1,
        });
        if status != old {
            self.budgets[budget].object["status"] = status;
            self.show_budget(budget, Change::Modified);
        }
    }

    fn is_under(&self, budget: usize, pod: usize) -> bool {
        let labels = &self.pods[pod].object["metadata"]["labels"];
        let selector = self.budgets[budget].object["spec"]["selector"]["matchLabels"].as_object();
        selector.is_some_and(|all| all.iter().all(|(name, value)| labels.get(name) == Some(value)))
    }

    /// The budget that allows no disruption of a pod, if there is one.
    pub(crate) fn forbidding(&self, pod: usize) -> Option<&str> {
        let forbids =
            |budget: &usize| self.budgets[*budget].object["status"]["disruptionsAllowed"].as_i64() == Some(0);
        let found = (0..self.budgets.len()).filter(|budget| self.is_under(*budget, pod)).find(forbids)?;
        Some(&self.budgets[found].name)
    }
}
