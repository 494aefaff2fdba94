//! Requests that are refused, repeated, or broken off.

use std::time::{Duration, Instant};

use probity_cluster::ClusterError;
use serde_json::json;

use crate::fake::{Answer, Fake, Piece, list, object, refused};

fn pod() -> serde_json::Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": {} })
}

fn lines(text: &str) -> Answer {
    Answer::Pieces(vec![Piece::Bytes(text.to_owned())])
}

fn cut(text: &str) -> Answer {
    Answer::Pieces(vec![Piece::Bytes(text.to_owned()), Piece::Cut])
}

#[tokio::test]
async fn a_429_is_repeated_when_the_server_says_and_counted() {
    let fake = Fake::start(|asked| match asked.nth {
        0 => Some(Answer::RetryAfter(429, 1)),
        _ => Some(Answer::Json(201, object("a", 1))),
    })
    .await;
    let ground = fake.ground().await;
    let (began, before) = (Instant::now(), ground.requests());
    ground.create("n", &pod(), false).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!((ground.requests() - before, ground.repeated()), (2, 1));
}

#[tokio::test]
async fn a_429_that_asks_for_too_much_patience_is_a_refusal_at_once() {
    let fake = Fake::start(|_| Some(Answer::RetryAfter(429, 3600))).await;
    let ground = fake.ground().await;
    let began = Instant::now();
    let error = ground.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), fake.asked().len()), (429, 1));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_429_without_end_is_given_up() {
    let fake = Fake::start(|_| Some(Answer::RetryAfter(429, 0))).await;
    let error = fake.ground().await.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), fake.asked().len()), (429, 9));
}

#[tokio::test]
async fn an_eviction_that_a_budget_refuses_is_not_repeated() {
    let fake = Fake::start(|_| Some(Answer::RetryAfter(429, 1))).await;
    let error = fake.ground().await.evict("n", "a").await.unwrap_err();
    assert_eq!(error.code(), 429);
    assert_eq!(fake.lines(), ["POST /api/v1/namespaces/n/pods/a/eviction"]);
}

#[tokio::test]
async fn a_creation_that_may_have_been_done_is_not_repeated() {
    let fake = Fake::start(|_| Some(refused(504, "Timeout", "timed out"))).await;
    let error = fake.ground().await.create("n", &pod(), false).await.unwrap_err();
    assert_eq!((error.code(), fake.asked().len()), (504, 1));
}

#[tokio::test]
async fn manifests_are_validated_strictly_and_a_refusal_names_the_fields() {
    let status = json!({
        "kind": "Status", "code": 422, "reason": "Invalid", "message": "Pod \"a\" is invalid",
        "details": { "causes": [{ "field": "spec.containers", "message": "Required value" }] },
    });
    let fake = Fake::start(move |_| Some(Answer::Json(422, status.clone()))).await;
    let error = fake.ground().await.create("n", &pod(), true).await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.code, refusal.reason.as_str()), (422, "Invalid"));
    assert_eq!(refusal.causes, [("spec.containers".to_owned(), "Required value".to_owned())]);
    let query = fake.asked()[0].query.clone();
    assert_eq!((query["fieldValidation"].as_str(), query["dryRun"].as_str()), ("Strict", "All"));
}

#[tokio::test]
async fn a_proxy_that_answers_in_prose_is_a_refusal_in_its_words() {
    let fake = Fake::start(|_| Some(Answer::Text(403, "go away"))).await;
    let words = fake.ground().await.get("n", "Pod", "a").await.unwrap_err().to_string();
    assert!(words.contains("403") && words.contains("go away"), "{words}");
}

#[tokio::test]
async fn what_is_not_there_is_none_and_no_error() {
    let fake = Fake::start(|_| None).await;
    assert_eq!(fake.ground().await.get("n", "Pod", "a").await.unwrap(), None);
}

#[tokio::test]
async fn a_long_list_is_read_to_its_end() {
    let fake = Fake::start(|asked| match asked.query.get("continue").map(String::as_str) {
        None => {
            let metadata = json!({ "resourceVersion": "7", "continue": "more" });
            Some(Answer::Json(200, json!({ "metadata": metadata, "items": [object("a", 1)] })))
        }
        Some(_) => Some(list(7, &[object("b", 2)])),
    })
    .await;
    let listing = fake.ground().await.list("n", "Pod", None).await.unwrap();
    let kinds: Vec<_> = listing.items.iter().map(|item| (&item["metadata"]["name"], &item["kind"])).collect();
    assert_eq!(kinds, [(&json!("a"), &json!("Pod")), (&json!("b"), &json!("Pod"))]);
    assert_eq!(listing.revision, "7");
}

#[tokio::test]
async fn a_log_that_is_cut_off_is_asked_for_once_more() {
    let fake =
        Fake::start(|asked| Some(if asked.nth == 0 { cut("one\ntw") } else { lines("one\ntwo\n") })).await;
    let log = fake.ground().await.log("n", "a", "c", false).await.unwrap();
    assert_eq!(log, "one\ntwo\n");
}

#[tokio::test]
async fn a_log_that_is_cut_off_again_says_so_and_keeps_the_whole_lines() {
    let fake = Fake::start(|_| Some(cut("one\ntwo\nthr"))).await;
    let error = ClusterError::from(fake.ground().await.log("n", "a", "c", false).await.unwrap_err());
    let ClusterError::CutOff { text, .. } = &error else { panic!("{error}") };
    assert_eq!((text.as_str(), fake.asked().len()), ("one\ntwo\n", 2));
}
