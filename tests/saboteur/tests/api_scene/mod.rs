//! A scene with an API server that has one pod and remembers the requests that it received, the proxy in front of it,
//! and a kubelet that sends requests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use probity_saboteur::api::{self, ApiOptions, Client};
use probity_saboteur::board::Board;
use probity_tests::program::free_port;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

type ServerBody = BoxBody<Bytes, std::convert::Infallible>;

/// How long a test waits. Anything that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The API server's pod, and the requests that it got.
#[derive(Default)]
struct Server {
    pod: Value,
    asked: Vec<String>,
}

/// The whole scene.
pub(crate) struct ApiScene {
    board: Board,
    runtime: tokio::runtime::Runtime,
    server: Arc<Mutex<Server>>,
    through: SendRequest<Full<Bytes>>,
    direct: SendRequest<Full<Bytes>>,
}

/// A kubelet's patch of the pod's status.
pub(crate) fn patch_of(ready: bool) -> Value {
    json!({"metadata": {"uid": "u"}, "status": {
        "$setElementOrder/conditions": [{"type": "Ready"}, {"type": "Gate"}],
        "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
        "containerStatuses": [{"name": "main", "ready": ready, "restartCount": 0}],
    }})
}

/// Waits until a condition holds.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn good<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl ApiScene {
    pub(crate) fn new() -> Self {
        Self::of(Client::Kubelet)
    }

    /// A scene with this client.
    pub(crate) fn of(client: Client) -> Self {
        let folder = good(tempfile::tempdir());
        make_certificates(folder.path());
        let runtime =
            good(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build());
        let server = Arc::new(Mutex::new(Server { pod: pod(), asked: Vec::new() }));
        let listener = good(runtime.block_on(TcpListener::bind("127.0.0.1:0")));
        let at = good(listener.local_addr());
        runtime.spawn(serve(listener, Arc::clone(&server), acceptor(folder.path())));
        let (board, listen) = (Board::default(), SocketAddr::from(([127, 0, 0, 1], free_port())));
        let file = |name: &str| folder.path().join(name);
        let options = ApiOptions {
            api_listen: listen,
            api_forward: Some(at),
            api_authority: file("ca.crt"),
            api_certificate: file("server.crt"),
            api_key: file("server.key"),
            api_client_certificate: file("client.crt"),
            api_client_key: file("client.key"),
        };
        runtime.spawn(api::serve(options, board.clone(), client));
        let ca = good(CertificateDer::from_pem_file(file("ca.crt")));
        let (through, direct) = (connect(&runtime, listen, &ca), connect(&runtime, at, &ca));
        Self { board, runtime, server, through, direct }
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Activates a fault.
    pub(crate) fn defect(&self, words: &str) {
        self.fault(&format!("{{ api: {words} }}"));
    }

    /// Activates a fault, given as YAML with the place of the fault.
    pub(crate) fn fault(&self, words: &str) {
        let words = format!("{{ name: d, on: {{ namespace: run-1 }}, fault: {words} }}");
        self.board.put(good(serde_saphyr::from_str(&words)));
    }

    /// The pod as the API server has it.
    pub(crate) fn pod(&self) -> Value {
        self.server().pod.clone()
    }

    /// The requests that the API server got.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.server().asked.clone()
    }

    /// Sends a request through the proxy.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.ask_by(false, method, path, body)
    }

    /// Sends a request through the proxy or directly.
    pub(crate) fn ask_by(&self, direct: bool, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut sender = if direct { self.direct.clone() } else { self.through.clone() };
        self.runtime.block_on(async move {
            good(sender.ready().await);
            let answer = good(sender.send_request(request(method, path, body)).await);
            let status = answer.status().as_u16();
            (
                status,
                String::from_utf8_lossy(&good(answer.into_body().collect().await).to_bytes()).into_owned(),
            )
        })
    }

    /// The first lines of the watch of all pods, and when they came.
    pub(crate) fn watch(&self, lines: usize) -> Vec<(Value, Instant)> {
        let mut sender = self.through.clone();
        self.runtime.block_on(async move {
            let mut body =
                good(sender.send_request(request("GET", "/api/v1/pods?watch=true", "")).await).into_body();
            let mut heard = Vec::new();
            while heard.len() < lines {
                let Some(frame) = body.frame().await else { panic!("the watch ended after {heard:?}") };
                let Ok(data) = good(frame).into_data() else { continue };
                for line in data.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    heard.push((good(serde_json::from_slice(line)), Instant::now()));
                }
            }
            heard
        })
    }
}

