//! A fake API server on a loopback port, for faults that a real API server does not produce on demand.
//!
//! It answers as its script says, and keeps the requests that it received. It knows nothing of Kubernetes beyond
//! `/version`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use probity_cluster::{Access, ClusterClient, connect};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) body: Value,
    /// How many requests of the same kind (method, path, watch or not) came before.
    pub(crate) nth: usize,
}

impl ReceivedRequest {
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains_key("watch")
    }

    /// `GET /api/v1/nodes`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What is answered.
pub(crate) enum ScriptedAnswer {
    /// A status and an object.
    Json(u16, Value),
    /// A status and an object, with a `Retry-After` header in seconds.
    RetryAfter(u16, u64),
    /// What API priority and fairness answers: 429, a text, and a `Retry-After` header of 0 seconds.
    TooMany,
    /// 200 and pieces of a body.
    Pieces(Vec<Piece>),
    /// A status and a text that is not JSON.
    Text(u16, &'static str),
}

/// A piece of a body.
#[derive(Clone)]
pub(crate) enum Piece {
    Bytes(String),
    Pause(Duration),
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Hang,
}

type Script = dyn Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync;

/// The server.
pub(crate) struct FakeApiServer {
    address: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    _task: AbortOnDropHandle<()>,
}

impl FakeApiServer {
    /// Starts the server. Requests without an answer in the script get 404.
    pub(crate) async fn start(
        script: impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (kept, script): (_, Arc<Script>) = (Arc::clone(&asked), Arc::new(script));
        let router = Router::new().fallback(move |request: Request| {
            let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
            async move { Ok::<_, Infallible>(respond(request, &kept, &*script).await) }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, asked, _task: AbortOnDropHandle::new(task) }
    }

    /// A kubeconfig with these contexts, all for this server.
    pub(crate) fn kubeconfig(&self, contexts: &[&str]) -> tempfile::NamedTempFile {
        let contexts: Vec<_> = contexts
            .iter()
            .map(|name| json!({ "name": name, "context": { "cluster": "fake", "user": "fake" } }))
            .collect();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "first", "contexts": contexts,
            "clusters": [{ "name": "fake", "cluster": { "server": format!("http://{}", self.address) } }],
            "users": [{ "name": "fake", "user": {} }],
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), config.to_string()).unwrap();
        file
    }

    /// A client of this server.
    pub(crate) async fn client(&self) -> ClusterClient {
        let file = self.kubeconfig(&["fake"]);
        connect(&Access { kubeconfig: Some(file.path().to_owned()), context: None, in_cluster: false })
            .await
            .unwrap()
    }

    /// The requests so far, except requests for the version.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.path != "/version").cloned().collect()
    }

    /// The same as lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().iter().map(ReceivedRequest::line).collect()
    }
}

async fn respond(request: Request, kept: &Mutex<Vec<ReceivedRequest>>, script: &Script) -> Response {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.replace("%2F", "/").replace("%3D", "="))
    };
    let mut asked = ReceivedRequest {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head
            .uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(pair)
            .collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        nth: 0,
    };
    {
        let mut kept = kept.lock().unwrap();
        let like = |before: &&ReceivedRequest| {
            before.line() == asked.line() && before.is_watch() == asked.is_watch()
        };
        asked.nth = kept.iter().filter(like).count();
        kept.push(asked.clone());
    }
    let answer = match asked.path.as_str() {
        "/version" => Some(ScriptedAnswer::Json(200, json!({ "gitVersion": "v1.36.0-fake" }))),
        _ => script(&asked),
    };
    carry(answer.unwrap_or_else(|| refused(404, "NotFound", "there is no such thing")))
}

fn carry(answer: ScriptedAnswer) -> Response {
    let is_json = !matches!(answer, ScriptedAnswer::TooMany);
    let content = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
    let response = Response::builder().header("content-type", content);
    let response = match answer {
        ScriptedAnswer::Json(status, value) => response.status(status).body(Body::from(value.to_string())),
        ScriptedAnswer::Text(status, text) => response.status(status).body(Body::from(text)),
        ScriptedAnswer::RetryAfter(status, seconds) => {
            let ScriptedAnswer::Json(_, value) = refused(status, "TooManyRequests", "slow down") else {
                unreachable!()
            };
            response.status(status).header("retry-after", seconds).body(Body::from(value.to_string()))
        }
        ScriptedAnswer::TooMany => {
            let text = "Too many requests, please try again later.\n";
            response.status(429).header("retry-after", "0").body(Body::from(text))
        }
        ScriptedAnswer::Pieces(pieces) => {
            response.status(200).body(Body::from_stream(stream::iter(pieces).then(deliver)))
        }
    };
    response.unwrap()
}

async fn deliver(piece: Piece) -> Result<Bytes, io::Error> {
    match piece {
        Piece::Bytes(text) => Ok(Bytes::from(text)),
        Piece::Pause(span) => {
            tokio::time::sleep(span).await;
            Ok(Bytes::new())
        }
        // What was written before has to be on its way, or it goes down with the connection.
        Piece::Cut => {
            tokio::time::sleep(Duration::from_millis(30)).await;
            Err(io::Error::other("cut"))
        }
        Piece::Hang => std::future::pending().await,
    }
}

/// A refusal in the API's own words.
pub(crate) fn refused(code: u16, reason: &str, message: &str) -> ScriptedAnswer {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
    });
    ScriptedAnswer::Json(code, status)
}

/// A list of objects at a revision.
pub(crate) fn list(revision: u64, items: &[Value]) -> ScriptedAnswer {
    let metadata = json!({ "resourceVersion": revision.to_string() });
    ScriptedAnswer::Json(200, json!({ "kind": "List", "metadata": metadata, "items": items }))
}

/// An object of which only name and revision matter.
pub(crate) fn object(name: &str, revision: u64) -> Value {
    json!({ "metadata": { "name": name, "resourceVersion": revision.to_string(), "managedFields": [] } })
}

/// A line of a watch.
pub(crate) fn event(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({ "type": kind, "object": object }))
}
