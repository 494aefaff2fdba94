//! Requests about objects: create, patch, delete, evict, read, list.
//!
//! Objects are raw: a manifest is sent unchanged, and a response is returned unchanged. The API server validates
//! fields strictly. A request fails if the server refuses it or does not answer. Nothing here waits for an effect;
//! the watches do.

use http::Uri;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::request::Error as BuildError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::client::{BuiltRequest, ClusterClient};
use crate::api::kinds;
use crate::error::{ClusterError, Refusal, RequestFailure};
use crate::fields::Fields as _;

/// How many objects are listed at once.
const PAGE: u32 = 500;
const FIELD_MANAGER: &str = "probity";

/// The objects of a kind, and the revision of the list, from which a watch can begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The objects, each with its kind and version.
    pub items: Vec<Value>,
    /// The resource version of the list.
    pub revision: String,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Value>>,
}

impl ClusterClient {
    /// Creates an object. With `dry_run`, the server only returns the object that it would store.
    pub async fn create(
        &self,
        namespace: &str,
        manifest: &Value,
        dry_run: bool,
    ) -> Result<Value, ClusterError> {
        let kind = kinds::of(manifest)?;
        let params = PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) };
        let request = kind.requests(namespace).create(&params, manifest.to_string().into_bytes());
        let doing = format!("{} {} {}", if dry_run { "try" } else { "create" }, kind.name(), manifest.name());
        self.request(&doing, strictly(request)).await
    }

    /// Patches an object, or its subresource if `subresource` is not empty, with a strategic merge patch.
    pub async fn patch(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, ClusterError> {
        let requests = kinds::find(kind)?.requests(namespace);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let (params, patch) = (params.validation_strict(), Patch::Strategic(patch));
        if subresource.is_empty() {
            let request = requests.patch(name, &params, &patch);
            return self.request(&format!("patch {kind} {name}"), request).await;
        }
        let request = requests.patch_subresource(subresource, name, &params, &patch);
        self.request(&format!("patch {kind} {name}/{subresource}"), request).await
    }

    /// Asks the server to delete an object, with this grace period or the object's own. For an object that does not
    /// exist, the error is a refusal with 404.
    pub async fn delete(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        grace: Option<u64>,
    ) -> Result<(), ClusterError> {
        let grace_period_seconds = grace.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
        let params = DeleteParams { grace_period_seconds, ..DeleteParams::background() };
        let request = kinds::find(kind)?.requests(namespace).delete(name, &params);
        self.request::<Value>(&format!("delete {kind} {name}"), request).await.map(drop)
    }

    /// Evicts a pod. A rejection with 429 comes from a disruption budget, or from an API server that has too many
    /// requests. If several budgets cover the pod, the answer is a `Status` with the code 500, but the HTTP status code is
    /// a different one.
    pub async fn evict(&self, namespace: &str, pod: &str) -> Result<(), ClusterError> {
        // kube's own eviction sends a field that the API does not know.
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": { "name": pod, "namespace": namespace },
        });
        let (params, body) = (PostParams::default(), eviction.to_string().into_bytes());
        let request =
            kinds::find("Pod")?.requests(namespace).create_subresource("eviction", pod, &params, body);
        let doing = format!("evict Pod {pod}");
        let answer: Value = self.request(&doing, request).await?;
        if answer["status"] != "Failure" {
            return Ok(());
        }
        let code = answer["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
        let refusal = Refusal::read(code, answer.to_string().as_bytes());
        Err(RequestFailure::Refused(Box::new(refusal)).while_doing(&doing))
    }

    /// Deletes an object. It is not an error if the object does not exist.
    pub async fn delete_if_present(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        grace: Option<u64>,
    ) -> Result<(), ClusterError> {
        match self.delete(namespace, kind, name, grace).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads an object; `None` if it does not exist.
    pub async fn get(&self, namespace: &str, kind: &str, name: &str) -> Result<Option<Value>, ClusterError> {
        let request = kinds::find(kind)?.requests(namespace).get(name, &Default::default());
        match self.request(&format!("read {kind} {name}"), request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects of a kind with these labels, in one namespace or, if `namespace` is empty, in all namespaces.
    pub async fn list(
        &self,
        namespace: &str,
        kind: &str,
        labels: Option<&str>,
    ) -> Result<Listing, ClusterError> {
        let kind = kinds::find(kind)?;
        let mut params = ListParams { label_selector: labels.map(str::to_owned), ..ListParams::default() };
        params.limit = Some(PAGE);
        let mut listing = Listing::default();
        loop {
            let request = kind.requests(namespace).list(&params);
            let page: Page = self.request(&format!("list {}", kind.resource.plural), request).await?;
            for mut item in page.items.unwrap_or_default() {
                // The items of a list lack these two fields.
                item["kind"] = json!(kind.resource.kind);
                item["apiVersion"] = json!(kind.resource.api_version);
                listing.items.push(item);
            }
            listing.revision = page.metadata.resource_version.unwrap_or_default();
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(listing);
            }
        }
    }
}

/// Makes the server reject fields that it does not know; kube supports this only for patches.
fn strictly(request: BuiltRequest) -> BuiltRequest {
    let mut request = request?;
    let uri = Uri::try_from(format!("{}&fieldValidation=Strict", request.uri()));
    *request.uri_mut() = uri.map_err(|error| BuildError::BuildRequest(error.into()))?;
    Ok(request)
}
