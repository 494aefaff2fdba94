//! The probes of a pod according to its specification, and therefore the probes that a connection to one of its ports
//! may be. The API proxy records them from what the kubelet receives; the pods proxy reads them. This module knows
//! nothing about sockets.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fault::Of;
use crate::defect::ContainerKind;

/// The three kinds of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Until it succeeds, no other probe runs.
    Startup,
    /// Restarts the container.
    Liveness,
    /// Decides whether the pod gets traffic.
    Readiness,
}

/// The network mechanism of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// An HTTP request, without TLS.
    Http,
    /// An HTTP request over TLS.
    Https,
    /// A TCP connection and nothing else.
    Tcp,
    /// A gRPC health check.
    Grpc,
}

/// One probe of one container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Probe {
    /// The container.
    pub container: String,
    /// Its kind.
    pub kind: ContainerKind,
    /// Which of its probes.
    pub probe: ProbeKind,
    /// Its mechanism.
    pub by: Mechanism,
    /// The port, by number.
    pub port: u16,
    /// The path without its query, for HTTP.
    pub path: Option<String>,
    /// The service, for gRPC.
    pub service: Option<String>,
    /// How many instances of the container there were before this one, if the status shows it.
    pub attempt: Option<u32>,
}

/// What is known about one connection, which grows as more of it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The port to which the connection goes.
    pub port: u16,
    /// Its mechanism, once the first bytes are seen.
    pub by: Option<Mechanism>,
    /// The path, once it is read.
    pub path: Option<String>,
    /// The service, once it is read.
    pub service: Option<String>,
}

/// Whether a defect strikes a connection, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fits {
    /// Certainly not.
    No,
    /// More must be read to know.
    Maybe,
    /// Certainly.
    Yes,
}

impl Seen {
    /// Whether `probe` may have made this connection.
    #[must_use]
    pub fn may_be(&self, probe: &Probe) -> bool {
        self.port == probe.port
            && self.by.is_none_or(|by| by == probe.by)
            && (self.path.is_none() || self.path == probe.path)
            && (self.service.is_none() || self.service == probe.service)
    }

    /// Whether nothing more will be known.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match self.by {
            Some(Mechanism::Http | Mechanism::Https) => self.path.is_some(),
            Some(Mechanism::Grpc) => self.service.is_some(),
            Some(Mechanism::Tcp) => true,
            None => false,
        }
    }

    /// Whether `of` selects the connection, as far as the connection is known. `probe` is a candidate, if the pod's
    /// probes are known.
    #[must_use]
    pub fn fits(&self, of: &Of, probe: Option<&Probe>) -> Fits {
        if of.port.is_some_and(|port| port != self.port)
            || (of.path.is_some() && self.path.is_some() && of.path != self.path)
            || (of.service.is_some() && self.service.is_some() && of.service != self.service)
            || (of.by.is_some() && self.by.is_some() && of.by != self.by)
        {
            return Fits::No;
        }
        let unknown = (of.path.is_some() && self.path.is_none())
            || (of.service.is_some() && self.service.is_none())
            || (of.by.is_some() && self.by.is_none());
        match probe {
            Some(probe) => probe_fits(of, probe),
            // Without a specification only the bytes on the wire are known, and they do not show a probe's kind.
            None if of.probe.is_some() => Fits::No,
            None if unknown && self.is_complete() => Fits::No,
            None if unknown => Fits::Maybe,
            None => Fits::Yes,
        }
    }
}

fn probe_fits(of: &Of, probe: &Probe) -> Fits {
    let fits = of.probe.is_none_or(|kind| kind == probe.probe)
        && of.by.is_none_or(|by| by == probe.by)
        && (of.path.is_none() || of.path == probe.path)
        && (of.service.is_none() || of.service == probe.service);
    if fits { Fits::Yes } else { Fits::No }
}

/// The probes of the pods of this node.
#[derive(Debug, Default)]
pub struct Probes(Mutex<HashMap<(String, String), Vec<Probe>>>);

/// The only instance in this process: the API proxy fills it for the pods proxy.
pub static PROBES: LazyLock<Probes> = LazyLock::new(Probes::default);

impl Probes {
    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Vec<Probe>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the probes of a pod.
    pub fn learn(&self, namespace: &str, pod: &str, probes: Vec<Probe>) {
        self.lock().insert((namespace.to_owned(), pod.to_owned()), probes);
    }

