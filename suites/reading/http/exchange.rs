//! One HTTP probe from end to end: what was asked, what was answered, and where it was sent on to.
//!
//! A probe that is redirected makes several requests, on other ports and perhaps to other containers of its pod. Here
//! they are put together, and each answer is read with the plan that was in force. Where a probe's requests cannot be
//! told from those of another probe, there is no [`Exchanges`] of it, and nobody is judged by it.

use std::collections::BTreeSet;

use probity_model::measure::SECOND;
use probity_model::timeline::{Asked, Attempt, Connection, ContainerLife, Handler, Life, ProbeSpec, Through};
use probity_model::{EventId, Stamp, Timeline};
use probity_script::answer::{HttpAnswer, HttpReply};
use probity_script::{Change, Endpoint, Fact, Plan};

use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::location::{Reference, Url};
use crate::reading::http::said::{self, Said};

/// The statuses that ask to go elsewhere.
const FOLLOWED: [u16; 5] = [301, 302, 303, 307, 308];

/// One probe.
pub(crate) struct Exchange<'t, 'h> {
    /// Its first arrival.
    pub(crate) id: EventId,
    pub(crate) at: Stamp,
    /// When the target was done with its last answer, as far as is known.
    pub(crate) done: Option<Stamp>,
    /// It took so much of the probe's timeout that the kubelet may have given up before its end.
    pub(crate) late: bool,
    /// Its requests; none for a connection that broke before the first.
    pub(crate) hops: Vec<Hop<'t, 'h>>,
    /// All its events.
    pub(crate) events: Vec<EventId>,
}

/// One request of a probe.
pub(crate) struct Hop<'t, 'h> {
    pub(crate) asked: &'t Asked<'h>,
    pub(crate) connection: Option<&'t Connection<'h>>,
    /// What was asked for.
    pub(crate) url: Url,
    /// What was meant, if the plan is known.
    pub(crate) told: Option<HttpAnswer>,
    /// What was answered.
    pub(crate) said: Said,
    /// Where that leads; none for an answer that is no redirect.
    pub(crate) leads: Option<Leads>,
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// To the host that the probe began with.
    Here(Url),
    /// To another host.
    Elsewhere(Url),
    /// Nowhere: it has no Location, or a status that asks for no other request.
    Nowhere,
    /// To something that cannot be asked: no URL, or none of HTTP.
    Unusable,
    /// It cannot be told.
    Unclear,
}

/// What a kubelet is told by a probe as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpOutcome {
    /// The last answer is a success: 200 to 299.
    Good,
    /// The last answer is a failure: 400 and above.
    Bad,
    /// The last answer is a redirect that is not to be followed.
    Parted,
    /// There was no answer, or none that is HTTP.
    Nothing,
    /// The body breaks off.
    Short,
    /// A redirect that cannot be followed.
    Unusable,
    /// It should have gone on, or it cannot be told.
    Open,
}

impl<'t, 'h> Exchange<'t, 'h> {
    pub(crate) fn last(&self) -> Option<&Hop<'t, 'h>> {
        self.hops.last()
    }

    pub(crate) fn outcome(&self) -> HttpOutcome {
        let Some(last) = self.last() else { return HttpOutcome::Nothing };
        if self.late && !matches!(last.said, Said::Short { .. }) {
            return HttpOutcome::Open;
        }
        match (&last.said, &last.leads) {
            (Said::Whole { status: 200..=299, .. }, _) => HttpOutcome::Good,
            (Said::Whole { status: 400.., .. }, _) => HttpOutcome::Bad,
            (Said::Whole { .. }, Some(Leads::Nowhere | Leads::Elsewhere(_))) => HttpOutcome::Parted,
            (Said::Whole { .. }, Some(Leads::Unusable)) => HttpOutcome::Unusable,
            (Said::Nothing, _) => HttpOutcome::Nothing,
            (Said::Short { .. }, _) => HttpOutcome::Short,
            _ => HttpOutcome::Open,
        }
    }
}

/// The exchanges of all HTTP probes of a history, life by life.
///
/// Probes that come while the kubelet may still take a restarted container for the one before it are left out.
pub(crate) fn exchanges<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Exchanges<'t, 'h>> {
    let mut all = Vec::new();
    for pod in &run.pods {
        let targets: Vec<TargetLife<'_, '_>> = pod
            .containers
            .iter()
            .flat_map(|container| {
                let plan = container.plan();
                container.attempts.iter().map(move |attempt| TargetLife::of(attempt, plan.clone()))
            })
            .collect();
        for container in &pod.containers {
            for spec in &container.probes {
                let Handler::Http { scheme, host, .. } = &spec.handler else { continue };
                for target in targets.iter().filter(|target| belongs(target.attempt, container)) {
                    let life = Life { run, pod, container, attempt: target.attempt };
                    let Some(life) = life.probed(spec.kind) else { continue };
                    let asks =
                        Attribution { targets: &targets, target, probe: spec, scheme, host: host.as_deref() };
                    let Some(mut exchanges) = asks.exchanges() else { continue };
                    exchanges.extend(asks.broken_connections(container));
                    exchanges.sort_by_key(|exchange| (exchange.at.at.lo, exchange.id));
                    let known = life.known_from();
                    exchanges.retain(|exchange| exchange.at.at.lo >= known);
                    all.push(Exchanges { life, exchanges });
                }
            }
        }
    }
    all
}

