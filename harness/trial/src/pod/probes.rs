//! Everything that sends requests to a container: probes and hooks, and the plan's answers to them.

use probity_case::manifest::PROGRAM;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};
use probity_script::Span;
use probity_script::problem::nearest;
use serde_json::{Value, json};

use super::container::ContainerDraft;
use super::draft::PodDraft;
use super::fields::HANDLERS;
use super::{NoteKind, plain_path};
use crate::promise::SECOND;

/// The maximum time of a probe: a thousand years. Probes that take longer are mistakes, and would cause overflows.
const LONGEST: i64 = 1000 * 365 * 24 * 3600 * SECOND;

impl PodDraft {
    pub(super) fn probe(&mut self, container: &mut ContainerDraft, kind: ProbeKind) -> Result<(), String> {
        let of = kind.field();
        let Some(probe) = container.made.get(of).cloned() else { return Ok(()) };
        let handler = HANDLERS.into_iter().find(|handler| !probe[*handler].is_null()).unwrap_or_default();
        self.forget_host(container, &[of]);
        self.name_command(container, of, &format!("{}-{}", kind.word(), container.name));
        let Some(spec) = ProbeSpec::of(&container.made, kind) else { return Ok(()) };
        let turns = spec.successes.saturating_add(spec.failures).saturating_add(1);
        if spec.initial_delay.saturating_add(turns.saturating_mul(spec.period.max(spec.timeout))) > LONGEST {
            let why = "this probe would take more than a thousand years to fail; choose smaller numbers";
            return self.refuse(why, &[of]);
        }
        self.answer(container, &spec.handler, &[of, handler, "port"])
    }

    /// Adds an answer for a probe or a hook to the plan.
    fn answer(
        &mut self,
        container: &mut ContainerDraft,
        handler: &Handler,
        path: &[&str],
    ) -> Result<(), String> {
        let (port, protocol) = match handler {
            Handler::Exec { command } => {
                if let Some(name) = command.get(2) {
                    container.commands.entry(name.clone()).or_insert_with(|| json!("succeed"));
                }
                return Ok(());
            }
            Handler::Http { port, scheme, .. } if scheme == "HTTPS" => (port, Some("HTTPS")),
            Handler::Http { port, .. } => (port, Some("HTTP")),
            Handler::Grpc { port, .. } => (port, Some("gRPC")),
            Handler::Tcp { port, .. } => (port, None),
        };
        let Some(number @ 1..) = port.number else {
            return self.refuse(unknown_port(&container.made, &port.written), path);
        };
        self.own_port(container, number, path)?;
        if let Some(protocol) = protocol {
            self.one_protocol(container, number, protocol, path)?;
        }
        self.listen(container, number, path)?;
        let Some(listener) = container.listeners.get_mut(&number) else { return Ok(()) };
        match handler {
            Handler::Http { path, scheme, .. } => {
                listener["paths"][plain_path(path)] = json!(200);
                if scheme == "HTTPS" {
                    listener["tls"] = json!({});
                }
            }
            Handler::Grpc { service, .. } => {
                listener["protocol"] = json!("grpc");
                listener["services"][service] = json!("serving");
                listener["services"]["*"] = json!("serving");
                if let Some(fields) = listener.as_object_mut() {
                    fields.remove("paths");
                }
            }
            Handler::Tcp { .. } | Handler::Exec { .. } => {}
        }
        Ok(())
    }

    /// Rejects a port that another container declares, because this container would not listen there.
    fn own_port(&self, container: &ContainerDraft, port: u16, path: &[&str]) -> Result<(), String> {
        match self.declared.get(&port) {
            Some(owner) if *owner != container.name && !container.listeners.contains_key(&port) => {
                let why = format!(
                    "port {port} belongs to container `{owner}`; a trial cannot include a probe of container `{}` that uses another container's port: remove it from the file for the trial",
                    container.name
                );
                self.refuse(why, path)
            }
            _ => Ok(()),
        }
    }

    /// Rejects two protocols at one port, because the target supports only one.
    fn one_protocol(
        &self,
        container: &mut ContainerDraft,
        port: u16,
        protocol: &'static str,
        path: &[&str],
    ) -> Result<(), String> {
        let first = *container.spoken.entry(port).or_insert(protocol);
        if first == protocol {
            return Ok(());
        }
        let why = format!(
            "probes use port {port} with {first} and with {protocol}, but the target supports one protocol per port; give one of them another port for the trial"
        );
        self.refuse(why, path)
    }

