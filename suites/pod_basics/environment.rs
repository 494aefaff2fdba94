//! The variables that a container gets from whole ConfigMaps and Secrets, and the variables for Services, which a pod
//! can switch off.

use std::collections::BTreeMap;

use probity_model::history::Did;
use probity_model::{Clause, EventId, Seen, Timeline};
use serde_json::Value;

use crate::reading::dumps::{Look, looks};
use crate::reading::volumes::list;

/// The end of the name of a variable with the address of a Service, according to the Kubernetes documentation.
const OF_SERVICE: &str = "_SERVICE_HOST";
/// The variable with the address of the API server, which every container gets.
const OF_API_SERVER: &str = "KUBERNETES_SERVICE_HOST";

/// A variable from an object.
struct Variable<'h> {
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
fn of_objects<'h>(run: &Timeline<'h>, look: &Look<'_, 'h>) -> Option<BTreeMap<String, Variable<'h>>> {
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
        let Some(variables) = of_objects(run, look) else { continue };
        for (name, variable) in &variables {
            judge_variable(look, (name.as_str(), variable), seen);
        }
        judge_services(run, look, &variables, seen);
    }
}

fn judge_variable(look: &Look<'_, '_>, (name, variable): (&str, &Variable<'_>), seen: &mut Seen) {
    let own = list(look.life.container.spec, "env").filter(|of| of["name"] == *name).last();
    let (wanted, from) = match own {
        None => (variable.value, variable.from),
        // A value with references or from another source is not known here.
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
