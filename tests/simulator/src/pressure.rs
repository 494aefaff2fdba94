//! Local storage: what processes write, and the eviction of a pod that uses more than its limit.

use probity_script::witness::Consumed;
use probity_script::{Consumer, Fact};
use serde_json::Value;

use crate::Defect;
use crate::pod::{State, micros};
use crate::world::{Act, LifeAt, MS, SECOND, World};

/// The grace period of a container in a pod that is evicted.
const GRACE: i64 = 2 * SECOND;

impl World<'_> {
    /// A process writes what its plan says, and the kubelet notices a pod that is beyond its limit.
    pub(crate) fn begin_writing(&mut self, life: LifeAt) {
        let plans = self.life(life).map(|of| of.plan.process.consume.clone()).unwrap_or_default();
        for consumer in plans {
            let Consumer::Disk { path, bytes, after } = consumer else { continue };
            let after = after.map_or(0, micros) + 20 * MS;
            let consumed = Consumed { resource: "disk".to_owned(), amount: bytes.0, error: None };
            self.later(after, Act::Note(life, Box::new(Fact::Consumed(consumed))));
            let limit = self.storage_limit(life, &path);
            if limit.is_some_and(|limit| bytes.0 > limit) && !self.has(Defect::StorageLimitsIgnored) {
                let noticed = self.between(5 * SECOND, 60 * SECOND);
                self.later(after + noticed, Act::Evict(life));
            }
        }
    }

    /// The limit of a file: of its volume, or of its container.
    fn storage_limit(&self, life: LifeAt, path: &str) -> Option<u64> {
        let of = &self.pods[life.at.pod];
        let container = &of.containers[life.at.container].spec;
        let mounts = container["volumeMounts"].as_array()?;
        let mount =
            mounts.iter().find(|mount| path.starts_with(mount["mountPath"].as_str().unwrap_or("-")))?;
        let volumes = of.object["spec"]["volumes"].as_array()?;
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"])?.get("emptyDir")?;
        let limit =
            volume.get("sizeLimit").or_else(|| container["resources"]["limits"].get("ephemeral-storage"));
        mebibytes(limit?)
    }

    /// The kubelet evicts a pod: it stops the containers with a short grace period, and starts none of them again.
    pub(crate) fn evict_for_storage(&mut self, life: LifeAt) {
        let pod = life.at.pod;
        let of = &self.pods[pod];
        if of.gone || of.deleted.is_some() || of.terminal || self.life(life).is_none() {
            return;
        }
        if !self.has(Defect::EvictedPodsRestart) {
            self.pods[pod].evicted = true;
            self.pods[pod].expired = true;
            self.pods[pod].terminal = true;
        }
        for container in 0..self.pods[pod].containers.len() {
            let at = crate::world::At { pod, container };
            if self.pods[pod].containers[container].is_running() {
                self.stop_container(at, GRACE);
            }
        }
    }

    /// The phase of an evicted pod, and why it is over: if all containers ended well, that counts as success.
    pub(crate) fn end_of_evicted(&self, pod: usize) -> (&'static str, bool) {
        let well = |state: &State| matches!(state, State::Ended(ended) if ended.code == 0);
        let success = self.pods[pod].containers.iter().all(|of| well(&of.state));
        let unexplained = self.has(Defect::StorageEvictionUnexplained);
        match () {
            () if success || self.has(Defect::EvictedPodsSucceed) => ("Succeeded", false),
            () => ("Failed", !unexplained),
        }
    }
}

fn mebibytes(quantity: &Value) -> Option<u64> {
    let number: u64 = quantity.as_str()?.strip_suffix("Mi")?.parse().ok()?;
    Some(number << 20)
}
