//! The postStart hook: the kubelet does nothing else for the pod until the hook is done, and stops the container if the hook
//! fails.

use probity_script::Certificate;
use serde_json::Value;

use super::http::resolve_port;
use crate::Defect;
use crate::call::{Call, CallResult, Request, Tls};
use crate::pod::Kind;
use crate::world::{Act, At, LifeAt, MS, NEXT_NETWORK, SECOND, World};

/// How long after the start of a container its hook begins.
const COMES: i64 = 30 * MS;
/// How long a request to an address that nobody has takes to fail.
const UNREACHABLE: i64 = 3 * SECOND;

impl World<'_> {
    /// Runs the hook of a container that has started. The kubelet does not sync the pod again until the hook is done.
    pub(super) fn hook_after_start(&mut self, at: At) {
        let hook = &self.pods[at.pod].containers[at.container].spec["lifecycle"]["postStart"];
        let once = self.is_again(at) && self.has(Defect::StartHookOnce);
        let of_sidecar = self.pods[at.pod].containers[at.container].kind == Kind::Sidecar;
        let once = once || (of_sidecar && self.has(Defect::PostStartOfSidecarsForgotten));
        let once = once || (of_sidecar && self.is_again(at) && self.has(Defect::StartHookOfSidecarOnce));
        if hook.is_null() || once || self.has(Defect::ProbesDuringPostStart) {
            return;
        }
        let life = LifeAt { at, attempt: self.pods[at.pod].containers[at.container].attempt() };
        if !self.is_unawaited(at) {
            self.hold_up(at.pod, self.now + COMES + MS);
        }
        self.later(COMES, Act::Hook(life));
    }

    /// Whether the kubelet does not wait for the hook.
    fn is_unawaited(&self, at: At) -> bool {
        let hook = &self.pods[at.pod].containers[at.container].spec["lifecycle"]["postStart"];
        let command = hook.get("exec").is_some() && self.has(Defect::HookCommandUnawaited);
        command
            || self.has(Defect::StartHookUnawaited)
            || (self.is_again(at) && self.has(Defect::LaterStartHookUnawaited))
            || self.forgets_request_hook(at)
    }

    fn hold_up(&mut self, pod: usize, until: i64) {
        let of = &mut self.pods[pod];
        of.hooked_until = of.hooked_until.max(until);
        of.next_sync = of.next_sync.max(until);
    }

    /// The hook runs.
    pub(crate) fn run_start_hook(&mut self, life: LifeAt) {
        if self.life(life).is_none() {
            return;
        }
        let hook =
            self.pods[life.at.pod].containers[life.at.container].spec["lifecycle"]["postStart"].clone();
        let (mut ended, failed) = self.run_hook(life.at, &hook, i64::MAX);
        if hook.get("sleep").is_some() && self.has(Defect::StartSleepTripled) {
            ended += 2 * (ended - self.now);
        }
        if !self.is_unawaited(life.at) {
            self.hold_up(life.at.pod, ended);
        }
        if !failed && self.has(Defect::GoodHookReported) {
            self.at(ended, Act::Report(life.at, "Warning", "FailedPostStartHook", "PostStartHook failed"));
        }
        if !failed && !self.is_again(life.at) && self.has(Defect::GoodHookStopsContainer) {
            self.at(ended, Act::HookFailed(life));
        }
        let ignored = self.is_again(life.at) && self.has(Defect::FailedStartHookIgnoredLater);
        if failed && !ignored && !self.has(Defect::FailedHookIgnored) {
            self.pods[life.at.pod].containers[life.at.container].failing = true;
            self.at(ended, Act::HookFailed(life));
        }
    }

    /// The hook has failed: the container is stopped.
    pub(crate) fn hook_failed(&mut self, life: LifeAt) {
        if self.life(life).is_some() {
            let LifeAt { at, .. } = life;
            if !self.has(Defect::FailedHookUnreported) {
                self.record(at.pod, at.container, "Warning", "FailedPostStartHook", "PostStartHook failed");
            }
            self.record(at.pod, at.container, "Normal", "Killing", "FailedPostStartHook");
            if self.has(Defect::FailedHookKillsAtOnce) {
                self.later(MS, Act::Force(life));
                return;
            }
            let short = self.has(Defect::FailedHookHasTwoSeconds) || self.stops_hard(at);
            let grace = if short { self.least_grace() } else { self.pods[at.pod].grace() };
            self.stop_container(at, self.grace_beside_probe(at, grace, Defect::FailedHookUsesProbeGrace));
        }
    }

    /// Sends the request of an HTTP hook. Returns the time at which the hook finishes, and whether it failed.
    pub(super) fn ask_by_hook(&mut self, at: At, http: &Value, deadline: i64) -> (i64, bool) {
        let given =
            http["host"].as_str().filter(|host| !host.is_empty() && !self.has(Defect::HookHostIgnored));
        let host = given.unwrap_or(&self.pods[at.pod].ip).to_owned();
        // Nobody answers at the address of the first sandbox.
        if host.starts_with(NEXT_NETWORK) && self.has(Defect::HookToAddressOfOldSandbox) {
            return (self.now + UNREACHABLE, true);
        }
        let mains = self.pods[at.pod].containers.iter().position(|of| of.kind == Kind::Main);
        let of = mains.filter(|_| self.has(Defect::HookPortOfFirstContainer)).unwrap_or(at.container);
        let spec = self.pods[at.pod].containers[of].spec.clone();
        let Some(port) = resolve_port(&spec, &http["port"]) else { return (self.now, true) };
        let secure = http["scheme"] == "HTTPS" && !self.has(Defect::HookSchemeIgnored);
        let refuses = self.has(Defect::HookVerifiesCertificates).then_some(Certificate::SelfSigned);
        let path = http["path"].as_str().unwrap_or("/");
        let path = path.split('?').next().filter(|_| self.has(Defect::HookQueryDropped)).unwrap_or(path);
        let request = Request {
            method: "GET",
            target: path.to_owned(),
            headers: self.headers_of_hook(http, &format!("{host}:{port}")),
            service: None,
        };
        let call = Call {
            tls: secure.then(|| Tls { http2: false, refuses: refuses.into_iter().collect(), shows: false }),
            request: Some(request),
            ..Call::new("10.244.1.1".to_owned(), host, port, deadline)
        };
        let (when, answer) = self.call(&call);
        match answer {
            CallResult::Refused => (self.now, !self.has(Defect::RefusedHookIgnored)),
            CallResult::Broken(_) => (when, true),
            CallResult::Response(response) => {
                (when, response.status >= 400 && self.has(Defect::HookStatusCounts))
            }
            _ => (when, false),
        }
    }

    fn headers_of_hook(&self, http: &Value, place: &str) -> Vec<(String, String)> {
        let text = |header: &Value, field: &str| header[field].as_str().unwrap_or_default().to_owned();
        let custom = http["httpHeaders"].as_array().into_iter().flatten();
        let custom: Vec<(String, String)> =
            custom.map(|header| (text(header, "name"), text(header, "value"))).collect();
        let host = custom.iter().find(|(name, _)| name == "Host" && !self.has(Defect::HookHostDropped));
        let host = host.map_or_else(|| place.to_owned(), |(_, host)| host.clone());
        let own = [
            ("Host", host.as_str()),
            ("User-Agent", "kube-lifecycle/1.36"),
            ("Accept", "*/*"),
            ("Accept-Encoding", "gzip"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let others = custom.into_iter().filter(|(name, _)| name != "Host");
        own.into_iter().chain(others.filter(|_| !self.has(Defect::HookHeadersDropped))).collect()
    }
}
