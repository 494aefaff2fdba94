//! What a run is allowed to do, and what it must be: one table for the check, for `probity rbac`, and for the words.
//!
//! The check comes before anything is created. It asks once for all rules in the namespace, and singly for what lies
//! outside of it or what the server would not list.

mod manifests;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::connect::Ground;
use crate::error::{ClusterError, SendError};
use crate::kinds;

pub use manifests::rbac_yaml;

/// When a right is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Without it nothing can run.
    Always,
    /// Without it a namespace must be given.
    ToMakeNamespaces,
    /// Without it some cases are skipped or some facts unknown.
    Optional,
    /// Like `Optional`, but it opens more than its cases use: it is granted only by hand, and nothing is said without it
    /// but by those cases.
    ByHand,
}

/// A right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, such as `pods/exec`.
    pub resource: &'static str,
    /// What is done with it.
    pub verbs: &'static [&'static str],
    /// Whether it is a right in the namespace, or one for the whole cluster.
    pub namespaced: bool,
    /// When it is needed.
    pub need: Need,
    /// What for.
    pub purpose: &'static str,
}

const fn rule(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    need: Need,
    purpose: &'static str,
) -> Rule {
    Rule { group, resource, verbs, namespaced: true, need, purpose }
}

const fn wide(
    resource: &'static str,
    verbs: &'static [&'static str],
    need: Need,
    purpose: &'static str,
) -> Rule {
    Rule { group: "", resource, verbs, namespaced: false, need, purpose }
}

const SEEN: &[&str] = &["get", "list", "watch"];
const MADE: &[&str] = &["create", "delete", "get", "list", "patch", "watch"];

/// All rights that a run may use.
pub const RULES: &[Rule] = &[
    rule(
        "",
        "pods",
        MADE,
        Need::Always,
        "to run the target, the recorder and the metronome, and to see what becomes of them",
    ),
    rule(
        "",
        "pods/portforward",
        &["create", "get"],
        Need::Always,
        "to read the recorder's stream and to change plans at run time",
    ),
    rule("", "pods/log", &["get"], Need::Always, "to fill holes in what the recorder heard"),
    rule("", "events", SEEN, Need::Always, "to see what the kubelet tells about probes"),
    rule("", "services", MADE, Need::Optional, "to run cases about readiness and Services"),
    rule("", "endpoints", SEEN, Need::Optional, "to see whether a Service sends traffic to a pod"),
    rule(
        "discovery.k8s.io",
        "endpointslices",
        SEEN,
        Need::Optional,
        "to see whether a Service sends traffic to a pod",
    ),
    rule(
        "",
        "pods/exec",
        &["create", "get"],
        Need::Optional,
        "to run cases that run a command in a container",
    ),
    rule("", "pods/eviction", &["create"], Need::Optional, "to run cases about eviction"),
    rule(
        "",
        "pods/ephemeralcontainers",
        &["patch"],
        Need::Optional,
        "to run cases about ephemeral containers",
    ),
    rule("", "pods/resize", &["patch"], Need::Optional, "to run cases about in-place resize"),
    rule("", "configmaps", MADE, Need::Optional, "to run cases that mount a ConfigMap"),
    rule("", "secrets", MADE, Need::Optional, "to run cases that mount a Secret"),
    rule(
        "",
        "serviceaccounts",
        &["get"],
        Need::Optional,
        "to see at once that a new namespace is ready for pods",
    ),
    rule("apps", "deployments", MADE, Need::Optional, "to run cases about rollouts"),
    rule("apps", "deployments/scale", &["get", "patch"], Need::Optional, "to run cases that scale"),
    rule("apps", "replicasets", MADE, Need::Optional, "to run cases about rollouts"),
    rule("apps", "statefulsets", MADE, Need::Optional, "to run cases about ordered pods"),
    rule("apps", "statefulsets/scale", &["get", "patch"], Need::Optional, "to run cases that scale"),
    rule("batch", "jobs", MADE, Need::Optional, "to run cases about Jobs"),
    rule("policy", "poddisruptionbudgets", MADE, Need::Optional, "to run cases about disruption budgets"),
    rule("networking.k8s.io", "networkpolicies", MADE, Need::Optional, "to run cases about network policies"),
    wide(
        "namespaces",
        &["create", "delete", "get", "list"],
        Need::ToMakeNamespaces,
        "to make a namespace for the run and to remove it (else give one with --namespace)",
    ),
    wide(
        "nodes",
        &["get", "list"],
        Need::Optional,
        "to know the kubelets' versions and to run a metronome on each node",
    ),
    wide(
        "nodes/proxy",
        &["get"],
        Need::ByHand,
        "to run cases that read a kubelet's own counters of probes (it opens the kubelet's whole API, commands in pods \
         included)",
    ),
];

/// A right that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The rule.
    pub rule: Rule,
    /// Those of its verbs that are missing.
    pub verbs: Vec<&'static str>,
}

impl Missing {
    /// As a sentence's fragment: `create, delete pods in the namespace: to run the target`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let group = if self.rule.group.is_empty() { String::new() } else { format!(".{}", self.rule.group) };
        let place = if self.rule.namespaced { "in the namespace" } else { "in the whole cluster" };
        format!("{} {}{group} {place}: {}", self.verbs.join(", "), self.rule.resource, self.rule.purpose)
    }
}

/// Missing rights, one to a line.
pub(crate) fn in_lines(missing: &[Missing]) -> String {
    missing.iter().map(|right| format!("\n  {}", right.in_words())).collect()
}

/// What is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// What is not.
    pub missing: Vec<Missing>,
}

