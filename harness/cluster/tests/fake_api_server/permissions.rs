//! Missing permissions are named, each with its purpose, before anything is created.

use probity_cluster::ClusterError;
use probity_cluster::permissions::{Need, Permissions, RULES, Rule, check, rbac_yaml};
use serde_json::{Value, json};

use crate::server::{FakeApiServer, ReceivedRequest, ScriptedAnswer};

const RULES_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const ACCESS_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// How the server answers the request for all rules.
#[derive(Clone, Copy, PartialEq)]
enum Listing {
    Complete,
    Incomplete,
    Refused,
}

/// A server that grants every rule but one.
fn all_but(
    without: Option<&'static Rule>,
    listing: Listing,
) -> impl Fn(&ReceivedRequest) -> Option<ScriptedAnswer> {
    move |asked| match (asked.path.as_str(), listing) {
        (RULES_REVIEW, Listing::Refused) => None,
        (RULES_REVIEW, Listing::Incomplete) => {
            Some(ScriptedAnswer::Json(201, json!({ "status": { "resourceRules": [], "incomplete": true } })))
        }
        (RULES_REVIEW, Listing::Complete) => {
            let rules: Vec<Value> = RULES
                .iter()
                .filter(|rule| rule.namespaced && Some(*rule) != without)
                .map(|rule| json!({ "verbs": rule.verbs, "apiGroups": [rule.group], "resources": [rule.resource] }))
                .collect();
            Some(ScriptedAnswer::Json(
                201,
                json!({ "status": { "resourceRules": rules, "incomplete": false } }),
            ))
        }
        (ACCESS_REVIEW, _) => {
            let wanted = &asked.body["spec"]["resourceAttributes"];
            let resource = [&wanted["resource"], &wanted["subresource"]]
                .iter()
                .filter_map(|part| part.as_str().filter(|part| !part.is_empty()))
                .collect::<Vec<_>>()
                .join("/");
            let inside = wanted["namespace"].as_str().is_some_and(|namespace| !namespace.is_empty());
            let asks_for = |rule: &Rule| {
                rule.resource == resource
                    && wanted["group"] == rule.group
                    && rule.namespaced == inside
                    && rule.verbs.iter().any(|verb| wanted["verb"] == *verb)
            };
            let denied = without.is_some_and(asks_for);
            Some(ScriptedAnswer::Json(201, json!({ "status": { "allowed": !denied } })))
        }
        _ => None,
    }
}

async fn permissions(without: Option<&'static Rule>, listing: Listing) -> (Permissions, FakeApiServer) {
    let server = FakeApiServer::start(all_but(without, listing)).await;
    let permissions = check(&server.client().await, "n").await.unwrap();
    (permissions, server)
}

#[tokio::test]
async fn each_missing_right_is_named_with_its_purpose_and_nothing_was_created() {
    for rule in RULES {
        let (permissions, server) = permissions(Some(rule), Listing::Complete).await;
        let [missing] = permissions.missing.as_slice() else { panic!("{rule:?}: {:?}", permissions.missing) };
        assert_eq!((missing.rule, missing.verbs.as_slice()), (*rule, rule.verbs));
        assert!(
            server.asked().iter().all(|asked| [RULES_REVIEW, ACCESS_REVIEW].contains(&asked.path.as_str()))
        );
        let demanded = permissions.demand(true);
        match rule.need {
            Need::Optional => {
                assert!(demanded.is_ok());
                assert!(permissions.shortcomings()[0].contains(rule.purpose));
            }
            Need::ByHand => {
                assert!(
                    demanded.is_ok() && permissions.shortcomings().is_empty(),
                    "only the cases that need it mention it"
                );
                assert!(permissions.lacking(rule.resource).unwrap().contains(rule.purpose));
            }
            Need::Always | Need::ToMakeNamespaces => {
                let words = demanded.unwrap_err().to_string();
                assert!(words.contains(rule.resource) && words.contains(rule.purpose), "{words}");
                assert!(words.contains("probity rbac"), "{words}");
            }
        }
    }
}

#[tokio::test]
async fn a_given_namespace_needs_no_right_to_make_one() {
    let rule = RULES.iter().find(|rule| rule.need == Need::ToMakeNamespaces).unwrap();
    let (permissions, _) = permissions(Some(rule), Listing::Complete).await;
    assert!(permissions.demand(false).is_ok());
    assert!(
        matches!(permissions.demand(true), Err(ClusterError::Permissions(missing)) if missing.len() == 1)
    );
}

#[tokio::test]
async fn what_the_server_does_not_list_is_asked_for_singly() {
    let rule = RULES.iter().find(|rule| rule.resource == "pods/portforward").unwrap();
    for listing in [Listing::Incomplete, Listing::Refused] {
        let (permissions, _) = permissions(Some(rule), listing).await;
        let missing: Vec<_> = permissions.missing.iter().map(|missing| missing.rule.resource).collect();
        assert_eq!(missing, ["pods/portforward"]);
    }
}

#[tokio::test]
async fn with_all_rights_nothing_is_missing_and_the_check_is_cheap() {
    let (permissions, server) = permissions(None, Listing::Complete).await;
    assert_eq!(permissions, Permissions::default());
    // One review of the rules of the namespace, and one question for each permission in the whole cluster.
    assert!(server.asked().len() <= 16, "{:?}", server.lines());
}

