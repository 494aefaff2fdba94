//! Dry runs: what the API server finds invalid stops a run, and what a policy refuses only skips its case.

use std::collections::BTreeMap;

use probity_case::{Case, Placement};
use probity_cluster::{ClusterError, Progress, RunClock, RunError, RunOptions, conduct, keeps, rehearse};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use crate::server::{FakeApiServer, Piece, ReceivedRequest, ScriptedAnswer, list, object, refused};

fn case(name: &str, more: &str) -> Case {
    let text = format!("case: {name}\nstory: x\n{more}");
    Case::read("case.yaml", &text).unwrap().remove(0)
}

fn plain(name: &str) -> Case {
    case(name, "pod: { spec: { containers: [{ name: c }] } }\n")
}

fn options(keep: bool) -> RunOptions {
    RunOptions {
        run: "r".to_owned(),
        namespace: None,
        placement: Placement::default(),
        bound: BTreeMap::new(),
        image: "agnhost:dev".to_owned(),
        pull_policy: "Never".to_owned(),
        node_command: None,
        kubectl: None,
        keep,
        starts: 2,
        pods: None,
    }
}

fn name(asked: &ReceivedRequest) -> &str {
    asked.body["metadata"]["name"].as_str().unwrap()
}

/// The refusal of a policy, which names the pod.
fn denied(asked: &ReceivedRequest) -> ScriptedAnswer {
    let why = format!("admission webhook \"w\" denied the request:\n\nPod/{} has no owner", name(asked));
    refused(400, "", &why)
}

fn accepted(asked: &ReceivedRequest) -> ScriptedAnswer {
    ScriptedAnswer::Json(201, asked.body.clone())
}

fn invalid(_: &ReceivedRequest) -> ScriptedAnswer {
    refused(422, "Invalid", "Pod \"a\" is invalid: spec.containers[0].name: Required value")
}

/// A cluster that answers dry runs of pods like this, and in which no pod can be created.
async fn cluster(
    answer: impl Fn(&ReceivedRequest) -> ScriptedAnswer + Send + Sync + 'static,
) -> FakeApiServer {
    FakeApiServer::start(move |asked| match asked.line().as_str() {
        "POST /api/v1/namespaces" => Some(ScriptedAnswer::Json(201, asked.body.clone())),
        "GET /api/v1/namespaces/r/serviceaccounts/default" => {
            Some(ScriptedAnswer::Json(200, object("default", 1)))
        }
        "POST /api/v1/namespaces/r/pods" if asked.query.contains_key("dryRun") => Some(answer(asked)),
        "POST /api/v1/namespaces/r/pods" => Some(refused(403, "Forbidden", "no recorder here")),
        "GET /api/v1/namespaces/r" if asked.nth == 0 => {
            let labels = json!({ "probity.dev/run": "r" });
            Some(ScriptedAnswer::Json(200, json!({ "metadata": { "name": "r", "labels": labels } })))
        }
        "GET /api/v1/namespaces/r" => None,
        "DELETE /api/v1/namespaces/r" => Some(ScriptedAnswer::Json(200, json!({ "status": "Success" }))),
        _ if asked.is_watch() => Some(ScriptedAnswer::Pieces(vec![Piece::Hang])),
        _ if asked.method == "GET" => Some(list(1, &[])),
        _ => None,
    })
    .await
}

/// How a run of these cases ends, and the cases that it skips, each with the reason. Every run removes its namespace.
async fn run(server: &FakeApiServer, cases: Vec<Case>, keep: bool) -> (RunError, Vec<(String, String)>) {
    let (out, mut progress) = unbounded_channel();
    let client = server.client().await;
    let ended = conduct(client, options(keep), cases, RunClock::now(), out, CancellationToken::new()).await;
    let mut skipped = Vec::new();
    while let Ok(next) = progress.try_recv() {
        if let Progress::Skipped { case, why, .. } = next {
            skipped.push((case.0, why));
        }
    }
    let lines = server.lines();
    assert_eq!(lines[0], "POST /api/v1/namespaces", "{lines:?}");
    assert!(lines.contains(&"DELETE /api/v1/namespaces/r".to_owned()), "{lines:?}");
    (ended.unwrap_err(), skipped)
}

#[tokio::test]
async fn a_policy_that_refuses_every_case_ends_the_run_with_its_message_and_nothing_remains() {
    for keep in [false, true] {
        let server = cluster(denied).await;
        let (error, skipped) = run(&server, vec![plain("a/one"), plain("a/two")], keep).await;
        assert!(matches!(error, RunError::AllRefused(_)), "{error}");
        let said = error.to_string();
        assert!(said.ends_with("webhook \"w\" denied the request: Pod/NAME has no owner"), "{said}");
        assert!(skipped.is_empty(), "{skipped:?}");
        let asked = server.asked();
        let mut pods = asked.iter().filter(|asked| asked.line() == "POST /api/v1/namespaces/r/pods");
        assert!(pods.all(|asked| asked.query["dryRun"] == "All"), "no pod was created");
    }
}

