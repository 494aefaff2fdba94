//! HTTP probes as they arrived, each with the probe in a spec that sent it.
//!
//! A request is attributed by its port and its path. Requests that may come from elsewhere are left out: requests that
//! follow a redirect, and requests from lifecycle hooks, from other pods, and from the harness's own clients. If
//! different probes share a port and a path, the request is not attributed.

use std::net::IpAddr;

use probity_model::Timeline;
use probity_model::timeline::{Asked, Attempt, Connection, ContainerLife, Handler, PodLife, Port, ProbeSpec};
use serde_json::Value;

use crate::reading::http::exchange::REDIRECTS;

/// Headers that other clauses cover, or that the HTTP protocol controls.
const OTHERWISE: [&str; 12] = [
    "host",
    "user-agent",
    "accept",
    "connection",
    "content-length",
    "cookie",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header is an ordinary custom header, whose values the kubelet must send unchanged.
pub(crate) fn is_custom_header(name: &str) -> bool {
    !OTHERWISE.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// An `httpGet` of a probe.
#[derive(Clone, Copy)]
pub(crate) struct Get<'t, 'h> {
    pub(crate) pod: &'t PodLife<'h>,
    pub(crate) container: &'t ContainerLife<'h>,
    pub(crate) spec: &'t ProbeSpec,
    pub(crate) path: &'t str,
    pub(crate) port: &'t Port,
    pub(crate) host: Option<&'t str>,
    pub(crate) scheme: &'t str,
    pub(crate) headers: &'t [(String, String)],
}

/// A request that a kubelet may have sent, with the pod where it arrived.
#[derive(Clone, Copy)]
pub(crate) struct Hit<'t, 'h> {
    pub(crate) pod: &'t PodLife<'h>,
    pub(crate) attempt: &'t Attempt<'h>,
    pub(crate) asked: &'t Asked<'h>,
    pub(crate) connection: &'t Connection<'h>,
    pub(crate) port: u16,
}

/// A request and the probe that sent it.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'t, 'h> {
    pub(crate) hit: Hit<'t, 'h>,
    pub(crate) get: Get<'t, 'h>,
}

impl<'t, 'h> Get<'t, 'h> {
    /// The probe in words: `readiness probe of pod/target`.
    pub(crate) fn words(&self) -> String {
        format!("the {} probe of {}/{}", self.spec.kind.word(), self.pod.key, self.container.name)
    }

    /// The values to which the probe sets a header, in order.
    pub(crate) fn sets(&self, name: &'t str) -> impl Iterator<Item = &'t str> + use<'t, 'h> {
        let same = move |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(_, value)| value.as_str())
    }

    /// The `httpGet` as it was sent to the API server, before defaults; none if the harness did not create the pod.
    pub(crate) fn as_sent(&self) -> Option<&'h Value> {
        let spec = self.pod.created?.1.get("spec")?;
        let lists =
            ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list)?.as_array());
        let named = |container: &&Value| {
            container.get("name").and_then(Value::as_str) == Some(self.container.name.as_str())
        };
        lists.flatten().find(named)?.get(self.spec.kind.field())?.get("httpGet")
    }

    /// Whether this probe can have sent a request for this target.
    pub(crate) fn asks_for(&self, target: &str) -> bool {
        self.path.trim_start_matches('/') == target.trim_start_matches('/')
    }

    /// Whether this probe can have sent a request to a pod: by default to its own pod, otherwise to the pod at
    /// `host`. A name, or an address that is not a pod's (for example of a Service), may lead anywhere.
    fn can_reach(&self, run: &Timeline<'_>, pod: &PodLife<'_>) -> bool {
        let own = self.pod.name == pod.name && self.pod.uid == pod.uid;
        let shares_node = on_node_network(self.pod) && on_node_network(pod) && self.pod.node == pod.node;
        let Some(host) = self.host else { return own || shares_node };
        match host.parse::<IpAddr>() {
            Err(_) => true,
            Ok(ip) if ip.is_loopback() => on_node_network(pod),
            Ok(ip) => has_ip(pod, ip) || !run.pods.iter().any(|other| has_ip(other, ip)),
        }
    }
}

impl<'h> Hit<'_, 'h> {
    /// The Host header, or its counterpart in HTTP/2.
    pub(crate) fn hosts(&self) -> Vec<&str> {
        let authority = self.asked.request.headers.iter().filter(|(name, _)| name == ":authority");
        self.asked.header("host").chain(authority.map(|(_, value)| value.as_str())).collect()
    }

    fn has_port_of(&self, get: &Get<'_, '_>) -> bool {
        get.port.number == Some(self.port)
    }

    fn has_path_of(&self, get: &Get<'_, '_>) -> bool {
        get.asks_for(&self.asked.request.target)
    }
}

/// Whether a pod uses its node's network.
pub(crate) fn on_node_network(pod: &PodLife<'_>) -> bool {
    pod.spec.get("hostNetwork").and_then(Value::as_bool).unwrap_or(false)
}

/// Whether a pod had this address at some time.
pub(crate) fn has_ip(pod: &PodLife<'_>, ip: IpAddr) -> bool {
    pod.revisions.iter().any(|revision| {
        let shown = revision.object.get("status").and_then(|status| status.get("podIP")?.as_str());
        shown.and_then(|shown| shown.parse::<IpAddr>().ok()) == Some(ip)
    })
}

/// All `httpGet`s of probes.
pub(crate) fn gets<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Get<'t, 'h>> {
    let get = |(pod, container, spec): (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t ProbeSpec)| match &spec
        .handler
    {
        Handler::Http { path, port, host, scheme, headers } => {
            Some(Get { pod, container, spec, path, port, host: host.as_deref(), scheme, headers })
        }
        _ => None,
    };
    run.probes().filter_map(get).collect()
}

