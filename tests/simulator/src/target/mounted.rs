//! The volumes that are mounted into a container, and their files, as far as its process can read them.

use serde_json::Value;

use crate::Defect;
use crate::pod::{Container, Kind};
use crate::world::{At, World};

/// The mode of a file whose volume does not specify another one.
const DEFAULT_MODE: u64 = 0o644;
/// Others than the owner and the group of a file can read it.
const READABLE_BY_OTHERS: u64 = 0o004;

fn list<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    of[field].as_array().into_iter().flatten()
}

/// The kinds of volumes that are always read-only.
const CONFIGURATION: [&str; 4] = ["configMap", "secret", "projected", "downwardAPI"];

impl World<'_> {
    /// The volume that a mount of a container names.
    fn volume_of(&self, at: At, mount: &Value) -> Option<&Value> {
        list(&self.pods[at.pod].object["spec"], "volumes").find(|volume| volume["name"] == mount["name"])
    }

    /// The line of a mounted volume in the mount table of a process.
    pub(super) fn mount_line(&self, at: At, mount: &Value) -> Option<String> {
        let volume = self.volume_of(at, mount).unwrap_or(&Value::Null);
        let configures = CONFIGURATION.into_iter().any(|kind| volume.get(kind).is_some());
        let part = ["subPath", "subPathExpr"].iter().any(|field| mount[*field].is_string());
        let asked = mount["readOnly"] == true
            && !self.has(Defect::ReadOnlyMountWritable)
            && !(part && self.has(Defect::SubPathMountWritable));
        let given = configures && !self.has(Defect::SettingsWritable);
        let options = if given || asked { "ro" } else { "rw" };
        let of_memory = volume["emptyDir"]["medium"] == "Memory" && !self.has(Defect::MemoryVolumeOnDisk);
        // A ConfigMap is not a secret.
        let of_secret = volume.get("secret").is_some() && self.has(Defect::SecretsOnDisk);
        let in_memory = of_memory || (configures && volume.get("configMap").is_none() && !of_secret);
        let (device, system) = if in_memory { ("0:1", "tmpfs tmpfs") } else { ("8:1", "ext4 /dev/sda1") };
        Some(format!("1 1 {device} / {} {options} - {system} rw", mount["mountPath"].as_str()?))
    }

    /// The line for the settings of the kernel, which the processes of a container cannot change.
    pub(super) fn protected_mount(&self, container: &Container) -> Option<String> {
        let privileged = container.spec["securityContext"]["privileged"] == true;
        let lost = container.kind == Kind::Sidecar && self.has(Defect::SidecarProcUnprotected);
        (!privileged && !lost).then(|| "2 1 0:2 /sys /proc/sys ro,relatime - proc proc rw".to_owned())
    }

    /// The files of a mounted volume that a process can read, each with its path and its content.
    pub(super) fn mounted_files(&self, at: At, mount: &Value) -> Vec<(String, String)> {
        let spec = &self.pods[at.pod].object["spec"];
        let Some(volume) = self.volume_of(at, mount) else { return Vec::new() };
        let mut files = self.settings_files(spec, volume);
        let parts = list(&volume["projected"], "sources").chain([volume]);
        let items = parts.flat_map(|of| list(&of["downwardAPI"], "items"));
        let modeless = volume.get("projected").is_some() && self.has(Defect::ProjectedDownwardModeIgnored);
        let readable =
            |item: &&Value| self.can_read(spec, volume, if modeless { &Value::Null } else { item });
        files.extend(items.filter(readable).filter_map(|item| {
            let path = item["path"].as_str()?;
            Some((path.to_owned(), self.content(at, item)?))
        }));
        let folder = mount["mountPath"].as_str().unwrap_or_default();
        files.into_iter().map(|(path, text)| (format!("{folder}/{path}"), text)).collect()
    }

    /// Whether a process can read a file of a volume. The process is not root, but belongs to the group of its pod.
    pub(crate) fn can_read(&self, spec: &Value, volume: &Value, item: &Value) -> bool {
        let of_volume = CONFIGURATION.into_iter().find_map(|kind| volume[kind]["defaultMode"].as_u64());
        let own = item["mode"].as_u64().filter(|_| !self.has(Defect::ItemModesIgnored));
        let mode = own.or(of_volume).unwrap_or(DEFAULT_MODE);
        let of_settings = volume.get("secret").is_some() || volume.get("projected").is_some();
        let ignored = of_settings && self.has(Defect::GroupOfSecretsIgnored);
        let by_group = spec["securityContext"]["fsGroup"].is_u64() && !ignored;
        by_group || mode & READABLE_BY_OTHERS != 0
    }
}
