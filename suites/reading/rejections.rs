//! Manifests that the API server rejected in a dry run.

use probity_model::history::Tried;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen};

/// What the API server's message contains if an admission webhook or an admission policy of the cluster denied an object.
/// The status code does not distinguish these from the API server's own validation.
const DENIED: [&str; 2] = ["denied the request", "denied request"];

/// Whether the API server itself rejected a manifest because of a field. The message of a policy may name the field, too,
/// but it shows nothing about the API server.
pub(crate) fn is_because_of(tried: &Tried, field: &str) -> bool {
    is_own(tried) && tried.message.contains(field)
}

/// Whether a rejection is the API server's own, and not that of a policy of the cluster.
pub(crate) fn is_own(tried: &Tried) -> bool {
    !DENIED.iter().any(|words| tried.message.contains(words))
}

/// Records a doubt: a manifest that breaks a rule was rejected for another reason, so the rule was not tested.
pub(crate) fn for_another_reason((id, tried): (EventId, &Tried), seen: &mut Seen) {
    let why = format!("`{}` was rejected for another reason: {}", tried.name, tried.message);
    seen.doubt(Doubt::Ambiguous, why, [id]);
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_policy_that_names_a_field_says_nothing_about_the_api_server() {
        let of = |message: &str| {
            let (name, message) = ("it".to_owned(), message.to_owned());
            let tried = Tried { name, manifest: Value::Null, code: 422, message, stored: Value::Null };
            is_because_of(&tried, "httpGet.port")
        };
        assert!(of("Pod \"a\" is invalid: spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0"));
        assert!(!of("Pod \"a\" is invalid: spec.hostname: Invalid value"));
        assert!(!of("admission webhook \"v.example.com\" denied the request: httpGet.port must be 8080"));
        assert!(!of("pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: httpGet.port"));
    }
}
