//! Services in a history: which pods they select, what their slices show about a pod, and which requests they
//! forwarded.

use std::collections::BTreeMap;

use probity_model::clocks::Stamp;
use probity_model::history::Did;
use probity_model::timeline::{Asked, EndpointSeen, Happened, PodLife, Revision, ServiceSeen};
use probity_model::{EventId, Timeline};
use probity_script::witness::Call;
use serde_json::{Map, Value};

use super::selectors::{has_all, selections};

/// A service that the case created.
pub(crate) struct Service<'t, 'h> {
    /// Its name.
    pub(crate) name: &'h str,
    /// `publishNotReadyAddresses`
    pub(crate) publishes: bool,
    /// Its address, if the watch showed the Service itself.
    address: Option<&'h str>,
    selector: &'h Map<String, Value>,
    seen: Option<&'t ServiceSeen<'h>>,
    /// Whether a request through an unknown address may have come through a Service with `publishNotReadyAddresses`.
    vague: bool,
}

/// What the EndpointSlices of a Service show about a pod from one revision on.
pub(crate) struct Entry<'t, 'h> {
    /// The event of the revision.
    pub(crate) id: EventId,
    /// When it was received.
    pub(crate) at: &'t Stamp,
    /// The pod's endpoint. None if no slice has it.
    pub(crate) endpoint: Option<&'t EndpointSeen<'h>>,
}

impl Happened for Entry<'_, '_> {
    fn id(&self) -> EventId {
        self.id
    }

    fn when(&self) -> &Stamp {
        self.at
    }
}

impl Entry<'_, '_> {
    /// Whether the endpoint exists and is ready.
    pub(crate) fn ready(&self) -> bool {
        self.endpoint.is_some_and(|endpoint| endpoint.ready == Some(true))
    }

    /// Whether the endpoint exists and is serving.
    pub(crate) fn serving(&self) -> bool {
        self.endpoint.is_some_and(|endpoint| endpoint.serving == Some(true))
    }
}

/// The services of a history that have a selector and were not patched.
pub(crate) fn services<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Service<'t, 'h>> {
    let patched = |of: &str| {
        run.deeds.iter().any(
            |(_, deed)| matches!(&deed.did, Did::Patched { kind, name, .. } if kind == "Service" && name == of),
        )
    };
    let made = run.deeds.iter().filter_map(|(_, deed)| match &deed.did {
        Did::Created { kind, name, manifest } if kind == "Service" => Some((name.as_str(), manifest)),
        _ => None,
    });
    let mut services: Vec<Service<'t, 'h>> = made
        .filter(|(name, _)| !patched(name))
        .filter_map(|(name, manifest)| service(run, name, manifest))
        .collect();
    let vague = services.iter().any(|service| service.publishes && service.address.is_none());
    services.iter_mut().for_each(|service| service.vague = vague);
    services
}

fn service<'t, 'h>(run: &'t Timeline<'h>, name: &'h str, manifest: &'h Value) -> Option<Service<'t, 'h>> {
    let seen = run.services.iter().find(|service| service.name == name);
    let spec = manifest.get("spec")?;
    let publishes = spec.get("publishNotReadyAddresses").and_then(Value::as_bool).unwrap_or(false);
    let address = seen.and_then(|seen| seen.object?.get("spec")?.get("clusterIP")?.as_str());
    let selector = spec.get("selector")?.as_object().filter(|selector| !selector.is_empty())?;
    Some(Service { name, publishes, address, selector, seen, vague: false })
}

impl<'t, 'h> Service<'t, 'h> {
    /// For each revision of a pod, whether the Service selects it.
    fn selections(&self, pod: &PodLife<'_>) -> Vec<bool> {
        selections(pod, |labels| has_all(labels, self.selector))
    }

