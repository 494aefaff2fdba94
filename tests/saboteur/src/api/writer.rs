//! Writes the statuses of one pod on behalf of the proxy: in order, late, never or twice, as the defects require. Each
//! write replaces the whole status at the API server, except conditions that are not the kubelet's.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::upstream::Upstream;

/// An action for a pod, in the order of the queue.
#[derive(Debug)]
pub(super) enum Deed {
    /// Write a status.
    Write(Write),
    /// Send this removal, and end the writer.
    Remove {
        /// Path and query.
        path: String,
        /// The kubelet's options.
        body: Bytes,
        /// The earliest time for the removal.
        not_before: Instant,
    },
}

/// A status to write.
#[derive(Debug)]
pub(super) struct Write {
    /// The whole status.
    pub(super) status: Value,
    /// The types of the conditions in the status that are the kubelet's.
    pub(super) own_conditions: Vec<String>,
    /// When the kubelet wrote it.
    pub(super) since: Instant,
    /// When and how often the status is written.
    pub(super) timing: Timing,
}

/// When and how often a status is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Timing {
    /// At once.
    Now,
    /// This much later than the kubelet wrote it.
    Late(Duration),
    /// Never.
    Lost,
    /// Not at all if another status follows within this time.
    Merged(Duration),
    /// After the next status, if one follows within this time.
    Reordered(Duration),
    /// Once more, this much later.
    Doubled(Duration),
    /// This status first, and the right status this much later.
    Glitch(Value, Duration),
}

/// Starts the writer of one pod. It ends when no more deeds can be sent to it, or when the pod is removed.
#[must_use]
pub(super) fn start(upstream: Upstream, path: String, uid: String) -> UnboundedSender<Deed> {
    let (sender, receiver) = unbounded_channel();
    let writer = Writer { upstream, path, uid };
    tokio::spawn(async move { writer.run(receiver).await });
    sender
}

#[derive(Clone)]
struct Writer {
    upstream: Upstream,
    /// The pod's own path: `/api/v1/namespaces/NAMESPACE/pods/NAME`.
    path: String,
    uid: String,
}

impl Writer {
    async fn run(self, mut deeds: UnboundedReceiver<Deed>) {
        let mut next = None;
        loop {
            let deed = match next.take() {
                Some(deed) => deed,
                None => match deeds.recv().await {
                    Some(deed) => deed,
                    None => return,
                },
            };
            match deed {
                Deed::Remove { path, body, not_before } => {
                    sleep_until(not_before).await;
                    // A pod that has already been removed needs no removal, and otherwise the kubelet will try again.
                    drop(self.upstream.ask(Method::DELETE, &path, "application/json", body).await);
                }
                Deed::Write(write) => next = self.write(write, &mut deeds).await,
            }
        }
    }

    /// Writes one status. Returns the deed that arrived in the meantime, if it is not done yet.
    async fn write(&self, write: Write, deeds: &mut UnboundedReceiver<Deed>) -> Option<Deed> {
        match write.timing.clone() {
            Timing::Now => self.put(&write, &write.status).await,
            Timing::Late(by) => {
                sleep_until(write.since + by).await;
                self.put(&write, &write.status).await;
            }
            Timing::Lost => {}
            Timing::Merged(within) => match timeout_at(write.since + within, deeds.recv()).await {
                Ok(Some(later)) => return Some(later),
                Ok(None) | Err(_) => self.put(&write, &write.status).await,
            },
            Timing::Reordered(within) => {
                match timeout_at(write.since + within, deeds.recv()).await {
                    Ok(Some(Deed::Write(later))) => self.put(&later, &later.status).await,
                    Ok(Some(removal)) => {
                        self.put(&write, &write.status).await;
                        return Some(removal);
                    }
                    Ok(None) | Err(_) => {}
                }
                self.put(&write, &write.status).await;
            }
            Timing::Doubled(after) => {
                self.put(&write, &write.status).await;
                // Later deeds do not wait: the second write comes after them, and is out of date.
                let writer = self.clone();
                tokio::spawn(async move {
                    sleep(after).await;
                    writer.put(&write, &write.status).await;
                });
            }
            Timing::Glitch(wrong, lasting) => {
                self.put(&write, &wrong).await;
                sleep(lasting).await;
                self.put(&write, &write.status).await;
            }
        }
        None
    }

    /// Writes the status. If another writer writes between the read and the write, both are repeated.
    async fn put(&self, write: &Write, status: &Value) {
        for _ in 0..5 {
            match self.try_to_put(write, status).await {
                Ok(StatusCode::CONFLICT) => {}
                // Any other answer means that the pod or the API server is gone, which no defect can change.
                Ok(_) | Err(_) => return,
            }
        }
    }

    async fn try_to_put(&self, write: &Write, status: &Value) -> io::Result<StatusCode> {
        let Some(mut pod) = self.upstream.read(&self.path).await? else { return Ok(StatusCode::NOT_FOUND) };
        if pod.pointer("/metadata/uid").and_then(Value::as_str) != Some(&self.uid) {
            return Ok(StatusCode::GONE);
        }
        let mut status = status.clone();
        keep_others_conditions(&mut status, &pod["status"], &write.own_conditions);
        pod["status"] = status;
        let body = serde_json::to_vec(&pod).map_err(io::Error::other)?;
        let path = format!("{}/status", self.path);
        let (answer, _) = self.upstream.ask(Method::PUT, &path, "application/json", body.into()).await?;
        Ok(answer)
    }
}

/// Conditions that the kubelet does not write stay as the API server has them now.
fn keep_others_conditions(status: &mut Value, now: &Value, own: &[String]) {
    let is_own =
        |condition: &Value| own.iter().any(|kind| condition.get("type").is_some_and(|given| given == kind));
    let list =
        |status: &Value| status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut conditions: Vec<Value> = list(status).into_iter().filter(is_own).collect();
    conditions.extend(list(now).into_iter().filter(|condition| !is_own(condition)));
    if let Some(fields) = status.as_object_mut()
        && !conditions.is_empty()
    {
        fields.insert("conditions".to_owned(), Value::Array(conditions));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::keep_others_conditions;

    #[test]
    fn a_condition_of_somebody_else_is_written_as_it_is_now() {
        let mut status = json!({"conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Gate", "status": "False"}, {"type": "Gone", "status": "True"},
        ]});
        let now = json!({"conditions": [
            {"type": "Ready", "status": "False"}, {"type": "Gate", "status": "True"}, {"type": "New", "status": "True"},
        ]});
        keep_others_conditions(&mut status, &now, &["Ready".to_owned()]);
        assert_eq!(
            status,
            json!({"conditions": [
                {"type": "Ready", "status": "True"}, {"type": "Gate", "status": "True"}, {"type": "New", "status": "True"},
            ]})
        );
    }
}