fn belongs(attempt: &Attempt<'_>, container: &ContainerLife<'_>) -> bool {
    container.attempts.iter().any(|own| std::ptr::eq(own, attempt))
}

/// One life of a target with the plans that were in force.
struct TargetLife<'t, 'h> {
    attempt: &'t Attempt<'h>,
    /// Each plan, and the instant from which it was in force; none where a change could not be read.
    plans: Vec<(i64, Option<Plan>)>,
    /// The requests that were probes of their own.
    first: BTreeSet<EventId>,
}

impl<'t, 'h> TargetLife<'t, 'h> {
    fn of(attempt: &'t Attempt<'h>, plan: Option<Plan>) -> Self {
        let mut plans = vec![(i64::MIN, plan.clone())];
        for line in &attempt.lines {
            let now = plans.last().and_then(|(_, plan)| plan.as_ref());
            let next = match &line.line.fact {
                Fact::Change(seen) => now.and_then(|plan| {
                    let change: Change = serde_json::from_str(&seen.change).ok()?;
                    change.apply(plan).ok().map(|(plan, _)| plan)
                }),
                Fact::Reset(_) => plan.clone(),
                _ => continue,
            };
            plans.push((line.at.at.lo, next));
        }
        let first = attempt.probes.iter().map(|probe| probe.id).collect();
        Self { attempt, plans, first }
    }

    fn told(&self, asked: &Asked<'h>) -> Option<HttpAnswer> {
        let answer = asked.answer.as_ref()?;
        let (_, plan) = self.plans.iter().rfind(|(since, _)| *since <= asked.at.at.lo)?;
        let Endpoint::Of { listener, name } = answer.endpoint.as_ref()? else { return None };
        let script = plan.as_ref()?.listeners.get(listener)?.paths.get(name)?;
        script.steps().get(answer.step).map(|step| step.answer.clone())
    }
}

/// What is needed to put the requests of one probe together.
struct Attribution<'a, 't, 'h> {
    targets: &'a [TargetLife<'t, 'h>],
    target: &'a TargetLife<'t, 'h>,
    probe: &'t ProbeSpec,
    scheme: &'a str,
    host: Option<&'a str>,
}

