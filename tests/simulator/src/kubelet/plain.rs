//! The TCP and gRPC probers: bare connections and health checks, and their results.

use probity_script::wire::HealthReply;
use serde_json::Value;

use super::prober::{Back, KUBELET, Outcome, Run};
use crate::Defect;
use crate::call::{Call, CallResult, Manner, Request, Tls};
use crate::node_facts::NODE_ADDRESS;
use crate::world::{FIRST_NETWORK, NEXT_NETWORK, SECOND, World};

/// A time that no case reaches.
const FOR_EVER: i64 = 3600 * SECOND;

/// The destination of a probe, and its source.
struct Way {
    host: String,
    port: u16,
    peer: String,
    inside: Option<usize>,
}

impl World<'_> {
    /// Opens a bare connection.
    pub(super) fn send_tcp(&mut self, run: &Run, settings: &Value) -> (i64, Back) {
        let way = match self.way_of_tcp(run, settings) {
            Ok(way) => way,
            Err(why) => return (self.now, Back::Unsent(why)),
        };
        if is_name(&way.host) {
            let answer = match self.has(Defect::NodeKnowsServices) && way.host.contains(".svc") {
                true => CallResult::Connected,
                false => CallResult::Broken(format!("dial tcp: lookup {}: no such host", way.host)),
            };
            return (self.now, Back::Answer(answer));
        }
        let stays = match () {
            () if self.has(Defect::TcpConnectionsLeak) => FOR_EVER,
            () if self.has(Defect::TcpKeepsConnection) => run.deadline - self.now,
            () => 0,
        };
        let says = if self.has(Defect::TcpSendsBytes) { 6 } else { 0 };
        let resets = self.has(Defect::TcpProbesReset);
        let manner = Manner { inside: way.inside, says, stays, resets };
        let call = Call { manner, ..Call::new(way.peer, way.host, way.port, run.deadline) };
        let (when, answer) = self.call(&call);
        (when, Back::Answer(answer))
    }

    fn way_of_tcp(&self, run: &Run, settings: &Value) -> Result<Way, String> {
        let of = &self.pods[run.at.pod];
        let spec = &of.containers[run.at.container].spec;
        let mut port = super::http::resolve_port(spec, &settings["port"]);
        if settings["port"].is_string() && self.has(Defect::TcpNamedPortIsFirstPort) {
            port = super::http::resolve_port(spec, &spec["ports"][0]["containerPort"]);
        }
        let port = self.port_of_first(run.at, &settings["port"]).or(port);
        let port = port.filter(|port| !self.is_too_high(*port));
        let port = port.ok_or_else(|| super::http::no_such_port(&settings["port"]))?;
        let given = self.given_host(settings).filter(|_| !self.has(Defect::TcpHostIgnored));
        let looped = self.has(Defect::TcpThroughLoopback) || self.goes_astray(run);
        let looped = given.is_none() && looped;
        let own = match () {
            () if looped => "127.0.0.1".to_owned(),
            () if self.has(Defect::TcpDefaultsToNode) => NODE_ADDRESS.to_owned(),
            () if of.ip.starts_with(NEXT_NETWORK) && self.has(Defect::TcpKeepsFirstAddress) => {
                of.ip.replace(NEXT_NETWORK, FIRST_NETWORK)
            }
            () => of.ip.clone(),
        };
        let peer = match () {
            () if looped => "127.0.0.1",
            () if self.has(Defect::TcpFromInside) => of.ip.as_str(),
            () => KUBELET,
        };
        let inside = (looped || self.has(Defect::TcpFromInside)).then_some(run.at.pod);
        let host = given.map_or(own, str::to_owned);
        Ok(Way { host, port, peer: peer.to_owned(), inside })
    }

    /// Sends a gRPC health check for a service.
    pub(super) fn send_grpc(&mut self, run: &Run, settings: &Value) -> (i64, Back) {
        let of = &self.pods[run.at.pod];
        let Some(port) = super::http::resolve_port(&of.containers[run.at.container].spec, &settings["port"])
        else {
            return (self.now, Back::Unsent(super::http::no_such_port(&settings["port"])));
        };
        let looped = of.on_host && self.has(Defect::GrpcThroughLoopback);
        let host = if looped { "127.0.0.1".to_owned() } else { self.address_for_grpc(run.at.pod) };
        let peer = self.kubelet_address(&host);
        let request = Request {
            method: "POST",
            target: "/grpc.health.v1.Health/Check".to_owned(),
            headers: self.metadata(&host, port),
            service: Some(self.service(run, settings)),
        };
        let reuses = self.has(Defect::GrpcReusesConnection);
        let keep = reuses || self.has(Defect::GrpcConnectionsStayOpen);
        let kept = self.worker(run.at, run.kind).and_then(|worker| worker.kept).filter(|_| reuses);
        let mut call =
            Call { request: Some(request), kept, keep, ..Call::new(peer, host, port, run.deadline) };
        let (mut when, mut answer) = self.call(&call);
        if matches!(answer, CallResult::Broken(_)) && self.has(Defect::GrpcFallsBackToTls) {
            call.tls = Some(Tls { http2: true, ..Tls::default() });
            (when, answer) = self.call(&call);
        }
        if self.asks_for_whole_server(&answer) {
            if let Some(request) = &mut call.request {
                request.service = Some(String::new());
            }
            (when, answer) = self.call(&call);
        }
        if keep {
            let line = self.reached.and_then(|life| {
                let fresh = (life.attempt, self.life(life)?.conn.checked_sub(1)?, 1);
                let again = kept.filter(|(attempt, ..)| *attempt == life.attempt);
                Some(again.map_or(fresh, |(attempt, conn, nth)| (attempt, conn, nth + 1)))
            });
            let answered = matches!(answer, CallResult::Health(..));
            if let Some(worker) = self.worker(run.at, run.kind) {
                worker.kept = line.filter(|_| answered);
            }
        }
        (when, Back::Answer(answer))
    }

    fn metadata(&self, host: &str, port: u16) -> Vec<(String, String)> {
        let host = if self.has(Defect::GrpcNamesLocalhost) { "localhost" } else { host };
        let agent = match self.has(Defect::GrpcAgentIsLibrarys) {
            true => "grpc-go/1.80.0",
            false => "kube-probe/1.36 grpc-go/1.80.0",
        };
        let authority = format!("{host}:{port}");
        let mut metadata = vec![
            ("Host", authority.as_str()),
            ("content-type", "application/grpc"),
            ("user-agent", agent),
            ("te", "trailers"),
        ];
        if !self.has(Defect::GrpcSendsNoDeadline) {
            let twice = self.has(Defect::GrpcDeadlineTwice);
            metadata.push(("grpc-timeout", if twice { "600S" } else { "998m" }));
        }
        if self.has(Defect::GrpcSendsMetadata) {
            metadata.push(("x-kubernetes-pod", "target"));
        }
        metadata.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The requested service.
    fn service(&self, run: &Run, settings: &Value) -> String {
        let spec = &self.pods[run.at.pod].containers[run.at.container].spec;
        let of_readiness = &spec["readinessProbe"]["grpc"];
        let one = self.has(Defect::GrpcOneServicePerPort) && of_readiness["port"] == settings["port"];
        let settings = if one { of_readiness } else { settings };
        let service = settings["service"].as_str().unwrap_or_default();
        match () {
            () if self.has(Defect::GrpcServiceDropped) => String::new(),
            () if run.kind == probity_model::timeline::ProbeKind::Liveness
                && self.has(Defect::GrpcLivenessServiceDropped) =>
            {
                String::new()
            }
            () if self.has(Defect::GrpcServiceCutAtHyphen) => {
                service.split('-').next().unwrap_or_default().to_owned()
            }
            () if self.has(Defect::GrpcPackageDropped) => {
                service.rsplit('.').next().unwrap_or_default().to_owned()
            }
            () => service.to_owned(),
        }
    }

    /// The result of a bare connection.
    pub(super) fn judge_tcp(&self, run: &Run, settings: &Value, answer: CallResult) -> Outcome {
        let failed = |why: &str| Outcome::Failed(format!("dial tcp {}: {why}", self.place(run, settings)));
        match answer {
            CallResult::Parted if self.has(Defect::TcpCloseFails) => failed("connection closed by peer"),
            CallResult::Connected | CallResult::Parted
                if self.has(Defect::TcpHeedsHttp) && self.http_fails(run, settings) =>
            {
                failed("service unavailable")
            }
            CallResult::Connected | CallResult::Parted => Outcome::Passed,
            CallResult::Refused if self.has(Defect::RefusedIsSuccess) => Outcome::Passed,
            CallResult::Refused if self.has(Defect::TcpRefusalIsError) => {
                Outcome::Erred("unknown", "connect: connection refused".to_owned())
            }
            CallResult::Refused => failed("connect: connection refused"),
            CallResult::TimedOut { .. }
                if self.has(Defect::TimeoutIsSuccess) || self.has(Defect::TcpTimeoutPasses) =>
            {
                Outcome::Passed
            }
            CallResult::Broken(why) if self.has(Defect::UnknownHostIsError) => Outcome::Erred("unknown", why),
            CallResult::Broken(why) => Outcome::Failed(why),
            CallResult::TimedOut { .. } | CallResult::Response(_) | CallResult::Health(_) => {
                failed("i/o timeout")
            }
        }
    }

    /// Whether the last HTTP probe of the container on the same port failed.
    fn http_fails(&self, run: &Run, settings: &Value) -> bool {
        let container = &self.pods[run.at.pod].containers[run.at.container];
        container.workers.iter().any(|worker| {
            let other = &container.spec[worker.kind.field()]["httpGet"];
            worker.last == Some(false) && other["port"] == settings["port"]
        })
    }

    fn place(&self, run: &Run, settings: &Value) -> String {
        let of = &self.pods[run.at.pod];
        let port = super::http::resolve_port(&of.containers[run.at.container].spec, &settings["port"]);
        let host = settings["host"].as_str().filter(|host| !host.is_empty()).unwrap_or(&of.ip);
        format!("{host}:{}", port.unwrap_or(0))
    }

    /// The result of a health check.
    pub(super) fn judge_grpc(&self, run: &Run, settings: &Value, answer: CallResult) -> Outcome {
        let refused = format!("dial tcp {}: connect: connection refused", self.place(run, settings));
        match answer {
            CallResult::Health(HealthReply::Status(1)) => Outcome::Passed,
            CallResult::Health(reply) => self.judge_health(&reply),
            CallResult::Refused if self.has(Defect::RefusedIsSuccess) => Outcome::Passed,
            CallResult::Refused if self.has(Defect::GrpcRefusalIsError) => Outcome::Erred("unknown", refused),
            CallResult::Refused => Outcome::Failed(refused),
            CallResult::TimedOut { .. } if self.has(Defect::TimeoutIsSuccess) => Outcome::Passed,
            CallResult::TimedOut { .. } => {
                let seconds = self.timeout(run.at, run.kind) / SECOND;
                Outcome::Failed(format!("timeout: health rpc did not complete within {seconds}s"))
            }
            CallResult::Broken(why) => Outcome::Failed(format!("error: health rpc probe failed: {why}")),
            CallResult::Connected | CallResult::Parted | CallResult::Response(_) => {
                Outcome::Failed("error: health rpc probe failed".to_owned())
            }
        }
    }

    /// The result for an answer that is not SERVING.
    fn judge_health(&self, reply: &HealthReply) -> Outcome {
        let (said, passes) = match reply {
            HealthReply::Status(2) => ("NOT_SERVING".to_owned(), false),
            HealthReply::Status(status) => {
                let said = match status {
                    0 => "UNKNOWN".to_owned(),
                    3 => "SERVICE_UNKNOWN".to_owned(),
                    other => other.to_string(),
                };
                let unknown = *status == 0 && self.has(Defect::GrpcStatusUnknownPasses);
                let service = *status == 3 && self.has(Defect::GrpcServiceUnknownPasses);
                (said, unknown || service || self.has(Defect::GrpcUnknownPasses))
            }
            HealthReply::Error { code, message } => {
                let (name, passes) = match code {
                    5 => ("NotFound".to_owned(), self.has(Defect::GrpcNotFoundPasses)),
                    12 => ("Unimplemented".to_owned(), self.has(Defect::GrpcUnimplementedPasses)),
                    7 | 16 => (format!("Code({code})"), self.has(Defect::GrpcDeniedPasses)),
                    other => (format!("Code({other})"), false),
                };
                (format!("rpc error: code = {name} desc = {message}"), passes)
            }
        };
        match reply {
            _ if passes => Outcome::Passed,
            HealthReply::Error { .. } if self.has(Defect::GrpcErrorIsUnknown) => {
                Outcome::Erred("unknown", said)
            }
            _ => Outcome::Failed(format!("service unhealthy (responded with \"{said}\")")),
        }
    }
}

/// Whether a host is a name and not an address.
fn is_name(host: &str) -> bool {
    host != "localhost" && !host.contains(':') && !host.chars().all(|c| c.is_ascii_digit() || c == '.')
}
