//! The client of one cluster, for a context that the user named.
//!
//! It never uses the current context: a harness that creates and deletes objects must not change a cluster by accident.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config, core};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::proxy::{self, Proxy};
use crate::api::retry::{self, CountingClients};
use crate::error::{ClusterError, Refusal, RequestFailure, with_causes};
use crate::fields::Fields as _;

/// The maximum time of a request, including its retries.
pub(crate) const DEADLINE: Duration = Duration::from_secs(45);
const _: () = assert!(retry::LONGEST_WAIT_IN_ALL.as_secs() < DEADLINE.as_secs());

/// A request as kube builds it.
pub(crate) type BuiltRequest = Result<http::Request<Vec<u8>>, core::request::Error>;

/// Which cluster.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The kubeconfig from the command line. If it is absent, the default locations are searched.
    pub kubeconfig: Option<PathBuf>,
    /// The context that was named.
    pub context: Option<String>,
    /// Whether to use the service account of the pod that this program runs in, and no kubeconfig.
    pub in_cluster: bool,
}

/// The name of the context of a pod's service account.
const IN_CLUSTER: &str = "in-cluster";

/// A client of one cluster.
#[derive(Clone)]
pub struct ClusterClient {
    /// The name of the context.
    pub context: String,
    /// The version of the API server, such as `v1.36.3`.
    pub server_version: String,
    /// The client; every request through it is counted.
    pub(crate) client: Client,
    clients: CountingClients,
}

impl ClusterClient {
    /// The same client, whose requests never wait until other requests have an answer.
    pub(crate) fn unqueued(&self) -> Self {
        Self { client: self.clients.unqueued.clone(), ..self.clone() }
    }

    /// The number of requests to the API server, including retries.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.clients.counts.sent.load(Ordering::Relaxed)
    }

    /// The number of retries among these requests.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.clients.counts.repeated.load(Ordering::Relaxed)
    }

    /// The UID of the namespace kube-system, which every cluster has and which differs between clusters; empty without
    /// permission to read it.
    pub async fn uid(&self) -> String {
        let namespace = self.get("", "Namespace", "kube-system").await.ok().flatten();
        namespace.map(|namespace| namespace.text("/metadata/uid").to_owned()).unwrap_or_default()
    }

    /// Sends a request and reads the answer as JSON.
    pub(crate) async fn request<T: DeserializeOwned>(
        &self,
        doing: &str,
        request: BuiltRequest,
    ) -> Result<T, ClusterError> {
        let body = self.request_bytes(doing, request).await?;
        serde_json::from_slice(&body)
            .map_err(|error| RequestFailure::Unreadable(error.to_string()).while_doing(doing))
    }

    /// Sends a request and reads the answer as bytes.
    pub(crate) async fn request_bytes(
        &self,
        doing: &str,
        request: BuiltRequest,
    ) -> Result<Bytes, ClusterError> {
        let exchange = async { Ok(self.send(request).await?.into_body().collect_bytes().await?) };
        in_time(DEADLINE, exchange).await.map_err(|failure| failure.while_doing(doing))
    }

    /// Sends a request. The body of the answer is not read, unless it is a refusal.
    pub(crate) async fn send(&self, request: BuiltRequest) -> Result<http::Response<Body>, RequestFailure> {
        let request = request.map_err(|error| RequestFailure::unreachable(&error))?;
        let response = self.client.send(request.map(Body::from)).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        // A refusal without its body is still a refusal.
        let words = response.into_body().collect_bytes().await.unwrap_or_default();
        Err(RequestFailure::Refused(Box::new(Refusal::read(code, &words))))
    }
}

/// Ends an exchange with the API server that takes too long.
pub(crate) async fn in_time<T>(
    within: Duration,
    exchange: impl Future<Output = Result<T, RequestFailure>>,
) -> Result<T, RequestFailure> {
    match tokio::time::timeout(within, exchange).await {
        Ok(result) => result,
        Err(_) => Err(RequestFailure::Silent(within.as_secs())),
    }
}

/// Connects, and requests the version.
///
/// # Errors
///
/// If there is no kubeconfig, if no context was named or the context is unknown, if the proxy cannot be used, or if the
/// API server does not answer.
pub async fn connect(access: &Access) -> Result<ClusterClient, ClusterError> {
    let ChosenServer { mut config, context, proxy, origin, advice } =
        if access.in_cluster { of_service_account()? } else { of_context(access).await? };
    let server = address(&config.cluster_url);
    let unusable = |error: String| ClusterError::Context { context: context.clone(), error };
    config.proxy_url = proxy.as_ref().map(|proxy| proxy.uri.clone());
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    let plain = Client::try_from(config).map_err(|error| unusable(error.to_string()))?;
    let clients = CountingClients::around(&plain);
    let client = clients.queued.clone();
    let mut cluster = ClusterClient { context, server_version: String::new(), client, clients };
    let request = http::Request::get("/version").body(Vec::new()).map_err(core::request::Error::BuildRequest);
    let version: Result<Value, _> = cluster.request("ask the API server for its version", request).await;
    let version = version.map_err(|error| match (unanswered(error), proxy) {
        (Err(error), _) => error,
        (Ok(error), Some(proxy)) => {
            ClusterError::ThroughProxy { server, origin, proxy: proxy.to_string(), error }
        }
        (Ok(error), None) => ClusterError::NotReached { server, origin, error, advice },
    })?;
    version.text("/gitVersion").clone_into(&mut cluster.server_version);
    Ok(cluster)
}