impl<'t, 'h> Attribution<'_, 't, 'h> {
    /// The probes that made a request; none if they cannot be told from others.
    fn exchanges(&self) -> Option<Vec<Exchange<'t, 'h>>> {
        let attempt = self.target.attempt;
        let mine = || attempt.probes.iter().filter(|probe| probe.can_be(self.probe.kind));
        if mine().any(|probe| !probe.is(self.probe.kind)) {
            return None;
        }
        let mut used = BTreeSet::new();
        Some(
            mine()
                .filter_map(|probe| match probe.through {
                    Through::Request(at) => attempt.requests.get(at),
                    _ => None,
                })
                .map(|asked| self.exchange(asked, &mut used))
                .collect(),
        )
    }

    fn exchange(&self, first: &'t Asked<'h>, used: &mut BTreeSet<EventId>) -> Exchange<'t, 'h> {
        let connection = self.target.attempt.connection(first);
        let url = Url {
            scheme: self.scheme.to_ascii_lowercase(),
            host: self.host.or(connection.map(Connection::address)).unwrap_or_default().to_owned(),
            port: connection.and_then(Connection::port).unwrap_or_default(),
            target: first.request.target.clone(),
        };
        let mut hops = vec![self.hop(self.target, first, url)];
        while let Some(Hop { leads: Some(Leads::Here(to)), .. }) = hops.last() {
            let Some(next) = hops.last().and_then(|last| self.follower(last, to, used)) else { break };
            used.insert(next.asked.id);
            hops.push(next);
        }
        let done =
            hops.last().and_then(|hop| hop.asked.answer.as_ref()).map(|answer| answer.at.stamp.clone());
        let took = done.as_ref().map_or(0, |done| done.at.hi - first.at.at.lo);
        let late = took > self.probe.timeout / 2;
        let events = hops.iter().flat_map(|hop| hop.asked.events()).collect();
        Exchange { id: first.id, at: first.at.clone(), done, late, hops, events }
    }

    fn hop(&self, target: &TargetLife<'t, 'h>, asked: &'t Asked<'h>, url: Url) -> Hop<'t, 'h> {
        let connection = target.attempt.connection(asked);
        let told = target.told(asked);
        let hop = asked.request.hop.unwrap_or(0);
        let http1 = asked.request.protocol.starts_with("HTTP/1");
        let said = asked
            .answer
            .as_ref()
            .map_or(Said::Unknown, |answer| Said::of(answer, told.as_ref(), hop, http1, self.probe.timeout));
        let origin = self.host.or(connection.map(Connection::address)).unwrap_or_default();
        let leads = match (&said, &told) {
            (Said::Whole { status, .. }, told) if (300..400).contains(status) => {
                Some(leads(*status, told.as_ref(), asked, connection, &url, origin))
            }
            _ => None,
        };
        Hop { asked, connection, url, told, said, leads }
    }

    /// The request that a redirect led to, wherever in the pod it arrived.
    fn follower(&self, last: &Hop<'t, 'h>, to: &Url, used: &BTreeSet<EventId>) -> Option<Hop<'t, 'h>> {
        let from = last.asked.at.at.lo;
        let patience = from.saturating_add(self.probe.timeout).saturating_add(SECOND);
        // One probe is over before the next of its kind begins.
        let own = self.target.attempt.probes.iter().filter(|probe| probe.can_be(self.probe.kind));
        let next = own.map(|probe| probe.at.at.lo).find(|at| *at > from);
        let until = next.map_or(patience, |next| patience.min(next));
        let came_from = |asked: &Asked<'_>| {
            asked.header("referer").next().is_none_or(|referer| referer.ends_with(&last.asked.request.target))
        };
        let fits = |target: &TargetLife<'t, 'h>, asked: &Asked<'h>| {
            let port = target.attempt.connection(asked).and_then(Connection::port);
            let new = !target.first.contains(&asked.id) && !used.contains(&asked.id);
            let in_time = (from..=until).contains(&asked.at.at.lo) && asked.id != last.asked.id;
            new && in_time && port == Some(to.port) && asked.request.target == to.target && came_from(asked)
        };
        self.targets
            .iter()
            .filter(|target| target.attempt.node == self.target.attempt.node)
            .flat_map(|target| target.attempt.requests.iter().map(move |asked| (target, asked)))
            .filter(|(target, asked)| !asked.from_our_client() && fits(target, asked))
            .min_by_key(|(_, asked)| asked.at.at.lo)
            .map(|(target, asked)| self.hop(target, asked, to.clone()))
    }

    /// The connections to the probe's port that were broken off before any request, where they can only be this probe's.
    fn broken_connections(&self, container: &ContainerLife<'h>) -> Vec<Exchange<'t, 'h>> {
        let port = self.probe.handler.port();
        if port.is_none() || container.probes.iter().filter(|other| other.handler.port() == port).count() > 1
        {
            return Vec::new();
        }
        let attempt = self.target.attempt;
        let broken = |connection: &&Connection<'_>| {
            connection.requests == 0
                && connection.port() == port
                && ["close", "reset", "garbage"].contains(&connection.accepted.answer.as_str())
        };
        let exchange = |connection: &'t Connection<'h>| {
            let done = connection.closed.as_ref().map(|closed| closed.at.stamp.clone());
            let closed = connection.closed.as_ref().map(|closed| closed.at.id);
            let events = [Some(connection.id), closed].into_iter().flatten().collect();
            let (id, at) = (connection.id, connection.at.clone());
            Exchange { id, at, done, late: false, hops: Vec::new(), events }
        };
        attempt.connections.iter().filter(broken).map(exchange).collect()
    }
}

fn leads(
    status: u16,
    told: Option<&HttpAnswer>,
    asked: &Asked<'_>,
    connection: Option<&Connection<'_>>,
    url: &Url,
    origin: &str,
) -> Leads {
    if !FOLLOWED.contains(&status) {
        return Leads::Nowhere;
    }
    let (Some(HttpAnswer::Reply(reply)), Some(connection)) = (told, connection) else {
        return Leads::Unclear;
    };
    let Some(location) = location(reply, asked, connection).filter(|location| !location.is_empty()) else {
        return Leads::Nowhere;
    };
    match url.resolve(&location) {
        Reference::Odd => Leads::Unclear,
        Reference::Malformed => Leads::Unusable,
        Reference::To(url) if url.host != origin => Leads::Elsewhere(url),
        Reference::To(url) if !["http", "https"].contains(&url.scheme.as_str()) => Leads::Unusable,
        Reference::To(url) => Leads::Here(url),
    }
}

/// The `Location` that was sent, its placeholders filled in as the target does.
pub(crate) fn location(reply: &HttpReply, asked: &Asked<'_>, connection: &Connection<'_>) -> Option<String> {
    let ip = connection.address();
    let ip = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
    let port = connection.port().unwrap_or_default().to_string();
    let host = asked.header("host").next().unwrap_or_default();
    let fill = |text: &str| text.replace("{ip}", &ip).replace("{port}", &port).replace("{host}", host);
    let hop = asked.request.hop.unwrap_or(0);
    if let Some(chain) = said::chain(reply, hop) {
        let path = asked.request.target.split('?').next().unwrap_or_default();
        return Some(format!("{}{path}?probity-hop={}", fill(&chain.base), hop + 1));
    }
    let line = reply.headers.iter().find(|line| line.is("location"))?;
    line.parts().map(|(_, value)| fill(value))
}
