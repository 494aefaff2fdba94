//! `/dial`: calls another server over HTTP, UDP or SCTP, and returns what it answered.
//!
//! Each try has five seconds. As in agnhost, the answers are listed only if the last try had one. Proxies from the
//! environment are not used, and a redirect to https ends in an error, because no root certificates are built in.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UdpSocket};

use crate::go::http::{HttpRequest, HttpResult, error_response, ok};
use crate::go::text::{errno, host_port, json, quoted};
use crate::go::{klog, resolve, sctp};

const LIMIT: Duration = Duration::from_secs(5);
const UDP_ROOM: usize = 2048;
const SCTP_ROOM: usize = 1024;
/// The maximum number of redirects that Go follows.
const MOST_REDIRECTS: usize = 10;

/// Answers 200 with both lists, or 400 for wrong arguments.
pub(super) async fn dial(request: &HttpRequest) -> HttpResult {
    let form = request.query_form();
    let (host, port, request) = (form.text("host"), form.text("port"), form.text("request"));
    let (protocol, tries) = (form.text("protocol"), form.text("tries"));
    klog::info(format!(
        "GET /dial?host={host}&protocol={protocol}&port={port}&request={request}&tries={tries}"
    ));
    let wrong = |words: String| Ok(error_response(StatusCode::BAD_REQUEST, &words));
    let tries = match tries.as_str() {
        "" => 1,
        text => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => {
                let text = quoted(text.as_bytes());
                return wrong(format!(
                    "tries parameter is invalid. strconv.Atoi: parsing {text}: invalid syntax"
                ));
            }
        },
    };
    if request.is_empty() {
        return wrong("request parameter not specified. <nil>".to_owned());
    }
    let protocol = match protocol.to_lowercase().as_str() {
        "" | "http" => DialProtocol::Http,
        "udp" => DialProtocol::Udp,
        "sctp" => DialProtocol::Sctp,
        _ => return wrong(format!("unsupported protocol. {protocol}")),
    };
    let address = match target(protocol, host.clone(), port.clone()).await {
        Ok(address) => address,
        Err(error) => return wrong(format!("host and/or port param are invalid. {error}")),
    };
    let shown = if host.is_empty() { format!(":{port}") } else { address.to_string() };
    let results = json(&try_often(protocol, &request, address, &shown, tries).await);
    results.map(ok).or_else(|error| {
        let text = format!("response could not be serialized. {error}");
        Ok(error_response(StatusCode::EXPECTATION_FAILED, &text))
    })
}

#[derive(Clone, Copy)]
enum DialProtocol {
    Http,
    Udp,
    Sctp,
}

async fn target(protocol: DialProtocol, host: String, port: String) -> Result<SocketAddr, String> {
    let network = match protocol {
        DialProtocol::Http => "tcp",
        DialProtocol::Udp => "udp",
        DialProtocol::Sctp => "sctp",
    };
    let looked_up = tokio::task::spawn_blocking(move || resolve::addresses(network, &host, &port)).await;
    looked_up.map_err(|error| error.to_string())?.map(|found| found[0])
}

async fn try_often(
    protocol: DialProtocol,
    request: &str,
    address: SocketAddr,
    shown: &str,
    tries: i64,
) -> BTreeMap<&'static str, Vec<String>> {
    let (mut responses, mut errors, mut last_had_words) = (Vec::new(), Vec::new(), false);
    for _ in 0..tries {
        let outcome = match protocol {
            DialProtocol::Http => over_http(request, shown).await,
            DialProtocol::Udp => over_udp(request, address).await,
            DialProtocol::Sctp => over_sctp(request, address).await,
        };
        last_had_words = outcome.as_ref().is_ok_and(|words| !words.is_empty());
        match outcome {
            Ok(words) => responses.push(words),
            Err(error) => errors.push(error),
        }
    }
    let mut told = BTreeMap::new();
    if last_had_words {
        told.insert("responses", responses);
    }
    if !errors.is_empty() {
        told.insert("errors", errors);
    }
    told
}

async fn over_http(request: &str, shown: &str) -> Result<String, String> {
    let first = format!("http://{shown}/{}", request.replace(' ', "%20"));
    let mut url = first.clone();
    let failed = |url: &str, why: String| format!("Get {}: {why}", quoted(url.as_bytes()));
    let whole = async {
        for _ in 0..MOST_REDIRECTS {
            match get(&url).await {
                Ok(Fetched::Text(text)) => return Ok(text),
                Ok(Fetched::Elsewhere(next)) => url = next,
                Err(why) => return Err(failed(&url, why)),
            }
        }
        Err(failed(&url, format!("stopped after {MOST_REDIRECTS} redirects")))
    };
    match tokio::time::timeout(LIMIT, whole).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            Err(failed(&first, why.to_owned()))
        }
    }
}

