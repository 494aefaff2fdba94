//! Cluster-scoped objects in a case, and the steps that change a node: what a case may contain.
//!
//! Other people use the cluster as well. So a case can create only PriorityClasses whose pods never preempt other
//! people's pods, and its taints have keys that nobody else uses.

use probity_script::problem::pin;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::one_of;
use crate::step::Step;

/// The kinds of cluster-scoped objects that a case can create.
pub const WIDE_KINDS: [&str; 1] = ["PriorityClass"];
/// The kinds of cluster-scoped objects that a case cannot create.
const FORBIDDEN: [&str; 9] = [
    "Namespace",
    "Node",
    "RuntimeClass",
    "StorageClass",
    "PersistentVolume",
    "ClusterRole",
    "ClusterRoleBinding",
    "IngressClass",
    "CustomResourceDefinition",
];
/// The prefix of the keys of taints and of the names of resources that only cases use.
pub const OWN_PREFIX: &str = "probity.dev/";
/// The taint with which an administrator declares that a node is permanently down.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// The taint effects.
pub const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A taint for the node of a pod. It is removed when the case ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TaintStep {
    /// The key of a pod on the node.
    #[serde(default)]
    pub pod: Option<String>,
    /// The key of the taint: `probity.dev/…`, or `node.kubernetes.io/out-of-service`.
    pub key: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
    /// Its effect: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// A taint that an earlier step gave to the node of a pod, and that is removed before the case ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UntaintStep {
    /// The key of a pod on the node.
    #[serde(default)]
    pub pod: Option<String>,
    /// The key of the taint.
    pub key: String,
    /// Its effect.
    pub effect: String,
}

/// A node to cordon, so that it accepts no new pods. It is uncordoned when the case ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CordonStep {
    /// The key of a pod on the node.
    pub pod: Option<String>,
}

/// A node from which `kubectl drain` evicts the pods of the case. It is uncordoned when the case ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DrainStep {
    /// The key of a pod on the node. The pod itself is drained too.
    pub pod: Option<String>,
    /// The number of seconds after which kubectl gives up. The default is 60.
    pub timeout: Option<u64>,
}

/// An extended resource that the node of a pod offers until the case ends. Only pods of cases request it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AdvertiseStep {
    /// The key of a pod on the node.
    #[serde(default)]
    pub pod: Option<String>,
    /// The name of the resource: `probity.dev/…`.
    pub resource: String,
    /// How much of it the node has.
    pub amount: u32,
}

/// The default timeout of `kubectl drain`, in seconds.
const DRAIN_TIMEOUT: u64 = 60;

impl DrainStep {
    /// After how many seconds kubectl gives up.
    #[must_use]
    pub fn timeout(&self) -> u64 {
        self.timeout.unwrap_or(DRAIN_TIMEOUT)
    }
}

impl AdvertiseStep {
    /// Checks that nobody else can depend on this resource.
    pub(crate) fn check(&self) -> Result<(), String> {
        let name = self.resource.strip_prefix(OWN_PREFIX).unwrap_or_default();
        if name.is_empty() || name.contains('/') {
            let why = format!(
                "`{}` is not a resource that a case can advertise: its name must begin with `{OWN_PREFIX}`",
                self.resource
            );
            return Err(pin(&why, &["advertise", "resource"]));
        }
        Ok(())
    }
}

impl TaintStep {
    /// Checks that nobody else can depend on this taint.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.key != OUT_OF_SERVICE && self.key.strip_prefix(OWN_PREFIX).is_none_or(str::is_empty) {
            let why = format!(
                "`{}` is not a taint that a case can set: its key must begin with `{OWN_PREFIX}`, or be `{OUT_OF_SERVICE}`",
                self.key
            );
            return Err(pin(&why, &["taint", "key"]));
        }
        one_of("a taint effect", &self.effect, &EFFECTS, &["taint", "effect"])
    }
}

impl UntaintStep {
    /// Checks that one of the steps before it gives the node this taint.
    pub(crate) fn check<'c>(&self, mut before: impl Iterator<Item = &'c Step>) -> Result<(), String> {
        let gives = |step: &Step| matches!(step, Step::Taint(of) if (&of.key, &of.effect) == (&self.key, &self.effect));
        if before.any(gives) {
            return Ok(());
        }
        let why = format!(
            "no earlier step taints the node with {}:{}, so there is nothing to remove",
            self.key, self.effect
        );
        Err(pin(&why, &["untaint", "key"]))
    }
}

/// Whether an object of a case is cluster-scoped.
#[must_use]
pub fn is_wide(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(|kind| WIDE_KINDS.contains(&kind))
}