/// What went wrong with the first request, if no API server answered it. A refusal is an answer, and keeps its error.
fn unanswered(error: ClusterError) -> Result<String, ClusterError> {
    match error {
        ClusterError::Request { failure: RequestFailure::Unreachable(why), .. } => Ok(why),
        ClusterError::Request {
            failure: failure @ (RequestFailure::Silent(_) | RequestFailure::Unreadable(_)),
            ..
        } => Ok(failure.to_string()),
        other => Err(other),
    }
}

/// The address of an API server, without a user and a password.
fn address(uri: &http::Uri) -> String {
    let (scheme, host) = (uri.scheme_str().unwrap_or("https"), uri.host().unwrap_or_default());
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}://{host}{port}{}", uri.path().trim_end_matches('/'))
}

/// An API server, and how it was chosen.
struct ChosenServer {
    config: Config,
    /// The name of the context.
    context: String,
    proxy: Option<Proxy>,
    /// Where its address comes from.
    origin: String,
    /// What to do if it does not answer.
    advice: String,
}

/// The API server that a pod gets from its service account.
fn of_service_account() -> Result<ChosenServer, ClusterError> {
    let config = Config::incluster().map_err(|error| ClusterError::NotInCluster(with_causes(&error)))?;
    let origin = "the service account of this pod".to_owned();
    let advice = "check whether a network policy forbids this pod to connect to it".to_owned();
    Ok(ChosenServer { config, context: IN_CLUSTER.to_owned(), proxy: None, origin, advice })
}

/// The API server of the context that was named.
async fn of_context(access: &Access) -> Result<ChosenServer, ClusterError> {
    let (kubeconfig, path) = read(access)?;
    let context = choose(&kubeconfig, &path, access)?;
    let named = proxy::named(&kubeconfig, &context);
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    match Config::from_custom_kubeconfig(kubeconfig, &options).await {
        Ok(config) => {
            let variable = |name: &str| std::env::var(name).ok();
            let proxy = proxy::choose(&config.cluster_url, named.as_deref(), variable)?;
            let origin = format!("context `{context}` of {path}");
            let flag =
                access.kubeconfig.as_ref().map(|_| format!("--kubeconfig {path} ")).unwrap_or_default();
            let advice = format!(
                "check that the cluster is running and that this address can be reached from here, for example with \
                 `kubectl {flag}--context {context} version`"
            );
            Ok(ChosenServer { config, context, proxy, origin, advice })
        }
        Err(error) => {
            let error = match error {
                KubeconfigError::ParseNoProxy(_) | KubeconfigError::ParseProxyUrl(_) => format!(
                    "{}; correct HTTPS_PROXY or NO_PROXY in the environment: NO_PROXY must have no empty entry, such as \
                     after a last comma",
                    with_causes(&error)
                ),
                error => format!("{} (in {path})", with_causes(&error)),
            };
            Err(ClusterError::Context { context, error })
        }
    }
}

fn read(access: &Access) -> Result<(Kubeconfig, String), ClusterError> {
    let (path, result) = match &access.kubeconfig {
        Some(path) => (path.display().to_string(), Kubeconfig::read_from(path)),
        None => ("$KUBECONFIG or ~/.kube/config".to_owned(), Kubeconfig::read()),
    };
    match result {
        Ok(kubeconfig) => Ok((kubeconfig, path)),
        Err(error) => {
            let path = match &error {
                KubeconfigError::ReadConfig(_, file) => file.display().to_string(),
                _ => path,
            };
            Err(ClusterError::Kubeconfig { path, error: Box::new(error) })
        }
    }
}

/// The context that was named, or the only context of a kubeconfig from the command line.
fn choose(kubeconfig: &Kubeconfig, path: &str, access: &Access) -> Result<String, ClusterError> {
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let path = path.to_owned();
    match (&access.context, known.as_slice()) {
        (_, []) => Err(ClusterError::NoContexts(path)),
        (Some(context), _) if known.contains(context) => Ok(context.clone()),
        (Some(context), _) => Err(ClusterError::NoSuchContext { path, context: context.clone(), known }),
        (None, [only]) if access.kubeconfig.is_some() => Ok(only.clone()),
        (None, _) => Err(ClusterError::ContextNotNamed(known)),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_only_context_of_the_usual_places_is_not_taken_unnamed() {
        let text = "{ contexts: [{ name: production, context: { cluster: c, user: u } }] }";
        let kubeconfig = Kubeconfig::from_yaml(text).unwrap();
        let error = choose(&kubeconfig, "config", &Access::default()).unwrap_err().to_string();
        assert!(error.contains("--context: production"), "{error}");
    }
}
