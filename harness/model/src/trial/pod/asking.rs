//! Whoever asks a container something: probes and hooks, and what the plan answers them.

use probity_script::problem::{nearest, pin};
use serde_json::{Value, json};

use super::fields::{OF_PROBE, unknown};
use super::making::{Made, Making};
use super::{What, plain_path};
use crate::manifest::PROGRAM;
use crate::timeline::{Handler, ProbeKind, ProbeSpec};

impl Making {
    pub(super) fn probe(
        &mut self,
        container: &mut Made,
        kind: ProbeKind,
        path: &[&str],
    ) -> Result<(), String> {
        let Some(probe) = container.made.get(kind.field()).cloned() else { return Ok(()) };
        let Some(fields) = probe.as_object() else {
            return Err(pin("a probe is a map", &self.at(path)));
        };
        if let Some(wrong) = fields.keys().find(|field| !OF_PROBE.contains(&field.as_str())) {
            return Err(unknown("a probe", wrong, OF_PROBE.iter(), &self.at(&[path, &[wrong]].concat())));
        }
        let whole =
            |field: &&str| fields.get(*field).is_some_and(|value| value.as_i64().is_none_or(|n| n < 0));
        if let Some(wrong) = OF_PROBE[4..].iter().find(|field| whole(field)) {
            let why = format!("`{wrong}` is a whole number, and not negative");
            return Err(pin(&why, &self.at(&[path, &[wrong]].concat())));
        }
        let handlers = OF_PROBE[..4].iter().filter(|handler| fields.contains_key(**handler)).count();
        if handlers != 1 {
            let why =
                format!("a probe has one of httpGet, tcpSocket, grpc and exec; this one has {handlers}");
            return Err(pin(&why, &self.at(path)));
        }
        self.forget_host(container, &[kind.field()]);
        self.name_command(container, kind.field(), &format!("{}-{}", kind.word(), container.name));
        let Some(spec) = ProbeSpec::of(&container.made, kind) else { return Ok(()) };
        let handler =
            OF_PROBE[..4].iter().find(|handler| fields.contains_key(**handler)).copied().unwrap_or_default();
        self.answer(container, &spec.handler, &[path, &[handler, "port"]].concat())
    }

