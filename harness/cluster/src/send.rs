//! Requests about objects: create, patch, delete, evict, read, list.
//!
//! Objects are raw: what is sent is what the case says, and what comes back is what the server said. Fields are
//! validated strictly by the server. Nothing here waits for an effect; that is what the watches are for.

use http::Method;
use serde_json::{Value, json};

use crate::ask::JSON;
use crate::connect::Ground;
use crate::error::SendError;
use crate::kinds::{self, Kind, escape};

/// How many objects are listed at once.
const PAGE: usize = 500;
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// The objects of a kind, and the revision of the list, from which a watch can begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The objects, each with its kind and version.
    pub items: Vec<Value>,
    /// The list's resource version.
    pub revision: String,
}

impl Ground {
    /// Creates an object; with `dry_run` the server only says what it would store.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked.
    pub async fn create(&self, namespace: &str, manifest: &Value, dry_run: bool) -> Result<Value, SendError> {
        let kind = kinds::of(manifest)?;
        let version = manifest.get("apiVersion").and_then(Value::as_str);
        let path = version.map_or_else(|| kind.path(namespace), |at| kind.path_at(at, namespace));
        let dry = if dry_run { "&dryRun=All" } else { "" };
        let doing = format!("{} {}", if dry_run { "try" } else { "create" }, named(kind, name_of(manifest)));
        let target = format!("{path}?fieldValidation=Strict&fieldManager=probity{dry}");
        self.ask(&doing, Method::POST, &target, Some((JSON, manifest))).await
    }

    /// Patches an object, or a subresource of it unless that is empty, by a strategic merge.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked.
    pub async fn patch(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, SendError> {
        let kind = kinds::find(kind)?;
        let below = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
        let target =
            format!("{}/{name}{below}?fieldValidation=Strict&fieldManager=probity", kind.path(namespace));
        let doing = format!("patch {}{below}", named(kind, name));
        self.ask(&doing, Method::PATCH, &target, Some((STRATEGIC, patch))).await
    }

    /// Asks the server to delete an object, with this grace period or its own.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked. An object that is not there is a refusal with 404.
    pub async fn delete(
        &self,
        namespace: &str,
        kind: &str,
        name: &str,
        grace: Option<u64>,
    ) -> Result<(), SendError> {
        let kind = kinds::find(kind)?;
        let mut options =
            json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        if let Some(seconds) = grace {
            options["gracePeriodSeconds"] = json!(seconds);
        }
        let target = format!("{}/{name}", kind.path(namespace));
        let doing = format!("delete {}", named(kind, name));
        self.ask(&doing, Method::DELETE, &target, Some((JSON, &options))).await.map(drop)
    }

    /// Evicts a pod. A refusal with 429 is a disruption budget's.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked.
    pub async fn evict(&self, namespace: &str, pod: &str) -> Result<(), SendError> {
        let eviction = json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": { "name": pod, "namespace": namespace },
        });
        let target = format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction");
        self.ask(&format!("evict Pod {pod}"), Method::POST, &target, Some((JSON, &eviction))).await.map(drop)
    }

    /// Reads an object; none if it is not there.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked.
    pub async fn get(&self, namespace: &str, kind: &str, name: &str) -> Result<Option<Value>, SendError> {
        let kind = kinds::find(kind)?;
        let target = format!("{}/{name}", kind.path(namespace));
        match self.fetch(&format!("read {}", named(kind, name)), &target).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.code() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects of a kind with these labels, in one namespace or (if it is empty) in all.
    ///
    /// # Errors
    ///
    /// If the server refuses or cannot be asked.
    pub async fn list(
        &self,
        namespace: &str,
        kind: &str,
        labels: Option<&str>,
    ) -> Result<Listing, SendError> {
        let kind = kinds::find(kind)?;
        let doing = format!("list {}", kind.plural);
        let base = format!("{}?limit={PAGE}{}", kind.path(namespace), selecting(labels));
        let mut listing = Listing::default();
        let mut next = String::new();
        loop {
            let target =
                if next.is_empty() { base.clone() } else { format!("{base}&continue={}", escape(&next)) };
            let mut page = self.fetch(&doing, &target).await?;
            listing.revision = text(&page, "resourceVersion");
            next = text(&page, "continue");
            let items = page.get_mut("items").map(Value::take);
            for mut item in
                items.and_then(|items| serde_json::from_value::<Vec<Value>>(items).ok()).unwrap_or_default()
            {
                // Lists leave these out of their items.
                item["kind"] = json!(kind.kind);
                item["apiVersion"] = json!(kind.api_version());
                listing.items.push(item);
            }
            if next.is_empty() {
                return Ok(listing);
            }
        }
    }
}

/// The part of a query that selects by labels.
pub(crate) fn selecting(labels: Option<&str>) -> String {
    labels.map(|labels| format!("&labelSelector={}", escape(labels))).unwrap_or_default()
}

fn named(kind: &Kind, name: &str) -> String {
    format!("{} {name}", kind.kind)
}

/// The name in an object's metadata.
pub(crate) fn name_of(object: &Value) -> &str {
    object.get("metadata").and_then(|of| of.get("name")?.as_str()).unwrap_or_default()
}

fn text(object: &Value, field: &str) -> String {
    object.get("metadata").and_then(|of| of.get(field)?.as_str()).unwrap_or_default().to_owned()
}
