//! The pods that a case describes, which are its own pods and the templates of its workloads, and their containers. Each
//! container has its place in the file, its probes and its plan.

use std::collections::BTreeMap;

use probity_case::{Case, CasePod, ONLY, Workload};
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::{Listener, Plan, Protocol};
use probity_trial::{plain_path, unknown_port};
use serde_json::Value;

/// A pod of a case, or the template of a workload.
pub(crate) struct DescribedPod<'c> {
    /// Its key.
    pub(crate) key: &'c str,
    /// The workload whose template it is.
    pub(crate) workload: Option<&'c Workload>,
    /// The pod, if it is one of the case's own pods.
    own: Option<&'c CasePod>,
    /// Its spec.
    pub(crate) spec: &'c Value,
    /// The plans of its targets.
    pub(crate) plans: &'c BTreeMap<String, Plan>,
    /// Whether a step creates it.
    pub(crate) later: bool,
    /// Whether it is not expected to start.
    pub(crate) stays_pending: bool,
}

/// A container.
pub(crate) struct DescribedContainer<'c> {
    /// The pod that it belongs to.
    pub(crate) pod: &'c DescribedPod<'c>,
    /// `containers` or `initContainers`.
    pub(crate) list: &'static str,
    /// Its name.
    pub(crate) name: &'c str,
    /// The container as Kubernetes writes it.
    pub(crate) value: &'c Value,
    /// Its plan, if it is a target.
    pub(crate) plan: Option<&'c Plan>,
    /// The list that contains it in the file, and its position.
    written: (&'static str, usize),
}

/// All pods that a case describes: its own pods first, then those of its workloads.
pub(crate) fn described(case: &Case) -> Vec<DescribedPod<'_>> {
    let own = case.pods.iter().map(|(key, pod)| DescribedPod {
        key,
        workload: None,
        own: Some(pod),
        spec: &pod.pod["spec"],
        plans: &pod.target,
        later: pod.later,
        stays_pending: pod.stays_pending,
    });
    let of_workloads = case.workloads.iter().map(|(key, of)| DescribedPod {
        key,
        workload: Some(of),
        own: None,
        spec: of.pod_spec(),
        plans: &of.target,
        later: false,
        stays_pending: false,
    });
    own.chain(of_workloads).collect()
}

/// The place of a pod or a workload in its file: under its key, or under `pod` if it is the only one.
pub(crate) fn path(text: &str, key: &str, workload: bool) -> Vec<String> {
    let several = text.lines().any(|line| line.starts_with("pods:"));
    let path: &[&str] = match workload {
        true => &["workloads", key, "workload"],
        false if key == ONLY && !several => &["pod"],
        false => &["pods", key, "pod"],
    };
    path.iter().map(|part| (*part).to_owned()).collect()
}

impl DescribedPod<'_> {
    /// Its containers, init containers first.
    pub(crate) fn containers(&self) -> Vec<DescribedContainer<'_>> {
        let of = |list: &'static str| {
            let values = self.spec[list].as_array().into_iter().flatten();
            values.enumerate().map(move |(at, value)| {
                let name = value["name"].as_str().unwrap_or_default();
                let written = self.own.map_or((list, at), |pod| pod.written_at(list, at));
                DescribedContainer { pod: self, list, name, value, plan: self.plans.get(name), written }
            })
        };
        of("initContainers").chain(of("containers")).collect()
    }

    /// The place in the file of the object that contains the spec.
    pub(crate) fn path(&self, text: &str) -> Vec<String> {
        let mut path = path(text, self.key, self.workload.is_some());
        if self.workload.is_some() {
            path.extend(["spec", "template"].map(str::to_owned));
        }
        path
    }
}

impl DescribedContainer<'_> {
    /// Its probes.
    pub(crate) fn probes(&self) -> Vec<ProbeSpec> {
        ProbeKind::ALL.iter().filter_map(|kind| ProbeSpec::of(self.value, *kind)).collect()
    }

    /// The place of one of its fields in the file.
    pub(crate) fn path(&self, text: &str, field: &[&str]) -> Vec<String> {
        let mut path = self.pod.path(text);
        let (list, at) = self.written;
        path.extend(["spec", list, &at.to_string()].map(str::to_owned));
        path.extend(field.iter().map(|part| (*part).to_owned()));
        path
    }

    /// Its kind, in a word or two.
    pub(crate) fn kind(&self) -> &'static str {
        match (self.list, self.value["restartPolicy"].as_str()) {
            ("initContainers", Some("Always")) => "sidecar",
            ("initContainers", _) => "init container",
            _ => "container",
        }
    }
}

