//! A summary of a plan, one line for each listener and script, for `serve --check`.

use probity_script::{Listener, Plan, Script, Step};
use serde::Serialize;

/// The lines, in the order of the plan. Scripts that always give the default answer are left out.
#[must_use]
pub fn lines(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, listener) in &plan.listeners {
        lines.push(format!("{name}: {}", port(listener)));
        special(&mut lines, &format!("{name}@listen"), &listener.listen, "open");
        special(&mut lines, &format!("{name}@connections"), &listener.connections, "serve");
        lines.extend(listener.paths.iter().map(|(path, s)| format!("{name}:{path}: {}", script(s))));
        lines.extend(listener.services.iter().map(|(service, s)| format!("{name}:{service}: {}", script(s))));
    }
    lines.extend(plan.exec.iter().map(|(name, s)| format!("exec {name}: {}", script(s))));
    lines.push(format!("stop: {}", script(&plan.process.on_stop)));
    lines
}

fn port(listener: &Listener) -> String {
    let number =
        if listener.port == 0 { "any free port".to_owned() } else { format!("port {}", listener.port) };
    let bind = listener.bind.map(|address| format!(" of {address}")).unwrap_or_default();
    let tls = if listener.tls.is_some() { " over TLS" } else { "" };
    let workers =
        listener.workers.map(|workers| format!(", {} at a time", workers.count)).unwrap_or_default();
    format!("{number}{bind}, {}{tls}{workers}", listener.protocol.word())
}

fn special<A: Serialize>(lines: &mut Vec<String>, endpoint: &str, steps: &Script<A>, ordinary: &str) {
    let said = script(steps);
    if said != ordinary {
        lines.push(format!("{endpoint}: {said}"));
    }
}

fn script<A: Serialize>(script: &Script<A>) -> String {
    script.steps().iter().map(step).collect::<Vec<_>>().join(", then ")
}

fn step<A: Serialize>(step: &Step<A>) -> String {
    let mut said = answer(&step.answer);
    if let Some(length) = step.lasts {
        said.push_str(&format!(" for {length}"));
    }
    if let Some(times) = step.times {
        said.push_str(&if times == 1 { " once".to_owned() } else { format!(" {times} times") });
    }
    let when = json(&step.when);
    if when != "{}" {
        said.push_str(&format!(" when {when}"));
    }
    if let Some(mark) = &step.mark {
        said.push_str(&format!(" (mark {mark})"));
    }
    said
}

/// An answer as it would be written: a word, a bare status, or settings.
fn answer(answer: &impl Serialize) -> String {
    match serde_json::to_value(answer) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(settings)) if settings.len() == 1 && settings.contains_key("status") => {
            settings["status"].to_string()
        }
        Ok(settings) => settings.to_string(),
        Err(error) => error.to_string(),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn each_listener_and_script_has_its_line() {
        let text = "
listeners:
  web:
    port: 8080
    connections: [{ answer: hold, for: 3s }, { answer: serve }]
    paths:
      /ready: [{ answer: 503, times: 2 }, { answer: hang, when: { attempt: 0 }, mark: hung }, { answer: { status: 200, delay: 2s } }]
  grpc: { port: 0, bind: 127.0.0.1, protocol: grpc, tls: {}, services: { live: serving } }
exec: { live: fail }
process: { on-stop: { exit: 3, after: 5s } }";
        let plan = probity_document::plan("plan", text).unwrap();
        let expected = [
            "grpc: any free port of 127.0.0.1, grpc over TLS",
            "grpc:live: serving",
            "web: port 8080, http",
            "web@connections: hold for 3s, then serve",
            r#"web:/ready: 503 2 times, then hang when {"attempt":["0"]} (mark hung), then {"delay":"2s","status":200}"#,
            "exec live: fail",
            r#"stop: {"after":"5s","exit":3,"serving":"keep"}"#,
        ];
        assert_eq!(lines(&plan), expected);
    }
}
