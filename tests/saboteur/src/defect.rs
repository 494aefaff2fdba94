//! The definition of a defect: a [`Defect`] names one fault, the pods that it affects, and the occasions. This module
//! only defines the vocabulary; the proxies implement it.

use serde::{Deserialize, Serialize};

use crate::{
    api::fault::{ApiFault, OtherFault},
    cri::fault::CriFault,
    pods::fault::PodsFault,
    process::ProcessFault,
};

/// One fault, as it is written in the table and sent to the control socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Defect {
    /// A unique name among the active defects, by which the defect is removed and counted.
    pub name: String,
    /// The pods and containers that it strikes.
    pub on: Scope,
    /// The occasions; always by default.
    #[serde(default)]
    pub when: When,
    /// The fault.
    pub fault: Fault,
}

/// The place at which something goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Fault {
    /// Between kubelet and container runtime.
    Cri(CriFault),
    /// Between kubelet and API server.
    Api(ApiFault),
    /// Between the controllers and the API server: what they write about objects whose names the scope covers.
    Controllers(OtherFault),
    /// Between kubelet and pods.
    Pods(PodsFault),
    /// In the kubelet's process.
    Process(ProcessFault),
}

/// The pods and containers that a defect strikes. All given conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scope {
    /// Exactly this namespace. Required, so that runs in other namespaces on the same node are not affected.
    #[serde(default)]
    pub namespace: String,
    /// A part of the pod's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// Exactly this container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Only containers of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ContainerKind>,
    /// Only container instances after the first one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
    /// Only while at least this many pods are on the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<usize>,
}

/// The three kinds of containers in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContainerKind {
    /// From `spec.containers`.
    Main,
    /// From `spec.initContainers`, with `restartPolicy: Always`.
    Sidecar,
    /// Any other of `spec.initContainers`.
    Init,
}

/// The occasions on which a defect strikes. They are counted separately for each container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct When {
    /// Only one occasion in this many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// How many of the first occasions are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u32,
    /// At most this many times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl When {
    /// Whether the defect strikes on the occasion with the number `seen`, counted from 0.
    #[must_use]
    pub fn includes(self, seen: u32) -> bool {
        let Some(eligible) = seen.checked_sub(self.after) else { return false };
        let every = self.every.unwrap_or(1).max(1);
        eligible % every == every - 1 && self.times.is_none_or(|times| eligible / every < times)
    }
}

/// What a proxy knows about the object that it handles: its pod and its container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container, if only one is affected.
    pub container: Option<String>,
    /// Its kind, if it is known.
    pub kind: Option<ContainerKind>,
    /// How many instances of the container there were before this one.
    pub attempt: Option<u32>,
}

impl Target {
    /// A pod as a whole.
    #[must_use]
    pub fn pod(namespace: &str, pod: &str) -> Self {
        Self { namespace: namespace.to_owned(), pod: pod.to_owned(), ..Self::default() }
    }
}

impl Scope {
    /// A whole namespace.
    #[must_use]
    pub fn namespace(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::default() }
    }

    /// Whether `target` is struck. A target that does not name a container is not struck by a defect that names a
    /// container.
    #[must_use]
    pub fn covers(&self, target: &Target) -> bool {
        self.namespace == target.namespace
            && self.pod.as_ref().is_none_or(|part| target.pod.contains(part.as_str()))
            && (self.container.is_none() || self.container == target.container)
            && (self.kind.is_none() || self.kind == target.kind)
            && (!self.restarted || target.attempt.is_some_and(|attempt| attempt > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, Target, When};

    fn occasions(when: When) -> Vec<u32> {
        (0..12).filter(|&seen| when.includes(seen)).collect()
    }

    #[test]
    fn without_a_word_every_occasion_counts() {
        assert_eq!(occasions(When::default()).len(), 12);
    }

    #[test]
    fn one_in_five_after_two_and_at_most_once() {
        assert_eq!(occasions(When { every: Some(5), ..When::default() }), [4, 9]);
        assert_eq!(occasions(When { every: Some(5), after: 2, ..When::default() }), [6, 11]);
        assert_eq!(occasions(When { every: Some(5), after: 2, times: Some(1) }), [6]);
    }

    #[test]
    fn a_scope_covers_only_what_agrees_in_all_its_words() {
        let mut target = Target::pod("run-1", "probe-abc");
        assert!(Scope::namespace("run-1").covers(&target));
        assert!(!Scope::namespace("run-10").covers(&target));
        let container = Scope { container: Some("target".into()), ..Scope::namespace("run-1") };
        assert!(!container.covers(&target));
        target.container = Some("target".into());
        assert!(container.covers(&target));
        let restarted = Scope { restarted: true, ..Scope::namespace("run-1") };
        assert!(!restarted.covers(&target));
        target.attempt = Some(1);
        assert!(restarted.covers(&target));
    }
}
