//! The CRI proxy over real sockets, between a client that acts as the kubelet and a server that acts as the runtime.

use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, client::conn::http2::SendRequest, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use probity_saboteur::{
    board::Board,
    cri::{
        self, CriOptions,
        fault::{CallEffect, CriFault, ExecEffect, ExitCodes, Method},
        wire::Message,
    },
    defect::{Defect, Fault, Scope, When},
};
use tokio::net::{UnixListener, UnixStream};

type Error = Box<dyn std::error::Error>;
type Calls = Arc<Mutex<Vec<(String, Bytes)>>>;

/// Plays a runtime that answers each call with the message that it received, and remembers the message.
async fn play_runtime(path: PathBuf, calls: Calls) -> std::io::Result<()> {
    let listener = UnixListener::bind(path)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let calls = calls.clone();
        let service = service_fn(move |request: Request<Incoming>| answer(request, calls.clone()));
        tokio::spawn(
            hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service),
        );
    }
}

async fn answer(
    request: Request<Incoming>,
    calls: Calls,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = Infallible>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    calls.lock().unwrap_or_else(PoisonError::into_inner).push((path, body.clone()));
    let trailers =
        HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from(0))]);
    Ok(Response::new(Full::new(body).with_trailers(std::future::ready(Some(Ok(trailers))))))
}

/// A kubelet behind the proxy, the runtime's memory, and the board.
struct Scene {
    kubelet: SendRequest<Full<Bytes>>,
    calls: Calls,
    board: Board,
    _folder: tempfile::TempDir,
}

async fn connected(path: &Path) -> Result<UnixStream, Error> {
    for _ in 0..200 {
        if let Ok(stream) = UnixStream::connect(path).await {
            return Ok(stream);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err("nobody listens".into())
}

async fn scene() -> Result<Scene, Error> {
    let folder = tempfile::tempdir()?;
    let (listen, runtime) = (folder.path().join("cri.sock"), folder.path().join("runtime.sock"));
    let (calls, board) = (Calls::default(), Board::default());
    tokio::spawn(play_runtime(runtime.clone(), calls.clone()));
    drop(connected(&runtime).await?);
    tokio::spawn(cri::serve(CriOptions { cri_listen: listen.clone(), cri_forward: runtime }, board.clone()));
    let stream = TokioIo::new(connected(&listen).await?);
    let (kubelet, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
    tokio::spawn(connection);
    for (namespace, number) in [("struck", 1), ("spared", 2)] {
        board.learn_pod(namespace, "pod", "uid", None, &format!("sandbox-{number}"));
        board.learn_container(&format!("container-{number}"), &format!("sandbox-{number}"), "target", 0);
    }
    Ok(Scene { kubelet, calls, board, _folder: folder })
}

impl Scene {
    /// Calls a method, and returns the framed message and the gRPC status of the answer.
    async fn call(&self, method: &str, framed: Bytes) -> Result<(Bytes, String), Error> {
        let request = Request::post(format!("http://localhost/runtime.v1.{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(framed))?;
        let response = self.kubelet.clone().send_request(request).await?;
        let headers = response.headers().clone();
        let body = response.into_body().collect().await?;
        let status =
            body.trailers().and_then(|trailers| trailers.get("grpc-status")).or(headers.get("grpc-status"));
        let status = status.map(|status| status.to_str().map(str::to_owned)).ok_or("no status")??;
        Ok((body.to_bytes(), status))
    }

    fn put(&self, fault: CriFault) {
        let on = Scope::namespace("struck");
        self.board.put(Defect { name: "defect".into(), on, when: When::default(), fault: Fault::Cri(fault) });
    }

    fn calls(&self) -> Vec<(String, Bytes)> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A message about a container, with an unknown field and one that serves as an exit code, framed.
fn about(container: &str) -> Bytes {
    let mut message = Message::default();
    message.set_bytes(1, container.to_owned());
    message.set_integer(3, 7);
    message.set_bytes(900, "unknown");
    let message = message.encode();
    let length = u32::try_from(message.len()).unwrap_or_default();
    [&[0][..], &length.to_be_bytes(), &message].concat().into()
}

fn exit_code(framed: &Bytes) -> i64 {
    Message::parse(&framed.slice(5..)).map(|message| message.integer(3)).unwrap_or_default()
}

#[tokio::test]
async fn without_a_defect_every_byte_passes() -> Result<(), Error> {
    let scene = scene().await?;
    for method in ["RuntimeService/ExecSync", "RuntimeService/Unheard", "ImageService/ListImages"] {
        let sent = about("container-1");
        assert_eq!(scene.call(method, sent.clone()).await?, (sent.clone(), "0".to_owned()));
        assert_eq!(scene.calls().last(), Some(&(format!("/runtime.v1.{method}"), sent)));
    }
    Ok(())
}

#[tokio::test]
async fn a_defect_strikes_its_own_namespace_and_no_other() -> Result<(), Error> {
    let scene = scene().await?;
    scene.put(CriFault::Exec {
        command: None,
        effect: ExecEffect::ExitCode { from: ExitCodes::NonZero, to: 0 },
    });
    let (struck, _) = scene.call("RuntimeService/ExecSync", about("container-1")).await?;
    let (spared, _) = scene.call("RuntimeService/ExecSync", about("container-2")).await?;
    assert_eq!((exit_code(&struck), exit_code(&spared)), (0, 7));
    assert_eq!(spared, about("container-2"));
    Ok(())
}

#[tokio::test]
async fn what_is_pretended_or_refused_never_reaches_the_runtime() -> Result<(), Error> {
    let scene = scene().await?;
    for (effect, status) in [(CallEffect::Pretended, "0"), (CallEffect::Refused(13), "13")] {
        scene.put(CriFault::Call { method: Method::Stop, command: None, effect });
        assert_eq!(scene.call("RuntimeService/StopContainer", about("container-1")).await?.1, status);
    }
    assert_eq!(scene.calls(), []);
    assert_eq!(scene.board.counts().first().map(|count| count.strikes), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_call_can_go_to_the_runtime_twice() -> Result<(), Error> {
    let scene = scene().await?;
    scene.put(CriFault::Call { method: Method::Exec, command: None, effect: CallEffect::Twice });
    scene.call("RuntimeService/ExecSync", about("container-1")).await?;
    assert_eq!(scene.calls().len(), 2);
    Ok(())
}

#[tokio::test]
async fn the_end_of_the_runtime_is_an_error_and_not_silence() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let listen = folder.path().join("cri.sock");
    let nowhere = folder.path().join("nowhere.sock");
    tokio::spawn(cri::serve(
        CriOptions { cri_listen: listen.clone(), cri_forward: nowhere },
        Board::default(),
    ));
    let stream = TokioIo::new(connected(&listen).await?);
    let handshake =
        hyper::client::conn::http2::handshake::<_, _, Full<Bytes>>(TokioExecutor::new(), stream).await;
    let Ok((_, connection)) = handshake else { return Ok(()) };
    let ended = tokio::time::timeout(Duration::from_secs(5), connection).await;
    assert!(ended.is_ok(), "the proxy keeps a connection that it cannot serve");
    Ok(())
}