/// Checks an object of a case, if it is cluster-scoped.
pub(crate) fn check_object(object: &Value, at: &str) -> Result<(), String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if FORBIDDEN.contains(&kind) {
        let why = format!(
            "a case cannot create a {kind}, because it belongs to the whole cluster; of such kinds, only {} are \
             allowed",
            WIDE_KINDS.join(", ")
        );
        return Err(pin(&why, &["objects", at, "kind"]));
    }
    if !is_wide(object) {
        return Ok(());
    }
    if object["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        return Err(pin(&format!("a {kind} needs a name: `metadata: {{ name: … }}`"), &["objects", at]));
    }
    if object["globalDefault"] == true {
        let why = "a PriorityClass of a case cannot be the default: it would apply to other users' pods";
        return Err(pin(why, &["objects", at, "globalDefault"]));
    }
    match object["value"].as_i64() {
        Some(value) if value < 0 => Ok(()),
        _ => {
            let why = "a PriorityClass of a case needs a negative `value`, so that it never preempts other users' \
                       pods, whose priority is 0 by default";
            Err(pin(why, &["objects", at]))
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::case::Case;

    const GOOD: &str = "\
case: a/b
story: because
needs: [cluster-scope, multi-node]
quiet: true
objects:
  - { apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: { name: low }, value: -10 }
pods:
  a:
    pod: { spec: { priorityClassName: '{object:low}', containers: [{ name: target }] } }
steps:
  - taint: { pod: a, key: probity.dev/away, effect: NoExecute }
  - cordon: { pod: a }
  - advertise: { pod: a, resource: probity.dev/room, amount: 1 }
  - drain: { pod: a, timeout: 20 }
  - untaint: { pod: a, key: probity.dev/away, effect: NoExecute }
";

    fn refused(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        Case::read("a.yaml", &GOOD.replace(from, to)).unwrap_err().line()
    }

    #[test]
    fn a_case_can_have_objects_of_the_whole_cluster_and_change_nodes() {
        let case = Case::read("a.yaml", GOOD).unwrap().remove(0);
        assert!(case.changes_a_node() && case.taints_a_node() && case.drains_a_node());
        assert!(case.advertises_a_resource());
    }

    #[test]
    fn what_would_harm_others_is_refused_at_its_place() {
        let said = refused("value: -10", "value: 10");
        assert!(
            said.starts_with("a.yaml, line 6, column 5: ") && said.contains("negative `value`"),
            "{said}"
        );
        let said = refused("value: -10", "value: -10, globalDefault: true");
        assert!(said.contains("cannot be the default"), "{said}");
        let said = refused("kind: PriorityClass", "kind: Namespace");
        assert!(said.contains("a case cannot create a Namespace"), "{said}");
        let said = refused("key: probity.dev/away", "key: node.kubernetes.io/unreachable");
        assert!(said.starts_with("a.yaml, line 11, column 27: "), "{said}");
        let said = refused("resource: probity.dev/room", "resource: example.com/gpu");
        assert!(said.contains("`example.com/gpu` is not a resource that a case can advertise"), "{said}");
        let said = refused("effect: NoExecute", "effect: NoExecution");
        assert!(said.contains("did you mean `NoExecute`?"), "{said}");
    }

    #[test]
    fn a_resource_that_only_pods_of_the_case_request_needs_no_other_node() {
        let of = |needs: &str| {
            let text = format!(
                "case: a/b\nstory: because\nneeds: [{needs}]\npods:\n  a: {{ pod: {{ spec: {{ containers: [{{ name: t }}] }} }} \
                 }}\nsteps:\n  - advertise: {{ pod: a, resource: probity.dev/room, amount: 1 }}\n"
            );
            Case::read("a.yaml", &text).map(drop).map_err(|why| why.line())
        };
        assert_eq!(of("cluster-scope"), Ok(()));
        assert!(of("").unwrap_err().contains("needs: [cluster-scope]"));
    }

    #[test]
    fn a_case_says_that_it_changes_the_cluster() {
        let said = refused("needs: [cluster-scope, multi-node]", "needs: [multi-node]");
        assert!(said.contains("needs: [cluster-scope"), "{said}");
        let said = refused("quiet: true", "quiet: false");
        assert!(said.contains("quiet: true"), "{said}");
    }

    #[test]
    fn a_placeholder_names_an_object_of_the_case() {
        let said = refused("{object:low}", "{object:lou}");
        assert_eq!(
            said,
            "a.yaml, line 9, column 5: the case has no object `lou` under `objects`; there is low; did you mean `low`?"
        );
    }
}