    pub(super) fn hooks(&mut self, container: &mut ContainerDraft) -> Result<(), String> {
        let Some(hooks) = container.made.get("lifecycle").cloned() else { return Ok(()) };
        if container.remove(&["lifecycle"], "stopSignal").is_some() {
            let field = format!("containers[{}].lifecycle.stopSignal", container.name);
            self.note(NoteKind::Dropped, field, "the target records SIGTERM");
        }
        if let Some(written) = hooks.get("postStart") {
            container.post_start = self.hook(container, "postStart", written)?;
        }
        if let Some(written) = hooks.get("preStop") {
            container.pre_stop = Some(self.hook(container, "preStop", written)?);
        }
        Ok(())
    }

    /// Replaces a hook with a hook that the target answers, and returns its duration in microseconds.
    fn hook(
        &mut self,
        container: &mut ContainerDraft,
        hook: &'static str,
        written: &Value,
    ) -> Result<i64, String> {
        let mut takes = written["sleep"]["seconds"].as_i64().unwrap_or(0);
        if let Some(command) = written["exec"]["command"].as_array() {
            takes = slept(command);
            let word = if hook == "preStop" { "pre-stop" } else { "post-start" };
            let name = format!("{word}-{}", container.name);
            container.commands.insert(name.clone(), json!({ "exit": 0, "sleep": format!("{takes}s") }));
            container.made["lifecycle"][hook]["exec"]["command"] = json!([PROGRAM, "exec", name]);
            let why = match takes {
                0 => "with a command of the target that succeeds immediately".to_owned(),
                _ => format!("with a command of the target that takes {takes} s"),
            };
            let field = format!("containers[{}].lifecycle.{hook}.exec", container.name);
            self.note(NoteKind::Replaced, field, why);
        }
        if written.get("httpGet").is_some() {
            self.forget_host(container, &["lifecycle", hook]);
            let asked = json!({
                "ports": container.made["ports"],
                "livenessProbe": { "httpGet": container.made["lifecycle"][hook]["httpGet"] }
            });
            if let Some(spec) = ProbeSpec::of(&asked, ProbeKind::Liveness) {
                self.answer(container, &spec.handler, &["lifecycle", hook, "httpGet", "port"])?;
                container.hooks.push((hook, spec.handler));
            }
        }
        Ok(takes * SECOND)
    }

    /// Removes the host of a probe, because a probe of another host would not reach the target.
    fn forget_host(&mut self, container: &mut ContainerDraft, path: &[&str]) {
        for handler in ["httpGet", "tcpSocket"] {
            let host = container.remove(&[path, &[handler]].concat(), "host");
            if let Some(host) = host.filter(|host| host.as_str() != Some("")) {
                let field = format!("containers[{}].{}.{handler}.host", container.name, path.join("."));
                self.note(
                    NoteKind::Dropped,
                    field,
                    format!("so the probe reaches the target instead of {host}"),
                );
            }
        }
    }

    /// Replaces a command with a command of the target. Two probes with the same command still share one command.
    fn name_command(&mut self, container: &mut ContainerDraft, probe: &str, name: &str) {
        let Some(written) = container.made[probe]["exec"].get("command").cloned() else { return };
        let name = container.named.entry(written.to_string()).or_insert_with(|| name.to_owned()).clone();
        container.made[probe]["exec"]["command"] = json!([PROGRAM, "exec", name]);
        let field = format!("containers[{}].{probe}.exec", container.name);
        self.note(NoteKind::Replaced, field, format!("{written} by exec {name}"));
    }
}

/// Why a container has no port of this name.
#[must_use]
pub fn unknown_port(container: &Value, written: &str) -> String {
    let ports = container["ports"].as_array().into_iter().flatten();
    let names: Vec<&str> = ports.filter_map(|port| port["name"].as_str()).collect();
    let near = nearest(written, names.iter().copied());
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let has = if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") };
    let name = container["name"].as_str().unwrap_or_default();
    format!("container `{name}` has no port `{written}`; it has {has}{hint}")
}

/// How many seconds a command sleeps, if its text shows this, as in `sleep 15` or a shell command with it.
fn slept(command: &[Value]) -> i64 {
    let words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
    let text = words.join(" ");
    let parts: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'')).collect();
    let sleeps = |word: &str| word == "sleep" || word.ends_with("/sleep");
    let seconds = |pair: &[&str]| if sleeps(pair[0]) { duration(pair[1]) } else { None };
    parts.windows(2).filter_map(seconds).fold(0, i64::saturating_add).clamp(0, 3600)
}

/// An argument of `sleep`, in seconds: `15`, `15s`, `1m`, `0.5`. Plans count hooks in whole seconds, so a fraction is
/// rounded up. A sleep is later limited to an hour, so days can be read as hours.
fn duration(text: &str) -> Option<i64> {
    let unit = if text.ends_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "s" };
    let span: Span = format!("{text}{unit}").replace('d', "h").parse().ok()?;
    i64::try_from(span.micros().div_ceil(1_000_000)).ok()
}
