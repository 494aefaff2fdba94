//! The HTTP prober: the request for an `httpGet`, the redirects that it follows, and how it counts answers.

use std::collections::BTreeMap;

use probity_model::timeline::ProbeKind;
use probity_script::Certificate;
use serde_json::Value;

use super::prober::{Back, Outcome, Run};
use super::url::Url;
use crate::Defect;
use crate::call::{Call, CallResult, Manner, ReceivedResponse, Request, Tls};
use crate::world::World;

/// How much of a body is read.
pub(super) const LIMIT: u64 = 10_240;
/// The size of a head that is too long for a defective kubelet.
const LONG_HEAD: usize = 8192;
/// The highest port for a kubelet that treats ports as signed 16-bit numbers.
const HIGHEST_SIGNED: u16 = 32_767;
/// The maximum number of requests of a probe.
const MOST_REQUESTS: usize = 10;

/// A request of an HTTP probe: the first request, or a request to which a redirect led.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leg {
    pub(super) url: Url,
    /// The custom Host header.
    pub(super) host: Option<String>,
    headers: BTreeMap<String, Vec<String>>,
    /// How many requests were made before this one.
    before: usize,
    /// The host of the first request.
    pub(super) first_host: String,
}

impl Leg {
    /// Whether this is the first request of its probe.
    pub(super) fn is_first(&self) -> bool {
        self.before == 0
    }

    /// Whether it goes over TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.url.scheme == "https"
    }
}

