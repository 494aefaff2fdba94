//! Watches one kind of object: every revision, in order, from a known revision on.
//!
//! It lists the objects, and then watches from the list's resource version. After a connection ends, it continues from
//! the last received revision, so nothing is lost. If reconnecting takes long, the watch reports noise, because the
//! next events get late times. Only a revision that the server has forgotten (410) is a gap. The gap is always
//! reported: the list is read again, and every change that it shows is reported. An object that is missing from the new
//! list is reported as deleted, in its last known state.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use http_body_util::BodyExt as _;
use kube::api::WatchParams;
use kube::client::Body;
use probity_model::history::{Change, Happening, Sighting, Source};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::io::StreamReader;
use tokio_util::task::AbortOnDropHandle;

use crate::api::client::{ClusterClient, in_time};
use crate::api::kinds::{self, ObjectKind};
use crate::api::objects::Listing;
use crate::error::RequestFailure;
use crate::fields::Fields as _;
use crate::listen::incoming::{Incoming, Reporter, harness_noise};
use crate::run_clock::RunClock;

/// The server ends a watch after this many seconds, and the next one begins.
const WATCH_S: u32 = 60;
/// The maximum time without the end of a watch. After it, the watch counts as dead.
const LONGEST_SILENCE: Duration = Duration::from_secs(WATCH_S as u64 + 10);
/// If the server ends a watch sooner than this, there is a pause before the next watch.
const SHORT_WATCH: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The API server may not have sent yet what happened this shortly before it ended a watch.
const UNSENT_US: i64 = 5_000_000;
/// A shorter interruption is not worth reporting.
const SHORT_INTERRUPTION_US: i64 = 50_000;
/// The number of errors in a row at the same revision after which the revision is abandoned.
const MOST_ERRORS: u32 = 5;
/// For this long, an answer with 401 counts as a failure of the server. A new token, or a webhook that checks tokens, can be
/// late.
const UNAUTHENTICATED_FOR: Duration = Duration::from_secs(120);

/// Watches the objects of a kind in a namespace (in all namespaces, if `namespace` is empty) until the handle is
/// dropped.
pub fn watch(
    cluster: &ClusterClient,
    namespace: &str,
    kind: &str,
    labels: Option<&str>,
    clock: RunClock,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    let reporter = Reporter::new(Source::Watch(kind.to_owned()), clock, out);
    let kind = kinds::find(kind);
    // A delay in the queue of the harness would seem to be an outage.
    let (cluster, namespace) = (cluster.unqueued(), namespace.to_owned());
    let labels = labels.map(str::to_owned);
    AbortOnDropHandle::new(tokio::spawn(async move {
        match kind {
            Ok(kind) => {
                let known = BTreeMap::new();
                let (ended_us, broken_since_us, unauthenticated_since) = (reporter.heard_us, None, None);
                let watch = Watch {
                    cluster,
                    namespace,
                    kind,
                    labels,
                    reporter,
                    known,
                    ended_us,
                    broken_since_us,
                    unauthenticated_since,
                };
                watch.run().await;
            }
            Err(error) => reporter.gap_until(i64::MAX, error.to_string()),
        }
    }))
}

struct Watch {
    cluster: ClusterClient,
    namespace: String,
    kind: ObjectKind,
    labels: Option<String>,
    reporter: Reporter,
    /// The last revision of each object, by its name.
    known: BTreeMap<String, Value>,
    /// When the server last ended the watch in order.
    ended_us: i64,
    /// When the watch was interrupted.
    broken_since_us: Option<i64>,
    /// When the server began to answer every request with 401.
    unauthenticated_since: Option<Instant>,
}

/// How a watch ended.
enum WatchEnd {
    /// The watch ended normally: the next one continues from the last revision.
    InOrder,
    /// The server cannot be reached, or is too busy: the watch continues from the last revision as soon as the server
    /// answers.
    Unreachable,
    /// The watch failed: it continues from the last revision, but not forever if it always fails at that revision.
    Broken,
    /// The server has forgotten the revision.
    Forgotten(String),
}

/// A line of a watch.
#[derive(Deserialize)]
struct WatchLine {
    #[serde(rename = "type")]
    change: String,
    #[serde(default)]
    object: Value,
}

