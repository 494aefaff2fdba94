//! One complete HTTP probe: the request, the answer, and the redirects.
//!
//! A probe that is redirected makes several requests, on other ports and perhaps to other containers of its pod. These
//! requests are combined here, and each answer is read with the plan that was in force. If the requests of a probe
//! cannot be distinguished from those of another probe, there are no [`Exchanges`] for it, and no judge uses it.

use std::collections::BTreeSet;

use probity_model::mechanisms::REDIRECTED_LATE;
use probity_model::timeline::{
    Asked, Connection, ContainerLife, Handler, Life, Probe, ProbeOutcome, ProbedLife,
};
use probity_model::{EventId, Stamp, Timeline};
use probity_script::answer::{HttpAnswer, HttpReply};
use probity_script::wire::{HttpRequestFacts, PlannedResponse, path_of};
use probity_script::{Change, Fact, Plan};

use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::location::{Reference, Url};
use crate::reading::http::reaction::CountsAs;
use crate::reading::http::response::ResponseSeen;

/// The statuses of redirects (RFC 9110, section 15.4).
pub(crate) const REDIRECTS: std::ops::Range<u16> = 300..400;

/// The redirects that clients follow, as Go's `net/http` does.
const FOLLOWED: [u16; 5] = [301, 302, 303, 307, 308];

/// One probe.
pub(crate) struct Exchange<'t, 'h> {
    /// Its first arrival.
    pub(crate) id: EventId,
    pub(crate) at: Stamp,
    /// When the target had finished its last answer, as far as is known.
    pub(crate) done: Option<Stamp>,
    /// Whether the probe took so much of its timeout that the kubelet may have given up before the end.
    pub(crate) late: bool,
    /// Its requests; none for a connection that broke before the first request.
    pub(crate) hops: Vec<Hop<'t, 'h>>,
    /// All its events.
    pub(crate) events: Vec<EventId>,
}

/// One request of a probe.
pub(crate) struct Hop<'t, 'h> {
    pub(crate) asked: &'t Asked<'h>,
    pub(crate) connection: Option<&'t Connection<'h>>,
    /// The requested URL.
    pub(crate) url: Url,
    /// The planned answer, if the plan is known.
    pub(crate) planned: Option<HttpAnswer>,
    /// The answer.
    pub(crate) said: ResponseSeen,
    /// Where the redirect leads; none for an answer that is not a redirect.
    pub(crate) leads: Option<Leads>,
}

impl Hop<'_, '_> {
    /// Whether its answer is a redirect: the next request may arrive at another container of the pod.
    pub(crate) fn leads_on(&self) -> bool {
        self.leads.is_some()
    }
}

/// Where a redirect leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// To the host that the probe began with.
    Here(Url),
    /// To another host.
    Elsewhere(Url),
    /// Nowhere: the redirect has no Location, or has a status that does not ask for another request.
    Nowhere,
    /// To something that cannot be requested, because it is not an HTTP URL.
    Unusable,
    /// It cannot be determined.
    Unclear,
}

/// The result of a whole probe for the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpOutcome {
    /// The last answer is a success: 200 to 299.
    Good,
    /// The last answer is a failure: 400 and above.
    Bad,
    /// The last answer is a redirect that is not to be followed.
    Parted,
    /// There was no answer, or it was not HTTP.
    Nothing,
    /// The body breaks off.
    Short,
    /// A redirect that cannot be followed.
    Unusable,
    /// Another request should have followed, or the outcome cannot be determined.
    Open,
}

impl HttpOutcome {
    /// What the probe counts as according to the status of its last answer; none if the status alone does not decide.
    pub(crate) fn by_status(self) -> Option<CountsAs> {
        match self {
            Self::Good => Some(CountsAs::Success),
            Self::Bad => Some(CountsAs::Failure),
            _ => None,
        }
    }
}

impl<'t, 'h> Exchange<'t, 'h> {
    pub(crate) fn last(&self) -> Option<&Hop<'t, 'h>> {
        self.hops.last()
    }

    pub(crate) fn outcome(&self) -> HttpOutcome {
        let Some(last) = self.last() else { return HttpOutcome::Nothing };
        match (&last.said, &last.leads) {
            (ResponseSeen::Short { .. }, _) => HttpOutcome::Short,
            _ if self.late => HttpOutcome::Open,
            (ResponseSeen::Nothing, _) => HttpOutcome::Nothing,
            (ResponseSeen::Unknown, _) => HttpOutcome::Open,
            (ResponseSeen::Whole { .. }, Some(Leads::Nowhere | Leads::Elsewhere(_))) => HttpOutcome::Parted,
            (ResponseSeen::Whole { .. }, Some(Leads::Unusable)) => HttpOutcome::Unusable,
            (ResponseSeen::Whole { status, .. }, _) => match ProbeOutcome::of_status(*status) {
                ProbeOutcome::Success => HttpOutcome::Good,
                ProbeOutcome::Failure => HttpOutcome::Bad,
                ProbeOutcome::Unclear => HttpOutcome::Open,
            },
        }
    }
}

