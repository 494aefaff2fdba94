//! Label selectors: which pods they select, and whether this changes with the labels of a pod.

use probity_model::timeline::PodLife;
use serde_json::{Map, Value};

use super::volumes::list;

/// Whether labels have all of these values.
pub(crate) fn has_all(labels: &Value, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Whether labels meet an expression of a selector. None if the operator is not known.
fn meets(expression: &Value, labels: &Value) -> Option<bool> {
    let label = expression["key"].as_str().and_then(|key| labels.get(key));
    let among = label.is_some_and(|label| list(expression, "values").any(|value| value == label));
    match expression["operator"].as_str()? {
        "In" => Some(among),
        "NotIn" => Some(!among),
        "Exists" => Some(label.is_some()),
        "DoesNotExist" => Some(label.is_none()),
        _ => None,
    }
}

/// Whether a label selector has labels or expressions, and all operators of its expressions are known.
pub(crate) fn is_known(selector: &Value) -> bool {
    let has_any = selector["matchLabels"].is_object() || selector["matchExpressions"].is_array();
    has_any && list(selector, "matchExpressions").all(|of| meets(of, &Value::Null).is_some())
}

/// Whether a label selector may select these labels: an expression whose operator is not known may be met.
pub(crate) fn may_select(selector: &Value, labels: &Value) -> bool {
    selector.is_object()
        && selector["matchLabels"].as_object().is_none_or(|wanted| has_all(labels, wanted))
        && list(selector, "matchExpressions").all(|of| meets(of, labels) != Some(false))
}

/// For each revision of a pod, whether its labels are selected. If no revision of the pod is known, its manifest decides.
pub(crate) fn selections(pod: &PodLife<'_>, selects: impl Fn(&Value) -> bool) -> Vec<bool> {
    let shown = pod.revisions.iter().map(|shown| shown.object);
    let sent = pod.created.map(|(_, manifest)| manifest).filter(|_| pod.revisions.is_empty());
    shown.chain(sent).map(|object| selects(&object["metadata"]["labels"])).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_known, may_select};

    fn expression(operator: &str) -> Value {
        json!({ "key": "role", "operator": operator, "values": ["spare", "old"] })
    }

    #[test]
    fn an_expression_is_about_one_label() {
        let of = |labels: &Value| {
            ["In", "NotIn", "Exists", "DoesNotExist"]
                .map(|word| may_select(&json!({ "matchExpressions": [expression(word)] }), labels))
        };
        assert_eq!(of(&json!({})), [false, true, false, true]);
        assert_eq!(of(&json!({ "role": "spare" })), [true, false, true, false]);
        assert_eq!(of(&json!({ "role": "main" })), [false, true, true, false]);
    }

    #[test]
    fn labels_and_expressions_are_both_needed() {
        let selector = json!({ "matchLabels": { "app": "web" }, "matchExpressions": [expression("NotIn")] });
        assert!(may_select(&selector, &json!({ "app": "web" })));
        assert!(!may_select(&selector, &json!({ "app": "web", "role": "old" })));
        assert!(!may_select(&selector, &json!({ "app": "other" })));
    }

    #[test]
    fn a_selector_that_is_not_known_may_select_anything() {
        let strange = json!({ "matchExpressions": [expression("Near")] });
        assert!(!is_known(&strange) && may_select(&strange, &json!({})));
        assert!(!is_known(&json!({})) && may_select(&json!({}), &json!({})));
        assert!(!is_known(&Value::Null) && !may_select(&Value::Null, &json!({})));
        assert!(is_known(&json!({ "matchExpressions": [expression("In")] })));
    }
}