    /// Whether it selects a pod in all revisions. A pod whose labels change may be selected only for a while.
    pub(crate) fn selects(&self, pod: &PodLife<'_>) -> bool {
        let all = self.selections(pod);
        !all.is_empty() && !all.contains(&false)
    }

    /// Whether it selects a pod in any revision.
    pub(crate) fn ever_selects(&self, pod: &PodLife<'_>) -> bool {
        self.selections(pod).contains(&true)
    }

    /// The revisions of a pod whose labels make the Service begin or cease to select it, and whether it selects it then.
    pub(crate) fn turns<'p, 'r>(&self, pod: &'p PodLife<'r>) -> Vec<(&'p Revision<'r>, bool)> {
        let all = self.selections(pod);
        let shown = all.windows(2).zip(pod.revisions.iter().skip(1));
        shown.filter(|(pair, _)| pair[0] != pair[1]).map(|(pair, shown)| (shown, pair[1])).collect()
    }

    /// What the slices of the Service show about a pod, revision by revision, from the first revision that contains the
    /// pod.
    pub(crate) fn entries(&self, pod: &PodLife<'_>) -> Vec<Entry<'t, 'h>> {
        let mut slices: BTreeMap<&str, Option<&'t EndpointSeen<'h>>> = BTreeMap::new();
        let mut entries = Vec::new();
        for slice in self.seen.into_iter().flat_map(|seen| &seen.slices) {
            slices.insert(slice.name, slice.of_pod(&pod.name));
            let all = || slices.values().flatten().copied();
            let endpoint = all().find(|endpoint| endpoint.ready == Some(true)).or_else(|| all().next());
            if endpoint.is_some() || !entries.is_empty() {
                entries.push(Entry { id: slice.id, at: &slice.at, endpoint });
            }
        }
        entries
    }

    /// Whether the endpoint of another pod was ready at an instant and in all later revisions.
    pub(crate) fn has_another(&self, run: &Timeline<'_>, pod: &PodLife<'_>, from: &Stamp) -> bool {
        run.pods.iter().filter(|other| other.name != pod.name && self.selects(other)).any(|other| {
            let entries = self.entries(other);
            let before = entries.iter().rposition(|entry| entry.at.at.lo <= from.at.lo);
            before.is_some_and(|before| entries.iter().skip(before).all(Entry::ready))
        })
    }

    /// The legacy Endpoints objects that were watched: event, instant, and whether they list an address as ready.
    pub(crate) fn legacy(&self, address: &str) -> Vec<(EventId, &'t Stamp, bool)> {
        let lists = |object: &Value| {
            let subsets = object.get("subsets").and_then(Value::as_array).into_iter().flatten();
            let ready = subsets.filter_map(|subset| subset.get("addresses")?.as_array()).flatten();
            ready.into_iter().any(|ready| ready.get("ip").and_then(Value::as_str) == Some(address))
        };
        let revisions = self.seen.into_iter().flat_map(|seen| &seen.endpoints);
        revisions.map(|(id, at, object)| (*id, at, lists(object))).collect()
    }

    /// Whether a request from one of the case's clients reached a pod through the Service.
    pub(crate) fn brought(&self, pod: &PodLife<'_>, asked: &Asked<'_>) -> bool {
        let host = asked.header("host").next().map(without_port);
        asked.from_our_client() && host.is_some_and(|host| self.is_at(pod, host))
    }

    /// Whether one of the case's clients called the Service.
    pub(crate) fn was_called(&self, pod: &PodLife<'_>, call: &Call) -> bool {
        let authority = call.url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        authority.is_some_and(|authority| self.is_at(pod, without_port(authority)))
    }

    /// An address that is not the pod's own belongs to a Service. This Service is known only if the watch showed the
    /// Services.
    fn is_at(&self, pod: &PodLife<'_>, host: &str) -> bool {
        match self.address {
            Some(address) => address == host,
            None => !self.vague && pod.ip().is_some_and(|ip| ip != host),
        }
    }
}

fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}