/// The exchanges of all HTTP probes of a history, life by life.
///
/// Probes that arrive while the kubelet may still mistake a restarted container for the previous instance are left out.
pub(crate) fn exchanges<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Exchanges<'t, 'h>> {
    let mut all = Vec::new();
    for pod in &run.pods {
        let lives = run.lives().only(|life| std::ptr::eq(life.pod, pod));
        let targets: Vec<_> = lives.iter().copied().map(TargetLife::of).collect();
        for (container, spec) in
            pod.containers.iter().flat_map(|of| of.probes.iter().map(move |spec| (of, spec)))
        {
            let own = |target: &&TargetLife<'_, '_>| std::ptr::eq(target.life.container, container);
            for target in targets.iter().filter(own) {
                let Some(life) = target.life.probed(spec.kind) else { continue };
                let attribution = Attribution { targets: &targets, target, life: &life };
                let Some(exchanges) = attribution.exchanges() else { continue };
                all.push(Exchanges { life, exchanges });
            }
        }
    }
    all
}

/// One life of a target with the plans that were in force.
struct TargetLife<'t, 'h> {
    life: Life<'t, 'h>,
    /// Each plan, and the instant from which it was in force; none if a change could not be read.
    plans: Vec<(i64, Option<Plan>)>,
    /// The requests that were the first request of a probe.
    first: BTreeSet<EventId>,
}

impl<'t, 'h> TargetLife<'t, 'h> {
    fn of(life: Life<'t, 'h>) -> Self {
        let plan = life.container.plan();
        let mut plans = vec![(i64::MIN, plan.clone())];
        for line in &life.lines {
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
        Self { life, plans, first: life.attempt.probes.iter().map(|probe| probe.id).collect() }
    }

    fn planned(&self, asked: &Asked<'h>) -> Option<HttpAnswer> {
        let answer = asked.answer.as_ref()?;
        let (_, plan) = self.plans.iter().rfind(|(since, _)| *since <= asked.at.at.lo)?;
        plan.as_ref()?.http_answer(answer.endpoint.as_ref()?, answer.step).cloned()
    }
}

/// Everything that is needed to combine the requests of one probe.
struct Attribution<'a, 't, 'h> {
    targets: &'a [TargetLife<'t, 'h>],
    target: &'a TargetLife<'t, 'h>,
    life: &'a ProbedLife<'t, 'h>,
}

