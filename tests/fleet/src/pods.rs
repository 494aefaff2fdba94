//! Watches the pods of the cluster, and plays those that are bound to a fake node.
//!
//! A real kubelet watches the pods of its own node. This process has one watch for all of them.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::Request;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::watch;

use crate::Failure;
use crate::api::Api;
use crate::node::is_fake;
use crate::pod::FakePod;

const PAUSE: Duration = Duration::from_millis(200);

/// The pods that are played, by UID. The value becomes `true` when the pod is to end, and is dropped when it is gone.
type Playing = HashMap<String, watch::Sender<bool>>;

/// Plays all pods on fake nodes, forever.
pub(crate) async fn play_all(api: Arc<Api>, host: String, lines: bool) -> Result<(), Failure> {
    let mut playing = Playing::new();
    loop {
        let list = api.get("/api/v1/pods?resourceVersion=0").await?;
        for pod in list["items"].as_array().into_iter().flatten() {
            note(&api, (&host, lines), &mut playing, pod.clone(), false);
        }
        let mut revision = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        while follow(&api, (&host, lines), &mut playing, &mut revision).await {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Follows a watch until it ends. Returns whether the next one can begin where it ended.
async fn follow(api: &Arc<Api>, how: (&str, bool), playing: &mut Playing, revision: &mut String) -> bool {
    let path = format!("/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion={revision}");
    let Ok(request) = Request::get(path).body(Vec::new()) else { return false };
    let Ok(events) = api.client.request_events::<Value>(request).await else { return false };
    let mut events = pin!(events);
    loop {
        let (pod, gone) = match events.next().await {
            Some(Ok(WatchEvent::Added(pod) | WatchEvent::Modified(pod))) => (pod, false),
            Some(Ok(WatchEvent::Deleted(pod))) => (pod, true),
            Some(Ok(WatchEvent::Bookmark(bookmark))) => {
                *revision = bookmark.metadata.resource_version;
                continue;
            }
            Some(Ok(WatchEvent::Error(_))) => return false,
            None | Some(Err(_)) => return true,
        };
        pod["metadata"]["resourceVersion"].as_str().unwrap_or_default().clone_into(revision);
        note(api, how, playing, pod, gone);
    }
}

/// Starts, ends or forgets a pod, according to a revision of it.
fn note(api: &Arc<Api>, (host, lines): (&str, bool), playing: &mut Playing, pod: Value, gone: bool) {
    if !pod["spec"]["nodeName"].as_str().is_some_and(is_fake) {
        return;
    }
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    if gone {
        playing.remove(&uid);
        return;
    }
    let ends = pod["metadata"]["deletionTimestamp"].is_string();
    let sender = playing.entry(uid).or_insert_with(|| {
        let (sender, end) = watch::channel(false);
        tokio::spawn(FakePod::new(Arc::clone(api), pod, host).play(end, lines));
        sender
    });
    if ends {
        sender.send_replace(true);
    }
}