#[tokio::test]
async fn a_policy_that_refuses_one_case_skips_it_and_the_run_continues() {
    let server = cluster(|asked| if name(asked) == "a-one" { denied(asked) } else { accepted(asked) }).await;
    let mut on_node = plain("a/one");
    on_node.name = on_node.name.on_node("n1");
    let (error, skipped) = run(&server, vec![plain("a/one"), on_node, plain("a/two")], false).await;
    assert!(error.to_string().contains("no recorder here"), "the next step is the recorder: {error}");
    let cases: Vec<&str> = skipped.iter().map(|(case, _)| case.as_str()).collect();
    assert_eq!(cases, ["a/one", "a/one/node=n1"]);
    for (_, why) in skipped {
        let whole =
            "refuses its Pod a-one: admission webhook \"w\" denied the request: Pod/a-one has no owner";
        assert!(why.ends_with(whole), "{why}");
    }
    let asked = server.asked();
    let dry_runs_of = |pod: &str| {
        let of_pod = |asked: &&ReceivedRequest| asked.query.contains_key("dryRun") && name(asked) == pod;
        asked.iter().filter(of_pod).count()
    };
    assert_eq!(dry_runs_of("a-one"), 2, "a refused pod is submitted once more, but not for each node");
    assert_eq!(dry_runs_of("a-two"), 1);
}

#[tokio::test]
async fn an_invalid_pod_stops_the_run_and_nothing_remains() {
    let server = cluster(|asked| if name(asked) == "a-one" { invalid(asked) } else { accepted(asked) }).await;
    let (error, skipped) = run(&server, vec![plain("a/one"), plain("a/two")], true).await;
    let RunError::Refused(pods) = &error else { panic!("{error}") };
    assert_eq!((pods.len(), pods[0].case.0.as_str(), skipped), (1, "a/one", vec![]));
    assert!(error.to_string().contains("a/one") && error.to_string().contains("Required value"), "{error}");
}

#[tokio::test]
async fn a_priority_class_that_the_case_creates_first_is_no_reason_to_skip_it() {
    let of_case = |class: &str| {
        let more = "profile: cluster\nneeds: [cluster-scope]\n\
                    objects: [{ apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: { name: low }, value: -9 }]\n\
                    pod: { spec: { priorityClassName: \"{object:low}\", containers: [{ name: c }] } }\n";
        let why = format!("pods \"a-one\" is forbidden: no PriorityClass with name {class} was found");
        (case("a/one", more), why)
    };
    for (class, is_skipped) in [("r-a-one-low", false), ("other", true)] {
        let (case, why) = of_case(class);
        let server = cluster(move |asked| match name(asked) {
            "a-one" => refused(403, "Forbidden", &why),
            _ => accepted(asked),
        })
        .await;
        let (_, skipped) = run(&server, vec![case, plain("a/two")], false).await;
        assert_eq!(!skipped.is_empty(), is_skipped, "{skipped:?}");
    }
}

#[tokio::test]
async fn a_case_whose_field_the_api_server_drops_is_skipped() {
    let more = "needs: [stop-signal-field]\n\
                pod: { spec: { os: { name: linux }, containers: [{ name: c, lifecycle: { stopSignal: SIGUSR1 } }] } }\n";
    for keeps_field in [true, false] {
        let server = cluster(move |asked| {
            let mut stored = asked.body.clone();
            if !keeps_field {
                stored["spec"]["containers"][0]["lifecycle"] = json!(null);
            }
            ScriptedAnswer::Json(201, stored)
        })
        .await;
        let (_, skipped) = run(&server, vec![case("a/one", more), plain("a/two")], false).await;
        let expected = usize::from(!keeps_field);
        assert_eq!(skipped.len(), expected, "{skipped:?}");
        assert!(skipped.iter().all(|(_, why)| why.contains("ContainerStopSignals")), "{skipped:?}");
    }
}

/// A server that answers all dry runs in the namespace `default` like this.
async fn in_default(answer: fn(&ReceivedRequest) -> ScriptedAnswer) -> FakeApiServer {
    FakeApiServer::start(move |asked| {
        (asked.line() == "POST /api/v1/namespaces/default/pods").then(|| answer(asked))
    })
    .await
}

#[tokio::test]
async fn before_the_namespace_exists_only_an_invalid_pod_counts() {
    #[expect(clippy::type_complexity, reason = "a table of one test")]
    let answers: [(fn(&ReceivedRequest) -> ScriptedAnswer, bool); 3] =
        [(denied, false), (invalid, true), (accepted, false)];
    for (answer, is_refused) in answers {
        let server = in_default(answer).await;
        let client = server.client().await;
        let rehearsed = rehearse(&client, &options(false), &[plain("a/one")]).await;
        assert_eq!(matches!(rehearsed, Err(RunError::Refused(_))), is_refused, "{rehearsed:?}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn the_refusal_of_a_policy_says_nothing_about_a_feature_gate() {
    async fn kept(answer: fn(&ReceivedRequest) -> ScriptedAnswer) -> Result<Option<bool>, ClusterError> {
        let server = in_default(answer).await;
        let spec = json!({ "containers": [{ "name": "c", "lifecycle": { "stopSignal": "SIGUSR1" } }] });
        let field = "/spec/containers/0/lifecycle/stopSignal";
        keeps(&server.client().await, &options(false), &spec, field).await
    }
    assert_eq!(kept(accepted).await.unwrap(), Some(true));
    assert_eq!(kept(invalid).await.unwrap(), Some(false));
    assert_eq!(kept(denied).await.unwrap(), None);
    assert!(kept(|_| refused(500, "InternalError", "later")).await.is_err());
}
