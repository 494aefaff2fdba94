//! The API server's answer to the eviction of a pod, and the condition that the API server writes before it deletes the
//! pod.

use probity_case::Step;
use probity_case::manifest::pod_name;
use probity_model::history::Did;
use serde_json::json;

use crate::Defect;
use crate::conditions::entry;
use crate::pod::Kind;
use crate::world::{Act, At, LifeAt, SECOND, World};

/// The delay after which a defective API server writes why a pod terminates.
const EXPLAINED_LATE: i64 = 4 * SECOND;
/// The longest grace period that a defective API server gives to an evicted pod, in seconds.
const LONGEST_GRACE: i64 = 30;
/// How long a defective cluster leaves an undisturbed pod alone.
const IDLE: i64 = 6 * SECOND;

/// Why an eviction is refused.
struct Refusal {
    code: u16,
    reason: &'static str,
    message: &'static str,
    cause: Option<&'static str>,
}

const FORBIDDEN: Refusal = Refusal {
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    cause: Some("DisruptionBudget"),
};
const SEVERAL: Refusal = Refusal {
    code: 500,
    reason: "",
    message: "This pod has more than one PodDisruptionBudget.",
    cause: None,
};

impl World<'_> {
    /// A client evicts a pod.
    pub(crate) fn evict(&mut self, key: &str, step: &Step) {
        let name = pod_name(self.case, key);
        let Some(pod) = self.pods.iter().rposition(|pod| pod.name == name && !pod.gone) else {
            let why = format!("failed to evict Pod {name}: the API server answered 404 NotFound");
            self.did(Did::Failed { what: step.in_words(), why });
            return;
        };
        if let Err(Refusal { code, reason, message, cause }) = self.answer(pod) {
            if cause.is_some() && self.has(Defect::RefusedEvictionExplained) {
                self.explain(pod);
            }
            let space = if reason.is_empty() { "" } else { " " };
            let refused = Some(format!("the API server answered {code}{space}{reason}: {message}"));
            let cause = cause.map(str::to_owned);
            self.did(Did::Evicted { pod: name, refused, code: Some(code), cause });
            return;
        }
        self.did(Did::Evicted { pod: name, refused: None, code: None, cause: None });
        if self.pods[pod].deleted.is_none() && self.has(Defect::EvictionExplainedLate) {
            self.later(EXPLAINED_LATE, Act::Explain(pod));
        } else {
            self.explain(pod);
        }
        let own = self.pods[pod].grace() / SECOND;
        let grace = match () {
            () if self.has(Defect::EvictionWithoutGrace) => 0,
            () if self.has(Defect::EvictionHalvesGrace) => own / 2,
            () if self.has(Defect::EvictionCapsGrace) => own.min(LONGEST_GRACE),
            () => own,
        };
        if self.has(Defect::EvictionSkipsHooks) {
            for container in &mut self.pods[pod].containers {
                container.spec["lifecycle"] = json!(null);
            }
        }
        self.ask_to_go(pod, grace);
    }

    /// Whether a pod may be evicted. If a budget allows the eviction, the budget allows one disruption less from now
    /// on.
    fn answer(&mut self, pod: usize) -> Result<(), Refusal> {
        let over = |phase: &str| matches!(phase, "Succeeded" | "Failed");
        let bypasses = match self.pods[pod].object["status"]["phase"].as_str().unwrap_or_default() {
            _ if self.pods[pod].deleted.is_some() => !self.has(Defect::TerminatingAskBudget),
            "Pending" => !self.has(Defect::PendingAskBudget) && !self.asks_without_node(pod),
            phase => over(phase) && !self.has(Defect::FinishedAskBudget),
        };
        if bypasses || self.has(Defect::EvictionIgnoresBudgets) {
            return Ok(());
        }
        let several = if self.has(Defect::SeveralBudgetsMayRetry) { FORBIDDEN } else { SEVERAL };
        let budgets = self.budgets_of(pod);
        let budget = match budgets[..] {
            [] => return Ok(()),
            [budget] => budget,
            [first, ..] if self.has(Defect::FirstBudgetDecides) => first,
            _ => return Err(several),
        };
        let healthy = self.is_healthy(pod);
        let always = self.budgets[budget].always_allows() && !self.has(Defect::AlwaysAllowIgnored);
        let (current, desired) = self.budgets[budget].health();
        let freely = match healthy {
            true => always && self.has(Defect::AlwaysAllowForHealthy),
            false if self.has(Defect::UnhealthyAlwaysEvicted) => true,
            false if self.has(Defect::UnhealthyNeedBudget) => false,
            false => always || (current >= desired && desired > 0),
        };
        if freely {
            if !healthy && self.has(Defect::UnhealthyUseBudget) {
                self.use_up(budget, pod);
            }
            return Ok(());
        }
        if self.budgets[budget].allowed() == 0 || self.has(Defect::BudgetsRefuseAll) {
            let cause = FORBIDDEN.cause.filter(|_| !self.has(Defect::RefusalWithoutCause));
            let conflict = self.has(Defect::RefusalIsConflict);
            let (code, reason) =
                if conflict { (409, "Conflict") } else { (FORBIDDEN.code, FORBIDDEN.reason) };
            return Err(Refusal { code, reason, cause, ..FORBIDDEN });
        }
        if !self.has(Defect::EvictionsNotCounted) {
            self.use_up(budget, pod);
        }
        Ok(())
    }

    /// Whether the budget applies to a pod because it has no node.
    fn asks_without_node(&self, pod: usize) -> bool {
        self.pods[pod].object["spec"]["nodeName"].is_null() && self.has(Defect::UnscheduledAskBudget)
    }

    /// Writes the condition that shows why a pod terminates.
    pub(crate) fn explain(&mut self, pod: usize) {
        if self.has(Defect::EvictionUnexplained) || self.pods[pod].gone {
            return;
        }
        let reason = match self.has(Defect::EvictionMisexplained) {
            true => "DeletionByTaintManager",
            false => "EvictionByEvictionAPI",
        };
        let now = json!(self.timestamp(self.now));
        if let Some(target) = entry(&mut self.pods[pod].object["status"]["conditions"], "DisruptionTarget") {
            let since = if target["status"] == "True" { target["lastTransitionTime"].clone() } else { now };
            *target = json!({
                "type": "DisruptionTarget", "status": "True", "reason": reason, "message": "Eviction API: evicting",
                "lastProbeTime": null, "lastTransitionTime": since,
            });
        }
        self.show_again(pod);
    }

    /// A defective API server writes the same condition into a pod that is deleted.
    pub(crate) fn explain_deletion(&mut self, pod: usize) {
        if self.has(Defect::DeletionExplainedAsEviction) {
            self.explain(pod);
        }
    }

    fn is_forbidden(&self, pod: usize) -> bool {
        let budgets = self.budgets_of(pod);
        !budgets.is_empty() && budgets.iter().all(|budget| self.budgets[*budget].allowed() == 0)
    }

    /// Why a defective API server refuses to delete a pod.
    pub(crate) fn refuses_deletion(&self, pod: usize) -> Option<String> {
        let refuses = self.has(Defect::DeletionAsksBudget) && self.is_forbidden(pod);
        let name = &self.pods[pod].name;
        refuses.then(|| {
            format!(
                "failed to delete Pod {name}: the API server answered 429 TooManyRequests: {}",
                FORBIDDEN.message
            )
        })
    }

    /// Whether a defective API server leaves a deleted pod as it is.
    pub(crate) fn awaits_budget(&self, pod: usize) -> bool {
        self.has(Defect::DeletionAwaitsBudget) && self.is_forbidden(pod)
    }

    /// A defective cluster will disturb a pod that only keeps running.
    pub(crate) fn tire_of(&mut self, pod: usize) {
        let mut containers = self.pods[pod].containers.iter();
        let idle = containers.all(|container| container.workers.is_empty() && container.kind != Kind::Init);
        if idle && (self.has(Defect::IdlePodsRemoved) || self.has(Defect::IdlePodsRestarted)) {
            self.later(IDLE, Act::Tire(pod));
        }
    }

    /// The pod is removed, or its containers are restarted.
    pub(crate) fn tire(&mut self, pod: usize) {
        if self.pods[pod].gone || self.pods[pod].deleted.is_some() {
            return;
        }
        if self.has(Defect::IdlePodsRemoved) {
            self.ask_to_go(pod, self.pods[pod].grace() / SECOND);
            return;
        }
        for container in 0..self.pods[pod].containers.len() {
            let attempt = self.pods[pod].containers[container].attempt();
            self.later(0, Act::Force(LifeAt { at: At { pod, container }, attempt }));
        }
    }
}