    /// Gives the plan an answer for what a probe or a hook asks.
    pub(super) fn answer(
        &mut self,
        container: &mut Made,
        handler: &Handler,
        path: &[&str],
    ) -> Result<(), String> {
        let port = match handler {
            Handler::Exec { command } => {
                if let Some(name) = command.get(2) {
                    container.commands.entry(name.clone()).or_insert_with(|| json!("succeed"));
                }
                return Ok(());
            }
            Handler::Http { port, .. } | Handler::Tcp { port, .. } | Handler::Grpc { port, .. } => port,
        };
        let Some(number @ 1..) = port.number else {
            let names = container.made["ports"].as_array().into_iter().flatten();
            let names: Vec<&str> = names.filter_map(|port| port["name"].as_str()).collect();
            let near = nearest(&port.written, names.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let has = if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") };
            let why =
                format!("container `{}` has no port `{}`, it has {has}{hint}", container.name, port.written);
            return Err(pin(&why, &self.at(path)));
        };
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
                listener["services"][service.as_str()] = json!("serving");
                listener["services"]["*"] = json!("serving");
                listener.as_object_mut().into_iter().for_each(|listener| {
                    listener.remove("paths");
                });
            }
            Handler::Tcp { .. } | Handler::Exec { .. } => {}
        }
        Ok(())
    }

    pub(super) fn hooks(&mut self, container: &mut Made, path: &[&str]) -> Result<(), String> {
        let Some(hooks) = container.made.get("lifecycle").cloned() else { return Ok(()) };
        let known = ["postStart", "preStop", "stopSignal"];
        if let Some(wrong) =
            hooks.as_object().and_then(|all| all.keys().find(|key| !known.contains(&key.as_str())))
        {
            return Err(unknown("a lifecycle", wrong, known.iter(), &self.at(&[path, &[wrong]].concat())));
        }
        if hooks.get("stopSignal").is_some() {
            let field = format!("containers[{}].lifecycle.stopSignal", container.name);
            self.note(What::Dropped, field, "the target notes SIGTERM");
            container.made["lifecycle"].as_object_mut().into_iter().for_each(|lifecycle| {
                lifecycle.remove("stopSignal");
            });
        }
        for hook in ["postStart", "preStop"] {
            let Some(written) = hooks.get(hook) else { continue };
            let mut takes = written["sleep"]["seconds"].as_i64().unwrap_or(0);
            if let Some(command) = written["exec"]["command"].as_array() {
                let words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
                takes = slept(&words);
                let name = format!(
                    "{}-{}",
                    if hook == "preStop" { "pre-stop" } else { "post-start" },
                    container.name
                );
                container.commands.insert(name.clone(), json!({ "exit": 0, "sleep": format!("{takes}s") }));
                container.made["lifecycle"][hook]["exec"]["command"] = json!([PROGRAM, "exec", name]);
                let why = match takes {
                    0 => "by one of the target that succeeds at once".to_owned(),
                    _ => format!("by one of the target that takes {takes} s"),
                };
                self.note(
                    What::Replaced,
                    format!("containers[{}].lifecycle.{hook}.exec", container.name),
                    why,
                );
            }
            if written.get("httpGet").is_some() {
                self.forget_host(container, &["lifecycle", hook]);
                let asked = json!({
                    "ports": container.made["ports"],
                    "livenessProbe": { "httpGet": container.made["lifecycle"][hook]["httpGet"] }
                });
                if let Some(spec) = ProbeSpec::of(&asked, ProbeKind::Liveness) {
                    self.answer(container, &spec.handler, &[path, &[hook, "httpGet", "port"]].concat())?;
                }
            }
            match hook {
                "preStop" => container.pre_stop = Some(takes * 1_000_000),
                _ => container.post_start = takes * 1_000_000,
            }
        }
        Ok(())
    }

    /// A probe of another host would not ask the target.
    pub(super) fn forget_host(&mut self, container: &mut Made, path: &[&str]) {
        for handler in ["httpGet", "tcpSocket"] {
            let part = path.iter().try_fold(&mut container.made, |value, part| value.get_mut(*part));
            let Some(asks) = part.and_then(|part| part.get_mut(handler)).and_then(Value::as_object_mut)
            else {
                continue;
            };
            if let Some(host) = asks.remove("host").filter(|host| host.as_str() != Some("")) {
                let field = format!("containers[{}].{}.{handler}.host", container.name, path.join("."));
                self.note(What::Dropped, field, format!("so the target is asked and not {host}"));
            }
        }
    }

    /// A command becomes one of the target; two probes with the same command keep sharing it.
    pub(super) fn name_command(&mut self, container: &mut Made, field: &str, name: &str) {
        let Some(written) = container.made[field]["exec"].get("command").cloned() else { return };
        let text = written.to_string();
        let shared = self.notes.iter().find_map(|note| {
            let (what, by) = note.why.split_once(" by ")?;
            let own = note.field.starts_with(&format!("containers[{}].", container.name));
            (own && what == text).then(|| by.trim_start_matches("exec ").to_owned())
        });
        let name = shared.unwrap_or_else(|| name.to_owned());
        container.made[field]["exec"]["command"] = json!([PROGRAM, "exec", name]);
        let field = format!("containers[{}].{field}.exec", container.name);
        self.note(What::Replaced, field, format!("{written} by exec {name}"));
    }
}

/// How many seconds a command sleeps, as far as it says so: `sleep 15`, or a shell that is told to.
fn slept(words: &[&str]) -> i64 {
    let text = words.join(" ");
    let parts: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '"' | '\'')).collect();
    let seconds = |pair: &[&str]| -> Option<i64> {
        let sleeps = pair[0] == "sleep" || pair[0].ends_with("/sleep");
        if sleeps { pair[1].parse().ok() } else { None }
    };
    parts.windows(2).filter_map(seconds).sum::<i64>().clamp(0, 3600)
}
