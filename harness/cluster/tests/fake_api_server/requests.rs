//! Requests that are refused, retried, or interrupted.

use std::time::{Duration, Instant};

use probity_cluster::{ClusterError, RequestFailure};
use serde_json::json;

use crate::server::{FakeApiServer, Piece, ScriptedAnswer, list, object, refused};

fn pod() -> serde_json::Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": {} })
}

fn lines(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::Pieces(vec![Piece::Bytes(text.to_owned())])
}

fn cut(text: &str) -> ScriptedAnswer {
    ScriptedAnswer::Pieces(vec![Piece::Bytes(text.to_owned()), Piece::Cut])
}

#[tokio::test]
async fn a_429_is_repeated_when_the_server_says_and_counted() {
    let server = FakeApiServer::start(|asked| match asked.nth {
        0 => Some(ScriptedAnswer::RetryAfter(429, 1)),
        _ => Some(ScriptedAnswer::Json(201, object("a", 1))),
    })
    .await;
    let client = server.client().await;
    let (began, before) = (Instant::now(), client.requests());
    client.create("n", &pod(), false).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((client.requests() - before, client.repeated()), (2, 1));
}

#[tokio::test]
async fn a_429_that_asks_for_too_much_patience_is_a_refusal_at_once() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::RetryAfter(429, 3600))).await;
    let client = server.client().await;
    let began = Instant::now();
    let error = client.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), server.asked().len()), (429, 1));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_429_without_end_is_given_up() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::RetryAfter(429, 0))).await;
    let error = server.client().await.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), server.asked().len()), (429, 9));
}

#[tokio::test]
async fn an_eviction_that_a_budget_refuses_is_not_repeated() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::RetryAfter(429, 1))).await;
    let error = server.client().await.evict("n", "a").await.unwrap_err();
    assert_eq!(error.code(), 429);
    assert_eq!(server.lines(), ["POST /api/v1/namespaces/n/pods/a/eviction"]);
}

#[tokio::test]
async fn an_eviction_that_was_refused_because_of_too_many_requests_is_repeated() {
    let server = FakeApiServer::start(|asked| match asked.nth {
        0 => Some(ScriptedAnswer::TooMany),
        _ => Some(ScriptedAnswer::Json(201, object("a", 1))),
    })
    .await;
    let client = server.client().await;
    let before = client.requests();
    client.evict("n", "a").await.unwrap();
    assert_eq!((client.requests() - before, client.repeated()), (2, 1));
}

#[tokio::test]
async fn a_creation_that_may_have_been_done_is_not_repeated() {
    let server = FakeApiServer::start(|_| Some(refused(504, "Timeout", "timed out"))).await;
    let error = server.client().await.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), server.asked().len()), (504, 1));
}

#[tokio::test]
async fn manifests_are_validated_strictly_and_a_refusal_names_the_fields() {
    let status = json!({
        "kind": "Status", "code": 422, "reason": "Invalid", "message": "Pod \"a\" is invalid",
        "details": { "causes": [{ "field": "spec.containers", "message": "Required value" }] },
    });
    let server = FakeApiServer::start(move |_| Some(ScriptedAnswer::Json(422, status.clone()))).await;
    let error = server.client().await.create("n", &pod(), true).await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.code, refusal.reason.as_str()), (422, "Invalid"));
    assert_eq!(refusal.causes, [("spec.containers".to_owned(), "Required value".to_owned())]);
    let query = server.asked()[0].query.clone();
    assert_eq!((query["fieldValidation"].as_str(), query["dryRun"].as_str()), ("Strict", "All"));
}

#[tokio::test]
async fn a_patch_is_validated_strictly_and_names_its_subresource() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::Json(200, object("a", 1)))).await;
    server.client().await.patch("n", "Pod", "a", "resize", &json!({ "spec": {} })).await.unwrap();
    let patch = &server.asked()[0];
    assert_eq!(patch.line(), "PATCH /api/v1/namespaces/n/pods/a/resize");
    assert_eq!((patch.query["fieldValidation"].as_str(), &patch.body), ("Strict", &json!({ "spec": {} })));
}