impl<'t, 'h> Attribution<'_, 't, 'h> {
    /// The arrivals that can have been this probe, in order.
    fn probes(&self) -> impl Iterator<Item = &'t Probe<'h>> {
        let kind = self.life.spec.kind;
        self.life.attempt.probes.iter().filter(move |probe| probe.can_be(kind))
    }

    /// The probes of a life, in the order of arrival; none if they are not HTTP, or cannot be distinguished from others.
    fn exchanges(&self) -> Option<Vec<Exchange<'t, 'h>>> {
        let Handler::Http { scheme, .. } = &self.life.spec.handler else { return None };
        if self.probes().any(|probe| !probe.is(self.life.spec.kind)) {
            return None;
        }
        let mut used = BTreeSet::new();
        let requests = self.probes().filter_map(|probe| Some((probe, self.life.attempt.request(probe)?)));
        let mut exchanges: Vec<_> =
            requests.map(|(probe, asked)| self.exchange(probe, asked, scheme, &mut used)).collect();
        exchanges.extend(self.broken_connections());
        exchanges.sort_by_key(|exchange| (exchange.at.at.lo, exchange.id));
        let known = self.life.known_from();
        exchanges.retain(|exchange| exchange.at.at.lo >= known);
        Some(exchanges)
    }

    fn exchange(
        &self,
        probe: &'t Probe<'h>,
        first: &'t Asked<'h>,
        scheme: &str,
        used: &mut BTreeSet<EventId>,
    ) -> Exchange<'t, 'h> {
        let connection = self.life.attempt.connection(first);
        let url = Url {
            scheme: scheme.to_ascii_lowercase(),
            host: self.origin(connection).to_owned(),
            port: connection.and_then(Connection::port).unwrap_or_default(),
            target: first.request.target.clone(),
        };
        let mut hops = vec![self.hop(self.target, first, url)];
        while let Some(Hop { leads: Some(Leads::Here(to)), .. }) = hops.last() {
            let Some(next) = hops.last().and_then(|last| self.follower(last, to, used)) else { break };
            used.insert(next.asked.id);
            hops.push(next);
        }
        let answered = hops.last().and_then(|hop| hop.asked.answer.as_ref()).map(|answer| &answer.at);
        let result = self.life.result(probe).answered_at(answered);
        Exchange {
            id: probe.id,
            at: probe.at.clone(),
            done: answered.map(|at| at.stamp.clone()),
            late: result.may_be_late(),
            events: hops.iter().flat_map(|hop| hop.asked.events()).collect(),
            hops,
        }
    }

    /// The host that the probe began with.
    fn origin(&self, connection: Option<&'t Connection<'h>>) -> &'t str {
        self.life.spec.handler.host().or(connection.map(Connection::address)).unwrap_or_default()
    }

    fn hop(&self, target: &TargetLife<'t, 'h>, asked: &'t Asked<'h>, url: Url) -> Hop<'t, 'h> {
        let connection = target.life.attempt.connection(asked);
        let planned = target.planned(asked);
        let hop = asked.request.hop.unwrap_or(0);
        let said = asked.answer.as_ref().map_or(ResponseSeen::Unknown, |answer| {
            ResponseSeen::of(answer, planned.as_ref(), hop, asked.is_http1(), self.life.spec.timeout)
        });
        let leads = match &said {
            ResponseSeen::Whole { status, .. } if REDIRECTS.contains(status) => {
                Some(leads(*status, planned.as_ref(), asked, connection, &url, self.origin(connection)))
            }
            _ => None,
        };
        Hop { asked, connection, url, planned, said, leads }
    }

    /// The request that a redirect led to, wherever in the pod it arrived.
    fn follower(&self, last: &Hop<'t, 'h>, to: &Url, used: &BTreeSet<EventId>) -> Option<Hop<'t, 'h>> {
        let from = last.asked.at.at.lo;
        let patience = from.saturating_add(self.life.spec.timeout).saturating_add(REDIRECTED_LATE);
        // One probe ends before the next of its kind begins.
        let next = self.probes().map(|probe| probe.at.at.lo).find(|at| *at > from);
        let until = next.map_or(patience, |next| patience.min(next));
        let came_from = |asked: &Asked<'_>| {
            asked.header("referer").next().is_none_or(|referer| referer.ends_with(&last.asked.request.target))
        };
        let in_time =
            |asked: &Asked<'h>| (from..=until).contains(&asked.at.at.lo) && asked.id != last.asked.id;
        let fits = |target: &TargetLife<'t, 'h>, asked: &Asked<'h>| {
            let port = || target.life.attempt.connection(asked).and_then(Connection::port);
            let new = !target.first.contains(&asked.id) && !used.contains(&asked.id);
            let same = asked.request.target == to.target && came_from(asked) && !asked.from_our_client();
            new && same && port() == Some(to.port)
        };
        self.targets
            .iter()
            .filter(|target| target.life.node == self.life.node)
            .flat_map(|target| target.life.attempt.requests.iter().map(move |asked| (target, asked)))
            // The check of the time comes first: it is the cheapest, and it excludes most requests of a pod.
            .filter(|(target, asked)| in_time(asked) && fits(target, asked))
            .min_by_key(|(_, asked)| asked.at.at.lo)
            .map(|(target, asked)| self.hop(target, asked, to.clone()))
    }

    /// The connections to the probe's port that broke before any request and can only belong to this probe.
    fn broken_connections(&self) -> impl Iterator<Item = Exchange<'t, 'h>> {
        let port = self.life.spec.handler.port();
        let same_port =
            |of: &ContainerLife<'_>| of.probes.iter().filter(|other| other.handler.port() == port).count();
        let alone = port.is_some() && same_port(self.life.container) == 1;
        let broken = move |connection: &&Connection<'_>| {
            alone
                && connection.requests == 0
                && connection.port() == port
                && ["close", "reset", "garbage"].contains(&connection.accepted.answer.as_str())
        };
        let exchange = |connection: &'t Connection<'h>| {
            let closed = connection.closed.as_ref().map(|closed| &closed.at);
            Exchange {
                id: connection.id,
                at: connection.at.clone(),
                done: closed.map(|closed| closed.stamp.clone()),
                late: false,
                hops: Vec::new(),
                events: [connection.id].into_iter().chain(closed.map(|closed| closed.id)).collect(),
            }
        };
        self.life.attempt.connections.iter().filter(broken).map(exchange)
    }
}

fn leads(
    status: u16,
    planned: Option<&HttpAnswer>,
    asked: &Asked<'_>,
    connection: Option<&Connection<'_>>,
    url: &Url,
    origin: &str,
) -> Leads {
    if !FOLLOWED.contains(&status) {
        return Leads::Nowhere;
    }
    let (Some(HttpAnswer::Reply(reply)), Some(connection)) = (planned, connection) else {
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

/// The `Location` that was sent.
pub(crate) fn location(reply: &HttpReply, asked: &Asked<'_>, connection: &Connection<'_>) -> Option<String> {
    let facts = HttpRequestFacts {
        path: path_of(&asked.request.target),
        hop: asked.request.hop.unwrap_or(0),
        host: asked.header("host").next().unwrap_or_default(),
        ip: connection.address().parse().ok()?,
        port: connection.port().unwrap_or_default(),
        ..HttpRequestFacts::default()
    };
    PlannedResponse::of(reply, &facts).header("location").map(str::to_owned)
}
