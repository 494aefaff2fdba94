//! A process's view of its container from inside: addresses, mounts, and the files of the downward API.

use std::collections::BTreeMap;

use probity_script::witness::Dump;
use serde_json::Value;

use crate::Defect;
use crate::pod::Kind;
use crate::world::{At, World};

impl World<'_> {
    /// What a process records at its start.
    pub(super) fn look(&self, at: At) -> Dump {
        let pod = &self.pods[at.pod];
        let container = &pod.containers[at.container];
        let init = container.kind == Kind::Init;
        let addresses =
            if init && self.has(Defect::InitWithoutNetwork) { vec![] } else { vec![pod.ip.clone()] };
        let loopback = ("lo".to_owned(), vec!["127.0.0.1".to_owned()]);
        let interfaces = BTreeMap::from([loopback, ("eth0".to_owned(), addresses)]);
        let mounts: Vec<&Value> = pod
            .containers
            .iter()
            .enumerate()
            .filter(|(place, _)| *place == at.container || self.has(Defect::VolumesMountedEverywhere))
            .filter_map(|(_, of)| of.spec["volumeMounts"].as_array())
            .flatten()
            .filter(|_| !(init && self.has(Defect::InitWithoutVolumes)))
            .collect();
        let line =
            |mount: &&Value| Some(format!("1 1 0:1 / {} rw - tmpfs tmpfs rw", mount["mountPath"].as_str()?));
        let table: Vec<String> = mounts.iter().filter_map(line).collect();
        let mut files = BTreeMap::from([("/proc/self/mountinfo".to_owned(), table.join("\n"))]);
        for mount in mounts {
            let volumes = pod.object["spec"]["volumes"].as_array();
            let volume = volumes.into_iter().flatten().find(|volume| volume["name"] == mount["name"]);
            let items = volume.and_then(|volume| volume["downwardAPI"]["items"].as_array());
            for item in items.into_iter().flatten() {
                if let (Some(folder), Some(path)) = (mount["mountPath"].as_str(), item["path"].as_str()) {
                    files.insert(format!("{folder}/{path}"), pod.name.clone());
                }
            }
        }
        Dump { host: pod.name.clone(), namespaces: self.namespaces(at), interfaces, files, ..Dump::default() }
    }
}