enum Fetched {
    Text(String),
    Elsewhere(String),
}

async fn get(url: &str) -> Result<Fetched, String> {
    let uri: Uri = url.parse().map_err(|error| format!("{error}"))?;
    if uri.scheme_str() != Some("http") {
        return Err(format!(
            "unsupported protocol scheme {}",
            quoted(uri.scheme_str().unwrap_or("").as_bytes())
        ));
    }
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = uri.port().map_or_else(|| "80".to_owned(), |port| port.to_string());
    let host = if authority.starts_with(':') { String::new() } else { host };
    let address = target(DialProtocol::Http, host.clone(), port.clone())
        .await
        .map_err(|error| format!("dial tcp: {error}"))?;
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| format!("dial tcp {}: connect: {}", host_port(&host, &port), errno(&error)))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| words(&error))?;
    tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let request = Request::get(path)
        .header(HOST, &authority)
        .header(USER_AGENT, "Go-http-client/1.1")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| words(&error))?;
    if let (301 | 302 | 303 | 307 | 308, Some(next)) =
        (response.status().as_u16(), response.headers().get(LOCATION))
    {
        return Ok(Fetched::Elsewhere(resolve_location(
            &authority,
            path,
            &String::from_utf8_lossy(next.as_bytes()),
        )));
    }
    let body = response.into_body().collect().await.map_err(|error| words(&error))?;
    Ok(Fetched::Text(String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}

fn resolve_location(authority: &str, path: &str, location: &str) -> String {
    if location.contains("://") {
        return location.to_owned();
    }
    if let Some(rest) = location.strip_prefix("//") {
        return format!("http://{rest}");
    }
    if location.starts_with('/') {
        return format!("http://{authority}{location}");
    }
    let path = path.split('?').next().unwrap_or("/");
    let folder = &path[..=path.rfind('/').unwrap_or(0)];
    format!("http://{authority}{folder}{location}")
}

fn words(error: &hyper::Error) -> String {
    if error.is_incomplete_message() {
        return "EOF".to_owned();
    }
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.map_or_else(|| error.to_string(), |cause| format!("read: {}", errno(cause)))
}

async fn over_udp(request: &str, address: SocketAddr) -> Result<String, String> {
    let dialled =
        |error: io::Error| format!("udp dial failed. err:dial udp {address}: connect: {}", errno(&error));
    let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).await.map_err(dialled)?;
    socket.connect(address).await.map_err(dialled)?;
    let from = socket.local_addr().map_or_else(|_| String::new(), |local| local.to_string());
    let ends = format!("udp {from}->{address}");
    socket
        .send(request.as_bytes())
        .await
        .map_err(|e| format!("udp connection write failed. err:write {ends}: write: {}", errno(&e)))?;
    let mut buffer = vec![0; UDP_ROOM];
    let failed = |why: String| Err(format!("reading from udp connection failed. err:'{why}'"));
    match tokio::time::timeout(LIMIT, socket.recv(&mut buffer)).await {
        Err(_) => failed(format!("read {ends}: i/o timeout")),
        Ok(Err(error)) => failed(format!("read {ends}: read: {}", errno(&error))),
        Ok(Ok(0)) => failed("<nil>".to_owned()),
        Ok(Ok(count)) => Ok(String::from_utf8_lossy(&buffer[..count]).into_owned()),
    }
}

async fn over_sctp(request: &str, address: SocketAddr) -> Result<String, String> {
    let request = request.as_bytes().to_vec();
    let exchanged = tokio::task::spawn_blocking(move || {
        let socket =
            sctp::connect(sctp::SCTP, address).map_err(|e| format!("sctp dial failed. err:{}", errno(&e)))?;
        let failed = |why: String| format!("reading from sctp connection failed. err:'{why}'");
        match sctp::exchange(&socket, &request, SCTP_ROOM, Some(LIMIT)) {
            Ok(answer) if answer.is_empty() => Err(failed("<nil>".to_owned())),
            Ok(answer) => Ok(String::from_utf8_lossy(&answer).into_owned()),
            Err(error) => Err(failed(errno(&error))),
        }
    });
    exchanged.await.map_err(|error| error.to_string())?
}

#[cfg(test)]
mod tests {
    use super::resolve_location;

    #[test]
    fn a_location_is_seen_from_where_it_was_given() {
        let seen = |location| resolve_location("h:1", "/a/b?q", location);
        assert_eq!(seen("http://x/y"), "http://x/y");
        assert_eq!(seen("//x/y"), "http://x/y");
        assert_eq!(seen("/y"), "http://h:1/y");
        assert_eq!(seen("y?z"), "http://h:1/a/y?z");
    }
}