impl Watch {
    async fn run(mut self) {
        let Some(mut revision) = self.list(None).await else { return };
        let (mut errors, mut unreachable) = (0, 0);
        while self.reporter.is_listened_to() {
            let (before, began) = (revision.clone(), Instant::now());
            let lost = match self.follow(&mut revision).await {
                WatchEnd::InOrder => {
                    errors = 0;
                    if began.elapsed() < SHORT_WATCH {
                        tokio::time::sleep(FIRST_PAUSE).await;
                    }
                    None
                }
                WatchEnd::Unreachable => {
                    unreachable += 1;
                    tokio::time::sleep(pause(unreachable)).await;
                    continue;
                }
                WatchEnd::Broken if errors < MOST_ERRORS => {
                    errors = if revision == before { errors + 1 } else { 1 };
                    tokio::time::sleep(pause(errors)).await;
                    None
                }
                WatchEnd::Broken => {
                    Some(format!("the watch failed {errors} times in a row at the same revision"))
                }
                WatchEnd::Forgotten(why) => Some(why),
            };
            if lost.is_some() {
                let Some(next) = self.list(lost).await else { return };
                (revision, errors, self.broken_since_us) = (next, 0, None);
            }
            unreachable = 0;
        }
    }

    /// Repeats the list request until it succeeds, and reports what is new. `None` if the server will never allow the
    /// request.
    async fn list(&mut self, lost: Option<String>) -> Option<String> {
        let mut tries = 0;
        let listing = loop {
            let labels = self.labels.as_deref();
            let listed = self.cluster.list(&self.namespace, self.kind.name(), labels).await;
            match listed {
                Ok(listing) => break listing,
                Err(error) if matches!(error.code(), 403..=405) || !self.may_authenticate(error.code()) => {
                    self.reporter.gap_until(i64::MAX, error.to_string());
                    return None;
                }
                Err(_) => {
                    self.reporter.away();
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                }
            }
        };
        self.unauthenticated_since = None;
        if let Some(why) = lost {
            // A quiet watch loses its revision without an interruption: the server forgets revisions after some minutes.
            let whole_until_us = self.reporter.heard_us.max(self.ended_us - UNSENT_US);
            self.reporter.gap_between(whole_until_us, self.reporter.clock.us(), why);
            self.reporter.heard();
        }
        self.reporter.back();
        let revision = listing.revision.clone();
        self.relist(listing);
        Some(revision)
    }

