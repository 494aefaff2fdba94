//! The variables that a container gets from whole ConfigMaps and Secrets, and the variables for Services, which a pod
//! can switch off.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use probity_model::history::Did;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::{Look, looks};
use crate::reading::expansion::expand;
use crate::reading::volumes::list;

/// The end of the name of a variable with the address of a Service, according to the Kubernetes documentation.
const OF_SERVICE: &str = "_SERVICE_HOST";
/// The variable with the address of the API server, which every container gets.
pub(super) const OF_API_SERVER: &str = "KUBERNETES_SERVICE_HOST";
/// The variable with the port of the API server, which every container gets, too.
pub(super) const PORT_OF_API_SERVER: &str = "KUBERNETES_SERVICE_PORT_HTTPS";
/// A part of the name of each variable about a Service, according to the Kubernetes documentation.
const ABOUT_SERVICE: &str = "_";
/// The beginning of a reference in the value of a variable, according to the Kubernetes API reference.
const REFERENCE: &str = "$(";

/// A variable from an object.
pub(super) struct Variable<'h> {
    value: &'h str,
    /// The kind of the object.
    from: &'static str,
    /// The event of the object's creation.
    id: EventId,
}

/// The values of a ConfigMap or a Secret that the harness created, if nobody changed or deleted it.
fn values<'h>(run: &Timeline<'h>, (kind, field): (&str, &str), name: &str) -> Option<(EventId, &'h Value)> {
    let mut made = None;
    for (id, deed) in &run.deeds {
        match &deed.did {
            Did::Created { kind: of, name: own, manifest } if of == kind && own == name => {
                made = Some((*id, manifest.get(field)?));
            }
            Did::Patched { kind: of, name: own, .. } | Did::Deleted { kind: of, name: own, .. }
                if of == kind && own == name =>
            {
                return None;
            }
            _ => {}
        }
    }
    made
}

/// The variables that a container gets from whole objects; a later object takes precedence. `None` if this is not known,
/// for example because an object did not exist before the pod.
pub(super) fn of_objects<'h>(
    run: &Timeline<'h>,
    look: &Look<'_, 'h>,
) -> Option<BTreeMap<String, Variable<'h>>> {
    let (created, _) = look.life.pod.created?;
    let mut all = BTreeMap::new();
    for source in list(look.life.container.spec, "envFrom") {
        let prefix = source.get("prefix").and_then(Value::as_str).unwrap_or_default();
        let (from, field, reference) = match (source.get("configMapRef"), source.get("secretRef")) {
            (Some(of), _) => ("ConfigMap", "data", of),
            (None, Some(of)) => ("Secret", "stringData", of),
            (None, None) => return None,
        };
        let (id, values) = values(run, (from, field), reference.get("name")?.as_str()?)?;
        if id > created {
            return None;
        }
        for (key, value) in values.as_object()? {
            all.insert(format!("{prefix}{key}"), Variable { value: value.as_str()?, from, id });
        }
    }
    Some(all)
}

/// A container has the variables of its `envFrom`, unless its `env` overrides them, and no variables for Services if
/// its pod switches them off.
pub(super) fn is_as_specified(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    // A record without an environment was made for another purpose.
    for look in looks(run).iter().filter(|look| !look.dump.env.is_empty()) {
        judge_api_server(look, seen);
        let Some(variables) = of_objects(run, look) else { continue };
        for (name, variable) in &variables {
            judge_variable(look, (name.as_str(), variable), seen);
        }
        judge_references(look, &variables, seen);
        judge_services(run, look, &variables, seen);
    }
}

