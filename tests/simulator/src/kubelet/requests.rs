//! How a defective kubelet sends requests and counts their results: over TLS, with headers and paths as written, and with a
//! timeout that starts again.

use probity_model::timeline::ProbeKind;
use serde_json::Value;

use super::http::Leg;
use super::prober::Run;
use crate::Defect;
use crate::call::CallResult;
use crate::world::{SECOND, World};

/// A time that no case reaches.
const FOR_EVER: i64 = 3600 * SECOND;

impl Run {
    /// Whether the first request of the probe goes over TLS.
    fn begins_over_tls(&self) -> bool {
        self.leg.is_first() && self.leg.is_secure()
    }
}

impl World<'_> {
    /// When a request times out.
    pub(super) fn deadline_of(&self, run: &Run) -> i64 {
        let endless = run.begins_over_tls() && self.has(Defect::HttpsTimeoutIgnored);
        if endless { self.now + FOR_EVER } else { run.deadline }
    }

    /// Whether a defect turns the result of an HTTP probe into a success.
    pub(super) fn passes_anyway(&self, run: &Run, answer: &CallResult) -> bool {
        match answer {
            CallResult::Response(_) => run.begins_over_tls() && self.has(Defect::HttpsAnswersPass),
            CallResult::TimedOut { .. } => run.begins_over_tls() && self.has(Defect::HttpsTimeoutPasses),
            CallResult::Refused => run.kind == ProbeKind::Startup && self.has(Defect::StartupRefusalPasses),
            _ => false,
        }
    }

    /// Whether a refused connection has no result.
    pub(super) fn discards_refusal(&self, kind: ProbeKind) -> bool {
        self.has(match kind {
            ProbeKind::Readiness => Defect::ReadinessRefusalDiscarded,
            ProbeKind::Liveness => Defect::LivenessRefusalDiscarded,
            ProbeKind::Startup => Defect::StartupRefusalDiscarded,
        })
    }

    /// The name under which a custom header is kept.
    pub(super) fn header_name(&self, name: &str) -> String {
        match () {
            () if self.has(Defect::HeaderNamesAsWritten) => name.to_owned(),
            () => canonical(name),
        }
    }

    /// The name of a header as it is sent.
    pub(super) fn sent_name(&self, name: &str) -> String {
        let own = ["User-Agent", "Accept", "Referer"].contains(&name);
        if !own && self.has(Defect::HeaderNamesInLowerCase) { name.to_lowercase() } else { name.to_owned() }
    }

    /// The path of a request, which begins with a slash.
    pub(super) fn with_slash(&self, path: &str) -> String {
        let has_one = path.starts_with('/');
        let added = match has_one {
            true => self.has(Defect::PathSlashDoubled),
            false => !self.has(Defect::PathSentWithoutSlash),
        };
        let path = if added { format!("/{path}") } else { path.to_owned() };
        let merged = path.contains("//") && self.has(Defect::PathSlashesMerged);
        if merged { path.replace("//", "/") } else { path }
    }

    /// The host in the settings of a probe, if the kubelet heeds it.
    pub(super) fn given_host<'v>(&self, settings: &'v Value) -> Option<&'v str> {
        let unheeded = || settings["port"].is_string() && self.has(Defect::NamedPortIgnoresHost);
        settings["host"].as_str().filter(|host| !host.is_empty() && !unheeded())
    }

    /// The headers of a request as sent.
    pub(super) fn sent_headers(&self, run: &Run, leg: &Leg) -> Vec<(String, String)> {
        let own = &self.pods[run.at.pod].ip;
        let mut leg = leg.clone();
        if leg.host.is_none() && leg.first_host != *own && self.has(Defect::HostFieldNamesOwnPod) {
            leg.host = Some(leg.url.place().replace(leg.first_host.as_str(), own));
        }
        let mut headers = self.wire(&leg);
        self.add_agent(&leg, &mut headers);
        let workers = &self.pods[run.at.pod].containers[run.at.container].workers;
        let cookie = workers.iter().find(|worker| worker.kind == run.kind).and_then(|of| of.cookie.clone());
        headers.extend(cookie.map(|cookie| ("Cookie".to_owned(), cookie)));
        headers
    }

    /// A defective kubelet keeps the cookie of an answer.
    pub(super) fn take_cookie(&mut self, run: &Run, answer: &CallResult) {
        let CallResult::Response(response) = answer else { return };
        let cookie = response.cookie.as_ref().and_then(|cookie| cookie.split(';').next());
        if let Some(cookie) = cookie
            && self.has(Defect::CookiesKept)
            && let Some(worker) = self.worker(run.at, run.kind)
        {
            worker.cookie = Some(cookie.to_owned());
        }
    }

    /// The value of a custom header as it is sent.
    pub(super) fn header_value(&self, run: &Run, value: &Value) -> String {
        let value = value.as_str().unwrap_or_default().to_owned();
        if value.contains('$') && self.has(Defect::HeaderValuesExpanded) {
            self.expanded(run.at, ProbeKind::Readiness, vec![value]).concat()
        } else {
            value
        }
    }

    /// Whether a header is not sent again after a redirect.
    pub(super) fn is_lost_on_redirect(&self, name: &str, other_port: bool) -> bool {
        match name {
            "Accept" => self.has(Defect::RedirectDropsAccept),
            "Authorization" => other_port && self.has(Defect::AuthorizationLostOnOtherPort),
            _ => false,
        }
    }

    /// Whether a truncated answer counts as a failure.
    pub(super) fn fails_by_short_body(&self, run: &Run) -> bool {
        self.has(Defect::ShortBodyFails) || (run.begins_over_tls() && self.has(Defect::HttpsShortBodyFails))
    }

    /// Whether an error ends the row of failures of a probe.
    pub(super) fn ends_row_by_error(&self, kind: ProbeKind) -> bool {
        let of_kind = match kind {
            ProbeKind::Readiness => self.has(Defect::ErrorEndsReadinessRow),
            ProbeKind::Startup => self.has(Defect::ErrorEndsStartupRow),
            ProbeKind::Liveness => false,
        };
        of_kind || self.has(Defect::ErrorEndsRow)
    }

    /// Whether a defective kubelet does not follow the redirects of a probe, because the probe has a host.
    pub(super) fn stays_where_host_led(&self, run: &Run) -> bool {
        run.leg.first_host != self.pods[run.at.pod].ip && self.has(Defect::RedirectFromHostUnfollowed)
    }
}

/// A header's name with a capital at the beginning of each word.
fn canonical(name: &str) -> String {
    let mut upper = true;
    name.chars()
        .map(|c| {
            let next = if upper { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            upper = c == '-';
            next
        })
        .collect()
}
