//! What a kubelet receives about pods: a stream of changes, one JSON object per line. A line that no defect strikes
//! passes byte for byte. A late change of a pod delays all later changes of that pod, so that their order is kept.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use tokio::time::Instant;

use super::fault::{ApiFault, HeardDoes, News};
use super::learn;
use super::shadow::Shadows;
use super::status::concerns;
use crate::board::Board;
use crate::defect::{Fault, Target};

/// The state that all streams share.
#[derive(Clone)]
pub(super) struct Ear {
    /// The defects.
    pub(super) board: Board,
    /// The statuses that the kubelet considers as written.
    pub(super) shadows: Shadows,
}

/// A pod by namespace and name.
type Pod = (String, String);

/// The result for a line.
#[derive(Debug, PartialEq)]
pub(super) struct HeardLine {
    /// The pod that it is about.
    pub(super) pod: Option<(String, String)>,
    /// The bytes that are passed on; `None` if the kubelet never receives the change.
    pub(super) bytes: Option<Bytes>,
    /// How long the line is delayed.
    pub(super) late: Duration,
}

/// What the defects did to a change of a pod.
#[derive(Debug, Default)]
struct Struck {
    late: Duration,
    is_lost: bool,
    is_altered: bool,
}

fn news_of(kind: &str, pod: &Value) -> Option<News> {
    let is_deleting = pod.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    match kind {
        "ADDED" => Some(News::Added),
        "MODIFIED" if is_deleting => Some(News::Deleting),
        "MODIFIED" => Some(News::Modified),
        "DELETED" => Some(News::Deleted),
        _ => None,
    }
}

impl Ear {
    /// Decides about one line, which ends with its line feed.
    #[must_use]
    pub(super) fn hear(&self, bytes: Bytes) -> HeardLine {
        let untouched = |bytes| HeardLine { pod: None, bytes: Some(bytes), late: Duration::ZERO };
        let Ok(mut event) = serde_json::from_slice::<Value>(&bytes) else { return untouched(bytes) };
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some(news) = event.get("object").and_then(|pod| news_of(&kind, pod)) else {
            return untouched(bytes);
        };
        let pod = &mut event["object"];
        let Some((namespace, name)) = learn::name_of(pod).map(|(n, p)| (n.to_owned(), p.to_owned())) else {
            return untouched(bytes);
        };
        if news == News::Deleted {
            learn::forget(pod);
            self.shadows.forget(&namespace, &name);
        } else {
            learn::learn(&self.board, pod);
        }
        let is_shown = self.shadows.show(pod);
        let struck = self.strike(news, pod, &namespace, &name);
        let bytes = if struck.is_lost {
            None
        } else if is_shown || struck.is_altered {
            serde_json::to_vec(&event).ok().map(|mut text| {
                text.push(b'\n');
                Bytes::from(text)
            })
        } else {
            Some(bytes)
        };
        HeardLine { pod: Some((namespace, name)), bytes, late: struck.late }
    }

    /// Counts the defects that are due for this change, and applies them to the pod.
    fn strike(&self, news: News, pod: &mut Value, namespace: &str, name: &str) -> Struck {
        let pick = |fault: &Fault| match fault {
            Fault::Api(ApiFault::Heard(fault)) if fault.news.is_empty() || fault.news.contains(&news) => {
                Some(fault.does.clone())
            }
            _ => None,
        };
        let mut struck = Struck::default();
        let whole = Target::pod(namespace, name);
        for (active, does) in self.board.all(pick) {
            let scope = &active.defect().on;
            if !concerns(scope, namespace, name) || !active.strikes(&whole) {
                continue;
            }
            match does {
                HeardDoes::Late { by } => struck.late = struck.late.max(by.0),
                HeardDoes::Never => struck.is_lost = true,
                HeardDoes::Alter(alter) => {
                    let is_struck = |container: &Value| {
                        let container = container.get("name").and_then(Value::as_str).unwrap_or_default();
                        scope.covers(&self.board.target_of_name(namespace, name, container))
                    };
                    struck.is_altered |= alter.apply(pod, is_struck);
                }
            }
        }
        struck
    }

    /// Decides about a whole list: pods that the kubelet must never receive are left out. `None` if nothing changes.
    #[must_use]
    pub(super) fn hear_list(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut list = serde_json::from_slice::<Value>(bytes).ok()?;
        let items = list.get_mut("items")?.as_array_mut()?;
        let before = items.len();
        let mut is_different = false;
        items.retain_mut(|pod| {
            learn::learn(&self.board, pod);
            is_different |= self.shadows.show(pod);
            let name = learn::name_of(pod).map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
            let Some((namespace, name)) = name else { return true };
            let struck = self.strike(News::Added, pod, &namespace, &name);
            is_different |= struck.is_altered;
            !struck.is_lost
        });
        is_different |= items.len() != before;
        if is_different { serde_json::to_vec(&list).ok() } else { None }
    }
}

/// Cuts a stream into lines.
#[derive(Debug, Default)]
pub(super) struct Lines(BytesMut);

impl Lines {
    /// Takes more bytes and returns the complete lines, each with its line feed.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Vec<Bytes> {
        self.0.extend_from_slice(bytes);
        let mut lines = Vec::new();
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            lines.push(self.0.split_to(end + 1).freeze());
        }
        lines
    }

    /// What is left when the stream ends.
    #[must_use]
    pub(super) fn rest(self) -> Bytes {
        self.0.freeze()
    }
}

/// Lines that wait for their time, in order for each pod.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lines: BTreeMap<(Instant, u64), (Option<Pod>, Bytes)>,
    last: HashMap<Pod, Instant>,
    number: u64,
}

impl Waiting {
    /// Takes a line, and returns it if it does not have to wait.
    pub(super) fn add(&mut self, line: HeardLine, now: Instant) -> Option<Bytes> {
        let bytes = line.bytes?;
        let behind = line.pod.as_ref().and_then(|pod| self.last.get(pod)).copied();
        let due = behind.unwrap_or(now).max(now + line.late);
        if due <= now {
            return Some(bytes);
        }
        if let Some(pod) = &line.pod {
            self.last.insert(pod.clone(), due);
        }
        self.number += 1;
        self.lines.insert((due, self.number), (line.pod, bytes));
        None
    }

    /// When the next line is due.
    #[must_use]
    pub(super) fn due(&self) -> Option<Instant> {
        self.lines.keys().next().map(|(due, _)| *due)
    }

    /// A line whose time has come.
    pub(super) fn next(&mut self, now: Instant) -> Option<Bytes> {
        if self.due()? > now {
            return None;
        }
        let ((due, _), (pod, bytes)) = self.lines.pop_first()?;
        if let Some(pod) = pod
            && self.last.get(&pod) == Some(&due)
        {
            self.last.remove(&pod);
        }
        Some(bytes)
    }
}

#[cfg(test)]
#[path = "heard_tests.rs"]
mod tests;
