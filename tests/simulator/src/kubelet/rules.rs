//! The restart policies and rules of single containers.

use serde_json::Value;

use crate::Defect;
use crate::pod::Kind;
use crate::world::{At, World};

impl World<'_> {
    /// The effective restart policy of a container that is not a sidecar: its own, or its pod's.
    pub(crate) fn policy_of(&self, at: At) -> &str {
        let of = &self.pods[at.pod];
        let (container, pod) = (&of.containers[at.container], of.restart_policy());
        let own = container.spec["restartPolicy"].as_str().filter(|_| container.kind != Kind::Sidecar);
        let has_rules = container.spec.get("restartPolicyRules").is_some();
        match own {
            Some(_) if self.has(Defect::OwnPolicyIgnored) => pod,
            Some(_) if self.has(Defect::OwnPolicyOnlyAdds) && pod != "Never" => pod,
            Some(_) if self.has(Defect::OwnPolicyForMainsOnly) && container.kind == Kind::Init => pod,
            Some(_) if self.has(Defect::UnmatchedRulesMeanNever) && has_rules => "Never",
            own => own.unwrap_or(pod),
        }
    }

    /// Whether a rule of a container restarts it after this exit status.
    pub(super) fn restarts_by_rule(&self, at: At, code: i64) -> bool {
        let container = &self.pods[at.pod].containers[at.container];
        let most = if self.has(Defect::FirstRuleOnly) { 1 } else { usize::MAX };
        let rules = container.spec["restartPolicyRules"].as_array().into_iter().flatten().take(most);
        let known = !self.has(Defect::RulesForMainsOnly) || container.kind == Kind::Main;
        let ignored = self.has(Defect::RestartRulesIgnored)
            || (container.out_of_memory && self.has(Defect::MemoryKillIgnoresRules));
        !ignored
            && known
            && rules.filter(|rule| rule["action"] == "Restart").any(|rule| self.matches(rule, code))
    }

    pub(super) fn matches(&self, rule: &Value, code: i64) -> bool {
        let codes = &rule["exitCodes"];
        let values = codes["values"].as_array().into_iter().flatten();
        let last_only = codes["operator"] == "NotIn" && self.has(Defect::LastNotInOnly);
        let most = if last_only { 1 } else { usize::MAX };
        let listed = values.rev().take(most).any(|value| value.as_i64() == Some(code));
        match () {
            () if self.has(Defect::RestartRulesMatchAnyFailure) => code != 0,
            () if self.has(Defect::RestartRulesKnowOnlyIn) => listed,
            () if code == 0 && codes["operator"] == "NotIn" && self.has(Defect::NotInSparesZero) => false,
            () => listed == (codes["operator"] == "In"),
        }
    }
}

/// The problems with the restart policy and the rules of a container.
pub(crate) fn rule_problems(world: &World<'_>, path: &str, container: &Value, problems: &mut Vec<String>) {
    let policy = container["restartPolicy"].as_str();
    let known = policy.is_none_or(|policy| ["Always", "OnFailure", "Never"].contains(&policy));
    if !known && !world.has(Defect::ApiAcceptsAnyOwnPolicy) {
        problems.push(format!("{path}.restartPolicy: Unsupported value: {}", container["restartPolicy"]));
    }
    let rules = container["restartPolicyRules"].as_array().map_or(&[][..], Vec::as_slice);
    if !rules.is_empty() && policy.is_none() && !world.has(Defect::ApiAcceptsRulesWithoutPolicy) {
        problems.push(format!("{path}.restartPolicy: Required value: must specify restartPolicy"));
    }
    for (at, rule) in rules.iter().enumerate().filter(|_| !world.has(Defect::ApiAcceptsAnyRule)) {
        let (path, codes) = (format!("{path}.restartPolicyRules[{at}]"), &rule["exitCodes"]);
        if rule["action"] != "Restart" && rule["action"] != "RestartAllContainers" {
            problems.push(format!("{path}.action: Unsupported value: {}", rule["action"]));
        }
        if codes.is_null() {
            problems.push(format!("{path}.exitCodes: Required value: must be specified"));
        } else if codes["operator"] != "In" && codes["operator"] != "NotIn" {
            problems.push(format!("{path}.exitCodes.operator: Unsupported value: {}", codes["operator"]));
        }
    }
}