fn request(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let kind = if method == "PATCH" { "application/strategic-merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(format!("https://127.0.0.1{path}"));
    good(
        request
            .header("content-type", kind)
            .header("accept", "application/json")
            .body(Full::from(body.to_owned())),
    )
}

fn pod() -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"namespace": "run-1", "name": "probe", "uid": "u"}, "status": {
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "Gate", "status": "True"}],
        "containerStatuses": [{"name": "main", "ready": false, "restartCount": 0}],
    }})
}

fn make_certificates(folder: &Path) {
    let write = |name: &str, text: String| good(std::fs::write(folder.join(name), text));
    let ca_key = good(KeyPair::generate());
    let mut params = good(CertificateParams::new(Vec::new()));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca.crt", good(params.self_signed(&ca_key)).pem());
    let issuer = Issuer::new(params, ca_key);
    for name in ["server", "client"] {
        let key = good(KeyPair::generate());
        let params = good(CertificateParams::new(vec!["127.0.0.1".to_owned()]));
        write(&format!("{name}.crt"), good(params.signed_by(&key, &issuer)).pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

fn acceptor(folder: &Path) -> tokio_rustls::TlsAcceptor {
    let certificate = good(CertificateDer::from_pem_file(folder.join("server.crt")));
    let key = good(PrivateKeyDer::from_pem_file(folder.join("server.key")));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        good(rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions());
    let mut config = good(builder.with_no_client_auth().with_single_cert(vec![certificate], key));
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config).into()
}

fn connect(
    runtime: &tokio::runtime::Runtime,
    to: SocketAddr,
    ca: &CertificateDer<'static>,
) -> SendRequest<Full<Bytes>> {
    let mut roots = rustls::RootCertStore::empty();
    good(roots.add(ca.clone()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        good(rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions());
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    runtime.block_on(async {
        let until = Instant::now() + PATIENCE;
        let stream = loop {
            match TcpStream::connect(to).await {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{to}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        good(stream.set_nodelay(true));
        let stream = good(connector.connect(ServerName::from(to.ip()), stream).await);
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (sender, connection) = good(handshake.await);
        tokio::spawn(async move { connection.await.ok() });
        sender
    })
}

async fn serve(listener: TcpListener, server: Arc<Mutex<Server>>, acceptor: tokio_rustls::TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        good(stream.set_nodelay(true));
        let (acceptor, server) = (acceptor.clone(), Arc::clone(&server));
        tokio::spawn(async move {
            let stream = acceptor.accept(stream).await.ok()?;
            let service = service_fn(move |request| answer(Arc::clone(&server), request));
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            serving.serve_connection(TokioIo::new(stream), service).await.ok()
        });
    }
}

async fn answer(
    server: Arc<Mutex<Server>>,
    request: Request<Incoming>,
) -> Result<Response<ServerBody>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    if head.uri.query().is_some_and(|query| query.contains("watch")) {
        return Ok(Response::builder()
            .header("content-type", "application/json")
            .body(watch())
            .unwrap_or_default());
    }
    let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
    let path = head.uri.path();
    if head.method == "PUT" && path.ends_with("/status") {
        server.pod = serde_json::from_slice(&body).unwrap_or_default();
    }
    let fields: Vec<String> = head.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    let text = String::from_utf8_lossy(&body);
    server.asked.push(format!("{} {path} {} {text}", head.method, fields.join(", ")));
    let text = if path.contains("/pods/") { server.pod.to_string() } else { "{}".to_owned() };
    let answer =
        Response::builder().header("content-type", "application/json").body(Full::from(text).boxed());
    Ok(answer.unwrap_or_default())
}

/// Three lines at once, and then nothing more.
fn watch() -> ServerBody {
    let line = |kind: &str, object: Value| format!("{}\n", json!({"type": kind, "object": object}));
    let lines = [line("ADDED", pod()), line("MODIFIED", pod()), line("BOOKMARK", json!({}))].concat();
    let frames = futures_util::stream::unfold(Some(lines), |lines| async {
        match lines {
            Some(lines) => Some((Ok(Frame::data(Bytes::from(lines))), None)),
            None => std::future::pending().await,
        }
    });
    StreamBody::new(Box::pin(frames)).boxed()
}
