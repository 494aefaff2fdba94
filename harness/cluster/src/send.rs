//! Requests about objects: create, patch, delete, evict, read, run a command, read a log.
//!
//! Objects are raw: what is sent is what the case says, and what comes back is what the server said. Fields are
//! validated strictly by the server. Nothing here waits for an effect; that is what the watches are for.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::AttachParams;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::connect::Ground;
use crate::error::{ClusterError, Refusal, SendError};
use crate::kinds::{self, Kind, escape};
use crate::steady;

/// A request, its repetitions included, takes no longer.
const DEADLINE: Duration = Duration::from_secs(45);
/// A command in a container takes no longer.
const EXEC_DEADLINE: Duration = Duration::from_secs(60);
/// No more is read of a log.
const LARGEST_LOG: u64 = 16 << 20;
/// How many objects are listed at once.
const PAGE: usize = 500;
const _: () = assert!(steady::PATIENCE.as_secs() < DEADLINE.as_secs());

const JSON: &str = "application/json";
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

    /// Runs a command in a container and waits for its end. What it prints is thrown away.
    ///
    /// # Errors
    ///
    /// If it cannot be run, or does not end within a minute.
    pub async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        command: &[String],
    ) -> Result<i32, SendError> {
        let doing = format!("run `{}` in {pod}/{container}", command.join(" "));
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let settings = AttachParams::default().container(container).stdin(false).stderr(true);
        let run = async {
            let mut process =
                pods.exec(pod, command, &settings).await.map_err(|error| failed(&doing, error))?;
            let status = process.take_status();
            let (out, err) = (process.stdout(), process.stderr());
            // Unread output would hold the command up.
            tokio::join!(drain(out), drain(err));
            let status = match status {
                Some(status) => status.await,
                None => None,
            };
            status.ok_or_else(|| broken(&doing, "the connection ended without telling the exit status"))
        };
        match tokio::time::timeout(EXEC_DEADLINE, run).await {
            Ok(status) => exit_status(&doing, &status?),
            Err(_) => Err(ClusterError::Silent { doing, seconds: EXEC_DEADLINE.as_secs() }.into()),
        }
    }

    /// Reads the log of a container, or of its life before.
    ///
    /// # Errors
    ///
    /// If there is none, or it broke off twice: [`ClusterError::CutOff`] has what came.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
    ) -> Result<String, SendError> {
        let doing = format!("read the log of {pod}/{container}");
        let target = format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={}&previous={previous}&limitBytes={LARGEST_LOG}",
            escape(container)
        );
        match self.read_text(&doing, &target).await {
            Err(SendError::Failed(ClusterError::CutOff { .. })) => self.read_text(&doing, &target).await,
            other => other,
        }
    }

    /// Sends a request without a body and reads the object that comes.
    pub(crate) async fn fetch(&self, doing: &str, target: &str) -> Result<Value, SendError> {
        self.ask(doing, Method::GET, target, None).await
    }

    /// Sends a request and reads the object that comes.
    pub(crate) async fn ask(
        &self,
        doing: &str,
        method: Method,
        target: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, SendError> {
        let mut request = Request::builder().method(method).uri(target).header("accept", JSON);
        if let Some((kind, _)) = body {
            request = request.header("content-type", kind);
        }
        let bytes = body.map(|(_, value)| value.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(Body::from(bytes)).map_err(|error| broken(doing, error))?;
        let whole = async {
            let response = self.open(doing, request).await?;
            let body = response.into_body().collect().await.map_err(|error| broken(doing, chain(&error)))?;
            serde_json::from_slice(&body.to_bytes()).map_err(|error| {
                ClusterError::Answer { doing: doing.to_owned(), error: error.to_string() }.into()
            })
        };
        match tokio::time::timeout(DEADLINE, whole).await {
            Ok(result) => result,
            Err(_) => Err(silent(doing)),
        }
    }

    /// Sends a request and returns the response with its body unread, if it is no refusal.
    pub(crate) async fn open(
        &self,
        doing: &str,
        request: Request<Body>,
    ) -> Result<http::Response<Body>, SendError> {
        let response = self.client.send(request).await.map_err(|error| failed(doing, error))?;
        let code = response.status();
        if code.is_success() {
            return Ok(response);
        }
        // A refusal whose words do not come is a refusal all the same.
        let words = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Err(SendError::Refused { doing: doing.to_owned(), refusal: refusal(code.as_u16(), &words) })
    }

    async fn read_text(&self, doing: &str, target: &str) -> Result<String, SendError> {
        let request = Request::get(target).body(Body::empty()).map_err(|error| broken(doing, error))?;
        let opened = tokio::time::timeout(DEADLINE, self.open(doing, request)).await;
        let mut body = opened.map_err(|_| silent(doing))??.into_body();
        let mut bytes = Vec::new();
        let cut = loop {
            match tokio::time::timeout(DEADLINE, body.frame()).await {
                Ok(None) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Ok(Some(Err(error))) => break chain(&error),
                Err(_) => break format!("nothing came for {} s", DEADLINE.as_secs()),
            }
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(bytes.get(..whole).unwrap_or_default()).into_owned();
        Err(ClusterError::CutOff { doing: doing.to_owned(), text, error: cut }.into())
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

fn silent(doing: &str) -> SendError {
    ClusterError::Silent { doing: doing.to_owned(), seconds: DEADLINE.as_secs() }.into()
}

fn broken(doing: &str, error: impl ToString) -> SendError {
    ClusterError::Unreachable { doing: doing.to_owned(), error: error.to_string() }.into()
}

/// A client's error: a refusal if the server answered.
fn failed(doing: &str, error: kube::Error) -> SendError {
    match error {
        kube::Error::Api(status) => SendError::Refused {
            doing: doing.to_owned(),
            refusal: refusal(status.code, serde_json::to_string(&status).unwrap_or_default().as_bytes()),
        },
        other => broken(doing, chain(&other)),
    }
}

/// An error with what it came from, without repetitions.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
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

/// Reads a refusal's words: a `Status`, or whatever a proxy wrote.
fn refusal(code: u16, words: &[u8]) -> Refusal {
    let status: Value = serde_json::from_slice(words).unwrap_or_default();
    if status.get("kind").is_none() && status.get("message").is_none() {
        let message = String::from_utf8_lossy(words).chars().take(500).collect();
        return Refusal { code, message, ..Refusal::default() };
    }
    let say = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let causes = status.get("details").and_then(|details| details.get("causes")?.as_array());
    let causes = causes.into_iter().flatten().map(|cause| (say(cause, "field"), say(cause, "message")));
    Refusal {
        code,
        reason: say(&status, "reason"),
        message: say(&status, "message"),
        causes: causes.collect(),
    }
}

async fn drain(stream: Option<impl tokio::io::AsyncRead + Unpin>) {
    let Some(mut stream) = stream else { return };
    let mut bytes = vec![0; 8192];
    while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {}
}

/// What a command's last word says of its exit.
fn exit_status(doing: &str, status: &Status) -> Result<i32, SendError> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let causes = status.details.as_ref().and_then(|details| details.causes.as_ref());
    let code = causes
        .into_iter()
        .flatten()
        .find(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .and_then(|cause| cause.message.as_deref()?.parse().ok());
    code.ok_or_else(|| SendError::Refused {
        doing: doing.to_owned(),
        refusal: Refusal {
            code: status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500),
            reason: status.reason.clone().unwrap_or_default(),
            message: status.message.clone().unwrap_or_default(),
            causes: Vec::new(),
        },
    })
}
