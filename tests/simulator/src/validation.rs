//! How the API server handles a pod: its defaults, and its rejections, as far as probes are concerned.

use serde_json::{Value, json};

use crate::Defect;
use crate::kubelet::rule_problems;
use crate::templates::{part, pod_spec_of};
use crate::world::World;

const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];

impl World<'_> {
    /// The answer to a dry run of a manifest: the status code, the message, and the object as stored.
    pub(crate) fn try_out(&self, manifest: &Value) -> (u16, String, Value) {
        let mut stored = manifest.clone();
        let kind = manifest["kind"].as_str().unwrap_or_default();
        let Some((path, group)) = pod_spec_of(kind) else { return (201, String::new(), stored) };
        let Some(spec) = part(&mut stored, path) else { return (201, String::new(), stored) };
        self.fill_spec(spec);
        let mut problems = self.problems(spec, path);
        if kind == "Pod" {
            problems.extend(self.name_problem(manifest["metadata"]["name"].as_str().unwrap_or_default()));
        }
        if problems.is_empty() || (kind != "Pod" && self.has(Defect::ApiSkipsTemplates)) {
            if kind == "Pod" {
                if let Some(why) = self.over_quota(&stored) {
                    return (403, why, Value::Null);
                }
                stored["status"] = self.status_of_new(&stored["spec"]);
            }
            return (201, String::new(), stored);
        }
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let list = if problems.len() == 1 { problems.join("") } else { format!("[{}]", problems.join(", ")) };
        (422, format!("{kind}{group} \"{name}\" is invalid: {list}"), Value::Null)
    }

    /// Sets the defaults that the API server sets.
    pub(crate) fn fill_defaults(&self, pod: &mut Value) {
        self.fill_spec(&mut pod["spec"]);
    }

    fn fill_spec(&self, spec: &mut Value) {
        default(spec, "restartPolicy", json!("Always"));
        let usual = if self.has(Defect::ApiOtherDefaultGrace) { 10 } else { 30 };
        default(spec, "terminationGracePeriodSeconds", json!(usual));
        let negative = spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0);
        if negative && !self.has(Defect::ApiKeepsNegativeGrace) {
            spec["terminationGracePeriodSeconds"] = json!(1);
        }
        default(spec, "dnsPolicy", json!("ClusterFirst"));
        default(spec, "schedulerName", json!("default-scheduler"));
        let grace = spec["terminationGracePeriodSeconds"].clone();
        for list in ["initContainers", "containers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                default(container, "terminationMessagePath", json!("/dev/termination-log"));
                default(container, "terminationMessagePolicy", json!("File"));
                default(container, "imagePullPolicy", json!("IfNotPresent"));
                default(container, "resources", json!({}));
                for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    default(port, "protocol", json!("TCP"));
                }
                for field in PROBES {
                    if let Some(probe) = container.get_mut(field) {
                        self.fill_probe(probe);
                        if self.has(Defect::ApiFillsProbeGrace) && field != "readinessProbe" {
                            default(probe, "terminationGracePeriodSeconds", grace.clone());
                        }
                    }
                }
                let hook =
                    container.get_mut("lifecycle").and_then(|of| of.get_mut("preStop")?.get_mut("httpGet"));
                if let Some(hook) = hook {
                    default(hook, "path", json!("/"));
                    default(hook, "scheme", json!("HTTP"));
                }
            }
        }
    }

    fn fill_probe(&self, probe: &mut Value) {
        let (period, keeps_zero) =
            (if self.has(Defect::ApiOtherProbeDefaults) { 5 } else { 10 }, self.has(Defect::ApiKeepsZero));
        for (field, value) in [
            ("timeoutSeconds", 1),
            ("periodSeconds", period),
            ("successThreshold", 1),
            ("failureThreshold", 3),
        ] {
            if probe.get(field).is_none_or(|set| *set == 0 && !keeps_zero) {
                probe[field] = json!(value);
            }
        }
        let (no_path, no_scheme) =
            (self.has(Defect::ApiLeavesPathEmpty), self.has(Defect::ApiLeavesSchemeEmpty));
        if let Some(http) = probe.get_mut("httpGet") {
            if !no_path && http.get("path").is_none_or(|path| path == "") {
                http["path"] = json!("/");
            }
            if !no_scheme && http.get("scheme").is_none_or(|scheme| scheme == "") {
                http["scheme"] = json!(if self.has(Defect::ApiDefaultsToHttps) { "HTTPS" } else { "HTTP" });
            }
        }
        if let Some(grpc) = probe.get_mut("grpc") {
            default(grpc, "service", json!(""));
        }
    }

    /// The problems with a pod's spec at this path.
    fn problems(&self, spec: &Value, of: &str) -> Vec<String> {
        let mut problems = Vec::new();
        let policy = spec["restartPolicy"].as_str().unwrap_or_default();
        if !["Always", "OnFailure", "Never"].contains(&policy) && !self.has(Defect::ApiAcceptsAnyPolicy) {
            problems.push(format!(
                "{of}.restartPolicy: Unsupported value: \"{policy}\": supported values: \"Always\", \"Never\", \"OnFailure\""
            ));
        }
        self.gate_problems(spec, of, &mut problems);
        self.downward_problems(spec, of, &mut problems);
        problems.extend(self.refuses_ephemeral(spec, true));
        self.identity_problems(spec, of, &mut problems);
        self.host_process_problems(spec, of, &mut problems);
        for list in ["initContainers", "containers"] {
            for (at, container) in spec[list].as_array().into_iter().flatten().enumerate() {
                let grace = spec["terminationGracePeriodSeconds"].as_i64();
                self.sleep_problems(&format!("{of}.{list}[{at}]"), container, grace, &mut problems);
                let sidecar = container["restartPolicy"] == "Always";
                if list == "containers" {
                    rule_problems(self, &format!("{of}.{list}[{at}]"), container, &mut problems);
                }
                for field in PROBES {
                    let path = format!("{of}.{list}[{at}].{field}");
                    let Some(probe) = container.get(field) else { continue };
                    if list == "initContainers" && !sidecar {
                        if !self.has(Defect::ApiAcceptsInitProbes) {
                            problems.push(format!("{path}: Forbidden: may not be set for init containers without restartPolicy=Always"));
                        }
                        continue;
                    }
                    problems.extend(self.sidecar_problem(container, field).filter(|_| sidecar));
                    if sidecar && self.has(Defect::ApiSkipsProbesOfSidecars) {
                        continue;
                    }
                    self.probe_problems(&path, field, probe, container, &mut problems);
                }
            }
        }
        self.init_problems(spec, of, &mut problems);
        problems
    }

    fn probe_problems(
        &self,
        path: &str,
        field: &str,
        probe: &Value,
        container: &Value,
        problems: &mut Vec<String>,
    ) {
        for name in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            if let Some(number @ ..=-1) = probe[name].as_i64()
                && !self.has(Defect::ApiAcceptsNegative)
            {
                problems.push(format!(
                    "{path}.{name}: Invalid value: {number}: must be greater than or equal to 0"
                ));
            }
        }
        let successes = probe["successThreshold"].as_i64();
        let of_sidecar = path.contains("initContainers") && successes != Some(1);
        let several = match field {
            "readinessProbe" => self.has(Defect::ApiRefusesTwoSuccesses),
            "livenessProbe" if of_sidecar && self.has(Defect::ApiAcceptsTwoSuccessesOfSidecar) => false,
            _ => !self.has(Defect::ApiAcceptsTwoSuccesses) && successes != Some(0),
        };
        if several && successes.is_some_and(|number| number != 1) {
            problems.push(format!(
                "{path}.successThreshold: Invalid value: {}: must be 1",
                probe["successThreshold"]
            ));
        }
        let grace = probe.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
        let readiness = field == "readinessProbe";
        let why = match grace {
            Some(_) if readiness && self.has(Defect::ApiAcceptsReadinessGrace) => None,
            Some(_) if readiness => Some("must not be set for readinessProbes"),
            Some(..=0) => Some("must be greater than 0"),
            _ => None,
        };
        if let Some((number, why)) = grace.zip(why) {
            problems.push(format!("{path}.terminationGracePeriodSeconds: Invalid value: {number}: {why}"));
        }
        let handlers = ["exec", "httpGet", "tcpSocket", "grpc"];
        match handlers.iter().filter(|handler| probe.get(**handler).is_some()).count() {
            0 if self.has(Defect::ApiAcceptsNoHandler) => {}
            0 => problems.push(format!("{path}: Required value: must specify a handler type")),
            1 => {}
            _ if self.has(Defect::ApiAcceptsTwoHandlers) => {}
            _ => problems.push(format!("{path}: Forbidden: may not specify more than 1 handler type")),
        }
        if let Some(exec) = probe.get("exec")
            && exec["command"].as_array().is_none_or(Vec::is_empty)
            && !self.has(Defect::ApiAcceptsEmptyCommand)
        {
            problems.push(format!("{path}.exec.command: Required value"));
        }
        for handler in ["httpGet", "tcpSocket", "grpc"] {
            let portless = handler == "grpc" && self.has(Defect::ApiAcceptsGrpcWithoutPort);
            if let Some(of) = probe.get(handler).filter(|of| !(portless && of["port"].is_null())) {
                self.port_problems(&format!("{path}.{handler}.port"), &of["port"], container, problems);
            }
        }
        if let Some(grpc) = probe.get("grpc") {
            if grpc["port"].is_string() && !self.has(Defect::ApiAcceptsGrpcPortName) {
                problems.push(format!("{path}.grpc.port: cannot unmarshal string into a number"));
            }
            if grpc.get("host").is_some() && !self.has(Defect::ApiAcceptsGrpcHost) {
                problems.push(format!("unknown field \"{path}.grpc.host\""));
            }
        }
        if let Some(http) = probe.get("httpGet") {
            self.http_problems(&format!("{path}.httpGet"), http, problems);
        }
    }

    fn http_problems(&self, path: &str, http: &Value, problems: &mut Vec<String>) {
        let scheme = http["scheme"].as_str().unwrap_or("HTTP");
        if !matches!(scheme, "HTTP" | "HTTPS") && !self.has(Defect::ApiAcceptsAnyScheme) {
            problems.push(format!(
                "{path}.scheme: Unsupported value: \"{scheme}\": supported values: \"HTTP\", \"HTTPS\""
            ));
        }
        for (at, header) in http["httpHeaders"].as_array().into_iter().flatten().enumerate() {
            let name = header["name"].as_str().unwrap_or_default();
            let fine = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            if !fine && !self.has(Defect::ApiAcceptsBadHeaderName) {
                problems.push(format!(
                    "{path}.httpHeaders[{at}].name: Invalid value: \"{name}\": a valid HTTP header must consist of \
                     alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
                ));
            }
        }
    }

    fn port_problems(&self, path: &str, port: &Value, container: &Value, problems: &mut Vec<String>) {
        if let Some(number) = port.as_i64() {
            let fine = match number {
                0 => self.has(Defect::ApiAcceptsPortZero),
                65535 => !self.has(Defect::ApiRefusesHighestPort),
                number => (1..65535).contains(&number),
            };
            if !fine {
                problems
                    .push(format!("{path}: Invalid value: {number}: must be between 1 and 65535, inclusive"));
            }
        } else if let Some(name) = port.as_str() {
            if let Some(why) = port_name_problem(name).filter(|_| !self.has(Defect::ApiAcceptsAnyPortName)) {
                problems.push(format!("{path}: Invalid value: \"{name}\": {why}"));
            } else if self.has(Defect::ApiRefusesUnknownPortName) && !declares(container, name) {
                problems.push(format!("{path}: Not found: \"{name}\""));
            }
        } else {
            problems.push(format!("{path}: Required value"));
        }
    }
}

fn declares(container: &Value, name: &str) -> bool {
    container["ports"].as_array().into_iter().flatten().any(|port| port["name"] == name)
}

/// The problem with the name of a port, according to the rules for IANA service names.
fn port_name_problem(name: &str) -> Option<&'static str> {
    if name.len() > 15 {
        return Some("must be no more than 15 characters");
    }
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Some("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    }
    if !name.chars().any(|c| c.is_ascii_lowercase()) {
        return Some("must contain at least one letter (a-z)");
    }
    if name.contains("--") || name.starts_with('-') || name.ends_with('-') {
        return Some("must not contain consecutive hyphens, nor begin or end with one");
    }
    None
}

fn default(object: &mut Value, field: &str, value: Value) {
    if object.get(field).is_none() {
        object[field] = value;
    }
}
