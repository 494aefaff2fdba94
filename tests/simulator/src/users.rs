//! Pods with their own user namespace: their id maps, the permissions of their processes, and how the pods look from
//! the node.

use probity_script::witness::{Dump, ProcessSeen, TrialSeen};
use probity_script::{Fact, PlannedTrial};
use serde_json::Value;

use crate::pod::State;
use crate::world::{Act, At, LifeAt, MS, World};
use crate::{Defect, Oddity};

/// The field that gives a pod its own user namespace.
pub(crate) const FIELD: &str = "hostUsers";
/// How many users a pod has, and how many the node keeps for itself.
const IDS: u64 = 65_536;
/// The user that represents all users that do not exist.
const NOBODY: u64 = 65_534;
/// The user namespace of the node.
const OF_NODE: u64 = 4_026_531_837;
/// How soon a container that cannot start is shown in that state.
const SHOWN: i64 = 50 * MS;

impl World<'_> {
    /// Whether a pod has its own user namespace.
    fn has_own_users(&self, pod: usize) -> bool {
        self.pods[pod].object["spec"][FIELD] == false && !self.has(Defect::UsersOfNode)
    }

    /// Whether a pod cannot start because its node has no user namespaces for pods.
    pub(crate) fn lacks_user_namespaces(&self, pod: usize) -> bool {
        self.is_odd(Oddity::NoUserNamespaces) && self.has_own_users(pod)
    }

    /// The first user of the node that belongs to a pod.
    fn first_user(&self, pod: usize) -> u64 {
        match () {
            () if self.has(Defect::UsersShared) => 2 * IDS,
            () if self.has(Defect::UsersOfNodeGiven) => 1_000 + pod as u64 * IDS,
            () => (2 + pod as u64) * IDS,
        }
    }

    /// The id maps of a pod: of users, and of groups.
    pub(crate) fn id_maps(&self, pod: usize) -> [String; 2] {
        let identity = "0 0 4294967295\n".to_owned();
        if !self.has_own_users(pod) {
            return [identity.clone(), identity];
        }
        let length = if self.has(Defect::UsersFew) { 1_000 } else { IDS };
        let map = format!("0 {} {length}\n", self.first_user(pod));
        let groups = match () {
            () if self.has(Defect::GroupsOfNode) => identity,
            () if self.has(Defect::GroupMapsShared) => format!("0 {} {length}\n", 2 * IDS),
            () => map.clone(),
        };
        [map, groups]
    }

    /// The user namespace of a pod.
    pub(crate) fn user_namespace(&self, pod: usize) -> u64 {
        let apart = self.has_own_users(pod) || self.has(Defect::UsersApartUnasked);
        if apart { 4_026_540_000 + pod as u64 } else { OF_NODE }
    }

    /// The ids of a process, as the process itself sees them.
    pub(crate) fn ids_inside(&self, pod: usize, mut ids: Vec<u32>) -> Vec<u32> {
        if self.has_own_users(pod) && self.has(Defect::IdsOfNodeInside) {
            let first = u32::try_from(self.first_user(pod)).unwrap_or(u32::MAX);
            ids.iter_mut().for_each(|id| *id = id.saturating_add(first));
        }
        ids
    }

    /// All processes of the node, as seen by a pod with `hostPID`.
    pub(crate) fn processes_of_node(&self, at: At, dump: &mut Dump) {
        if self.pods[at.pod].object["spec"]["hostPID"] != true {
            return;
        }
        for (pod, of) in self.pods.iter().enumerate() {
            for (number, container) in of.containers.iter().enumerate().filter(|(_, of)| of.is_running()) {
                let user = self.ids_of(pod, container).first().map_or(0, |id| u64::from(*id));
                let own = self.has_own_users(pod) && !self.has(Defect::RootIsRootOutside);
                let outside = if own { self.first_user(pod) + user } else { user };
                dump.processes.push(ProcessSeen {
                    pid: 1_000 + 10 * pod as u32 + number as u32,
                    name: "agnhost-rs".to_owned(),
                    uid: u32::try_from(outside).ok(),
                    users: Some(self.user_namespace(pod)),
                    ..ProcessSeen::default()
                });
            }
        }
    }

    /// Lets a container wait instead of starting it if its user does not exist in the pod's user namespace. Returns
    /// whether it waits.
    pub(crate) fn lacks_user(&mut self, pod: usize, container: usize) -> bool {
        let user =
            self.ids_of(pod, &self.pods[pod].containers[container]).first().copied().unwrap_or_default();
        if !self.has_own_users(pod) || u64::from(user) < IDS || self.has(Defect::MissingUserRuns) {
            return false;
        }
        let of = &mut self.pods[pod].containers[container];
        of.state = State::Waiting("CreateContainerError");
        of.restarting = true;
        self.later(SHOWN, Act::Sync(pod));
        true
    }

    /// A process makes the attempts of its plan.
    pub(crate) fn try_all(&mut self, life: LifeAt) {
        let trials = self.life(life).map(|of| of.plan.process.trials.clone()).unwrap_or_default();
        for trial in trials {
            let (ok, value) = self.attempt(life.at, &trial);
            let path = trial.path().map(str::to_owned);
            let error = (!ok).then(|| "Operation not permitted (os error 1)".to_owned());
            let seen = TrialSeen { trial: trial.name().to_owned(), path, ok, value, denied: !ok, error };
            self.note(life, Fact::Tried(seen));
        }
    }

    /// Whether an attempt succeeds, and what it finds.
    fn attempt(&self, at: At, trial: &PlannedTrial) -> (bool, Option<String>) {
        let spec = &self.pods[at.pod].containers[at.container].spec;
        let added = spec["securityContext"]["capabilities"]["add"].as_array();
        let can = |name: &str| added.is_some_and(|all| all.iter().any(|one| one == name));
        let own = self.has_own_users(at.pod);
        let outside = |name: &str| can(name) && (!own || self.has(Defect::CapabilitiesOfNode));
        match trial {
            PlannedTrial::Mount(_) | PlannedTrial::SetHostname => {
                (can("SYS_ADMIN") && !(own && self.has(Defect::CapabilitiesLost)), None)
            }
            PlannedTrial::MakeDevice(_) => (outside("MKNOD"), None),
            PlannedTrial::LoadModule => (outside("SYS_MODULE"), None),
            PlannedTrial::Owner(path) => (true, Some(self.owner(at, path))),
            PlannedTrial::Write(path) => (self.can_write(at, path), None),
        }
    }

    /// The user ID that owns the files at a path, if the path is in a hostPath volume.
    fn user_of_files(&self, at: At, path: &str) -> Option<u64> {
        let spec = &self.pods[at.pod].object["spec"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let mounts = list(&self.pods[at.pod].containers[at.container].spec["volumeMounts"]);
        let mount =
            mounts.iter().find(|mount| mount["mountPath"].as_str().is_some_and(|at| path.starts_with(at)))?;
        let volumes = list(&spec["volumes"]);
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"])?;
        let folder = volume["hostPath"]["path"].as_str()?;
        let maker = self.pods.iter().position(|pod| folder.contains(&pod.uid))?;
        let user = *self.ids_of(maker, self.pods[maker].containers.first()?).first()?;
        Some(u64::from(user))
    }

    fn owner(&self, at: At, path: &str) -> String {
        let own = self.has_own_users(at.pod);
        let group =
            self.pods[at.pod].object["spec"]["securityContext"]["fsGroup"].as_u64().unwrap_or_default();
        let group = if own && self.has(Defect::VolumeGroupOfNode) { NOBODY } else { group };
        let user = match self.user_of_files(at, path) {
            Some(_) if own && self.has(Defect::NobodyIsRoot) => 0,
            Some(user) if own && user >= IDS => NOBODY,
            user => user.unwrap_or_default(),
        };
        format!("{user}:{group}")
    }

    fn can_write(&self, at: At, path: &str) -> bool {
        let own = self.has_own_users(at.pod);
        match self.user_of_files(at, path) {
            Some(_) if own => self.has(Defect::NobodyCanWrite),
            Some(_) => true,
            None => !(own && self.has(Defect::OwnUsersCannotWrite)),
        }
    }
}
