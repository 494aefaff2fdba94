//! Requests to the API server, with untyped JSON, and the time of day as the API writes it.

use std::path::Path;

use http::{Method, Request, header};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::Failure;

/// Each real kubelet has its own connection. This process shares a few connections, so that it does not need thousands
/// of file descriptors.
const MOST_AT_ONCE: usize = 64;

const PATCH: &str = "application/merge-patch+json";

pub(crate) struct Api {
    pub(crate) client: Client,
    at_once: Semaphore,
}

impl Api {
    pub(crate) async fn connect(kubeconfig: &Path) -> Result<Self, Failure> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { client: Client::try_from(config)?, at_once: Semaphore::new(MOST_AT_ONCE) })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send(Method::GET, path, "application/json", &Value::Null).await
    }

    pub(crate) async fn create(&self, path: &str, object: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, "application/json", object).await
    }

    pub(crate) async fn patch(&self, path: &str, patch: &Value) -> Result<Value, Failure> {
        self.send(Method::PATCH, path, PATCH, patch).await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Result<Value, Failure> {
        self.send(Method::DELETE, path, "application/json", options).await
    }

    async fn send(&self, method: Method, path: &str, content: &str, body: &Value) -> Result<Value, Failure> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, content);
        let request = request.header(header::USER_AGENT, "fake-nodes").body(bytes)?;
        let _permit = self.at_once.acquire().await?;
        Ok(self.client.request(request).await?)
    }
}

/// The time of day, in whole seconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time of day, in microseconds, as leases have it.
pub(crate) fn now_exactly() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