/// The listener of a plan at a port.
fn listener(plan: &Plan, port: u16) -> Option<(&str, &Listener)> {
    plan.listeners
        .iter()
        .find(|(_, listener)| listener.port == port)
        .map(|(name, listener)| (name.as_str(), listener))
}

/// The listeners of a plan, in words.
fn listeners(plan: &Plan) -> String {
    let ports = plan.listeners.iter().map(|(name, listener)| format!("{name} at {}", listener.port));
    if plan.listeners.is_empty() { "none".to_owned() } else { ports.collect::<Vec<_>>().join(", ") }
}

/// The name that an exec handler passes to `agnhost-rs exec`, if it runs this command.
fn exec_name(command: &[String]) -> Option<&str> {
    match command {
        [program, verb, name, ..] if program == probity_case::manifest::PROGRAM && verb == "exec" => {
            Some(name)
        }
        _ => None,
    }
}

/// What a probe requests, in words.
pub(crate) fn asks(handler: &Handler) -> String {
    let of = |host: &Option<String>| host.as_ref().map(|host| format!(" of host {host}")).unwrap_or_default();
    match handler {
        Handler::Http { path, port, host, scheme, .. } => {
            format!("GET {path} over {scheme} on port {}{}", port.written, of(host))
        }
        Handler::Tcp { port, host } => format!("a TCP connection to port {}{}", port.written, of(host)),
        Handler::Grpc { port, service } if service.is_empty() => {
            format!("gRPC health at port {}", port.written)
        }
        Handler::Grpc { port, service } => format!("gRPC health of {service} at port {}", port.written),
        Handler::Exec { command } => format!("the command {}", command.join(" ")),
    }
}

/// Why a probe is not answered.
pub(crate) enum Unanswered {
    /// The container does not declare its named port.
    Port(String),
    /// The plan has no answer for it.
    Plan(String),
}

/// Why a plan does not answer a probe of a container: the named port is not declared, or the plan has no answer.
pub(crate) fn unanswered(container: &Value, plan: &Plan, handler: &Handler) -> Option<Unanswered> {
    let port = match handler {
        Handler::Http { port, .. } | Handler::Tcp { port, .. } | Handler::Grpc { port, .. } => Some(port),
        Handler::Exec { .. } => None,
    };
    match port.filter(|port| port.number.is_none()) {
        Some(port) => Some(Unanswered::Port(unknown_port(container, &port.written))),
        None => unplanned(plan, handler).map(Unanswered::Plan),
    }
}

/// Why a plan has no answer for a probe: no listener at its port, another protocol, or no script for its path.
fn unplanned(plan: &Plan, handler: &Handler) -> Option<String> {
    if let Handler::Exec { command } = handler {
        let Some(name) = exec_name(command) else {
            return Some(format!(
                "the image has only the program {program}: write `[{program}, exec, NAME]`, and the answer of NAME under `exec` in the plan",
                program = probity_case::manifest::PROGRAM
            ));
        };
        let missing = !plan.exec.contains_key(name);
        return missing
            .then(|| format!("the plan has no command `{name}` under `exec`, so it exits with 126"));
    }
    let host = match handler {
        Handler::Http { host, .. } | Handler::Tcp { host, .. } => host.is_some(),
        _ => false,
    };
    let port = handler.port()?;
    let Some((name, listener)) = listener(plan, port) else {
        // A port of another host is not in this plan.
        return (!host)
            .then(|| format!("the plan has no listener at port {port}; it has {}", listeners(plan)));
    };
    let speaks = |protocol: Protocol| {
        let word = listener.protocol.word();
        (listener.protocol != protocol).then(|| format!("listener `{name}` speaks {word}"))
    };
    match handler {
        Handler::Http { path, .. } => speaks(Protocol::Http).or_else(|| {
            let plain = plain_path(path);
            let known = listener.paths.contains_key(&plain) || listener.paths.contains_key("*");
            (!known).then(|| format!("listener `{name}` has no path {plain}, so the answer is 404"))
        }),
        Handler::Grpc { service, .. } => speaks(Protocol::Grpc).or_else(|| {
            let known = listener.services.contains_key(service) || listener.services.contains_key("*");
            (!known)
                .then(|| format!("listener `{name}` has no service `{service}`, so the answer is NOT_FOUND"))
        }),
        Handler::Tcp { .. } | Handler::Exec { .. } => None,
    }
}
