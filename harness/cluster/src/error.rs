//! What can go wrong with a cluster, in sentences: what was done, what went wrong, what to do.
//!
//! Nothing here is ever a verdict: a fault of the way to the cluster is `error` or `inconclusive`, never `violated`.

use std::fmt;

use crate::rights::Missing;

/// Why something could not be done with the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kubeconfig could not be read.
    #[error("failed to read the kubeconfig ({path}): {error}; name another with --kubeconfig")]
    Kubeconfig {
        /// Where it was looked for.
        path: String,
        /// What went wrong.
        error: Box<kube::config::KubeconfigError>,
    },
    /// The context was not named.
    #[error(
        "no context was named, and the harness does not take whatever is current; name one with --context: {}",
        listed(contexts, "the kubeconfig has none")
    )]
    ContextNotNamed {
        /// The contexts that there are.
        contexts: Vec<String>,
    },
    /// There is no such context.
    #[error(
        "the kubeconfig has no context `{context}`; name one with --context: {}",
        listed(contexts, "it has none")
    )]
    NoSuchContext {
        /// What was named.
        context: String,
        /// The contexts that there are.
        contexts: Vec<String>,
    },
    /// The context is there, but no client can be made of it.
    #[error("the context `{context}` cannot be used: {error}; try `kubectl --context {context} version`")]
    Context {
        /// The context.
        context: String,
        /// What is wrong with it.
        error: String,
    },
    /// The API server could not be reached, or the connection broke.
    #[error("failed to {doing}: {error}; is the API server reachable from here?")]
    Unreachable {
        /// What was being done.
        doing: String,
        /// What went wrong.
        error: String,
    },
    /// The API server did not answer in time.
    #[error("failed to {doing}: the API server was silent for {seconds} s")]
    Silent {
        /// What was being done.
        doing: String,
        /// For how long it was waited.
        seconds: u64,
    },
    /// The API server refused.
    #[error("failed to {doing}: {refusal}")]
    Refused {
        /// What was being done.
        doing: String,
        /// The refusal.
        refusal: Box<Refusal>,
    },
    /// An answer is not what the API promises.
    #[error("failed to {doing}: the answer makes no sense: {error}")]
    Answer {
        /// What was being done.
        doing: String,
        /// What is wrong with it.
        error: String,
    },
    /// A container's log ended before its end.
    #[error("failed to {doing}: the log was cut off after {} bytes: {error}", text.len())]
    CutOff {
        /// What was being done.
        doing: String,
        /// What came, up to the last whole line.
        text: String,
        /// How it ended.
        error: String,
    },
    /// The harness does not know this kind of object.
    #[error("the harness does not know the kind `{kind}`; it knows {}", crate::kinds::names())]
    UnknownKind {
        /// The kind.
        kind: String,
    },
    /// A pod of ours did not become ready.
    #[error("the pod {pod} did not become ready (waited {seconds} s): {why}")]
    NotReady {
        /// The pod.
        pod: String,
        /// For how long it was waited.
        seconds: u64,
        /// Why, with what to do.
        why: String,
    },
    /// Rights are missing.
    #[error(
        "rights are missing, so nothing was created:{}\nApply the output of `probity rbac`, or use a context with these rights.",
        crate::rights::in_lines(.0)
    )]
    Rights(Vec<Missing>),
    /// The namespace cannot be used.
    #[error("the namespace {name} cannot be used: {why}")]
    Namespace {
        /// The namespace.
        name: String,
        /// Why, with what to do.
        why: String,
    },
    /// A pod could not be talked to over a port-forward.
    #[error("failed to {doing} at port {port} of the pod {pod} over a port-forward: {error}")]
    Door {
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

fn listed(names: &[String], none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { names.join(", ") }
}

/// The API server's own words on why it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The status code of the answer.
    pub code: u16,
    /// The machine's word, such as `Invalid`, `Forbidden`, `AlreadyExists`.
    pub reason: String,
    /// The sentence.
    pub message: String,
    /// The fields that are at fault, each with a sentence.
    pub causes: Vec<(String, String)>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.trim();
        let message = if message.is_empty() { "no reason was given" } else { message };
        write!(f, "the API server answered {}", self.code)?;
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        write!(f, ": {message}")
    }
}

/// Why a request did not do what it should: the server refused, or it could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It was asked and refused.
    #[error("failed to {doing}: {refusal}")]
    Refused {
        /// What was being done.
        doing: String,
        /// The refusal.
        refusal: Refusal,
    },
    /// It could not be asked, or its answer did not come.
    #[error(transparent)]
    Failed(#[from] ClusterError),
}

impl SendError {
    /// The refusal, if it was one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            Self::Failed(_) => None,
        }
    }

    /// The status code of the refusal; 0 if there was no answer.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.refusal().map_or(0, |refusal| refusal.code)
    }
}

impl From<SendError> for ClusterError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Refused { doing, refusal } => Self::Refused { doing, refusal: Box::new(refusal) },
            SendError::Failed(error) => error,
        }
    }
}
