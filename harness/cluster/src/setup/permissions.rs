//! The permissions that a run has, and the permissions that it needs. One table serves the check, `probity rbac`, and
//! messages.
//!
//! The check comes before anything is created. One request returns all rules in the namespace. Permissions in the whole
//! cluster, and permissions that the server does not list, are checked one by one.

mod manifests;

use futures_util::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, ResourceRule, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
};
use kube::Resource;
use kube::api::PostParams;
use kube::core::Request;
use kube::core::request::Error as BuildError;
use probity_case::{Case, PatchStep, Step, wide};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::client::ClusterClient;
use crate::api::kinds;
use crate::error::ClusterError;
use crate::fields::Fields as _;

pub use manifests::rbac_yaml;
pub(crate) use manifests::{rule_yaml, write_role};

/// When a permission is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Without it nothing can run.
    Always,
    /// Without it the user must name a namespace.
    ToMakeNamespaces,
    /// Without it some cases are skipped or some facts are unknown.
    Optional,
    /// Like `Optional`, but the permission allows more than its cases use. It must be granted manually, and only those
    /// cases mention it.
    ByHand,
}

/// A permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, such as `pods/exec`.
    pub resource: &'static str,
    /// What is done with it.
    pub verbs: &'static [&'static str],
    /// Whether it is a permission in the namespace, or in the whole cluster.
    pub namespaced: bool,
    /// When it is needed.
    pub need: Need,
    /// The purpose.
    pub purpose: &'static str,
}

type Verbs = &'static [&'static str];
const READ: Verbs = &["get", "list", "watch"];
const MANAGE: Verbs = &["create", "delete", "get", "list", "patch", "watch"];
const CONNECT: Verbs = &["create", "get"];
const SCALE: Verbs = &["get", "patch"];

const fn always(resource: &'static str, verbs: Verbs, purpose: &'static str) -> Rule {
    Rule { need: Need::Always, ..optional("", resource, verbs, purpose) }
}

const fn optional(group: &'static str, resource: &'static str, verbs: Verbs, purpose: &'static str) -> Rule {
    Rule { group, resource, verbs, namespaced: true, need: Need::Optional, purpose }
}

const fn in_group(group: &'static str, resource: &'static str, verbs: Verbs, purpose: &'static str) -> Rule {
    Rule { group, ..in_cluster(resource, verbs, Need::ByHand, purpose) }
}

const fn in_cluster(resource: &'static str, verbs: Verbs, need: Need, purpose: &'static str) -> Rule {
    Rule { group: "", resource, verbs, namespaced: false, need, purpose }
}

const OWN_PODS: &str = "to run the target, the recorder and the metronome, and to observe them";
const STREAM: &str = "to read the recorder's stream and to change plans at run time";
const TRAFFIC: &str = "to see whether a Service sends traffic to a pod";
const COMMANDS: &str = "to run cases that run a command in a container";
const EPHEMERAL: &str = "to run cases about ephemeral containers";
const RESIZE: &str = "to run cases about in-place resize";
const CONDITIONS: &str = "to run cases that set conditions of their own pods";
const ACCOUNT: &str = "to detect when a new namespace is ready for pods";
const ROLLOUTS: &str = "to run cases about rollouts";
const SCALING: &str = "to run cases that scale workloads";
const BUDGETS: &str = "to run cases about disruption budgets";
const POLICIES: &str = "to run cases about network policies";
const OWN_NAMESPACE: &str =
    "to create a namespace for the run and to remove it (or give one with --namespace)";
const NODES: &str = "to know the kubelets' versions and to run a metronome on each node";
const STARTS: &str = "to prove that a kubelet was restarted, by the event that it records for its node";
const COUNTERS: &str = "to run cases that read a kubelet's own counters of probes, and to prove that one was \
                        restarted (gives access to the kubelet's whole API, including commands in pods)";

const PRIORITIES: &str = "to run cases about preemption, which create PriorityClasses";
const NODE_CHANGES: &str = "to run cases that taint, cordon or drain a node";
const RESOURCES: &str = "to run cases that advertise an extended resource for a node";
const DRAINS: &str =
    "to run cases that drain a node with kubectl, which lists the pods of the node in all namespaces";

