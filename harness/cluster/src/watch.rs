//! Watches of one kind of object: every revision, in order, from a revision that is known.
//!
//! First a list, then a watch from the list's revision on. A connection that ends is resumed from the last revision
//! heard of, so nothing is lost by it; if that took long, it is told as noise, since what came meanwhile is stamped late.
//! Only a revision that the server has forgotten (410) is a [`Gap`], and never silence: then the list is read again, and
//! what changed is told from it. An object that is gone from the new list is told as deleted, as it was last seen.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use probity_model::Clock;
use probity_model::history::{Change, Gap, Listener, Noise, Sighting, Source};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::ask::chain;
use crate::connect::Ground;
use crate::error::SendError;
use crate::incoming::Incoming;
use crate::kinds::{self, Kind};
use crate::send::{Listing, name_of, selecting};
use crate::zero::Zero;

/// The server ends a watch after so many seconds, and we begin the next.
const LENGTH_S: u64 = 60;
/// A watch that is not ended by then is dead.
const LONGEST_SILENCE: Duration = Duration::from_secs(LENGTH_S + 10);
/// A watch that ended in good order sooner than this is odd.
const SHORT: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A break shorter than this is not worth telling.
const QUICK_US: i64 = 50_000;
/// After so many errors in a row from the same revision, the revision is given up.
const MOST_ERRORS: u32 = 5;

/// Watches the objects of a kind in a namespace (in all, if it is empty) until the handle is dropped.
pub fn watch(
    ground: &Ground,
    namespace: &str,
    kind: &str,
    labels: Option<&str>,
    zero: Zero,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    let found = kinds::find(kind).copied();
    let (ground, namespace, kind) = (ground.clone(), namespace.to_owned(), kind.to_owned());
    let labels = labels.map(ToOwned::to_owned);
    AbortOnDropHandle::new(tokio::spawn(async move {
        let teller = Teller { kind, zero, out, heard_us: zero.us(), away: false, known: BTreeMap::new() };
        match found {
            Ok(kind) => Watch { ground, namespace, kind, labels, teller }.run().await,
            Err(error) => teller.never(&error.to_string()),
        }
    }))
}

struct Watch {
    ground: Ground,
    namespace: String,
    kind: Kind,
    labels: Option<String>,
    teller: Teller,
}

/// Why a watch ended.
enum Ended {
    /// It is to be taken up at the last revision.
    Over,
    /// The server can't be reached, or has no time: the last revision is as good as it was.
    Away,
    /// It is to be taken up at the last revision, after a pause; but not for ever, if it always breaks there.
    Broken,
    /// The server has forgotten that revision.
    Forgotten(String),
    /// Nobody listens to us any more.
    Unheard,
}

impl Watch {
    async fn run(mut self) {
        let Some(mut revision) = self.list(None).await else { return };
        let (mut errors, mut away, mut broke_us) = (0, 0, None);
        loop {
            let (before, began) = (revision.clone(), Instant::now());
            match self.follow(&mut revision, &mut broke_us).await {
                Ended::Unheard => return,
                Ended::Over => {
                    errors = 0;
                    // Who ends every watch at once shall not be asked without pause.
                    if began.elapsed() < SHORT {
                        tokio::time::sleep(FIRST_PAUSE).await;
                    }
                }
                Ended::Away => {
                    away += 1;
                    tokio::time::sleep(pause(away)).await;
                    continue;
                }
                Ended::Broken if errors < MOST_ERRORS => {
                    errors = if revision == before { errors + 1 } else { 1 };
                    tokio::time::sleep(pause(errors)).await;
                }
                Ended::Broken => {
                    let why = format!("the watch failed {errors} times in a row at the same revision");
                    let Some(next) = self.list(Some(why)).await else { return };
                    (revision, errors, broke_us) = (next, 0, None);
                }
                Ended::Forgotten(why) => {
                    let Some(next) = self.list(Some(why)).await else { return };
                    (revision, errors, broke_us) = (next, 0, None);
                }
            }
            away = 0;
        }
    }