#[tokio::test]
async fn a_refusal_that_names_no_code_has_the_code_of_its_answer() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::Json(409, json!({ "error": "busy" })))).await;
    let error = server.client().await.create("n", &pod(), false).await.unwrap_err();
    assert!(error.code() == 409 && error.to_string().contains("busy"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_answers_in_prose_is_a_refusal_in_its_words() {
    let server = FakeApiServer::start(|_| Some(ScriptedAnswer::Text(403, "go away"))).await;
    let words = server.client().await.get("n", "Pod", "a").await.unwrap_err().to_string();
    assert!(words.contains("403") && words.contains("go away"), "{words}");
}

#[tokio::test]
async fn what_is_not_there_is_none_and_no_error() {
    let server = FakeApiServer::start(|_| None).await;
    assert_eq!(server.client().await.get("n", "Pod", "a").await.unwrap(), None);
}

#[tokio::test]
async fn a_long_list_is_read_to_its_end() {
    let server = FakeApiServer::start(|asked| match asked.query.get("continue").map(String::as_str) {
        None => {
            let metadata = json!({ "resourceVersion": "7", "continue": "more" });
            Some(ScriptedAnswer::Json(200, json!({ "metadata": metadata, "items": [object("a", 1)] })))
        }
        Some(_) => Some(list(7, &[object("b", 2)])),
    })
    .await;
    let listing = server.client().await.list("n", "Pod", None).await.unwrap();
    let kinds: Vec<_> = listing.items.iter().map(|item| (&item["metadata"]["name"], &item["kind"])).collect();
    assert_eq!(kinds, [(&json!("a"), &json!("Pod")), (&json!("b"), &json!("Pod"))]);
    assert_eq!(listing.revision, "7");
}

#[tokio::test]
async fn a_log_that_is_cut_off_is_asked_for_once_more() {
    let server =
        FakeApiServer::start(|asked| Some(if asked.nth == 0 { cut("one\ntw") } else { lines("one\ntwo\n") }))
            .await;
    let log = server.client().await.log("n", "a", "c", false).await.unwrap();
    assert_eq!(log, "one\ntwo\n");
}

#[tokio::test]
async fn a_log_that_is_cut_off_again_says_so_and_keeps_the_whole_lines() {
    let server = FakeApiServer::start(|_| Some(cut("one\ntwo\nthr"))).await;
    let error = server.client().await.log("n", "a", "c", false).await.unwrap_err();
    let ClusterError::Request { failure: RequestFailure::CutOff { text, .. }, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((text.as_str(), server.asked().len()), ("one\ntwo\n", 2));
}

/// The log of the pod `a`, whose UID the server states as `uid(n)` when it is asked for the `n`th time.
async fn log_of_one(uid: fn(usize) -> &'static str) -> (Option<String>, Vec<String>) {
    let server = FakeApiServer::start(move |asked| {
        if asked.path.ends_with("/log") {
            return Some(lines("one\n"));
        }
        let mut pod = object("a", 1);
        pod["metadata"]["uid"] = uid(asked.nth).into();
        Some(ScriptedAnswer::Json(200, pod))
    })
    .await;
    let log = server.client().await.log_of("n", ("a", "one"), "c", false).await.unwrap();
    (log, server.lines())
}

#[tokio::test]
async fn the_log_of_another_pod_with_the_same_name_is_not_taken() {
    let (log, _) = log_of_one(|_| "one").await;
    assert_eq!(log.as_deref(), Some("one\n"));
    let (log, asked) = log_of_one(|_| "two").await;
    assert_eq!((log, asked.len()), (None, 1));
    // Replaced while its log is read.
    let (log, asked) = log_of_one(|nth| if nth == 0 { "one" } else { "two" }).await;
    assert_eq!((log, asked.len()), (None, 3));
}
