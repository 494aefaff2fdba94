//! A kubelet that gives containers exclusive CPUs: on which CPUs each container may run.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Defect;
use crate::amounts::thousandths;
use crate::world::{At, SECOND, World};

/// The number of CPUs of the node.
const ALL: u64 = 4;
/// The interval at which the kubelet adjusts running containers.
const ADJUSTED_EVERY: i64 = 10 * SECOND;

impl World<'_> {
    /// Records whether a kubelet with these settings gives containers exclusive CPUs from now on.
    pub(crate) fn gives_processors(&mut self, settings: &Value) {
        self.node.gives_processors_since = (settings["cpuManagerPolicy"] == "static").then_some(self.now);
    }

    /// The CPUs on which a container may run, as the kernel lists them.
    pub(crate) fn processors_of(&self, at: At) -> String {
        let all: BTreeSet<u64> = (0..ALL).collect();
        let own = self.given_to(at);
        let may = if own.is_empty() { &all - &self.kept_from(at) } else { own };
        may.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
    }

    /// The exclusive CPUs of a container: the highest ones that no older owner has.
    fn given_to(&self, at: At) -> BTreeSet<u64> {
        let wanted = if self.has(Defect::ProcessorsNotGiven) { 0 } else { self.wants_processors(at) };
        let wanted = if wanted > 0 && self.has(Defect::ProcessorsOneTooMany) { wanted + 1 } else { wanted };
        let older = |other: &At| (self.began(*other), *other) < (self.began(at), at);
        let taken: u64 = self.containers().filter(older).map(|other| self.wants_processors(other)).sum();
        let end = ALL.saturating_sub(taken);
        (end.saturating_sub(wanted)..end).collect()
    }

    /// How many exclusive CPUs a container requests, if the kubelet must give them to it.
    fn wants_processors(&self, at: At) -> u64 {
        let (pod, container) = (&self.pods[at.pod], &self.pods[at.pod].containers[at.container]);
        let limit = thousandths(&container.spec["resources"]["limits"]["cpu"]).unwrap_or_default();
        let began = self.began(at).zip(self.node.gives_processors_since);
        let counts = pod.object["status"]["qosClass"] == "Guaranteed"
            && limit % 1000 == 0
            && began.is_some_and(|(began, since)| began > since);
        if counts { u64::try_from(limit / 1000).unwrap_or_default() } else { 0 }
    }

    /// The exclusive CPUs of others, on which a container may not run.
    fn kept_from(&self, at: At) -> BTreeSet<u64> {
        let mut kept = BTreeSet::new();
        for owner in self.containers().filter(|owner| *owner != at) {
            let Some((of_owner, mine)) = self.began(owner).zip(self.began(at)) else { continue };
            let told = if of_owner < mine {
                !self.has(Defect::ProcessorsSharedWithLater)
            } else {
                self.now > of_owner + ADJUSTED_EVERY && !self.has(Defect::ProcessorsSharedWithEarlier)
            };
            if told {
                kept.extend(self.given_to(owner));
            }
        }
        kept
    }

    fn containers(&self) -> impl Iterator<Item = At> {
        let of = |(pod, one): (usize, &crate::pod::Pod)| {
            (0..one.containers.len()).map(move |container| At { pod, container })
        };
        self.pods.iter().enumerate().flat_map(of)
    }

    /// When the running process of a container began.
    fn began(&self, at: At) -> Option<i64> {
        let container = &self.pods[at.pod].containers[at.container];
        container.life.as_ref().filter(|_| container.is_running()).map(|life| life.began)
    }
}
