//! Checks for fields that are valid by themselves but contradict each other. Every API server rejects them.

use std::collections::BTreeSet;

use probity_script::problem::{KEY, pin};
use serde_json::{Map, Value};

use crate::names::did_you_mean;

/// The lists of containers of a pod.
const LISTS: [&str; 2] = ["initContainers", "containers"];
/// The probes of a container.
const PROBES: [&str; 3] = ["startupProbe", "livenessProbe", "readinessProbe"];
/// The hooks of a container.
const HOOKS: [&str; 2] = ["postStart", "preStop"];
/// The mechanisms of a probe or a hook.
const HANDLERS: [&str; 5] = ["httpGet", "tcpSocket", "grpc", "exec", "sleep"];

/// The contradictions in the spec of a pod, each pinned to its place.
pub(super) fn problems(spec: &Map<String, Value>, path: &[String]) -> Vec<String> {
    let at = |parts: &[&str]| joined(path, parts);
    let volumes: Vec<&str> = names(spec.get("volumes")).collect();
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    let mut found = Vec::new();
    found.extend(unique(spec.get("volumes"), "two volumes are called", &at(&["volumes"])).err());
    let mut containers = BTreeSet::new();
    for list in LISTS {
        for (place, container) in spec.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let path = at(&[list, &place.to_string()]);
            found.extend(check_name(container, &mut containers, &joined(&path, &["name"])).err());
            found.extend(check_mounts(container, &volumes, &path).err());
            let ports = joined(&path, &["ports"]);
            found.extend(unique(container.get("ports"), "two ports are called", &ports).err());
            if list == "initContainers" && container["restartPolicy"] != "Always" {
                found.extend(ends(container, &path).err());
            }
            found.extend(PROBES.iter().filter_map(|field| check_probe(container, field, &path).err()));
            found.extend(HOOKS.iter().filter_map(|hook| check_hook(container, hook, grace, &path).err()));
        }
    }
    found
}

fn joined(path: &[String], parts: &[&str]) -> Vec<String> {
    path.iter().cloned().chain(parts.iter().map(|part| (*part).to_owned())).collect()
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(|element| element["name"].as_str())
}

fn unique(list: Option<&Value>, why: &str, path: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (at, element) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
        if let Some(name) = element["name"].as_str().filter(|name| !seen.insert(*name)) {
            return Err(pin(&format!("{why} `{name}`"), &joined(path, &[&at.to_string(), "name"])));
        }
    }
    Ok(())
}

/// Checks that the name of a container is valid, and that no container before it has the same name.
fn check_name<'c>(
    container: &'c Value,
    known: &mut BTreeSet<&'c str>,
    path: &[String],
) -> Result<(), String> {
    let name = container["name"].as_str().unwrap_or_default();
    if !is_label(name) {
        let why = format!("`{name}` is not a valid container name: use lowercase letters, digits and dashes");
        return Err(pin(&why, path));
    }
    if known.insert(name) { Ok(()) } else { Err(pin(&format!("two containers are called `{name}`"), path)) }
}

/// Whether a name is a valid container name, which is a DNS label.
fn is_label(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn check_mounts(container: &Value, volumes: &[&str], path: &[String]) -> Result<(), String> {
    for (at, mount) in container["volumeMounts"].as_array().into_iter().flatten().enumerate() {
        let name = mount["name"].as_str().unwrap_or_default();
        if !volumes.contains(&name) {
            let hint = did_you_mean(name, volumes.iter().copied());
            let has = if volumes.is_empty() { "none".to_owned() } else { volumes.join(", ") };
            let why = format!("the pod has no volume `{name}`; under `volumes` it has {has}{hint}");
            return Err(pin(&why, &joined(path, &["volumeMounts", &at.to_string(), "name"])));
        }
    }
    Ok(())
}

/// Rejects fields that a regular init container cannot have.
fn ends(container: &Value, path: &[String]) -> Result<(), String> {
    let field = PROBES.into_iter().chain(["lifecycle"]).find(|field| !container[*field].is_null());
    let Some(field) = field else { return Ok(()) };
    let why = format!(
        "a regular init container has no `{field}`; one with `restartPolicy: Always` is a sidecar and can have it"
    );
    Err(pin(&why, &joined(path, &[field])))
}

fn check_probe(container: &Value, field: &str, path: &[String]) -> Result<(), String> {
    let Some(probe) = container.get(field).and_then(Value::as_object) else { return Ok(()) };
    let at = |parts: &[&str]| joined(&joined(path, &[field]), parts);
    one_handler("a probe must have one of httpGet, tcpSocket, grpc and exec", probe, &at(&[]))?;
    check_command(&probe.get("exec").cloned().unwrap_or_default(), &at(&["exec"]))?;
    let kind = field.trim_end_matches("Probe");
    let grace = "terminationGracePeriodSeconds";
    if kind == "readiness" && probe.get(grace).is_some_and(|grace| !grace.is_null()) {
        let why = format!("a readiness probe has no `{grace}` because it never stops a container");
        return Err(pin(&why, &at(&[grace, KEY])));
    }
    let successes = probe.get("successThreshold").and_then(Value::as_i64).unwrap_or(1);
    if kind != "readiness" && successes > 1 {
        let why = format!("`successThreshold` of a {kind} probe must be 1, not {successes}");
        return Err(pin(&why, &at(&["successThreshold"])));
    }
    Ok(())
}

fn check_hook(container: &Value, hook: &str, grace: i64, path: &[String]) -> Result<(), String> {
    let Some(fields) = container["lifecycle"][hook].as_object() else { return Ok(()) };
    let at = joined(path, &["lifecycle", hook]);
    one_handler("a hook must have one of httpGet, tcpSocket, exec and sleep", fields, &at)?;
    check_command(&container["lifecycle"][hook]["exec"], &joined(&at, &["exec"]))?;
    let sleeps = fields.get("sleep").and_then(|sleep| sleep["seconds"].as_i64()).unwrap_or(0);
    if hook == "preStop" && sleeps > grace {
        let why = format!("the hook sleeps for {sleeps} s, but the pod's grace period is {grace} s");
        return Err(pin(&why, &joined(&at, &["sleep", "seconds"])));
    }
    Ok(())
}

fn check_command(exec: &Value, path: &[String]) -> Result<(), String> {
    match exec["command"].as_array() {
        Some(words) if words.is_empty() => Err(pin("the command is empty", &joined(path, &["command"]))),
        _ => Ok(()),
    }
}

fn one_handler(what: &str, fields: &Map<String, Value>, path: &[String]) -> Result<(), String> {
    let given = HANDLERS.iter().filter(|handler| fields.get(**handler).is_some_and(|value| !value.is_null()));
    let given: Vec<&str> = given.copied().collect();
    match given[..] {
        [_] => Ok(()),
        [] => Err(pin(&format!("{what}; this one has 0"), path)),
        _ => Err(pin(&format!("{what}; this one has {}: {}", given.len(), given.join(" and ")), path)),
    }
}
