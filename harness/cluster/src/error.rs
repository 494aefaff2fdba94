//! Errors of the cluster: what was done, what went wrong, what to do.
//!
//! None of these errors is a verdict: a problem on the way to the cluster is `error` or `inconclusive`, never
//! `violated`. This module uses no other module of the crate.

use std::fmt;

use kube::client::UpgradeConnectionError;
use kube::config::KubeconfigError;
use kube::core::Status;

/// The maximum length of a text that a proxy answers, in characters. A longer text is cut.
const LONGEST_PROSE: usize = 500;
/// The words with which the API server reports that an admission webhook or a ValidatingAdmissionPolicy refuses an
/// With these words, an admission plugin refuses a pod because it does not know a new namespace yet.
const NOT_YET: [&str; 2] = ["status unknown for quota", "error looking up service account"];
/// object. The status code is no help: a policy can also answer 400 or 422.
const DENIED: [&str; 2] = ["denied the request", "denied request"];
/// The words with which the API server reports that it cannot ask a webhook in a dry run. This says nothing about the
/// object.
const NO_DRY_RUN: &str = "does not support dry run";

/// Why something could not be done with the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kubeconfig could not be read.
    #[error(
        "failed to read the kubeconfig ({path}): {}; name another with --kubeconfig, or use the service account of this pod with --in-cluster",
        cause(.error)
    )]
    Kubeconfig {
        /// The file, or the default locations.
        path: String,
        /// What went wrong.
        error: Box<KubeconfigError>,
    },
    /// No context was named. The field lists the contexts in the kubeconfig.
    #[error(
        "no context was given, and the harness never uses the current one; choose one with --context: {}",
        .0.join(", ")
    )]
    ContextNotNamed(Vec<String>),
    /// The kubeconfig has no contexts at all. The field is the file, or the default locations.
    #[error("{0}: this kubeconfig has no contexts; give another with --kubeconfig")]
    NoContexts(String),
    /// The kubeconfig does not have the context.
    #[error(
        "{path}: this kubeconfig has no context `{context}`; choose one with --context: {}",
        .known.join(", ")
    )]
    NoSuchContext {
        /// The file, or the default locations.
        path: String,
        /// The context that was named.
        context: String,
        /// The contexts in the kubeconfig.
        known: Vec<String>,
    },
    /// The context exists, but no client can be made from it.
    #[error("the context `{context}` cannot be used: {error}; try `kubectl --context {context} version`")]
    Context {
        /// The context.
        context: String,
        /// What is wrong with it.
        error: String,
    },
    /// The proxy of the context cannot be used.
    #[error(
        "failed to connect to the API server through {proxy}: {error}; if the cluster is reachable without a proxy, add its host to NO_PROXY, or remove proxy-url from the kubeconfig"
    )]
    Proxy {
        /// The proxy without its user and password, and where it was configured.
        proxy: String,
        /// What went wrong.
        error: String,
    },
    /// The API server did not answer the first request, which was sent through a proxy.
    #[error(
        "failed to connect to the API server: {error}; the connection goes through {proxy}: if the cluster is reachable without a proxy, add its host to NO_PROXY, or remove proxy-url from the kubeconfig"
    )]
    ThroughProxy {
        /// The proxy without its user and password, and where it was configured.
        proxy: String,
        /// What went wrong.
        error: String,
    },
    /// There is no service account of a pod here.
    #[error(
        "this program is not running in a pod with a service account ({0}); omit --in-cluster, and choose a context with --context"
    )]
    NotInCluster(String),
    /// A request failed.
    #[error("failed to {doing}: {failure}")]
    Request {
        /// What was being done.
        doing: String,
        /// How it failed.
        failure: RequestFailure,
    },
    /// The harness does not support this kind of object.
    #[error("the harness does not support the kind `{kind}`; it supports {known}")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The supported kinds.
        known: String,
    },
    /// One of the harness's own pods did not become ready.
    #[error("the pod {pod} did not become ready (waited {seconds} s): {why}")]
    NotReady {
        /// The pod.
        pod: String,
        /// How long the harness waited.
        seconds: u64,
        /// Why, and what to do.
        why: String,
    },
    /// Permissions are missing: one sentence each.
    #[error(
        "permissions are missing, so nothing was created:\n  {}\nApply the output of `probity rbac`, or use a context with these permissions.",
        .0.join("\n  ")
    )]
    Permissions(Vec<String>),
    /// The namespace cannot be used.
    #[error("the namespace {name} cannot be used: {why}")]
    Namespace {
        /// The namespace.
        name: String,
        /// Why, and what to do.
        why: String,
    },
    /// A request to a pod over a port-forward failed.
    #[error("failed to {doing} at port {port} of the pod {pod} over a port-forward: {error}")]
    PortForward {
        /// What was being done.
        doing: String,
        /// The pod.
        pod: String,
        /// Its port.
        port: u16,
        /// What went wrong.
        error: String,
    },
}

impl ClusterError {
    /// The refusal of the API server, if it was one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Request { failure: RequestFailure::Refused(refusal), .. } => Some(refusal),
            _ => None,
        }
    }

    /// Whether the API server examined the request and rejected it. With 429 and 5xx, it did not decide.
    #[must_use]
    pub fn is_rejection(&self) -> bool {
        (400..500).contains(&self.code()) && self.code() != 429
    }

    /// The status code of the refusal; 0 if it was not one.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.refusal().map_or(0, |refusal| refusal.code)
    }
}

/// How a request to the API server failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestFailure {
    /// It could not be sent, or the connection broke.
    #[error("{0}; is the API server reachable from here?")]
    Unreachable(String),
    /// There was no answer within this many seconds.
    #[error("the API server did not answer within {0} s")]
    Silent(u64),
    /// The API server refused it.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The answer is not what the API promises.
    #[error("the answer is invalid: {0}")]
    Unreadable(String),
    /// The log of a container was cut off.
    #[error("the log was cut off after {} bytes: {error}", text.len())]
    CutOff {
        /// What arrived, up to the last whole line.
        text: String,
        /// How it ended.
        error: String,
    },
}

impl RequestFailure {
    pub(crate) fn unreachable(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::Unreachable(with_causes(error))
    }

    pub(crate) fn while_doing(self, doing: &str) -> ClusterError {
        ClusterError::Request { doing: doing.to_owned(), failure: self }
    }
}

impl From<kube::Error> for RequestFailure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(Box::new(Refusal::from(*status))),
            // For exec and port-forward, kube drops the response body.
            kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(code)) => {
                Self::Refused(Box::new(Refusal { code: code.as_u16(), ..Refusal::default() }))
            }
            other => Self::unreachable(&other),
        }
    }
}

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

/// An error and its causes in one sentence, without repetitions.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        next = cause.source();
    }
    words
}

/// Why a kubeconfig could not be read, without its path, which the sentence around it names.
fn cause(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        other => other.to_string(),
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