/// All requests that can be the first request of a kubelet's probe.
pub(crate) fn hits<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Hit<'t, 'h>> {
    let hooks = hooks(run);
    let mut hits = Vec::new();
    for pod in &run.pods {
        let plain_is_unclear = leaves_tls(pod);
        for attempt in pod.containers.iter().flat_map(|container| &container.attempts) {
            for asked in &attempt.requests {
                let Some(connection) = attempt.connection(asked) else { continue };
                let Some(port) = connection.port() else { continue };
                let foreign = asked.request.method != "GET"
                    || asked.request.service.is_some()
                    || asked.followed()
                    || asked.from_our_client()
                    || hooks.contains(&asked.request.target.trim_start_matches('/'))
                    || (plain_is_unclear && connection.tls.is_none())
                    || from_a_pod(run, connection);
                if !foreign {
                    hits.push(Hit { pod, attempt, asked, connection, port });
                }
            }
        }
    }
    hits
}

/// All requests that can be attributed, each with its probe.
pub(crate) fn arrivals<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Arrival<'t, 'h>> {
    attributed(run, |_, _| true, |hit, get| hit.has_port_of(get) && hit.has_path_of(get))
}

/// Requests for a path that no probe requests, on a port that only one probe uses.
pub(crate) fn astray<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Arrival<'t, 'h>> {
    let unasked = |hit: &Hit<'_, '_>, gets: &[Get<'_, '_>]| {
        hit.asked.from_prober() && !gets.iter().any(|get| hit.has_path_of(get))
    };
    attributed(run, unasked, Hit::has_port_of)
}

/// Requests for a path that no probe requests on that port, each with the probes that use the port. If a target redirects,
/// the path of any probe may be requested on any port.
pub(crate) fn strays<'t, 'h>(run: &'t Timeline<'h>) -> Vec<(Hit<'t, 'h>, Vec<Get<'t, 'h>>)> {
    let gets = gets(run);
    let redirects = run.lives().iter().any(|life| life.attempt.requests.iter().any(is_redirected));
    let unasked = |hit: &Hit<'_, '_>| {
        let asks = |get: &Get<'_, '_>| hit.has_path_of(get) && (redirects || hit.has_port_of(get));
        hit.asked.from_prober() && !gets.iter().any(asks)
    };
    let at_port = |hit: Hit<'t, 'h>| {
        let fits = gets.iter().filter(|get| hit.has_port_of(get) && get.can_reach(run, hit.pod));
        (hit, fits.copied().collect::<Vec<_>>())
    };
    let found = hits(run).into_iter().filter(unasked).map(at_port);
    found.filter(|(_, gets)| !gets.is_empty()).collect()
}

/// Requests for a path that only one probe requests, on a port that the probe should not use.
pub(crate) fn elsewhere<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Arrival<'t, 'h>> {
    let wrong = |hit: &Hit<'_, '_>, gets: &[Get<'_, '_>]| {
        hit.asked.from_prober() && !gets.iter().any(|get| hit.has_port_of(get) && hit.has_path_of(get))
    };
    attributed(run, wrong, Hit::has_path_of)
}

/// The requests that match a search, each with the only probe that fits.
fn attributed<'t, 'h>(
    run: &'t Timeline<'h>,
    looked_for: impl Fn(&Hit<'t, 'h>, &[Get<'t, 'h>]) -> bool,
    fits: impl Fn(&Hit<'t, 'h>, &Get<'t, 'h>) -> bool,
) -> Vec<Arrival<'t, 'h>> {
    let gets = gets(run);
    let only = |hit: Hit<'t, 'h>| {
        let mut found = gets.iter().filter(|get| fits(&hit, get) && get.can_reach(run, hit.pod));
        let get = *found.next()?;
        let alike =
            |other: &Get<'_, '_>| other.spec.handler == get.spec.handler && other.pod.name == get.pod.name;
        found.all(alike).then_some(Arrival { hit, get })
    };
    hits(run).into_iter().filter(|hit| looked_for(hit, &gets)).filter_map(only).collect()
}

/// Whether the answer to a request was a redirect.
fn is_redirected(asked: &Asked<'_>) -> bool {
    asked.status().is_some_and(|status| REDIRECTS.contains(&status))
}

/// Whether HTTPS probes of a pod are redirected: their later requests without TLS have no Referer header.
fn leaves_tls(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().flat_map(|container| &container.attempts).any(|attempt| {
        attempt.requests.iter().any(|asked| {
            is_redirected(asked)
                && attempt.connection(asked).is_some_and(|connection| connection.tls.is_some())
        })
    })
}

/// Whether another pod connected: kubelets connect from the node.
pub(crate) fn from_a_pod(run: &Timeline<'_>, connection: &Connection<'_>) -> bool {
    let Ok(peer) = connection.peer_address().parse::<IpAddr>() else { return false };
    run.pods.iter().any(|pod| !on_node_network(pod) && has_ip(pod, peer))
}

/// The paths of lifecycle hooks, without their first slash.
fn hooks<'h>(run: &Timeline<'h>) -> Vec<&'h str> {
    let lifecycles = run.containers().filter_map(|(_, container)| container.spec.get("lifecycle"));
    let hooks = lifecycles.flat_map(|lifecycle| ["postStart", "preStop"].map(|hook| lifecycle.get(hook)));
    let paths = hooks.filter_map(|hook| Some(hook?.get("httpGet")?.get("path").and_then(Value::as_str)));
    paths.map(|path| path.unwrap_or_default().trim_start_matches('/')).collect()
}
