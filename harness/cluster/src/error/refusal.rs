//! Refusals of the API server: what it says, and whether the object, a policy or neither is the reason.

use std::fmt;

use kube::core::Status;

/// The maximum length of a text that a proxy answers, in characters. A longer text is cut.
const LONGEST_PROSE: usize = 500;
/// With these words, an admission plugin refuses a pod because it does not know a new namespace yet.
const NOT_YET: [&str; 2] = ["status unknown for quota", "error looking up service account"];
/// The words with which the API server reports that an admission webhook or a ValidatingAdmissionPolicy refuses an
/// object. The status code is no help: a policy can also answer 400 or 422.
const DENIED: [&str; 2] = ["denied the request", "denied request"];
/// The words with which the API server reports that it cannot ask a webhook in a dry run. This says nothing about the
/// object.
const NO_DRY_RUN: &str = "does not support dry run";

/// The API server's own explanation of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The status code of the answer.
    pub code: u16,
    /// The reason in one word, such as `Invalid`, `Forbidden`, `AlreadyExists`.
    pub reason: String,
    /// The reason in a sentence.
    pub message: String,
    /// The fields that are at fault, each with a sentence.
    pub causes: Vec<(String, String)>,
    /// The first cause in one word, such as `DisruptionBudget`; empty if there is none.
    pub cause: String,
}

impl Refusal {
    /// Reads the body of an answer with an error code: a `Status`, or whatever a proxy wrote.
    pub(crate) fn read(code: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<Status>(body) {
            Ok(status) if !(status.message.is_empty() && status.reason.is_empty()) => {
                Self { code, ..Self::from(status) }
            }
            _ => {
                let message = String::from_utf8_lossy(body).chars().take(LONGEST_PROSE).collect();
                Self { code, message, ..Self::default() }
            }
        }
    }

    /// Whether the API server itself finds the object invalid, on every cluster of its version and configuration.
    #[must_use]
    pub fn is_validation(&self) -> bool {
        matches!(self.code, 400 | 422) && !self.is_by_policy() && !self.message.contains(NO_DRY_RUN)
    }

    /// Whether a policy of the cluster refuses the object: a webhook, a ValidatingAdmissionPolicy, or an admission plugin,
    /// for example for Pod Security, quotas or security context constraints. Missing permissions are not a policy.
    #[must_use]
    pub fn is_by_policy(&self) -> bool {
        let is_permission = self.message.contains("cannot create resource");
        let is_early = NOT_YET.iter().any(|words| self.message.contains(words));
        let by_plugin =
            self.code == 403 && self.message.contains(" is forbidden: ") && !is_permission && !is_early;
        by_plugin || DENIED.iter().any(|words| self.message.contains(words))
    }
}

impl From<Status> for Refusal {
    fn from(Status { code, reason, message, details, .. }: Status) -> Self {
        let causes = details.map(|details| details.causes).unwrap_or_default();
        let cause = causes.first().map(|cause| cause.reason.clone()).unwrap_or_default();
        let causes = causes.into_iter().map(|cause| (cause.field, cause.message)).collect();
        Self { code, reason, message, causes, cause }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.trim();
        let message = if message.is_empty() { "no reason was given" } else { message };
        let space = if self.reason.is_empty() { "" } else { " " };
        write!(f, "the API server answered {}{space}{}: {message}", self.code, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: u16, message: &str) -> Refusal {
        Refusal { code, message: message.to_owned(), ..Refusal::default() }
    }

    #[test]
    fn what_a_policy_refuses_is_not_invalid_whatever_its_code_is() {
        for (code, message) in [
            (400, "admission webhook \"validate.kyverno.svc-fail\" denied the request: no `latest`"),
            (
                422,
                "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
            ),
            (422, "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no"),
            (403, "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": host namespaces"),
            (
                403,
                "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
            ),
        ] {
            let refusal = refusal(code, message);
            assert!(refusal.is_by_policy() && !refusal.is_validation(), "{message}");
        }
    }

    #[test]
    fn validation_missing_permissions_and_unsupported_dry_runs_are_not_policies() {
        for (code, message, is_validation) in [
            (422, "Pod \"a\" is invalid: spec.containers[0].name: Required value", true),
            (400, "strict decoding error: unknown field \"spec.x\"", true),
            (400, "admission webhook \"w\" does not support dry run", false),
            (403, "pods is forbidden: User \"u\" cannot create resource \"pods\" in API group \"\"", false),
            (500, "Internal error occurred: failed calling webhook \"w\"", false),
        ] {
            let refusal = refusal(code, message);
            assert_eq!(
                (refusal.is_by_policy(), refusal.is_validation()),
                (false, is_validation),
                "{message}"
            );
        }
    }
}