/// All permissions that a run may use.
pub const RULES: &[Rule] = &[
    always("pods", MANAGE, OWN_PODS),
    always("pods/portforward", CONNECT, STREAM),
    always("pods/log", &["get"], "to fill gaps in the recorder's stream"),
    always("events", READ, "to read the events that the kubelet records about probes"),
    optional("", "services", MANAGE, "to run cases about readiness and Services"),
    optional("", "endpoints", READ, TRAFFIC),
    optional("discovery.k8s.io", "endpointslices", READ, TRAFFIC),
    optional("", "pods/exec", CONNECT, COMMANDS),
    optional("", "pods/eviction", &["create"], "to run cases about eviction"),
    optional("", "pods/ephemeralcontainers", &["patch"], EPHEMERAL),
    optional("", "pods/resize", &["patch"], RESIZE),
    optional("", "pods/status", &["patch"], CONDITIONS),
    optional(
        "",
        "configmaps",
        MANAGE,
        "to run cases that mount a ConfigMap, and to record what a case does to a node",
    ),
    optional("", "secrets", MANAGE, "to run cases that mount a Secret"),
    optional("", "resourcequotas", MANAGE, "to run cases about quotas"),
    optional("", "serviceaccounts", &["get"], ACCOUNT),
    optional("apps", "deployments", MANAGE, ROLLOUTS),
    optional("apps", "deployments/scale", SCALE, SCALING),
    optional("apps", "replicasets", MANAGE, ROLLOUTS),
    optional("apps", "statefulsets", MANAGE, "to run cases about ordered pods"),
    optional("apps", "statefulsets/scale", SCALE, SCALING),
    optional("apps", "daemonsets", MANAGE, "to run cases about DaemonSets"),
    optional("batch", "jobs", MANAGE, "to run cases about Jobs"),
    optional("policy", "poddisruptionbudgets", MANAGE, BUDGETS),
    optional("networking.k8s.io", "networkpolicies", MANAGE, POLICIES),
    in_cluster("namespaces", &["create", "delete", "get", "list"], Need::ToMakeNamespaces, OWN_NAMESPACE),
    in_cluster("nodes", &["get", "list"], Need::Optional, NODES),
    in_cluster("events", &["list"], Need::ByHand, STARTS),
    in_group("scheduling.k8s.io", "priorityclasses", &["create", "delete", "get", "list"], PRIORITIES),
    in_cluster("nodes", &["patch"], Need::ByHand, NODE_CHANGES),
    in_cluster("nodes/status", &["patch"], Need::ByHand, RESOURCES),
    in_cluster("pods", &["list"], Need::ByHand, DRAINS),
    in_cluster("nodes/proxy", &["get"], Need::ByHand, COUNTERS),
];

/// A permission that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The rule.
    pub rule: Rule,
    /// The verbs of the rule that are missing.
    pub verbs: Vec<&'static str>,
}

impl Missing {
    /// As a fragment of a sentence: `create, delete pods in the namespace: to run the target`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let group = if self.rule.group.is_empty() { String::new() } else { format!(".{}", self.rule.group) };
        let place = if self.rule.namespaced { "in the namespace" } else { "in the whole cluster" };
        format!("{} {}{group} {place}: {}", self.verbs.join(", "), self.rule.resource, self.rule.purpose)
    }
}

/// What a run may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The missing permissions.
    pub missing: Vec<Missing>,
}

impl Permissions {
    /// The missing permissions for a resource in the whole cluster, in words.
    #[must_use]
    pub fn lacking(&self, resource: &str) -> Option<String> {
        let wide = |missing: &&Missing| !missing.rule.namespaced && missing.rule.resource == resource;
        self.missing.iter().find(wide).map(Missing::in_words)
    }

    /// The missing permission in the whole cluster that a case needs, in words.
    #[must_use]
    pub fn lacking_for_scope(&self, case: &Case) -> Option<String> {
        let needed = [
            ("priorityclasses", "create", case.objects.iter().any(wide::is_wide)),
            ("nodes", "patch", case.changes_a_node()),
            ("nodes/status", "patch", case.advertises_a_resource()),
            ("pods", "list", case.drains_a_node()),
        ];
        let missing = |(resource, verb): (&str, &str)| {
            let of = |missing: &&Missing| {
                !missing.rule.namespaced
                    && missing.rule.resource == resource
                    && missing.rule.verbs.contains(&verb)
            };
            self.missing.iter().find(of).map(Missing::in_words)
        };
        needed
            .into_iter()
            .filter(|(.., needs)| *needs)
            .find_map(|(resource, verb, _)| missing((resource, verb)))
    }

    /// The namespaced permission that the objects or steps of a case need and that is missing, in words.
    #[must_use]
    pub fn lacking_in_namespace(&self, case: &Case) -> Option<String> {
        let missing = |resource: &str| {
            let of = |missing: &&Missing| missing.rule.namespaced && missing.rule.resource == resource;
            self.missing.iter().find(of).map(Missing::in_words)
        };
        let objects = case.objects.iter().filter(|object| !wide::is_wide(object));
        let for_object = objects.filter_map(|object| self.lacking_for(object.text("/kind"))).next();
        for_object.or_else(|| {
            case.steps.iter().find_map(|step| match step {
                Step::Exec(_) => missing("pods/exec"),
                Step::Evict(_) | Step::Drain(_) => missing("pods/eviction"),
                Step::Ephemeral(_) => missing("pods/ephemeralcontainers"),
                Step::Patch(PatchStep { kind: Some(kind), .. }) => self.lacking_for(kind),
                Step::Patch(PatchStep { subresource: Some(of), .. }) => missing(&format!("pods/{of}")),
                _ => None,
            })
        })
    }