impl World<'_> {
    /// Sends a request of an HTTP probe.
    pub(super) fn send_http(&mut self, run: &mut Run, settings: &Value) -> (i64, Back) {
        if run.leg.url.scheme.is_empty() {
            match self.first_leg(run, settings) {
                Ok(leg) => run.leg = leg,
                Err(why) => return (self.now, Back::Unsent(why)),
            }
        }
        let leg = run.leg.clone();
        if !matches!(leg.url.scheme.as_str(), "http" | "https") {
            return (
                self.now,
                Back::Answer(CallResult::Broken(format!(
                    "unsupported protocol scheme \"{}\"",
                    leg.url.scheme
                ))),
            );
        }
        if !leg.url.host.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ':')
            && leg.url.host != "localhost"
        {
            let why = format!("dial tcp: lookup {}: no such host", leg.url.host);
            return (self.now, Back::Answer(CallResult::Broken(why)));
        }
        let secure = leg.url.scheme == "https";
        let readiness = run.kind == ProbeKind::Readiness;
        let reuses = self.has(Defect::ReusesConnections)
            || (readiness && self.has(Defect::ReadinessReusesConnections))
            || (secure && self.has(Defect::HttpsReusesConnections));
        let kept = self
            .worker(run.at, run.kind)
            .and_then(|worker| worker.kept)
            .filter(|_| reuses && leg.before == 0);
        let local = self.has(Defect::HttpThroughLoopback) && leg.url.host == "127.0.0.1";
        let inside = local || self.has(Defect::HttpFromInside);
        let own = self.pods[run.at.pod].ip.clone();
        let peer = if inside && !local { own } else { self.kubelet_address(&leg.url.host) };
        let port = leg.url.port.unwrap_or(if secure { 443 } else { 80 });
        if leg.is_first()
            && let Some(end) = self.connect_only(run, &leg.url.host, port)
        {
            return end;
        }
        let leaks = self.has(Defect::HttpConnectionsLeak);
        let call = Call {
            tls: secure.then(|| self.tls()),
            request: Some(Request {
                method: if self.has(Defect::HttpAsksByHead) { "HEAD" } else { "GET" },
                target: leg.url.target.clone(),
                headers: self.sent_headers(run, &leg),
                service: None,
            }),
            limit: self.body_limit(secure),
            kept,
            keep: (reuses || leaks) && leg.is_first(),
            manner: Manner { inside: inside.then_some(run.at.pod), ..Manner::default() },
            ..Call::new(peer, leg.url.host.clone(), port, self.deadline_of(run))
        };
        let (when, answer) = self.call(&call);
        self.take_cookie(run, &answer);
        if reuses && leg.before == 0 {
            let kept = if let CallResult::Response(response) = &answer { response.kept } else { None };
            if let Some(worker) = self.worker(run.at, run.kind) {
                worker.kept = kept;
            }
        }
        (when, Back::Answer(answer))
    }

    fn tls(&self) -> Tls {
        let mut refuses = Vec::new();
        if self.has(Defect::VerifiesCertificates) {
            refuses = vec![
                Certificate::SelfSigned,
                Certificate::Expired,
                Certificate::NotYetValid,
                Certificate::WrongName,
            ];
        } else if self.has(Defect::RefusesExpiredCertificates) {
            refuses = vec![Certificate::Expired];
        }
        Tls {
            http2: !self.has(Defect::OffersNoHttp2),
            refuses,
            shows: self.has(Defect::ShowsClientCertificate),
        }
    }

    /// Whether a defective kubelet considers a port invalid.
    pub(super) fn is_too_high(&self, port: u16) -> bool {
        port > HIGHEST_SIGNED && self.has(Defect::HighPortsInvalid)
    }

    /// The request for an `httpGet`.
    fn first_leg(&self, run: &Run, settings: &Value) -> Result<Leg, String> {
        let of = &self.pods[run.at.pod];
        let text = |field: &str| settings[field].as_str().filter(|text| !text.is_empty());
        let spec = &of.containers[run.at.container].spec;
        let mut port = resolve_port(spec, &settings["port"]);
        if settings["port"].is_string() && self.has(Defect::NamedPortIsFirstPort) {
            port = spec["ports"][0]["containerPort"]
                .as_u64()
                .and_then(|port| u16::try_from(port).ok())
                .map(|port| port + 1);
        }
        if self.is_sidecar(run.at) && self.has(Defect::PortNameOfOthersForSidecars) {
            let of_others = of.containers.iter().find_map(|of| resolve_port(&of.spec, &settings["port"]));
            port = port.or(of_others);
        }
        let port = port.filter(|port| !self.is_too_high(*port));
        let port = port.ok_or_else(|| no_such_port(&settings["port"]))?;
        let localhost = (of.on_host && self.has(Defect::HostNetworkMeansLocalhost))
            || self.has(Defect::HttpThroughLoopback);
        let own = if localhost { "127.0.0.1" } else { of.ip.as_str() };
        let host = self.given_host(settings).filter(|_| !self.has(Defect::HostFieldIgnored)).unwrap_or(own);
        let no_path = if self.has(Defect::DefaultPathWrong) { "/healthz" } else { "/" };
        let path = match text("path") {
            Some("/") | None => no_path,
            Some(path) => path,
        };
        let path = path.split('?').next().filter(|_| self.has(Defect::HttpDropsQuery)).unwrap_or(path);
        let target = self.respelled(self.with_slash(path));
        let scheme = text("scheme").map_or_else(|| "http".to_owned(), str::to_ascii_lowercase);
        let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for header in settings["httpHeaders"].as_array().into_iter().flatten() {
            let name = self.header_name(header["name"].as_str().unwrap_or_default());
            let removes = matches!(name.as_str(), "Accept" | "User-Agent");
            if header["value"] == "" && !removes && self.has(Defect::EmptyHeadersDropped) {
                continue;
            }
            headers.entry(name).or_default().push(self.header_value(run, &header["value"]));
        }
        let custom = headers.remove("Host").and_then(|values| values.into_iter().next());
        let custom = custom.filter(|host| !host.is_empty() && !self.has(Defect::HostHeaderIgnored));
        self.complete(run, scheme == "https", &mut headers);
        let url = Url { scheme, host: host.to_owned(), port: Some(port), target };
        Ok(Leg { first_host: url.host.clone(), url, host: custom, headers, before: 0 })
    }

    /// Adds the default headers and removes the headers with an empty value.
    fn complete(&self, run: &Run, secure: bool, headers: &mut BTreeMap<String, Vec<String>>) {
        let agent = if self.has(Defect::UserAgentWrong) { "kube-probe/1.35" } else { "kube-probe/1.36" };
        let accept = if self.has(Defect::AcceptNarrow) { "text/plain" } else { "*/*" };
        for (name, default) in [("User-Agent", agent), ("Accept", accept)] {
            let default = vec![default.to_owned()];
            let Some(values) = headers.get_mut(name) else {
                if !(name == "Accept" && self.has(Defect::AcceptMissing)) {
                    headers.insert(name.to_owned(), default);
                }
                continue;
            };
            if values.first().is_some_and(String::is_empty) {
                if self.has(Defect::EmptyHeaderKeepsDefault) {
                    *values = default;
                } else if !self.has(Defect::EmptyHeaderSentEmpty) {
                    headers.remove(name);
                }
            } else if self.has(Defect::OverridesIgnored) {
                *values = default;
            } else if self.has(Defect::OverridesAppended) {
                values.insert(0, default[0].clone());
            }
        }
        if self.has(Defect::SendsAcceptEncoding) {
            headers.insert("Accept-Encoding".to_owned(), vec!["gzip".to_owned()]);
        }
        let first = self.pods[run.at.pod].containers[run.at.container]
            .workers
            .iter()
            .all(|worker| worker.last.is_none());
        let over_tls = secure && self.has(Defect::HttpsDropsCustomHeaders);
        if over_tls
            || self.has(Defect::CustomHeadersDropped)
            || (self.has(Defect::CustomHeadersOnce) && !first)
        {
            headers.retain(|name, _| matches!(name.as_str(), "User-Agent" | "Accept" | "Accept-Encoding"));
        }
        if self.forgets_custom(run.at) {
            let custom = |name: &String| !matches!(name.as_str(), "User-Agent" | "Accept");
            let first = headers.keys().find(|name| custom(name)).cloned();
            let several = headers.keys().filter(|name| custom(name)).count() > 1;
            let all = self.has(Defect::CustomHeadersLostAfterRestart);
            headers.retain(|name, _| !custom(name) || !(all || (several && Some(name) == first.as_ref())));
        }
        for values in headers.values_mut().filter(|values| values.len() > 1) {
            self.spoil_values(values);
            if self.has(Defect::HeaderDuplicatesMerged) {
                *values = vec![values.join(", ")];
            }
            if self.has(Defect::HeaderDuplicatesDropped) {
                values.drain(..values.len() - 1);
            }
            if self.has(Defect::HeadersReordered) {
                values.reverse();
            }
        }
    }

    /// The headers as sent.
    pub(super) fn wire(&self, leg: &Leg) -> Vec<(String, String)> {
        let own = leg.host.clone().unwrap_or_else(|| self.named_place(&leg.url));
        let mut wire = vec![("Host".to_owned(), own)];
        let lines = |name: &str| {
            let values = leg.headers.get(name).cloned().unwrap_or_default();
            values.into_iter().map(|value| (self.sent_name(name), value)).collect::<Vec<_>>()
        };
        wire.extend(lines("User-Agent"));
        for name in leg.headers.keys().filter(|name| *name != "User-Agent") {
            wire.extend(lines(name));
        }
        if !self.has(Defect::ReusesConnections) {
            wire.push(("Connection".to_owned(), "close".to_owned()));
        }
        wire
    }

    /// The result of an answer.
    pub(super) fn judge_http(&self, run: &mut Run, answer: CallResult) -> Outcome {
        let url = run.leg.url.text();
        let failed = |why: &str| Outcome::Failed(format!("Get \"{url}\": {why}"));
        match answer {
            answer if self.passes_anyway(run, &answer) => Outcome::Passed,
            CallResult::Refused if self.has(Defect::RefusedIsSuccess) => Outcome::Passed,
            CallResult::Refused if self.discards_refusal(run.kind) => {
                Outcome::Erred("unknown", "connect: connection refused".to_owned())
            }
            CallResult::Refused => {
                failed(&format!("dial tcp {}: connect: connection refused", run.leg.url.place()))
            }
            CallResult::TimedOut { .. } if self.has(Defect::TimeoutIsSuccess) => Outcome::Passed,
            CallResult::TimedOut { .. } if self.has(Defect::HttpTimeoutDiscarded) => {
                Outcome::Erred("unknown", "context deadline exceeded".to_owned())
            }
            CallResult::TimedOut { .. }
                if run.kind == ProbeKind::Startup && self.has(Defect::StartupTimeoutDiscarded) =>
            {
                Outcome::Erred("unknown", "context deadline exceeded".to_owned())
            }
            CallResult::TimedOut { .. } => {
                failed("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
            }
            CallResult::Broken(why)
                if why.starts_with("malformed") && self.has(Defect::MalformedIsSuccess) =>
            {
                Outcome::Passed
            }
            CallResult::Broken(why)
                if why.starts_with("unsupported") && self.has(Defect::UnusableLocationPasses) =>
            {
                Outcome::Passed
            }
            CallResult::Broken(why)
                if self.has(Defect::BrokenConnectionDiscarded) && !why.starts_with("unsupported") =>
            {
                Outcome::Erred("failure", why)
            }
            CallResult::Broken(why) => failed(&why),
            CallResult::Connected if self.has(Defect::HttpLivenessOnlyConnects) => Outcome::Passed,
            CallResult::Connected | CallResult::Parted | CallResult::Health(..) => failed("EOF"),
            CallResult::Response(response) => self.judge_response(run, &response),
        }
    }

    fn judge_response(&self, run: &mut Run, response: &ReceivedResponse) -> Outcome {
        if let Some(location) = response.location.as_deref().filter(|location| !location.is_empty())
            && matches!(response.status, 301 | 302 | 303 | 307 | 308)
            && !(response.status == 308 && self.has(Defect::Http308NotFollowed))
            && let Some(outcome) = self.redirect(run, location)
        {
            return outcome;
        }
        if let Some(cut) = &response.cut {
            if self.fails_by_short_body(run) {
                return Outcome::Failed(cut.clone());
            }
            return Outcome::Erred("failure", cut.clone());
        }
        if response.head > LONG_HEAD && self.has(Defect::LargeHeadFails) {
            return Outcome::Failed("server response headers exceeded 8192 bytes; aborted".to_owned());
        }
        if self.has(Defect::LargeBodyFails) && response.body.starts_with("aaaa") && response.status < 300 {
            return Outcome::Failed("response body too large".to_owned());
        }
        let status = response.status;
        match response.status {
            _ if self.misread(run.kind, status) == Some(true) => Outcome::Passed,
            _ if self.misread(run.kind, status) == Some(false) => {
                Outcome::Failed(format!("HTTP probe failed with statuscode: {status}"))
            }
            201..=399 if self.has(Defect::HttpOnly200Passes) => {
                Outcome::Failed(format!("HTTP probe failed with statuscode: {}", response.status))
            }
            400..=499 if self.has(Defect::HttpClientErrorsPass) => Outcome::Passed,
            200..=299 => Outcome::Passed,
            300..=399 if self.has(Defect::RedirectCountsAsFailure) => {
                Outcome::Failed(format!("HTTP probe failed with statuscode: {}", response.status))
            }
            300..=399 if response.location.is_none() && self.has(Defect::MissingLocationFails) => {
                Outcome::Failed(format!("HTTP probe failed with statuscode: {}", response.status))
            }
            300..=399 if response.location.is_some() && self.has(Defect::CrossHostFails) => {
                Outcome::Failed(format!("HTTP probe failed with statuscode: {}", response.status))
            }
            300..=399 => {
                Outcome::Warned(format!("Probe terminated redirects, Response body: {}", response.body))
            }
            status => {
                let body = if self.has(Defect::EventShowsBody) {
                    format!(" and body: {}", response.body)
                } else {
                    String::new()
                };
                Outcome::Failed(format!("HTTP probe failed with statuscode: {status}{body}"))
            }
        }
    }

    /// The result of a redirect: another request or the end of the probe; `None` if the redirect counts as the last
    /// answer.
    fn redirect(&self, run: &Run, location: &str) -> Option<Outcome> {
        let leg = &run.leg;
        if self.has(Defect::FollowsNoRedirect) || self.has(Defect::RedirectCountsAsFailure) {
            return None;
        }
        let failed = |why: String| Some(Outcome::Failed(format!("Get \"{}\": {why}", leg.url.text())));
        let Some((url, absolute)) = leg.url.join(&self.led_by(location)) else {
            if self.has(Defect::UnusableLocationPasses) {
                return Some(Outcome::Passed);
            }
            return failed(format!("failed to parse Location header \"{location}\""));
        };
        let url = match url.target.split_once('?').filter(|_| self.has(Defect::RedirectLosesQuery)) {
            Some((path, _)) => Url { target: path.to_owned(), ..url.clone() },
            None => url,
        };
        let mut same = url.host == leg.first_host;
        same &= !(self.has(Defect::OtherPortIsOtherHost)
            && url.port != leg.url.port
            && url.scheme == leg.url.scheme);
        same &= !(self.has(Defect::OtherSchemeIsOtherHost) && url.scheme != leg.url.scheme);
        let alias = leg.host.as_deref().is_some_and(|host| host.split(':').next() == Some(url.host.as_str()));
        same |= alias && self.has(Defect::HostHeaderIsSameHost);
        same &=
            !(self.has(Defect::DowngradeIsOtherHost) && leg.url.scheme == "https" && url.scheme == "http");
        same |= leg.before > 0 && self.has(Defect::SecondHopGoesAnywhere);
        same &= !self.stays_where_host_led(run);
        same &= !(url == leg.url && self.has(Defect::RedirectToItselfEnds));
        if !same && !self.has(Defect::FollowsCrossHost) {
            return None;
        }
        let made = leg.before + 1;
        let most = match () {
            () if self.has(Defect::RedirectLimitTwenty) => 2 * MOST_REQUESTS,
            () if self.has(Defect::RedirectLimitFive) => MOST_REQUESTS / 2,
            () if self.has(Defect::RedirectLimitNine) => MOST_REQUESTS - 1,
            () => MOST_REQUESTS,
        };
        if made >= most {
            return failed(format!("stopped after {most} redirects"));
        }
        let mut headers = leg.headers.clone();
        if self.has(Defect::DropsHeadersOnRedirect)
            || (leg.before > 0 && self.has(Defect::DropsHeadersOnSecondHop))
        {
            headers.retain(|name, _| matches!(name.as_str(), "User-Agent" | "Accept"));
        }
        headers.retain(|name, _| !self.is_lost_on_redirect(name, url.port != leg.url.port));
        self.lose_values(&mut headers);
        if !(leg.url.scheme == "https" && url.scheme == "http") {
            headers.insert("Referer".to_owned(), vec![leg.url.text()]);
        }
        let kept = leg.host.clone().filter(|_| !absolute && !self.loses_host(leg));
        // An alias does not have its own address. A kubelet that considers it the same host sends the request to the
        // original host.
        let url = if alias && same && url.host != leg.first_host {
            Url { host: leg.first_host.clone(), port: leg.url.port, ..url }
        } else {
            url
        };
        let first_host = leg.first_host.clone();
        Some(Outcome::Led(Box::new(Leg { url, host: kept, headers, before: made, first_host })))
    }
}

/// The number of a port: as written, or as the container declares it under this name.
pub(super) fn resolve_port(container: &Value, port: &Value) -> Option<u16> {
    let number = port.as_u64().or_else(|| {
        let name = port.as_str()?;
        let declared = container["ports"].as_array()?.iter().find(|of| of["name"] == name);
        declared.and_then(|of| of["containerPort"].as_u64()).or_else(|| name.parse().ok())
    });
    number.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// The message for a port name that the container does not declare.
pub(super) fn no_such_port(port: &Value) -> String {
    let name = port.as_str().unwrap_or_default();
    format!("strconv.Atoi: parsing \"{name}\": invalid syntax")
}
