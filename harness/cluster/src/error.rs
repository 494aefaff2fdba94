//! Errors of the cluster: what was done, what went wrong, what to do.
//!
//! None of these errors is a verdict: a problem on the way to the cluster is `error` or `inconclusive`, never
//! `violated`. This module uses no other module of the crate.

mod refusal;

use std::error::Error;

use hyper_util::client::legacy::Error as LegacyError;
use kube::client::UpgradeConnectionError;
use kube::config::KubeconfigError;

pub use refusal::Refusal;

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
    /// The API server did not answer the first request.
    #[error("failed to connect to the API server at {server} ({origin}): {error}; {advice}")]
    NotReached {
        /// The address of the API server.
        server: String,
        /// Where the address comes from.
        origin: String,
        /// What went wrong.
        error: String,
        /// What to do.
        advice: String,
    },
    /// The API server did not answer the first request, which was sent through a proxy.
    #[error(
        "failed to connect to the API server at {server} ({origin}): {error}; the connection goes through {proxy}: if the cluster is reachable without a proxy, add its host to NO_PROXY, or remove proxy-url from the kubeconfig"
    )]
    ThroughProxy {
        /// The address of the API server.
        server: String,
        /// Where the address comes from.
        origin: String,
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
    pub(crate) fn unreachable(error: &(dyn Error + 'static)) -> Self {
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

/// An error and its causes in one sentence, without repetitions.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let error = unwrapped(error);
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

/// An error without the wrappers of kube and hyper, whose words, such as `ServiceError: client error (Connect)`, say nothing
/// to a user.
fn unwrapped<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let of_kube = error.downcast_ref::<kube::Error>();
    let is_wrapper = error.is::<LegacyError>()
        || of_kube.is_some_and(|error| matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)));
    match error.source() {
        Some(cause) if is_wrapper => unwrapped(cause),
        _ => error,
    }
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

    #[test]
    fn the_wrappers_of_an_error_are_left_out_but_its_causes_are_not() {
        let refused = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let wrapped = kube::Error::Service(Box::new(refused()));
        assert_eq!(with_causes(&wrapped), refused().to_string());
        let read = kube::Error::ReadEvents(refused());
        assert_eq!(with_causes(&read), format!("Error reading events stream: {}", refused()));
    }
}
