//! The restart rules of containers, which take precedence over the restart policy of their container.

use probity_model::timeline::ContainerLife;
use serde_json::Value;

/// The rules of a container.
pub(crate) fn rules<'c>(container: &ContainerLife<'c>) -> &'c [Value] {
    container.spec.get("restartPolicyRules").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a rule restarts all containers of the pod.
pub(crate) fn restarts_all(rule: &Value) -> bool {
    rule["action"] == "RestartAllContainers"
}

/// Whether a rule applies to an exit status.
pub(crate) fn knows(rule: &Value, code: u8) -> bool {
    let values = rule["exitCodes"]["values"].as_array();
    let listed = values.is_some_and(|values| values.iter().any(|value| *value == code));
    listed == (operator(rule) == "In")
}

/// Whether a rule restarts only this container after an exit status.
pub(crate) fn is_restarted(container: &ContainerLife<'_>, code: u8) -> bool {
    rules(container).iter().find(|rule| knows(rule, code)).is_some_and(|rule| !restarts_all(rule))
}

/// Whether the codes of a rule are those to which it applies (`In`), or those to which it does not apply (`NotIn`).
pub(crate) fn operator(rule: &Value) -> &str {
    rule["exitCodes"]["operator"].as_str().unwrap_or_default()
}