    /// Lists until it works, and tells what is new. None if it never will.
    async fn list(&mut self, lost: Option<String>) -> Option<String> {
        let since_us = self.teller.heard_us;
        let mut tries = 0;
        loop {
            let listed = self.ground.list(&self.namespace, self.kind.kind, self.labels.as_deref()).await;
            match listed {
                Ok(listing) => {
                    if let Some(why) = lost {
                        self.teller.gap(since_us, why);
                    }
                    self.teller.back();
                    let revision = listing.revision.clone();
                    return self.teller.relist(listing).then_some(revision);
                }
                Err(error) if matches!(error.code(), 401 | 403 | 404 | 405) => {
                    self.teller.never(&error.to_string());
                    return None;
                }
                Err(_) => {
                    self.teller.away(since_us);
                    tries += 1;
                    tokio::time::sleep(pause(tries)).await;
                }
            }
        }
    }

    /// Watches from a revision on, and keeps it up to date.
    async fn follow(&mut self, revision: &mut String, broke_us: &mut Option<i64>) -> Ended {
        let mut body = match self.open(revision).await {
            Ok(body) => body,
            Err(error) => {
                broke_us.get_or_insert(self.teller.heard_us);
                self.teller.away(self.teller.heard_us);
                return match error.refusal() {
                    Some(refusal) if refusal.code == 410 => Ended::Forgotten(refusal.message.clone()),
                    Some(refusal) if !matches!(refusal.code, 429 | 502..=504) => Ended::Broken,
                    _ => Ended::Away,
                };
            }
        };
        if let Some(since_us) = broke_us.take() {
            self.teller.late(since_us);
        }
        self.teller.back();
        let mut lines = Lines::default();
        loop {
            let frame = tokio::time::timeout(LONGEST_SILENCE, body.frame()).await;
            // What stands behind the last line end was cut off, and comes again.
            let data = match frame {
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Ok(None) => return Ended::Over,
                Ok(Some(Err(_))) | Err(_) => {
                    broke_us.get_or_insert(self.teller.zero.us());
                    self.teller.away(self.teller.heard_us);
                    return Ended::Broken;
                }
            };
            lines.add(&data);
            while let Some(line) = lines.next() {
                if let Some(ended) = self.teller.event(&line, revision) {
                    if matches!(ended, Ended::Broken) {
                        broke_us.get_or_insert(self.teller.zero.us());
                    }
                    return ended;
                }
            }
        }
    }

    async fn open(&self, revision: &str) -> Result<Body, SendError> {
        let doing = format!("watch {}", self.kind.plural);
        let target = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={LENGTH_S}&resourceVersion={revision}{}",
            self.kind.path(&self.namespace),
            selecting(self.labels.as_deref())
        );
        let request = Request::get(target).header("accept", "application/json").body(Body::empty());
        let request = request.map_err(|error| crate::error::ClusterError::Answer {
            doing: doing.clone(),
            error: chain(&error),
        })?;
        let opened = tokio::time::timeout(LONGEST_SILENCE, self.ground.open(&doing, request)).await;
        let silent = crate::error::ClusterError::Silent { doing, seconds: LONGEST_SILENCE.as_secs() };
        opened.map_err(|_| SendError::from(silent))?.map(http::Response::into_body)
    }
}

fn pause(tries: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// Puts lines together from pieces.
#[derive(Default)]
struct Lines {
    bytes: BytesMut,
    /// So many bytes at the beginning hold no line end.
    searched: usize,
}

impl Lines {
    fn add(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
    }

    fn next(&mut self) -> Option<BytesMut> {
        let rest = self.bytes.get(self.searched..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                let line = self.bytes.split_to(self.searched + at + 1);
                self.searched = 0;
                Some(line)
            }
            None => {
                self.searched = self.bytes.len();
                None
            }
        }
    }
}

