//! Steps: the actions of a case. Each step does one thing. No step asserts anything.

use std::collections::BTreeMap;

use probity_script::problem::pin;
use probity_script::{Change, Plan, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::{CasePod, ONLY};
use crate::names::there_is;
use crate::wait_conditions::Wait;
use crate::wide::{AdvertiseStep, CordonStep, DrainStep, TaintStep, UntaintStep};
use crate::workload::{UpdateStep, Workload, unknown};

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Wait until all of these conditions hold. If the wait times out, the case continues, and the judges see what
    /// happened.
    Wait(Box<Wait>),
    /// Let time pass, for a clause that forbids something.
    Watch(Span),
    /// Change a target's plan over its control port.
    Change(ChangeStep),
    /// Reset a target's plan.
    Reset(ContainerRef),
    /// Set a mark, for `when: { since: … }` in the plan.
    Mark(MarkStep),
    /// Create a pod that is marked `later`.
    Create(ContainerRef),
    /// Delete a pod, or one pod of a workload.
    Delete(DeleteStep),
    /// Patch an object (a strategic merge patch).
    Patch(PatchStep),
    /// Evict a pod, or one pod of a workload.
    Evict(EvictStep),
    /// Run a command in a container.
    Exec(ExecStep),
    /// Scale a workload.
    Scale(ScaleStep),
    /// Roll out another template of a workload.
    Update(UpdateStep),
    /// Add an ephemeral container.
    Ephemeral(Box<EphemeralStep>),
    /// Apply a verb to the node of a pod, with the command that the user configured.
    Node(NodeStep),
    /// Taint the node of a pod, until the case ends.
    Taint(TaintStep),
    /// Remove a taint that an earlier step set.
    Untaint(UntaintStep),
    /// Cordon the node of a pod, until the case ends.
    Cordon(CordonStep),
    /// Drain the node of a pod with `kubectl drain`, limited to the pods of the case.
    Drain(DrainStep),
    /// Advertise an extended resource for the node of a pod, until the case ends.
    Advertise(AdvertiseStep),
    /// Read the counters of the case's probes from the kubelet of a pod's node: the node to which the pod was bound, even
    /// if the pod no longer exists.
    Metrics(MetricsStep),
    /// Submit a manifest to the API server as a dry run.
    Try(TryStep),
}

/// A pod, and optionally a container. The defaults are the only pod and its first target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ContainerRef {
    /// The pod's key.
    pub pod: Option<String>,
    /// The container's name.
    pub container: Option<String>,
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ChangeStep {
    /// The pod's key.
    #[serde(default)]
    pub pod: Option<String>,
    /// The container's name.
    #[serde(default)]
    pub container: Option<String>,
    /// The parts that change.
    pub to: Change,
}

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MarkStep {
    /// The pod's key.
    #[serde(default)]
    pub pod: Option<String>,
    /// The container's name.
    #[serde(default)]
    pub container: Option<String>,
    /// The mark's name.
    pub name: String,
}

/// A deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DeleteStep {
    /// The pod's key.
    pub pod: Option<String>,
    /// The key of a workload. The step applies to its oldest pod that is not being deleted.
    pub workload: Option<String>,
    /// The grace period in seconds. The default is the pod's own.
    pub grace: Option<u64>,
}

/// An eviction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct EvictStep {
    /// The pod's key.
    pub pod: Option<String>,
    /// The key of a workload. The step applies to its oldest pod that is not being deleted.
    pub workload: Option<String>,
}

/// A patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PatchStep {
    /// The pod's key. For another object, use `kind` and `name`.
    #[serde(default)]
    pub pod: Option<String>,
    /// The object's kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Its name, as written in the case.
    #[serde(default)]
    pub name: Option<String>,
    /// The subresource, such as `status`.
    #[serde(default)]
    pub subresource: Option<String>,
    /// The patch.
    pub patch: Value,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExecStep {
    /// The pod's key.
    #[serde(default)]
    pub pod: Option<String>,
    /// The container's name.
    #[serde(default)]
    pub container: Option<String>,
    /// The command.
    pub command: Vec<String>,
}

/// A new number of replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScaleStep {
    /// The object's kind, such as `Deployment`.
    pub kind: String,
    /// Its name, as written in the case.
    pub name: String,
    /// The desired number of replicas.
    pub replicas: u32,
}

/// An ephemeral container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EphemeralStep {
    /// The pod's key.
    #[serde(default)]
    pub pod: Option<String>,
    /// The container as Kubernetes writes it.
    pub container: Value,
    /// The plan of the container if it is a target. The harness fills in the container's image, command and outlets.
    /// The target has no control port, because an ephemeral container has no ports.
    #[serde(default)]
    pub target: Option<Plan>,
}

/// A verb that is applied to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NodeStep {
    /// The key of a pod on the node.
    #[serde(default)]
    pub pod: Option<String>,
    /// The verb, such as `restart-kubelet`.
    pub verb: String,
    /// The JSON that the command receives on its standard input.
    #[serde(default)]
    pub input: Option<Value>,
}

