//! A listener of the plan: a port, its protocol, and a script for each of its endpoints.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Script;
use crate::answer::{ConnectionAnswer, GrpcAnswer, HttpAnswer, ListenState};
use crate::problem::pin;

/// One listening port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "WrittenListener", rename_all = "kebab-case")]
pub struct Listener {
    /// The TCP port. With 0, the system chooses a free port, and the witness records it.
    pub port: u16,
    /// The address to bind; all addresses of both families if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<IpAddr>,
    /// The protocol.
    pub protocol: Protocol,
    /// Use the protocol over TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Whether the port is open.
    pub listen: Script<ListenState>,
    /// What happens to each connection.
    pub connections: Script<ConnectionAnswer>,
    /// For HTTP: the script of each path (without its query). `*` is for all other paths. Without `*`, all other paths
    /// get 404.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, Script<HttpAnswer>>,
    /// For gRPC: the script of each health service, including the empty name. `*` is for all other services. Without
    /// `*`, all other services get NOT_FOUND.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, Script<GrpcAnswer>>,
    /// For HTTP: limits the number of requests that are served at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
}

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.1, and HTTP/2 over TLS if both sides agree on it.
    #[default]
    Http,
    /// Nothing: connections only.
    Tcp,
    /// gRPC health checking over HTTP/2 with prior knowledge.
    Grpc,
}

/// How a listener uses TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Tls {
    /// The certificate, created when the process starts.
    pub certificate: Certificate,
    /// The protocols offered with ALPN, in order of preference. None if empty. The default is h2 and http/1.1 for HTTP,
    /// and h2 for gRPC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpn: Option<Vec<String>>,
    /// Whether the client must present a certificate. Any certificate is accepted.
    pub client_certificate: ClientCertificate,
    /// The offered versions. 1.2 and 1.3 if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<TlsVersion>,
}

/// Which certificate the listener presents: a valid one, or one with a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Certificate {
    /// Self-signed, for the right names, and valid now.
    #[default]
    SelfSigned,
    /// Valid until yesterday.
    Expired,
    /// Valid from tomorrow on.
    NotYetValid,
    /// For another name and address.
    WrongName,
}

/// Whether a client certificate is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClientCertificate {
    /// Not requested.
    #[default]
    None,
    /// Requested; recorded if the client presents one.
    Optional,
    /// Required: the handshake fails without one.
    Required,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V12,
    /// TLS 1.3.
    #[serde(rename = "1.3")]
    V13,
}

/// A limited pool of workers, so that a listener can be saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workers {
    /// How many requests are served at the same time.
    pub count: u16,
    /// The maximum number of waiting requests. Further requests are answered with 503 immediately. Without a limit, all
    /// requests wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u16>,
}

/// A listener as it is written, before it is checked.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenListener {
    port: u16,
    bind: Option<IpAddr>,
    #[serde(default)]
    protocol: Protocol,
    tls: Option<Tls>,
    listen: Option<Script<ListenState>>,
    connections: Option<Script<ConnectionAnswer>>,
    #[serde(default)]
    paths: BTreeMap<String, Script<HttpAnswer>>,
    #[serde(default)]
    services: BTreeMap<String, Script<GrpcAnswer>>,
    workers: Option<Workers>,
}

impl TryFrom<WrittenListener> for Listener {
    type Error = String;

    fn try_from(written: WrittenListener) -> Result<Self, String> {
        let listener = Self {
            port: written.port,
            bind: written.bind,
            protocol: written.protocol,
            tls: written.tls,
            listen: written.listen.unwrap_or_else(|| Script::always(ListenState::Open)),
            connections: written.connections.unwrap_or_else(|| Script::always(ConnectionAnswer::Serve)),
            paths: written.paths,
            services: written.services,
            workers: written.workers,
        };
        match listener.contradiction() {
            Some(problem) => Err(problem),
            None => Ok(listener),
        }
    }
}

impl Listener {
    /// The script of a path, under its own name or under `*`.
    #[must_use]
    pub fn path(&self, path: &str) -> Option<(&String, &Script<HttpAnswer>)> {
        self.paths.get_key_value(path).or_else(|| self.paths.get_key_value("*"))
    }

    /// The script of a health service, under its own name or under `*`.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<(&String, &Script<GrpcAnswer>)> {
        self.services.get_key_value(name).or_else(|| self.services.get_key_value("*"))
    }

    /// The contradiction between the parts of the listener, if there is one, pinned to a part.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let word = self.protocol.word();
        if self.protocol != Protocol::Http && !self.paths.is_empty() {
            let why = format!("paths belong to protocol http, but this listener speaks {word}");
            return Some(pin(&why, &["paths"]));
        }
        if self.protocol != Protocol::Grpc && !self.services.is_empty() {
            let why = format!("services belong to protocol grpc, but this listener speaks {word}");
            return Some(pin(&why, &["services"]));
        }
        if self.protocol != Protocol::Http && self.workers.is_some() {
            return Some(pin("workers belong to protocol http", &["workers"]));
        }
        if let Some(path) = self.paths.keys().find(|path| *path != "*" && !path.starts_with('/')) {
            return Some(pin(&format!("the path `{path}` does not begin with a slash"), &["paths", path]));
        }
        if let Some(path) = self.paths.keys().find(|path| path.contains(['?', '#'])) {
            let why = format!("the path `{path}` has a query or a fragment: paths are matched without them");
            return Some(pin(&why, &["paths", path]));
        }
        if self
            .listen
            .steps()
            .iter()
            .any(|s| s.times.is_some() || s.when.probe.is_some() || s.when.host.is_some())
        {
            let why = "listen cannot depend on probes or hosts: use time, attempt and events";
            return Some(pin(why, &["listen"]));
        }
        self.paths.iter().find_map(|(path, script)| {
            script.steps().iter().enumerate().find_map(|(at, step)| match &step.answer {
                HttpAnswer::Reply(reply) => reply.contradiction().map(|why| {
                    pin(&format!("path {path}: {why}"), &["paths", path, &at.to_string(), "answer"])
                }),
                _ => None,
            })
        })
    }
}

impl Tls {
    /// The protocols that are offered with ALPN on a listener that speaks `protocol`, in order of preference.
    #[must_use]
    pub fn offers(&self, protocol: Protocol) -> Vec<&str> {
        match (&self.alpn, protocol) {
            (Some(alpn), _) => alpn.iter().map(String::as_str).collect(),
            (None, Protocol::Http) => vec!["h2", "http/1.1"],
            (None, Protocol::Grpc) => vec!["h2"],
            (None, Protocol::Tcp) => Vec::new(),
        }
    }
}

impl Protocol {
    /// The word for the protocol in a plan.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Grpc => "grpc",
        }
    }
}