/// Tells what was seen, and keeps the last of each object.
struct Teller {
    kind: String,
    zero: Zero,
    out: UnboundedSender<Incoming>,
    heard_us: i64,
    away: bool,
    known: BTreeMap<String, Value>,
}

impl Teller {
    /// The server can't be heard since then.
    fn away(&mut self, since_us: i64) {
        if !self.away {
            self.away = true;
            let _ = self.out.send(Incoming::Away { of: Source::Watch(self.kind.clone()), since_us });
        }
    }

    /// It is heard again.
    fn back(&mut self) {
        if self.away {
            self.away = false;
            let _ = self.out.send(Incoming::Back { of: Source::Watch(self.kind.clone()) });
        }
    }

    /// Takes one event of the watch. Says if the watch is over by it.
    fn event(&mut self, line: &[u8], revision: &mut String) -> Option<Ended> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return Some(Ended::Broken) };
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let change = match kind {
            "ADDED" => Change::Added,
            "MODIFIED" => Change::Modified,
            "DELETED" => Change::Deleted,
            "ERROR" => {
                let message = object.get("message").and_then(Value::as_str).unwrap_or_default();
                let gone = object.get("code").and_then(Value::as_u64) == Some(410);
                return Some(if gone { Ended::Forgotten(message.to_owned()) } else { Ended::Broken });
            }
            _ => {
                // A bookmark, or a word that is not known yet: only the revision counts.
                revision_of(&object).clone_into(revision);
                self.heard_us = self.zero.us();
                return None;
            }
        };
        revision_of(&object).clone_into(revision);
        (!self.sight(change, object)).then_some(Ended::Unheard)
    }

    /// Tells what a list shows that was not known. False if nobody listens.
    fn relist(&mut self, listing: Listing) -> bool {
        let mut before = std::mem::take(&mut self.known);
        for object in listing.items {
            let old = before.remove(name_of(&object));
            let same = old.as_ref().is_some_and(|old| revision_of(old) == revision_of(&object));
            if same {
                self.known.insert(name_of(&object).to_owned(), object);
            } else {
                let change = if old.is_some() { Change::Modified } else { Change::Added };
                if !self.sight(change, object) {
                    return false;
                }
            }
        }
        before.into_values().all(|gone| self.sight(Change::Deleted, gone))
    }

    /// Tells a revision. False if nobody listens.
    fn sight(&mut self, change: Change, mut object: Value) -> bool {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let name = name_of(&object).to_owned();
        if change == Change::Deleted {
            self.known.remove(&name);
        } else {
            self.known.insert(name.clone(), object.clone());
        }
        let us = self.zero.us();
        self.heard_us = us;
        let revision = revision_of(&object).to_owned();
        let sighting = Sighting { kind: self.kind.clone(), name, change, revision, object };
        self.out.send(Incoming::Sighting { us, sighting }).is_ok()
    }

    fn gap(&mut self, from_us: i64, why: String) {
        let us = self.zero.us();
        self.heard_us = us;
        let gap = Gap { of: Source::Watch(self.kind.clone()), from_us, to_us: us, why };
        let _ = self.out.send(Incoming::Gap { us, gap });
    }

    /// Tells that this kind will not be heard of at all.
    fn never(&self, why: &str) {
        let of = Source::Watch(self.kind.clone());
        let gap = Gap { of, from_us: self.heard_us, to_us: i64::MAX, why: why.to_owned() };
        let _ = self.out.send(Incoming::Gap { us: self.zero.us(), gap });
    }

    /// Tells that what came since then is stamped late.
    fn late(&self, from_us: i64) {
        let us = self.zero.us();
        if us - from_us > QUICK_US {
            let noise = Noise { by: Listener::Harness, clock: Clock::Harness, from_us, to_us: us };
            let _ = self.out.send(Incoming::Noise { us, noise });
        }
    }
}

fn revision_of(object: &Value) -> &str {
    object.get("metadata").and_then(|of| of.get("resourceVersion")?.as_str()).unwrap_or_default()
}
