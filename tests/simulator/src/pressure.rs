//! Resources that processes take, and the consequences if they take more than their limits.

use probity_script::witness::Consumed;
use probity_script::{Consumer, Fact};
use serde_json::Value;

use crate::Defect;
use crate::amounts::thousandths;
use crate::pod::{Kind, State, micros};
use crate::world::{Act, At, LifeAt, MS, SECOND, World};

/// Why a pod was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The pod used more storage than its limit.
    Storage,
    /// Its node was short of memory.
    Memory,
    /// A critical pod needed its resources.
    Critical,
    /// Its node shuts down.
    Shutdown,
}

impl Cause {
    /// The reason in the status of the pod.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Storage | Self::Memory => "Evicted",
            Self::Critical => "Preempting",
            Self::Shutdown => "Terminated",
        }
    }

    /// The message in the status of the pod.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::Storage => "Usage of local ephemeral storage exceeds the limit",
            Self::Memory => "The node was low on resource: memory",
            Self::Critical => "Preempted in order to admit critical pod",
            Self::Shutdown => "Pod was terminated in response to imminent node shutdown.",
        }
    }
}

impl World<'_> {
    /// A process takes what its plan defines, and the kubelet or the kernel notices if it exceeds a limit.
    pub(crate) fn begin_consuming(&mut self, life: LifeAt) {
        let plans = self.life(life).map(|of| of.plan.process.consume.clone()).unwrap_or_default();
        for consumer in plans {
            match consumer {
                Consumer::Disk { path, bytes, after } => {
                    self.write_to_disk(life, &path, bytes.0, after.map_or(0, micros))
                }
                Consumer::Memory { bytes, step, every, after } => {
                    let pace = (step.map_or(bytes.0, |step| step.0.max(1)), every.map_or(0, micros));
                    self.take_memory(life, bytes.0, pace, after.map_or(0, micros));
                }
                Consumer::Cpu { threads, lasts, after } => {
                    let begins = after.map_or(0, micros);
                    self.consumed(life, begins, "cpu", u64::from(threads));
                    self.consumed(life, begins + micros(lasts), "cpu", 0);
                }
            }
        }
    }

    fn consumed(&mut self, life: LifeAt, after: i64, resource: &str, amount: u64) {
        let consumed = Consumed { resource: resource.to_owned(), amount, error: None };
        self.later(after, Act::Note(life, Box::new(Fact::Consumed(consumed))));
    }

    fn write_to_disk(&mut self, life: LifeAt, path: &str, bytes: u64, after: i64) {
        let after = after + 20 * MS;
        let on_volume = self.mounts(life).any(|mount| path.starts_with(mount));
        if on_volume && self.has(Defect::ScratchUnwritable) {
            let error = Some("Permission denied (os error 13)".to_owned());
            let consumed = Consumed { resource: "disk".to_owned(), amount: 0, error };
            return self.later(after, Act::Note(life, Box::new(Fact::Consumed(consumed))));
        }
        self.consumed(life, after, "disk", bytes);
        let limit = self.storage_limit(life, path);
        if limit.is_some_and(|limit| bytes > limit) && !self.has(Defect::StorageLimitsIgnored) {
            let noticed = self.between(5 * SECOND, 60 * SECOND);
            self.later(after + noticed, Act::Evict(life));
        }
    }

    /// The paths at which volumes are mounted into a container.
    fn mounts(&self, life: LifeAt) -> impl Iterator<Item = &str> {
        let spec = &self.pods[life.at.pod].containers[life.at.container].spec;
        let all = spec["volumeMounts"].as_array().into_iter().flatten();
        all.filter_map(|mount| mount["mountPath"].as_str())
    }

    fn take_memory(&mut self, life: LifeAt, bytes: u64, (step, every): (u64, i64), mut after: i64) {
        let limit = self.memory_limit(life);
        let mut taken = 0;
        while taken < bytes {
            taken = (taken + step).min(bytes);
            if limit.is_some_and(|limit| taken > limit) {
                return self.later(after, Act::OutOfMemory(life));
            }
            self.consumed(life, after, "memory", taken);
            after += every + MS;
        }
    }

    /// Whether a container is the first of the pod's main containers.
    fn is_first(&self, at: At) -> bool {
        self.pods[at.pod].containers.iter().position(|container| container.kind == Kind::Main)
            == Some(at.container)
    }

    /// The number of bytes at which a container is killed.
    fn memory_limit(&self, life: LifeAt) -> Option<u64> {
        let resources = &self.pods[life.at.pod].containers[life.at.container].spec["resources"];
        let of = |list: &str| mebibytes(&resources[list]["memory"]);
        match () {
            () if self.has(Defect::MemoryLimitIgnored) => None,
            () if self.has(Defect::MemoryLimitOnlyOfFirst) && !self.is_first(life.at) => None,
            () if self.has(Defect::MemoryLimitOfAHalf) => of("limits").map(|limit| limit / 2),
            () if self.has(Defect::MemoryLimitOfAThird) => of("limits").map(|limit| limit / 3),
            () if self.has(Defect::RequestsAreLimits) => of("limits").or_else(|| of("requests")),
            () if self.has(Defect::PodHeldToSomeLimits) => of("limits").or_else(|| self.some_limits(life)),
            () => of("limits"),
        }
    }

    /// The sum of the memory limits in a pod, if there are any.
    fn some_limits(&self, life: LifeAt) -> Option<u64> {
        let all = self.pods[life.at.pod].containers.iter();
        let sum: u64 = all.filter_map(|of| mebibytes(&of.spec["resources"]["limits"]["memory"])).sum();
        (sum > 0).then_some(sum)
    }

    /// The kernel kills a process, and the container with it.
    pub(crate) fn kill_for_memory(&mut self, life: LifeAt) {
        let LifeAt { at, .. } = life;
        self.pods[at.pod].containers[at.container].out_of_memory = !self.has(Defect::MemoryKillShownAsError);
        self.force(life);
        for container in 0..self.pods[at.pod].containers.len() {
            let of = &self.pods[at.pod].containers[container];
            if container != at.container && of.is_running() && self.has(Defect::MemoryKillTakesThePod) {
                let (at, attempt) = (At { pod: at.pod, container }, of.attempt());
                self.force(LifeAt { at, attempt });
            }
        }
    }

    /// The CPU time that a process has used since its start, in microseconds, according to its plan.
    pub(crate) fn burnt(&self, at: At) -> i64 {
        let container = &self.pods[at.pod].containers[at.container];
        let Some(life) = &container.life else { return 0 };
        let resources = &container.spec["resources"];
        let share = |list: &str| thousandths(&resources[list]["cpu"]);
        let limit = match () {
            () if self.has(Defect::ProcessorLimitIgnored) => None,
            () if self.has(Defect::ProcessorLimitOfAThird) => share("limits").map(|limit| limit / 3),
            () if self.has(Defect::ProcessorLimitExceeded) => share("limits").map(|limit| limit + limit / 10),
            () if self.has(Defect::RequestsAreLimits) => share("limits").or_else(|| share("requests")),
            () => share("limits"),
        };
        let burning = life.plan.process.consume.iter().filter_map(|consumer| match consumer {
            Consumer::Cpu { threads, lasts, after } => {
                let began = life.began + after.map_or(0, micros);
                let wanted = 1000 * i64::from(*threads);
                Some((self.now - began).clamp(0, micros(*lasts)) * wanted.min(limit.unwrap_or(wanted)) / 1000)
            }
            _ => None,
        });
        burning.sum()
    }

    /// The storage limit that applies to a file: the limit of its volume, or of its container.
    fn storage_limit(&self, life: LifeAt, path: &str) -> Option<u64> {
        let of = &self.pods[life.at.pod];
        let container = &of.containers[life.at.container].spec;
        let mounts = container["volumeMounts"].as_array()?;
        let mount =
            mounts.iter().find(|mount| path.starts_with(mount["mountPath"].as_str().unwrap_or("-")))?;
        let volumes = of.object["spec"]["volumes"].as_array()?;
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"])?.get("emptyDir")?;
        let first = volumes.iter().find(|of| of["emptyDir"].get("sizeLimit").is_some());
        let later = first.is_some_and(|first| first["name"] != mount["name"]);
        let overlooked = later && self.has(Defect::OnlyFirstVolumeLimited);
        let own = volume.get("sizeLimit").filter(|_| !overlooked);
        mebibytes(own.or_else(|| container["resources"]["limits"].get("ephemeral-storage"))?)
    }

    /// The kubelet notices that a pod uses more storage than its limit.
    pub(crate) fn evict_for_storage(&mut self, life: LifeAt) {
        if self.life(life).is_some() {
            self.end_by_eviction(life.at.pod, Cause::Storage);
        }
    }

    /// The kubelet evicts a pod: it stops the containers with a short grace period, and restarts none of them.
    pub(crate) fn end_by_eviction(&mut self, pod: usize, cause: Cause) {
        let of = &self.pods[pod];
        if of.gone || of.deleted.is_some() || of.terminal {
            return;
        }
        if !self.has(Defect::EvictedPodsRestart) {
            self.pods[pod].evicted = Some(cause);
            self.pods[pod].expired = true;
            self.pods[pod].terminal = true;
        }
        if cause != Cause::Storage {
            self.touch(pod);
        }
        let grace = self.grace_of_end(pod, cause);
        let partly = cause == Cause::Memory && self.has(Defect::ShortageEvictsOneContainer);
        let stopped = if partly { 1 } else { self.pods[pod].containers.len() };
        let in_turns = cause == Cause::Shutdown && !self.has(Defect::ShutdownStopsSidecarsTogether);
        for container in 0..stopped {
            let (at, of) = (At { pod, container }, &self.pods[pod].containers[container]);
            let waits = in_turns && of.kind == Kind::Sidecar;
            if of.is_running() && !waits {
                self.stop_container(at, grace);
            }
        }
        if in_turns {
            self.begin_turns(pod);
            self.give_turns(pod);
        }
    }

    /// The phase of an evicted pod, and whether the reason is shown. If all containers exited with 0, the pod counts as
    /// successful.
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