/// A reading of a kubelet's counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MetricsStep {
    /// The key of a pod on the node.
    pub pod: Option<String>,
}

/// A trial of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TryStep {
    /// A short name of the dry run.
    pub name: String,
    /// The manifest; its name and namespace are filled in.
    pub manifest: Value,
}

/// Checks that the workload of a deletion or an eviction exists. Returns whether the step names a pod instead.
fn speaks_of_pod(
    pod: Option<&String>,
    workload: Option<&String>,
    workloads: &BTreeMap<String, Workload>,
) -> Result<bool, String> {
    match workload {
        None => Ok(true),
        Some(_) if pod.is_some() => Err("write either `pod` or `workload`".to_owned()),
        Some(key) if workloads.contains_key(key) => Ok(false),
        Some(key) => Err(unknown(key, workloads)),
    }
}

impl Step {
    /// The pod specs in the step's patch or update, each with its place in the patch: the spec of a pod, and the spec
    /// in the template of a workload.
    pub(super) fn patched_specs(&self) -> impl Iterator<Item = (&'static [&'static str], &Value)> {
        let patch = match self {
            Self::Patch(of) => Some(&of.patch),
            Self::Update(of) => of.patch.as_ref(),
            _ => None,
        };
        patch.into_iter().flat_map(|patch| {
            let (pod, template): (&[&str], &[&str]) = (&["spec"], &["spec", "template", "spec"]);
            [(pod, &patch["spec"]), (template, &patch["spec"]["template"]["spec"])]
        })
    }

    /// Checks that the pods and workloads that the step names exist.
    pub(super) fn check(
        &self,
        pods: &BTreeMap<String, CasePod>,
        workloads: &BTreeMap<String, Workload>,
    ) -> Result<(), String> {
        let (pod, container) = self.speaks_of();
        let needs_pod = match self {
            Self::Watch(_) | Self::Try(_) | Self::Scale(_) => false,
            Self::Patch(patch) => patch.kind.is_none(),
            Self::Update(update) => update.check(workloads).map(|()| false)?,
            Self::Wait(wait) => !wait.check(workloads)?,
            Self::Delete(of) => speaks_of_pod(of.pod.as_ref(), of.workload.as_ref(), workloads)?,
            Self::Evict(of) => speaks_of_pod(of.pod.as_ref(), of.workload.as_ref(), workloads)?,
            _ => true,
        };
        if !needs_pod {
            return Ok(());
        }
        let key = pod.unwrap_or(ONLY);
        let Some(found) = pods.get(key) else {
            return Err(match pod {
                Some(pod) if pods.len() == 1 && pods.contains_key(ONLY) => {
                    let why = format!("there is no pod `{pod}`: the case has one pod, so leave `pod` out");
                    pin(&why, &[self.verb(), "pod"])
                }
                Some(pod) => {
                    let hint = there_is(pod, pods.keys().map(String::as_str));
                    pin(&format!("the case has no pod `{pod}`{hint}"), &[self.verb(), "pod"])
                }
                None if pods.is_empty() => "the case has no pods to which this could refer".to_owned(),
                None => "the case has several pods: choose one with `pod`".to_owned(),
            });
        };
        if let Some(container) = container
            && !found.target.contains_key(container)
            && !matches!(self, Self::Wait(_) | Self::Exec(_))
        {
            let hint = there_is(container, found.target.keys().map(String::as_str));
            let why = format!("`{container}` is not a target of pod `{key}`: it has no plan{hint}");
            return Err(pin(&why, &[self.verb(), "container"]));
        }
        Ok(())
    }

    /// The pod and the container that the step names.
    #[must_use]
    pub fn speaks_of(&self) -> (Option<&str>, Option<&str>) {
        let (pod, container) = match self {
            Self::Wait(wait) => (&wait.pod, &wait.container),
            Self::Change(change) => (&change.pod, &change.container),
            Self::Reset(of) | Self::Create(of) => (&of.pod, &of.container),
            Self::Evict(eviction) => (&eviction.pod, &None),
            Self::Mark(mark) => (&mark.pod, &mark.container),
            Self::Delete(deletion) => (&deletion.pod, &None),
            Self::Patch(patch) => (&patch.pod, &None),
            Self::Exec(exec) => (&exec.pod, &exec.container),
            Self::Ephemeral(ephemeral) => (&ephemeral.pod, &None),
            Self::Node(verb) => (&verb.pod, &None),
            Self::Taint(taint) => (&taint.pod, &None),
            Self::Untaint(of) => (&of.pod, &None),
            Self::Cordon(of) => (&of.pod, &None),
            Self::Drain(of) => (&of.pod, &None),
            Self::Advertise(of) => (&of.pod, &None),
            Self::Metrics(of) => (&of.pod, &None),
            Self::Watch(_) | Self::Scale(_) | Self::Update(_) | Self::Try(_) => (&None, &None),
        };
        (pod.as_deref(), container.as_deref())
    }
}
