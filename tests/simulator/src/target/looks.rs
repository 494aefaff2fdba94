//! A process's view of its container from inside: addresses, mounts, and the files of the downward API.

use std::collections::BTreeMap;

use probity_composer::NODE;
use probity_script::witness::{Dump, ProcessSeen};
use serde_json::{Value, json};

use crate::Defect;
use crate::amounts::thousandths;
use crate::node_facts::ALLOCATABLE;
use crate::pod::{Container, Kind};
use crate::world::{At, World};

impl World<'_> {
    /// The host name in a container, without a domain.
    pub(super) fn short_host_of(&self, at: At) -> String {
        let of = &self.pods[at.pod];
        let given =
            of.object["spec"]["hostname"].as_str().filter(|_| !self.has(Defect::HostnameFieldIgnored));
        let name = given.unwrap_or(of.shown_name());
        let cut = name.get(..63).filter(|_| !self.has(Defect::HostnameUncut)).unwrap_or(name);
        match () {
            () if self.has(Defect::HostnameOfNode) => NODE.to_owned(),
            () if self.has(Defect::LongHostnameKeepsHyphen) => cut.to_owned(),
            () => cut.trim_end_matches(['-', '.']).to_owned(),
        }
    }

    /// The node on which a container runs.
    pub(super) fn node_of(&self, at: At) -> String {
        let last = at.container + 1 == self.pods[at.pod].containers.len();
        let elsewhere = at.container > 0
            && (self.has(Defect::ContainersSpread) || (last && self.has(Defect::LastContainerElsewhere)));
        if elsewhere { format!("{NODE}-2") } else { NODE.to_owned() }
    }

    /// The namespaces that a defective kubelet gives to a container.
    pub(crate) fn misplace_namespaces(&self, at: At, namespaces: &mut BTreeMap<String, u64>) {
        let own = 4_026_600_000 + 100 * at.pod as u64 + at.container as u64;
        for (kind, per_container, of_all) in [
            ("net", Defect::NetworkPerContainer, Defect::NetworkOfAllPods),
            ("ipc", Defect::IpcPerContainer, Defect::IpcOfAllPods),
        ] {
            if self.has(per_container) {
                namespaces.insert(kind.to_owned(), own);
            } else if self.has(of_all) {
                namespaces.insert(kind.to_owned(), 4_026_531_800);
            }
        }
    }

    /// The score with which the kernel chooses the process that it ends when memory is short.
    fn oom_score(&self, at: At) -> i64 {
        // An ephemeral container belongs to the class of its pod.
        let whole = self.pods[at.pod].within.filter(|_| !self.has(Defect::EphemeralScoreOfBestEffort));
        let pod = &self.pods[whole.unwrap_or(at.pod)];
        match self.class_of(&pod.object["spec"]) {
            "Guaranteed" if self.has(Defect::OomScoreOfGuaranteedHigh) => 999,
            "Guaranteed" => -997,
            "Burstable" if !self.has(Defect::OomScoreUncapped) => self.burstable_score(at),
            _ => 1000,
        }
    }

    /// The score of a container in a Burstable pod: it depends on its share of the memory of the node. A sidecar is
    /// protected as well as the main container that requests the least.
    fn burstable_score(&self, at: At) -> i64 {
        let containers = &self.pods[at.pod].containers;
        let of_limit = self.has(Defect::OomScoreOfLimit);
        let lists = if of_limit { ["limits", "requests"] } else { ["requests", "limits"] };
        let memory = |of: &Container| {
            let resources = &of.spec["resources"];
            lists.iter().find_map(|list| thousandths(&resources[*list]["memory"])).unwrap_or_default()
        };
        let ignored = self.has(Defect::OomScoreIgnoresRequest);
        let own = if ignored { 0 } else { memory(&containers[at.container]) };
        let mains = containers.iter().filter(|of| of.kind == Kind::Main);
        let alone = self.has(Defect::OomScoreOfSidecarAlone);
        let shared = containers[at.container].kind == Kind::Sidecar && !alone;
        let least = mains.map(memory).min().filter(|_| shared);
        let whole = ALLOCATABLE.iter().find_map(|(of, amount)| (*of == "memory").then(|| json!(amount)));
        let whole = whole.as_ref().and_then(thousandths).unwrap_or(i64::MAX);
        (1000 - 1000 * own.max(least.unwrap_or_default()) / whole).clamp(2, 999)
    }

    /// What a process records at its start.
    pub(super) fn look(&self, at: At) -> Dump {
        let pod = &self.pods[at.pod];
        let container = &pod.containers[at.container];
        let init = container.kind == Kind::Init;
        let moved = self.has(Defect::NetworkPerContainer) && at.container > 0;
        let addresses = if moved {
            vec![format!("10.244.7.{}", at.container)]
        } else if init && self.has(Defect::InitWithoutNetwork) {
            vec![]
        } else {
            vec![pod.ip.clone()]
        };
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
        let system = [self.root_mount(&container.spec)].into_iter().chain(self.protected_mount(container));
        let lines = mounts.iter().filter_map(|mount| self.mount_line(at, mount));
        let table: Vec<String> = system.chain(lines).collect();
        let mut files = BTreeMap::from([("/proc/self/mountinfo".to_owned(), table.join("\n"))]);
        files.extend(self.lookup_files(at));
        files.extend(self.sysctl_files(at.pod));
        files.extend(mounts.into_iter().flat_map(|mount| self.mounted_files(at, mount)));
        let ticks = self.burnt(at) / 10_000;
        let zeros = "0 ".repeat(10);
        files.insert("/proc/self/stat".to_owned(), format!("1 (agnhost-rs) S {zeros}{ticks} 0 0 0"));
        files.insert("/proc/self/oom_score_adj".to_owned(), format!("{}\n", self.oom_score(at)));
        files.extend(self.identity_files(at.pod, at.container));
        files.extend(self.cgroup_files(at));
        let env = self.environment(at);
        let mut namespaces = self.namespaces(at);
        let mut processes = Vec::new();
        if let Some(other) = self.shares_processes(at) {
            namespaces.extend(self.namespaces(other).remove_entry("pid"));
            let seen = |pid| ProcessSeen {
                pid,
                state: "S".to_owned(),
                name: "agnhost-rs".to_owned(),
                ..ProcessSeen::default()
            };
            processes.extend([seen(1), seen(20)]);
        }
        if self.has(Defect::ProcessesSharedUnasked) {
            namespaces.extend(self.namespaces(At { container: 0, ..at }).remove_entry("pid"));
        }
        let mut dump = Dump {
            processes,
            host: self.host_of(at),
            ids: self.ids_inside(at.pod, self.ids_of(at.pod, &pod.containers[at.container])),
            env,
            namespaces,
            interfaces,
            files,
        };
        self.processes_of_node(at, &mut dump);
        dump
    }
}
