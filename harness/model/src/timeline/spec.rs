//! What a pod's spec says about its containers and their probes, with the defaults that the API server fills in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::SECOND;

/// The largest number of seconds or results that is taken from a spec. In seconds, it is eleven days, and no probe
/// waits that long. A spec can contain any number, and judges multiply these numbers.
const MOST: i64 = 1_000_000;

/// A number from a spec, limited so that it can be used in calculations.
pub(super) fn bounded(number: i64) -> i64 {
    number.clamp(-MOST, MOST)
}

/// The three probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProbeKind {
    /// `startupProbe`
    Startup,
    /// `livenessProbe`
    Liveness,
    /// `readinessProbe`
    Readiness,
}

impl ProbeKind {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Liveness, Self::Readiness];

    /// The kinds whose failure stops a container.
    pub const STOPPING: [Self; 2] = [Self::Liveness, Self::Startup];

    /// The field in a container.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Startup => "startupProbe",
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
        }
    }

    /// The word in lowercase, such as `liveness`. Events write it with a capital letter.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}

/// The list that contains a container, and whether the container keeps running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    /// In `containers`.
    Main,
    /// In `initContainers` with `restartPolicy: Always`.
    Sidecar,
    /// In `initContainers`.
    Init,
    /// In `ephemeralContainers`.
    Ephemeral,
}

/// A probe of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeSpec {
    /// Which of the three.
    pub kind: ProbeKind,
    /// Its check mechanism.
    pub handler: Handler,
    /// `initialDelaySeconds` in microseconds.
    pub initial_delay: i64,
    /// `periodSeconds` in microseconds.
    pub period: i64,
    /// `timeoutSeconds` in microseconds.
    pub timeout: i64,
    /// `successThreshold`.
    pub successes: i64,
    /// `failureThreshold`.
    pub failures: i64,
    /// `terminationGracePeriodSeconds` of the probe, in microseconds.
    pub grace: Option<i64>,
}

/// The check mechanism of a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Handler {
    /// `httpGet`
    Http {
        /// The path, `/` if absent.
        path: String,
        /// The port.
        port: Port,
        /// The host, if set.
        host: Option<String>,
        /// `HTTP` or `HTTPS`.
        scheme: String,
        /// The headers, in order.
        headers: Vec<(String, String)>,
    },
    /// `tcpSocket`
    Tcp {
        /// The port.
        port: Port,
        /// The host, if set.
        host: Option<String>,
    },
    /// `grpc`
    Grpc {
        /// The port.
        port: Port,
        /// The service, empty if absent.
        service: String,
    },
    /// `exec`
    Exec {
        /// The command.
        command: Vec<String>,
    },
}

/// A port of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// As it is written.
    pub written: String,
    /// The port's number; `None` if the port has a name that the container does not declare.
    pub number: Option<u16>,
}

impl Port {
    /// Whether a text is a valid name of a port, by the rules for IANA service names.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        (1..=15).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
            && text.bytes().any(|c| c.is_ascii_lowercase())
            && !(text.starts_with('-') || text.ends_with('-') || text.contains("--"))
    }

    /// The port of a probe or a hook: a number, or the name of a port of the same container. Digits in a string are a
    /// number, too.
    #[must_use]
    pub fn of(container: &Value, handler: &Value) -> Self {
        let Some(written) = handler.get("port") else { return Self { written: String::new(), number: None } };
        let narrow = |number: u64| u16::try_from(number).ok();
        if let Some(number) = written.as_u64() {
            return Self { written: number.to_string(), number: narrow(number) };
        }
        let name = written.as_str().unwrap_or_default();
        let declared = || {
            let ports = container.get("ports")?.as_array()?;
            let port = ports.iter().find(|port| port.get("name").and_then(Value::as_str) == Some(name))?;
            port.get("containerPort")?.as_u64().and_then(narrow)
        };
        Self { written: name.to_owned(), number: name.parse().ok().or_else(declared) }
    }
}

impl Handler {
    /// The field of a probe that contains the handler.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Http { .. } => "httpGet",
            Self::Tcp { .. } => "tcpSocket",
            Self::Grpc { .. } => "grpc",
            Self::Exec { .. } => "exec",
        }
    }

    /// The port, if there is one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Http { port, .. } | Self::Tcp { port, .. } | Self::Grpc { port, .. } => port.number,
            Self::Exec { .. } => None,
        }
    }
}

impl ProbeSpec {
    /// Reads a probe of a container.
    #[must_use]
    pub fn of(container: &Value, kind: ProbeKind) -> Option<Self> {
        let probe = container.get(kind.field())?;
        let number = |field: &str, default: i64| match probe.get(field).and_then(Value::as_i64) {
            None | Some(0) => default,
            Some(number) => bounded(number),
        };
        Some(Self {
            kind,
            handler: handler(container, probe)?,
            initial_delay: number("initialDelaySeconds", 0) * SECOND,
            period: number("periodSeconds", 10) * SECOND,
            timeout: number("timeoutSeconds", 1) * SECOND,
            successes: number("successThreshold", 1),
            failures: number("failureThreshold", 3),
            grace: probe
                .get("terminationGracePeriodSeconds")
                .and_then(Value::as_i64)
                .map(|grace| bounded(grace) * SECOND),
        })
    }
}

fn handler(container: &Value, probe: &Value) -> Option<Handler> {
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    let host = |value: &Value| text(value, "host").filter(|host| !host.is_empty());
    if let Some(http) = probe.get("httpGet") {
        let pair = |header: &Value| Some((text(header, "name")?, text(header, "value").unwrap_or_default()));
        return Some(Handler::Http {
            path: text(http, "path").filter(|path| !path.is_empty()).unwrap_or_else(|| "/".to_owned()),
            port: Port::of(container, http),
            host: host(http),
            scheme: text(http, "scheme")
                .filter(|scheme| !scheme.is_empty())
                .unwrap_or_else(|| "HTTP".to_owned()),
            headers: http
                .get("httpHeaders")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(pair)
                .collect(),
        });
    }
    if let Some(tcp) = probe.get("tcpSocket") {
        return Some(Handler::Tcp { port: Port::of(container, tcp), host: host(tcp) });
    }
    if let Some(grpc) = probe.get("grpc") {
        return Some(Handler::Grpc {
            port: Port::of(container, grpc),
            service: text(grpc, "service").unwrap_or_default(),
        });
    }
    let command = probe.get("exec")?.get("command").and_then(Value::as_array);
    let words = command.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Some(Handler::Exec { command: words.collect() })
}