    /// Watches from a revision on, and keeps the revision up to date.
    async fn follow(&mut self, revision: &mut String) -> WatchEnd {
        let body = match in_time(LONGEST_SILENCE, self.open(revision)).await {
            Ok(body) => body,
            Err(failure) => {
                // Until the server ended the last watch, this watch worked, however long nothing was reported.
                self.interrupted(self.reporter.heard_us.max(self.ended_us));
                if !matches!(&failure, RequestFailure::Refused(refusal) if refusal.code == 401) {
                    self.unauthenticated_since = None;
                }
                return match failure {
                    RequestFailure::Refused(refusal) if refusal.code == 410 => {
                        WatchEnd::Forgotten(refusal.message.clone())
                    }
                    RequestFailure::Refused(refusal) if refusal.code == 401 => {
                        let is_patient = self.may_authenticate(refusal.code);
                        if is_patient { WatchEnd::Unreachable } else { WatchEnd::Broken }
                    }
                    RequestFailure::Refused(refusal) if !matches!(refusal.code, 429 | 502..=504) => {
                        WatchEnd::Broken
                    }
                    _ => WatchEnd::Unreachable,
                };
            }
        };
        self.unauthenticated_since = None;
        if let Some(since_us) = self.broken_since_us.take() {
            let us = self.reporter.clock.us();
            if us - since_us > SHORT_INTERRUPTION_US {
                self.reporter.send(harness_noise(since_us, us));
            }
        }
        self.reporter.back();
        let mut lines = StreamReader::new(body.into_data_stream().map_err(io::Error::other));
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = tokio::time::timeout(LONGEST_SILENCE, lines.read_until(b'\n', &mut line)).await;
            // A line without an end was cut off, and will be sent again.
            let ended = match read {
                Ok(Ok(_)) if line.ends_with(b"\n") => self.line(&line, revision),
                Ok(Ok(_)) => {
                    self.ended_us = self.reporter.clock.us();
                    return WatchEnd::InOrder;
                }
                Ok(Err(_)) => {
                    self.interrupted(self.reporter.clock.us());
                    return WatchEnd::Broken;
                }
                // Nobody knows since when a silent watch has been dead.
                Err(_) => {
                    self.interrupted(self.reporter.heard_us);
                    return WatchEnd::Broken;
                }
            };
            if let Some(ended) = ended {
                if matches!(ended, WatchEnd::Broken) {
                    self.broken_since_us.get_or_insert(self.reporter.clock.us());
                }
                return ended;
            }
        }
    }

    /// Whether the server may accept the next request, after an answer with this code: unless it has answered with 401 for
    /// too long.
    fn may_authenticate(&mut self, code: u16) -> bool {
        if code != 401 {
            self.unauthenticated_since = None;
            return true;
        }
        self.unauthenticated_since.get_or_insert_with(Instant::now).elapsed() < UNAUTHENTICATED_FOR
    }

    fn interrupted(&mut self, since_us: i64) {
        self.broken_since_us.get_or_insert(since_us);
        self.reporter.away();
    }

    async fn open(&self, revision: &str) -> Result<Body, RequestFailure> {
        let params = WatchParams {
            label_selector: self.labels.clone(),
            timeout: Some(WATCH_S),
            ..WatchParams::default()
        };
        let request = self.kind.requests(&self.namespace).watch(&params, revision);
        Ok(self.cluster.send(request).await?.into_body())
    }

    /// Takes a line of the watch. Returns how the watch ended, if it did.
    fn line(&mut self, line: &[u8], revision: &mut String) -> Option<WatchEnd> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Ok(WatchLine { change, object }) = serde_json::from_slice(line) else {
            return Some(WatchEnd::Broken);
        };
        let change = match change.as_str() {
            "ADDED" => Some(Change::Added),
            "MODIFIED" => Some(Change::Modified),
            "DELETED" => Some(Change::Deleted),
            "ERROR" if object["code"] == 410 => {
                return Some(WatchEnd::Forgotten(object.text("/message").to_owned()));
            }
            "ERROR" => return Some(WatchEnd::Broken),
            // A bookmark, or a type that is not known yet: only the revision counts.
            _ => None,
        };
        revision_of(&object).clone_into(revision);
        self.reporter.heard();
        if let Some(change) = change {
            self.report(change, object);
        }
        None
    }

    /// Reports what is new in a list.
    fn relist(&mut self, listing: Listing) {
        let mut before = std::mem::take(&mut self.known);
        for object in listing.items {
            match before.remove(object.name()) {
                Some(old) if revision_of(&old) == revision_of(&object) => {
                    self.known.insert(object.name().to_owned(), old);
                }
                Some(_) => self.report(Change::Modified, object),
                None => self.report(Change::Added, object),
            }
        }
        before.into_values().for_each(|gone| self.report(Change::Deleted, gone));
    }

    /// Reports a revision of an object.
    fn report(&mut self, change: Change, mut object: Value) {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let (kind, name) = (self.kind.name().to_owned(), object.name().to_owned());
        if change == Change::Deleted {
            self.known.remove(&name);
        } else {
            self.known.insert(name.clone(), remembered(&kind, &object));
        }
        self.reporter.heard();
        let revision = revision_of(&object).to_owned();
        self.reporter.send(Happening::Sighting(Sighting { kind, name, change, revision, object }));
    }
}

/// What is kept of an object until its next revision. Events outlive their pods by an hour, so a long run has thousands
/// of them: of an event, only the metadata that identifies it and the object that it is about are kept.
fn remembered(kind: &str, object: &Value) -> Value {
    if kind != "Event" {
        return object.clone();
    }
    let metadata = &object["metadata"];
    let names = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let kept: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), metadata[*name].clone())).collect();
    json!({ "metadata": kept, "involvedObject": object["involvedObject"] })
}

fn pause(tries: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST_PAUSE)
}

fn revision_of(object: &Value) -> &str {
    object.text("/metadata/resourceVersion")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_event_only_what_identifies_it_is_kept() {
        let object = json!({
            "metadata": { "name": "pod.17", "resourceVersion": "9", "annotations": { "a": "long" } },
            "involvedObject": { "name": "pod" },
            "message": "x".repeat(1000),
        });
        let kept = remembered("Event", &object);
        assert_eq!((kept.name(), revision_of(&kept)), ("pod.17", "9"));
        assert_eq!(kept.text("/involvedObject/name"), "pod");
        assert!(kept.to_string().len() < 250, "{kept}");
        assert_eq!(remembered("Pod", &object), object);
    }
}