impl Rights {
    /// What is missing of a rule for the whole cluster, in words.
    #[must_use]
    pub fn lacking(&self, resource: &str) -> Option<String> {
        let wide = |missing: &&Missing| !missing.rule.namespaced && missing.rule.resource == resource;
        self.missing.iter().find(wide).map(Missing::in_words)
    }

    /// Whether all verbs of the rule for this resource are allowed. What no rule speaks of is.
    #[must_use]
    pub fn allow(&self, resource: &str) -> bool {
        !self.missing.iter().any(|missing| missing.rule.resource == resource)
    }

    /// What is missing of the rights to make objects of a kind and to see what becomes of them, in words.
    #[must_use]
    pub fn lacking_for(&self, kind: &str) -> Option<String> {
        let kind = kinds::find(kind).ok()?;
        let of =
            |missing: &&Missing| (missing.rule.group, missing.rule.resource) == (kind.group, kind.plural);
        self.missing.iter().find(of).map(Missing::in_words)
    }

    /// Demands what a run can't do without.
    ///
    /// # Errors
    ///
    /// If a needed right is missing: all of them, each with its purpose.
    pub fn demand(&self, makes_namespaces: bool) -> Result<(), ClusterError> {
        let needed = |need: Need| match need {
            Need::Always => true,
            Need::ToMakeNamespaces => makes_namespaces,
            Need::Optional | Need::ByHand => false,
        };
        let missing: Vec<Missing> =
            self.missing.iter().filter(|missing| needed(missing.rule.need)).cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(ClusterError::Rights(missing)) }
    }

    /// What is missing and can be done without, in words.
    #[must_use]
    pub fn shortcomings(&self) -> Vec<String> {
        let optional = self.missing.iter().filter(|missing| missing.rule.need == Need::Optional);
        optional.map(Missing::in_words).collect()
    }
}

/// Asks what is allowed in a namespace, which need not be there yet. Creates nothing.
///
/// # Errors
///
/// If the server can't be asked.
pub async fn check(ground: &Ground, namespace: &str) -> Result<Rights, ClusterError> {
    let listed = review(ground, namespace).await?;
    let mut questions = Vec::new();
    let mut known = Vec::new();
    for rule in RULES {
        let unlisted = |verb: &&str| !listed.iter().any(|granted| granted.covers(rule, verb));
        let open: Vec<&'static str> = match (&listed, rule.namespaced) {
            (Granted { complete: true, .. }, true) => {
                known.push((rule, rule.verbs.iter().copied().filter(|verb| unlisted(verb)).collect()));
                continue;
            }
            (_, true) => rule.verbs.iter().copied().filter(|verb| unlisted(verb)).collect(),
            // A rule that is bound in the namespace says nothing of the whole cluster.
            (_, false) => rule.verbs.to_vec(),
        };
        questions.extend(open.into_iter().map(|verb| (rule, verb)));
    }
    let answers = join_all(questions.iter().map(|(rule, verb)| may(ground, namespace, rule, verb))).await;
    for ((rule, verb), answer) in questions.into_iter().zip(answers) {
        if !answer? {
            known.push((rule, vec![verb]));
        }
    }
    Ok(gather(known))
}

fn gather(known: Vec<(&Rule, Vec<&'static str>)>) -> Rights {
    let missing = RULES.iter().filter_map(|rule| {
        let verbs: Vec<_> =
            known.iter().filter(|(of, _)| *of == rule).flat_map(|(_, verbs)| verbs).copied().collect();
        (!verbs.is_empty()).then_some(Missing { rule: *rule, verbs })
    });
    Rights { missing: missing.collect() }
}

/// What the server lists as granted.
struct Granted {
    rules: Vec<Grant>,
    complete: bool,
}

impl Granted {
    fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.rules.iter()
    }
}

/// A rule as the server lists it.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Grant {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl Grant {
    fn covers(&self, rule: &Rule, verb: &str) -> bool {
        let has = |list: &[String], word: &str| list.iter().any(|item| item == "*" || item == word);
        let below = rule.resource.split_once('/').map(|(_, below)| format!("*/{below}"));
        self.resource_names.is_empty()
            && has(&self.verbs, verb)
            && has(&self.api_groups, rule.group)
            && (has(&self.resources, rule.resource)
                || below.is_some_and(|below| self.resources.contains(&below)))
    }
}

async fn review(ground: &Ground, namespace: &str) -> Result<Granted, ClusterError> {
    let question = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": { "namespace": namespace },
    });
    let target = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let asked =
        ground.ask("ask for our rights", Method::POST, target, Some(("application/json", &question))).await;
    let status = match asked {
        Ok(answer) => answer.get("status").cloned().unwrap_or_default(),
        // Where it may not be asked for, each right is asked for singly.
        Err(SendError::Refused { .. }) => Value::Null,
        Err(SendError::Failed(error)) => return Err(error),
    };
    let rules = status.get("resourceRules").cloned().unwrap_or_default();
    let incomplete = status.get("incomplete").and_then(Value::as_bool).unwrap_or(true);
    Ok(Granted { rules: serde_json::from_value(rules).unwrap_or_default(), complete: !incomplete })
}

async fn may(ground: &Ground, namespace: &str, rule: &Rule, verb: &str) -> Result<bool, ClusterError> {
    let (resource, below) = rule.resource.split_once('/').unwrap_or((rule.resource, ""));
    let namespace = if rule.namespaced { namespace } else { "" };
    let question = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "namespace": namespace, "verb": verb, "group": rule.group, "resource": resource, "subresource": below,
        } },
    });
    let target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let doing = format!("ask whether we may {verb} {}", rule.resource);
    let answer = ground.ask(&doing, Method::POST, target, Some(("application/json", &question))).await?;
    Ok(answer.get("status").and_then(|status| status.get("allowed")?.as_bool()).unwrap_or(false))
}