    /// Forgets a pod.
    pub fn forget(&self, namespace: &str, pod: &str) {
        self.lock().remove(&(namespace.to_owned(), pod.to_owned()));
    }

    /// The probes that a connection to this pod may be.
    #[must_use]
    pub fn candidates(&self, namespace: &str, pod: &str, seen: &Seen) -> Vec<Probe> {
        let all = self.lock();
        let probes = all.get(&(namespace.to_owned(), pod.to_owned()));
        probes.into_iter().flatten().filter(|probe| seen.may_be(probe)).cloned().collect()
    }
}

/// The containers of a pod as the API shows it, with their kinds.
#[must_use]
pub fn containers_of(pod: &Value) -> Vec<(&Value, ContainerKind)> {
    let list = |path: &str| pod.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let inits = list("/spec/initContainers").map(|container| {
        let sidecar = container.get("restartPolicy").is_some_and(|policy| policy == "Always");
        (container, if sidecar { ContainerKind::Sidecar } else { ContainerKind::Init })
    });
    inits.chain(list("/spec/containers").map(|container| (container, ContainerKind::Main))).collect()
}

/// The network probes of a pod as the API shows it.
#[must_use]
pub fn probes_of(pod: &Value) -> Vec<Probe> {
    let kinds = [
        ("startupProbe", ProbeKind::Startup),
        ("livenessProbe", ProbeKind::Liveness),
        ("readinessProbe", ProbeKind::Readiness),
    ];
    let containers = containers_of(pod).into_iter();
    let of_container = |(container, kind): (&Value, ContainerKind)| {
        let attempt = container.get("name").and_then(|name| restarts(pod, name));
        let read = |(name, probe): &(&str, ProbeKind)| {
            Some(Probe { attempt, ..read_probe(container, kind, container.get(name)?, *probe)? })
        };
        kinds.iter().filter_map(read).collect::<Vec<_>>()
    };
    containers.flat_map(of_container).collect()
}

/// A container's restart count in the pod's status.
fn restarts(pod: &Value, name: &Value) -> Option<u32> {
    let lists = ["/status/containerStatuses", "/status/initContainerStatuses"];
    let mut statuses = lists.iter().filter_map(|list| pod.pointer(list)?.as_array()).flatten();
    let status = statuses.find(|status| status.get("name") == Some(name))?;
    status.get("restartCount")?.as_u64()?.try_into().ok()
}

fn read_probe(container: &Value, kind: ContainerKind, value: &Value, probe: ProbeKind) -> Option<Probe> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let (by, action) = if let Some(action) = value.get("httpGet") {
        let secure = action.get("scheme").is_some_and(|scheme| scheme == "HTTPS");
        (if secure { Mechanism::Https } else { Mechanism::Http }, action)
    } else if let Some(action) = value.get("tcpSocket") {
        (Mechanism::Tcp, action)
    } else {
        (Mechanism::Grpc, value.get("grpc")?)
    };
    // The path may contain a query, which does not identify the probe.
    let path = || text(action, "path").map_or_else(|| "/".to_owned(), |path| without_query(&path).to_owned());
    Some(Probe {
        container: text(container, "name")?,
        kind,
        probe,
        by,
        port: resolve_port(container, action.get("port")?)?,
        path: matches!(by, Mechanism::Http | Mechanism::Https).then(path),
        service: (by == Mechanism::Grpc).then(|| text(action, "service").unwrap_or_default()),
        attempt: None,
    })
}

fn without_query(path: &str) -> &str {
    path.split_once('?').map_or(path, |(path, _)| path)
}

/// A port is a number, or the name of one of the container's ports.
fn resolve_port(container: &Value, port: &Value) -> Option<u16> {
    let number = |value: &Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
    if let Some(number) = number(port) {
        return Some(number);
    }
    let name = port.as_str()?;
    let declared = container.get("ports").and_then(Value::as_array).into_iter().flatten();
    let mut named = declared.filter(|port| port.get("name").is_some_and(|given| given == name));
    named.find_map(|port| number(port.get("containerPort")?)).or_else(|| name.parse().ok())
}

#[cfg(test)]
#[path = "probes_tests.rs"]
mod tests;
