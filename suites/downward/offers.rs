//! The downward API variables and files in the spec of a container, each with the value that its process saw.

use probity_model::Timeline;
use serde_json::Value;

use crate::reading::dumps::{Look, looks, recorded_mounts};
use crate::reading::volumes::{list, projected_sources, volume_of};

/// How a value reaches a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Variable,
    File,
}

impl Form {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Variable => "env",
            Self::File => "file",
        }
    }
}

/// A variable or a file in the spec of a container.
pub(super) struct Offer<'l> {
    pub(super) form: Form,
    /// The name of the variable, or the path of the file.
    pub(super) name: String,
    /// The part of the spec that contains the `fieldRef` or the `resourceFieldRef`.
    pub(super) source: &'l Value,
    /// The value that the process saw; `None` if the variable or file was missing.
    pub(super) seen: Option<&'l str>,
}

impl<'l> Offer<'l> {
    /// The path of the pod's field, if the value comes from a field.
    pub(super) fn field(&self) -> Option<&'l str> {
        self.source.get("fieldRef")?.get("fieldPath")?.as_str()
    }

    /// The container's resource, if the value comes from a resource.
    pub(super) fn resource(&self) -> Option<&'l Value> {
        self.source.get("resourceFieldRef")
    }
}

/// The files of the downward API in a volume, which may be projected from several sources.
fn items(volume: &Value) -> impl Iterator<Item = &Value> {
    [volume].into_iter().chain(projected_sources(volume)).flat_map(|of| list(&of["downwardAPI"], "items"))
}

/// All variables and files of a container, as one record of its process shows them.
pub(super) fn offers<'l>(look: &'l Look<'_, '_>) -> Vec<Offer<'l>> {
    let (spec, dump) = (look.life.container.spec, look.dump);
    let mut all = Vec::new();
    // A record without an environment was made for another purpose.
    for variable in list(spec, "env").filter(|_| !dump.env.is_empty()) {
        if let (Some(name), Some(source)) = (variable["name"].as_str(), variable.get("valueFrom")) {
            let seen = dump.env.get(name).map(String::as_str);
            all.push(Offer { form: Form::Variable, name: name.to_owned(), source, seen });
        }
    }
    for (mount, folder) in recorded_mounts(spec) {
        let volume = volume_of(look.life.pod.spec, mount);
        for item in volume.into_iter().flat_map(items) {
            if let Some(path) = item["path"].as_str() {
                let name = format!("{folder}/{path}");
                let seen = dump.files.get(&name).map(String::as_str);
                all.push(Offer { form: Form::File, name, source: item, seen });
            }
        }
    }
    all
}

/// All records of processes that contain an environment.
pub(super) fn views<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Look<'t, 'h>> {
    looks(run).into_iter().filter(|look| !look.dump.env.is_empty()).collect()
}
