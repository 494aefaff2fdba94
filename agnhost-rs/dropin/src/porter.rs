//! `porter`: serves the text of each variable `SERVE_PORT_n`, `SERVE_TCP_PORT_n`, `SERVE_TLS_PORT_n`,
//! `SERVE_UDP_PORT_n` and `SERVE_SCTP_PORT_n` on port n.
//!
//! As in agnhost, if an HTTP port can't be opened, this is logged and the other ports continue. If a UDP or SCTP port
//! can't be opened, the process ends.

use std::future::ready;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use http::HeaderValue;
use serde::Serialize;

use super::go::flags::boolean;
use super::go::http::{Abort, HttpRequest, HttpResult, Server, ok};
use super::go::{klog, listen, resolve, sctp, signals, text, tls};

/// The flags of `porter`.
#[derive(Args, Debug)]
pub struct PorterFlags {
    /// Answer HTTP requests with JSON that has the method and the text
    #[arg(long, alias = "json_response", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true",
          value_parser = boolean, action = clap::ArgAction::Set)]
    json_response: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PortProtocol {
    Tcp,
    Tls,
    Udp,
    Sctp,
}

const PREFIXES: [(&str, PortProtocol); 5] = [
    ("SERVE_PORT_", PortProtocol::Tcp),
    ("SERVE_TCP_PORT_", PortProtocol::Tcp),
    ("SERVE_UDP_PORT_", PortProtocol::Udp),
    ("SERVE_SCTP_PORT_", PortProtocol::Sctp),
    ("SERVE_TLS_PORT_", PortProtocol::Tls),
];

#[derive(Serialize)]
struct EchoedRequest<'a> {
    #[serde(rename = "Method")]
    method: &'a str,
    #[serde(rename = "Body")]
    body: &'a str,
}

/// Serves until a signal ends the process.
pub(super) fn run(flags: &PorterFlags) -> ExitCode {
    signals::end_by_default();
    let json = flags.json_response;
    super::serve(async move {
        for (name, value) in std::env::vars_os() {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if let Some((protocol, port)) = wanted(&name) {
                start(protocol, port.to_owned(), value.into_owned(), json);
            }
        }
        std::future::pending().await
    })
}

fn wanted(name: &str) -> Option<(PortProtocol, &str)> {
    PREFIXES.iter().find_map(|(prefix, protocol)| Some((*protocol, name.strip_prefix(prefix)?)))
}

fn start(protocol: PortProtocol, port: String, value: String, json: bool) {
    match protocol {
        PortProtocol::Tcp => drop(tokio::spawn(async move {
            let failed = web(&port, value, None, json).await;
            klog::info(format!("server on port {} failed: {failed}", text::quoted(port.as_bytes())));
        })),
        PortProtocol::Tls => drop(tokio::spawn(encrypted(port, value, json))),
        PortProtocol::Udp => drop(tokio::spawn(datagrams(port, value))),
        PortProtocol::Sctp => drop(std::thread::spawn(move || associations(&port, &value))),
    }
}

fn number(network: &str, port: &str) -> Result<i64, String> {
    resolve::addresses(network, "0.0.0.0", port).map(|found| i64::from(found[0].port()))
}

/// Serves HTTP forever. Returns only if this fails, with the reason.
async fn web(port: &str, value: String, tls: Option<(&str, &str)>, json: bool) -> String {
    let listener = number("tcp", port)
        .map_err(|error| format!("listen tcp: {error}"))
        .and_then(|number| listen::tcp_async(number).map_err(|error| error.replacen(" :", " 0.0.0.0:", 1)));
    let config =
        tls.map(|(certificate, key)| tls::server(certificate, key, &[b"h2", b"http/1.1"])).transpose();
    let (listener, config) = match (listener, config) {
        (Ok(listener), Ok(config)) => (listener, config),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let value: Arc<str> = value.into();
    let handler = move |request: HttpRequest| ready(answer(&request, &value, json));
    Server::new(config).run(listener, handler).await;
    "http: Server closed".to_owned()
}

fn answer(request: &HttpRequest, value: &str, json: bool) -> HttpResult {
    if !json {
        return Ok(ok(value.to_owned()));
    }
    let method = request.method();
    let echoed = EchoedRequest { method: method.as_str(), body: value };
    let mut response = ok(text::json(&echoed).map_err(|error| Abort(error.to_string()))?);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn encrypted(port: String, value: String, json: bool) {
    let variable = |name: &str, default: &str| {
        std::env::var(name).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| default.to_owned())
    };
    let certificate = variable("CERT_FILE", "localhost.crt");
    let key = variable("KEY_FILE", "localhost.key");
    let failed = web(&port, value, Some((&certificate, &key)), json).await;
    klog::info(format!(
        "tls server on port {} with certFile={}, keyFile={} failed: {failed}",
        text::quoted(port.as_bytes()),
        text::quoted(certificate.as_bytes()),
        text::quoted(key.as_bytes())
    ));
}

async fn datagrams(port: String, value: String) {
    let number = number("udp", &port)
        .unwrap_or_else(|error| klog::fatal(format!("UDP: failed to resolve address: {error}")));
    let socket = listen::udp_async(None, number).unwrap_or_else(|error| {
        let error = error.replacen(" :", " 0.0.0.0:", 1);
        klog::fatal(format!("UDP: failed to listen on port {port}: {error}"))
    });
    klog::info(format!("Started UDP server on port {port}"));
    let payload = Bytes::from(value);
    let mut buffer = [0; 16];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((_, peer)) => {
                if let Err(error) = socket.send_to(&payload, peer).await {
                    klog::info(format!("UDP: error from WriteTo(): {}", text::errno(&error)));
                }
            }
            Err(error) => return klog::info(format!("UDP: error from ReadFrom(): {}", text::errno(&error))),
        }
    }
}

fn associations(port: &str, value: &str) {
    let number = number("sctp", port)
        .unwrap_or_else(|error| klog::fatal(format!("Sctp: failed to resolve address. error:{error}")));
    let listener = sctp::listen(sctp::SCTP, u16::try_from(number).unwrap_or(0))
        .unwrap_or_else(|error| klog::fatal(format!("Failed to listen SCTP. error:{error}")));
    klog::info("Started SCTP server");
    loop {
        let (mut socket, _) = sctp::accept(&listener)
            .unwrap_or_else(|error| klog::fatal(format!("Failed to accept SCTP. error:{error}")));
        klog::info("Sending response");
        match socket.write_all(value.as_bytes()) {
            Ok(()) => klog::info("Response sent"),
            Err(error) => klog::info(format!("Failed to send response {}", text::errno(&error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PortProtocol, wanted};

    #[test]
    fn the_variables_name_says_kind_and_port() {
        assert_eq!(wanted("SERVE_PORT_9001"), Some((PortProtocol::Tcp, "9001")));
        assert_eq!(wanted("SERVE_TLS_PORT_9002"), Some((PortProtocol::Tls, "9002")));
        assert_eq!(wanted("SERVE_UDP_PORT_9"), Some((PortProtocol::Udp, "9")));
        assert_eq!(wanted("PORT_9"), None);
    }
}
