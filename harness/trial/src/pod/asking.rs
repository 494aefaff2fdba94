//! Whoever asks a container something: probes and hooks, and what the plan answers them.

use probity_script::problem::{nearest, pin};
use serde_json::{Value, json};

use super::fields::{OF_PROBE, unknown};
use super::making::{Made, Making};
use super::{What, plain_path};
use probity_case::manifest::PROGRAM;
use probity_model::timeline::{Handler, ProbeKind, ProbeSpec};

/// A thousand years: probes that take longer are slips of the pen, and overflow arithmetic.
const LONGEST: i64 = 1000 * 365 * 24 * 3600 * 1_000_000;

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
        for field in &OF_PROBE[4..] {
            if let Some(value) = fields.get(*field) {
                self.whole(field, value, &[path, &[field]].concat())?;
            }
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
        let turns = spec.successes.saturating_add(spec.failures).saturating_add(1);
        if spec.initial_delay.saturating_add(turns.saturating_mul(spec.period.max(spec.timeout))) > LONGEST {
            let why = "this probe would take more than a thousand years to fail; choose smaller numbers";
            return Err(pin(why, &self.at(path)));
        }
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
        self.own_port(container, number, path)?;
        self.one_protocol(container, number, handler, path)?;
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

    /// Refuses to ask a port that another container declares: nobody would listen for this one.
    fn own_port(&self, container: &Made, port: u16, path: &[&str]) -> Result<(), String> {
        match self.declared.get(&port) {
            Some(owner) if *owner != container.name && !container.listeners.contains_key(&port) => {
                let why = format!(
                    "port {port} is one of container `{owner}`; what container `{}` asks at another container's port \
                     cannot be tried here: leave it out of the file for the trial",
                    container.name
                );
                Err(pin(&why, &self.at(path)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses two protocols at one port: the target speaks one of them.
    fn one_protocol(
        &self,
        container: &mut Made,
        port: u16,
        handler: &Handler,
        path: &[&str],
    ) -> Result<(), String> {
        let word = match handler {
            Handler::Http { scheme, .. } if scheme == "HTTPS" => "HTTPS",
            Handler::Http { .. } => "HTTP",
            Handler::Grpc { .. } => "gRPC",
            Handler::Tcp { .. } | Handler::Exec { .. } => return Ok(()),
        };
        let first = *container.spoken.entry(port).or_insert(word);
        if first == word {
            return Ok(());
        }
        let why = format!(
            "port {port} is asked by {first} and by {word}, and the target speaks one protocol at a port; give one of \
             them another port for the trial"
        );
        Err(pin(&why, &self.at(path)))
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
            let sleep = &written["sleep"]["seconds"];
            let mut takes = match sleep {
                Value::Null => 0,
                _ => self.whole("seconds", sleep, &[path, &[hook, "sleep", "seconds"]].concat())?,
            };
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
                    container.hooks.push((hook, spec.handler));
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
        let name = container.named.entry(written.to_string()).or_insert_with(|| name.to_owned()).clone();
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
        if sleeps { duration(pair[1]) } else { None }
    };
    parts.windows(2).filter_map(seconds).fold(0, i64::saturating_add).clamp(0, 3600)
}

/// A time as `sleep` takes it, in seconds: `15`, `15s`, `1m`, `0.5`. Plans count hooks in whole seconds, so a part of one
/// is a whole one.
fn duration(text: &str) -> Option<i64> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().last()?),
        None => (text, 's'),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let factor = match unit {
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => 1,
    };
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let thousandths: i64 = format!("{part:0<3.3}").parse().ok()?;
    let all = whole.checked_mul(1000)?.checked_add(thousandths)?.checked_mul(factor)?;
    Some(all / 1000 + i64::from(all % 1000 > 0))
}
