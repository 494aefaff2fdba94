//! The way to one cluster, by a context that was named.
//!
//! It never takes "whatever is current": a harness that creates and deletes must not do so by accident.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::error::ClusterError;
use crate::steady::{Steady, Tally};

/// Which cluster.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// The kubeconfig, if one was given by flag; else the usual places are looked at.
    pub kubeconfig: Option<PathBuf>,
    /// The context, if one was named.
    pub context: Option<String>,
}

/// A cluster that can be reached.
#[derive(Clone)]
pub struct Ground {
    /// The client; every request through it is counted.
    pub client: Client,
    /// The name of the context.
    pub context: String,
    /// The version of the API server, such as `v1.36.3`.
    pub server_version: String,
    tally: Arc<Tally>,
}

impl Ground {
    /// How many requests went to the API server, repetitions included.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.tally.sent()
    }

    /// How many of them were repetitions.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.tally.repeated()
    }
}

/// Connects, and asks for the version.
///
/// # Errors
///
/// If there is no kubeconfig, the context is not named or unknown, or the API server does not answer.
pub async fn connect(access: &Access) -> Result<Ground, ClusterError> {
    let (kubeconfig, path) = read(access)?;
    let context = choose(&kubeconfig, access)?;
    let unusable = |error: String| ClusterError::Context { context: context.clone(), error };
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|error| unusable(format!("{error} (in {path})")))?;
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    let plain = Client::try_from(config).map_err(|error| unusable(error.to_string()))?;
    let tally = Arc::new(Tally::default());
    let client = Steady::around(plain, Arc::clone(&tally));
    let mut ground = Ground { client, context, server_version: String::new(), tally };
    let version = ground.fetch("ask the API server for its version", "/version").await?;
    ground.server_version = version.get("gitVersion").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    Ok(ground)
}

fn read(access: &Access) -> Result<(Kubeconfig, String), ClusterError> {
    let (path, result) = match &access.kubeconfig {
        Some(path) => (path.display().to_string(), Kubeconfig::read_from(path)),
        None => ("$KUBECONFIG or ~/.kube/config".to_owned(), Kubeconfig::read()),
    };
    match result {
        Ok(kubeconfig) => Ok((kubeconfig, path)),
        Err(error) => Err(ClusterError::Kubeconfig { path, error: Box::new(error) }),
    }
}

/// The context that was named, or the only one of a kubeconfig that was given by flag.
fn choose(kubeconfig: &Kubeconfig, access: &Access) -> Result<String, ClusterError> {
    let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    match (&access.context, contexts.as_slice()) {
        (Some(context), _) if contexts.contains(context) => Ok(context.clone()),
        (Some(context), _) => Err(ClusterError::NoSuchContext { context: context.clone(), contexts }),
        (None, [only]) if access.kubeconfig.is_some() => Ok(only.clone()),
        (None, _) => Err(ClusterError::ContextNotNamed { contexts }),
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
        let error = choose(&kubeconfig, &Access::default()).unwrap_err().to_string();
        assert!(error.contains("--context: production"), "{error}");
    }
}