#[tokio::test]
async fn a_grant_for_named_objects_or_another_group_is_no_grant() {
    let grants = json!([
        { "verbs": ["*"], "apiGroups": [""], "resources": ["*"], "resourceNames": ["one"] },
        { "verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"] },
    ]);
    let server = FakeApiServer::start(move |asked| match asked.path.as_str() {
        RULES_REVIEW => Some(ScriptedAnswer::Json(
            201,
            json!({ "status": { "resourceRules": grants, "incomplete": false } }),
        )),
        _ => Some(ScriptedAnswer::Json(201, json!({ "status": { "allowed": false } }))),
    })
    .await;
    let permissions = check(&server.client().await, "n").await.unwrap();
    let expected = RULES.iter().filter(|rule| rule.group != "apps").count();
    assert_eq!(permissions.missing.len(), expected);
}

#[test]
fn the_manifests_grant_every_rule() {
    for namespace in [None, Some("mine")] {
        let yaml = rbac_yaml(namespace);
        for rule in RULES.iter().filter(|rule| namespace.is_none() || rule.need != Need::ToMakeNamespaces) {
            let line = format!("resources: [\"{}\"], verbs: [{}]", rule.resource, rule.verbs.join(", "));
            assert!(yaml.contains(&line) && yaml.contains(rule.purpose), "{line}");
        }
    }
    assert!(!rbac_yaml(Some("mine")).contains("resources: [\"namespaces\"]"));
    assert!(
        rbac_yaml(None).contains("  # - { apiGroups: [\"\"], resources: [\"nodes/proxy\"]"),
        "only by hand"
    );
}

#[tokio::test]
async fn a_workload_that_may_not_be_made_is_known_by_its_kind() {
    let rule = RULES.iter().find(|rule| rule.resource == "deployments").unwrap();
    let (permissions, _fake) = permissions(Some(rule), Listing::Complete).await;
    let said = permissions.lacking_for("Deployment").unwrap();
    assert!(said.contains("deployments.apps") && said.contains("create"), "{said}");
    assert_eq!((permissions.lacking_for("StatefulSet"), permissions.lacking_for("Pod")), (None, None));
}

#[tokio::test]
async fn a_case_names_the_missing_right_for_its_objects_and_steps() {
    let pod = "pod: { spec: { containers: [{ name: c }] } }";
    let patch = "patch: { subresource: resize, patch: { spec: {} } }";
    let service = "objects: [{ apiVersion: v1, kind: Service, metadata: { name: s }, spec: {} }]\n";
    for (resource, objects, step) in [
        ("pods/exec", "", "exec: { command: [ls] }"),
        ("pods/eviction", "", "evict: {}"),
        ("pods/ephemeralcontainers", "", "ephemeral: { container: { name: e } }"),
        ("pods/resize", "", patch),
        ("services", service, "watch: 1s"),
    ] {
        let text = format!("case: a/b\nstory: x\n{objects}{pod}\nsteps: [{{ {step} }}]\n");
        let case = probity_case::Case::read("a.yaml", &text).unwrap().remove(0);
        let rule = RULES.iter().find(|rule| rule.resource == resource).unwrap();
        let (permissions, _server) = permissions(Some(rule), Listing::Complete).await;
        let said = permissions.lacking_in_namespace(&case);
        assert!(said.as_ref().is_some_and(|said| said.contains(rule.purpose)), "{resource}: {said:?}");
        assert_eq!(Permissions::default().lacking_in_namespace(&case), None);
    }
}

#[tokio::test]
async fn a_case_that_changes_the_whole_cluster_needs_the_right_to_do_so() {
    let text = "case: a/b\nstory: x\nneeds: [cluster-scope, multi-node]\nquiet: true\nobjects: [{ apiVersion: scheduling.k8s.io/v1, \
                kind: PriorityClass, metadata: { name: low }, value: -1 }]\npod: { spec: { containers: [{ name: c }] } }\n\
                steps: [{ taint: { key: probity.dev/a, effect: NoExecute } }, { drain: {} }]\n";
    let case = probity_case::Case::read("a.yaml", text).unwrap().remove(0);
    let plain = probity_case::Case::read(
        "b.yaml",
        "case: a/c\nstory: x\npod: { spec: { containers: [{ name: c }] } }\n",
    );
    let plain = plain.unwrap().remove(0);
    for (resource, verb) in [("priorityclasses", "create"), ("nodes", "patch"), ("pods", "list")] {
        let wide = |rule: &&'static Rule| {
            !rule.namespaced && rule.resource == resource && rule.verbs.contains(&verb)
        };
        let rule = RULES.iter().find(wide).unwrap();
        let (permissions, _server) = permissions(Some(rule), Listing::Complete).await;
        assert_eq!(rule.need, Need::ByHand);
        assert!(
            permissions.lacking_for_scope(&case).is_some_and(|why| why.contains(rule.purpose)),
            "{rule:?}"
        );
        assert_eq!(permissions.lacking_for_scope(&plain), None);
        assert_eq!(
            permissions.lacking_for("Pod"),
            None,
            "a permission in the whole cluster is none in the namespace"
        );
    }
}
