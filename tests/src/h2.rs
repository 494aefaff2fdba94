//! An HTTP/2 client for valid answers, which runs on its own thread so that tests stay plain functions.
//!
//! For invalid frames, see `frames`.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::runtime::Runtime;

use crate::target::PATIENCE;
use crate::tls;

/// An HTTP/2 connection.
pub struct H2 {
    runtime: Runtime,
    sender: SendRequest<Full<Bytes>>,
    local: SocketAddr,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The received part of the body.
    pub body: Vec<u8>,
    /// The trailers.
    pub trailers: Vec<(String, String)>,
    /// Why the body was cut off, if it was.
    pub broken: Option<String>,
}

impl H2 {
    /// Connects with prior knowledge.
    ///
    /// # Panics
    ///
    /// If there is no connection.
    #[must_use]
    pub fn connect(to: SocketAddr) -> Self {
        Self::open(to, None)
    }

    /// Connects over TLS, offers h2 and accepts any certificate.
    ///
    /// # Panics
    ///
    /// If there is no connection.
    #[must_use]
    pub fn connect_tls(to: SocketAddr) -> Self {
        Self::open(to, Some(tls::Wish { alpn: &["h2"], ..tls::Wish::default() }))
    }

    fn open(to: SocketAddr, wish: Option<tls::Wish<'_>>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("no runtime: {error}"));
        let (sender, local) = runtime.block_on(async {
            let stream = tokio::net::TcpStream::connect(to)
                .await
                .unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"));
            let local = stream.local_addr().unwrap_or(to);
            let sender = match wish {
                None => begin(TokioIo::new(stream)).await,
                Some(wish) => begin(TokioIo::new(tls::wrap(stream, &wish).await)).await,
            };
            (sender, local)
        });
        Self { runtime, sender, local }
    }

    /// The client's own address, by which the witness identifies the connection.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Requests a path.
    ///
    /// # Errors
    ///
    /// If no head comes.
    pub fn get(&self, path: &str) -> Result<Answer, String> {
        self.send("GET", path, &[], Vec::new(), PATIENCE)
    }

    /// Sends a request and waits for the whole answer, for at most this time.
    ///
    /// # Errors
    ///
    /// If no head comes, or if nothing arrives for this long.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<Answer, String> {
        let mut sender = self.sender.clone();
        let mut request =
            hyper::Request::builder().method(method).uri(format!("http://{}{path}", self.authority()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body)).map_err(|error| error.to_string())?;
        self.runtime.block_on(async move {
            let whole = async {
                let response = sender.send_request(request).await.map_err(|error| format!("{error:?}"))?;
                Ok(read(response).await)
            };
            tokio::time::timeout(patience, whole).await.unwrap_or_else(|_| Err("no answer".to_owned()))
        })
    }

    /// Begins a request whose answer comes in pieces.
    ///
    /// # Errors
    ///
    /// If no head comes.
    pub fn stream(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Result<Stream<'_>, String> {
        let mut sender = self.sender.clone();
        let mut request =
            hyper::Request::builder().method("POST").uri(format!("http://{}{path}", self.authority()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body)).map_err(|error| error.to_string())?;
        let answer = self.runtime.block_on(sender.send_request(request));
        Ok(Stream { h2: self, body: answer.map_err(|error| format!("{error:?}"))?.into_body() })
    }

    fn authority(&self) -> String {
        "target:80".to_owned()
    }
}

/// An incomplete answer.
pub struct Stream<'a> {
    h2: &'a H2,
    body: Incoming,
}

impl Stream<'_> {
    /// The next piece of the body.
    ///
    /// # Panics
    ///
    /// If none comes.
    pub fn next_piece(&mut self) -> Vec<u8> {
        let body = &mut self.body;
        let piece =
            self.h2.runtime.block_on(async move { tokio::time::timeout(PATIENCE, body.frame()).await });
        match piece {
            Ok(Some(Ok(frame))) => frame.into_data().map(|data| data.to_vec()).unwrap_or_default(),
            other => panic!("no further piece came: {other:?}"),
        }
    }
}

async fn begin<T>(io: T) -> SendRequest<Full<Bytes>>
where
    T: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioExecutor::new(), io)
        .await
        .unwrap_or_else(|error| panic!("no HTTP/2 on this connection: {error:?}"));
    tokio::spawn(async move {
        // The result is reported where the answer is awaited.
        let _ = connection.await;
    });
    sender
}

async fn read(response: hyper::Response<Incoming>) -> Answer {
    let text = |headers: &hyper::HeaderMap| -> Vec<(String, String)> {
        let line = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        headers.iter().map(line).collect()
    };
    let (head, mut incoming) = response.into_parts();
    let (mut body, mut trailers, mut broken) = (Vec::new(), Vec::new(), None);
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => match frame.into_data() {
                Ok(data) => body.extend(data),
                Err(frame) => trailers = frame.trailers_ref().map(text).unwrap_or_default(),
            },
            Err(error) => {
                broken = Some(format!("{error:?}"));
                break;
            }
        }
    }
    Answer { status: head.status.as_u16(), headers: text(&head.headers), body, trailers, broken }
}

impl Answer {
    /// The value of a header, or else of a trailer.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.iter().chain(&self.trailers);
        lines.find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}