    /// The missing permissions to create objects of a kind and to observe them, in words.
    #[must_use]
    pub fn lacking_for(&self, kind: &str) -> Option<String> {
        let kind = kinds::find(kind).ok()?;
        let of = |missing: &&Missing| {
            missing.rule.group == kind.resource.group
                && missing.rule.resource == kind.resource.plural
                && missing.rule.namespaced == kind.namespaced
        };
        self.missing.iter().find(of).map(Missing::in_words)
    }

    /// Checks that the permissions exist without which nothing can run.
    ///
    /// # Errors
    ///
    /// If needed permissions are missing. The error lists all of them, each with its purpose.
    pub fn demand(&self, creates_namespaces: bool) -> Result<(), ClusterError> {
        let needed = |missing: &&Missing| match missing.rule.need {
            Need::Always => true,
            Need::ToMakeNamespaces => creates_namespaces,
            Need::Optional | Need::ByHand => false,
        };
        let missing: Vec<String> = self.missing.iter().filter(needed).map(Missing::in_words).collect();
        if missing.is_empty() { Ok(()) } else { Err(ClusterError::Permissions(missing)) }
    }

    /// The optional permissions that are missing, in words.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
        let optional = self.missing.iter().filter(|missing| missing.rule.need == Need::Optional);
        optional.map(Missing::in_words).collect()
    }
}

/// Asks what is allowed in a namespace, which need not exist yet. Creates nothing.
///
/// # Errors
///
/// If the server does not answer.
pub async fn check(cluster: &ClusterClient, namespace: &str) -> Result<Permissions, ClusterError> {
    let (granted, complete) = granted(cluster, namespace).await?;
    // A permission in the namespace says nothing about the whole cluster.
    let is_granted =
        |rule: &Rule, verb: &str| rule.namespaced && granted.iter().any(|grant| covers(grant, rule, verb));
    let allowed = RULES.iter().flat_map(|rule| rule.verbs.iter().map(move |verb| (rule, *verb)));
    let allowed = allowed.map(async |(rule, verb)| {
        if is_granted(rule, verb) || (rule.namespaced && complete) {
            return Ok(is_granted(rule, verb));
        }
        may(cluster, namespace, rule, verb).await
    });
    let allowed: Result<Vec<bool>, ClusterError> = join_all(allowed).await.into_iter().collect();
    let mut allowed = allowed?.into_iter();
    let missing = RULES.iter().filter_map(|rule| {
        let answers = rule.verbs.iter().zip(allowed.by_ref());
        let verbs: Vec<_> = answers.filter(|(_, allowed)| !allowed).map(|(verb, _)| *verb).collect();
        (!verbs.is_empty()).then_some(Missing { rule: *rule, verbs })
    });
    Ok(Permissions { missing: missing.collect() })
}

fn covers(grant: &ResourceRule, rule: &Rule, verb: &str) -> bool {
    let has = |list: &[String], word: &str| list.iter().any(|item| item == "*" || item == word);
    let resources = grant.resources.as_deref().unwrap_or_default();
    let subresource = rule.resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
    grant.resource_names.as_ref().is_none_or(Vec::is_empty)
        && has(&grant.verbs, verb)
        && has(grant.api_groups.as_deref().unwrap_or_default(), rule.group)
        && (has(resources, rule.resource) || subresource.is_some_and(|any| resources.contains(&any)))
}

/// The rules that the server lists as granted in the namespace, and whether the list is complete.
async fn granted(
    cluster: &ClusterClient,
    namespace: &str,
) -> Result<(Vec<ResourceRule>, bool), ClusterError> {
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) };
    let question = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    match ask(cluster, "list the permissions of this user", &question).await {
        Ok(answer) => {
            let status = answer.status.unwrap_or_default();
            Ok((status.resource_rules, !status.incomplete))
        }
        // If this request is refused, each permission is checked separately.
        Err(error) if error.refusal().is_some() => Ok((Vec::new(), false)),
        Err(error) => Err(error),
    }
}

async fn may(
    cluster: &ClusterClient,
    namespace: &str,
    rule: &Rule,
    verb: &str,
) -> Result<bool, ClusterError> {
    let (resource, subresource) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
    let attributes = ResourceAttributes {
        namespace: rule.namespaced.then(|| namespace.to_owned()),
        verb: Some(verb.to_owned()),
        group: Some(rule.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: Some(subresource.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let question = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = ask(cluster, &format!("check permission to {verb} {}", rule.resource), &question).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

async fn ask<Q>(cluster: &ClusterClient, doing: &str, question: &Q) -> Result<Q, ClusterError>
where
    Q: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
{
    let body = serde_json::to_vec(question).map_err(BuildError::SerializeBody);
    let post = |body| Request::new(Q::url_path(&(), None)).create(&PostParams::default(), body);
    cluster.request(doing, body.and_then(post)).await
}