fn judge_variable(look: &Look<'_, '_>, (name, variable): (&str, &Variable<'_>), seen: &mut Seen) {
    let own = list(look.life.container.spec, "env").filter(|of| of["name"] == *name).last();
    let (wanted, from) = match own {
        None => (variable.value, variable.from),
        // A value from another source is not known here, and a value with references has its own judge.
        Some(own) => match own.get("value").and_then(Value::as_str).filter(|value| !value.contains('$')) {
            Some(value) => (value, "env"),
            None => return,
        },
    };
    let is = look.dump.env.get(name).map(String::as_str);
    let finding = || {
        let what = is.map_or_else(|| "missing".to_owned(), |is| format!("{is:?}"));
        format!("the variable {name} of {} should be {wanted:?}, but it is {what}", look.life.name())
    };
    let right = is == Some(wanted);
    seen.check(right, finding, [variable.id, look.line.id]);
    if right {
        seen.facet("from", from);
    }
}

/// References in the values of variables are replaced by the values of the variables that come before, including those from
/// whole objects, and by those about Services. A reference to a variable that comes later or does not exist stays as it is.
fn judge_references(look: &Look<'_, '_>, of_objects: &BTreeMap<String, Variable<'_>>, seen: &mut Seen) {
    // The value of each variable so far; none if it is not known here.
    let mut known: BTreeMap<&str, Option<String>> =
        of_objects.iter().map(|(name, of)| (name.as_str(), Some(of.value.to_owned()))).collect();
    let mut referring = BTreeSet::new();
    for variable in list(look.life.container.spec, "env") {
        let Some(name) = variable.get("name").and_then(Value::as_str) else { continue };
        let text = variable.get("value").and_then(Value::as_str);
        let value = match text {
            Some(text) => expanded(text, &known, look),
            None => sourced(look, (name, variable)),
        };
        known.insert(name, value);
        if text.is_some_and(|text| text.contains(REFERENCE)) {
            referring.insert(name);
        } else {
            referring.remove(name);
        }
    }
    for name in referring {
        let Some(Some(wanted)) = known.get(name) else { continue };
        let is = look.dump.env.get(name);
        let finding =
            || format!("the variable {name} of {} should be {wanted:?}, but it is {is:?}", look.life.name());
        let right = is == Some(wanted);
        seen.check(right, finding, [look.line.id]);
        if right {
            seen.facet("from", "references");
        }
    }
}

/// The value that a process got for a variable from another source, such as a field of its pod. `None` if the variable is
/// there twice, or if its source is optional: if it is missing, the image may set the same variable.
fn sourced(look: &Look<'_, '_>, (name, variable): (&str, &Value)) -> Option<String> {
    let source = variable.get("valueFrom")?.as_object()?;
    let once = list(look.life.container.spec, "env").filter(|of| of["name"] == *name).count() == 1;
    let optional = source.values().any(|of| of.get("optional").is_some_and(|is| *is == true));
    look.dump.env.get(name).filter(|_| once && !optional).cloned()
}

/// A text with the values of these variables, and of those about the API server. `None` if it refers to another variable
/// whose value is not known, such as one about another Service.
fn expanded(text: &str, known: &BTreeMap<&str, Option<String>>, look: &Look<'_, '_>) -> Option<String> {
    let unknown = Cell::new(false);
    let later = |name: &str| list(look.life.container.spec, "env").any(|of| of["name"] == *name);
    let value = |name: &str| {
        let is = look.dump.env.get(name);
        match known.get(name) {
            Some(value) => {
                unknown.set(unknown.get() || value.is_none());
                value.clone()
            }
            None if later(name) => {
                // A Service with the same variable would give it its value until then.
                unknown.set(unknown.get() || name.contains(ABOUT_SERVICE));
                None
            }
            None if [OF_API_SERVER, PORT_OF_API_SERVER].contains(&name) => is.cloned(),
            None => {
                unknown.set(unknown.get() || is.is_some());
                None
            }
        }
    };
    let text = expand(text, &value);
    (!unknown.get()).then_some(text)
}

/// A container can find the API server, even if its pod switches off the variables for Services. The kubelet may start a
/// static pod before it knows any Service.
fn judge_api_server(look: &Look<'_, '_>, seen: &mut Seen) {
    let lacks = |name: &&str| !look.dump.env.contains_key(*name);
    let missing = [OF_API_SERVER, PORT_OF_API_SERVER].into_iter().find(lacks);
    if let Some(name) = missing.filter(|_| !look.life.pod.is_static) {
        let finding = format!(
            "{} does not have the variable {name}, which every container needs to find the API server",
            look.life.name()
        );
        seen.violated(finding, [look.line.id]);
    }
}

/// If a pod switches off the variables for Services, its containers have none, except for the API server.
fn judge_services(
    run: &Timeline<'_>,
    look: &Look<'_, '_>,
    of_objects: &BTreeMap<String, Variable<'_>>,
    seen: &mut Seen,
) {
    let pod = look.life.pod;
    let off = pod.spec.get("enableServiceLinks").is_some_and(|is| *is == false);
    let Some((created, _)) = pod.created.filter(|_| off) else { return };
    let own = |name: &str| {
        let mut given = list(look.life.container.spec, "env");
        of_objects.contains_key(name) || given.any(|of| of["name"] == *name)
    };
    let of_service = |name: &&String| name.ends_with(OF_SERVICE) && *name != OF_API_SERVER && !own(name);
    if let Some(name) = look.dump.env.keys().find(of_service) {
        let finding = format!(
            "{} has the variable {name}, although enableServiceLinks is false in its pod",
            look.life.name()
        );
        seen.violated(finding, [look.line.id]);
    } else if let Some(service) = service_before(run, created) {
        seen.fine([service, look.line.id]);
        seen.facet("services", "none");
    }
}

/// A Service with an address that the harness created before this event.
fn service_before(run: &Timeline<'_>, event: EventId) -> Option<EventId> {
    let made = run.deeds.iter().filter(|(id, _)| *id < event).find(|(_, deed)| match &deed.did {
        Did::Created { kind, manifest, .. } if kind == "Service" => {
            let address = manifest.get("spec").and_then(|spec| spec.get("clusterIP"));
            address.is_none_or(|address| *address != "None")
        }
        _ => false,
    });
    made.map(|(id, _)| *id)
}
