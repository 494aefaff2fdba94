//! The books: one history for each case that runs, and the clerk who enters what comes in.
//!
//! All cases of a run share the watches, the recorder's stream and the clocks. The clerk finds out which case something
//! belongs to and enters it there: by the label of the case, by the pod that it is about, or, for gaps, noise and
//! readings, everywhere. Pods that the harness did not name are learnt of from the watch, by the label of their case;
//! what is heard of one before that waits for it. Nothing is ever dropped in silence: what belongs to no open case is
//! counted.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_case::manifest::CASE;
use probity_model::history::{Deed, Did, Gap, Happening, Header, Reading, Sighting, Source};
use probity_model::metronome::MetronomeEar;
use probity_model::{EventId, History};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::Zero;
use crate::incoming::Incoming;
use crate::metronome::Metronome;

/// How long a line takes at most from a target to here on a machine that is not held up.
const TRAVEL_US: i64 = 500_000;
/// So much is kept of a pod that the watch has not shown yet; it comes within milliseconds as a rule.
const MOST_EARLY: usize = 1_000;

/// The books of a run.
#[derive(Clone)]
pub struct Books {
    zero: Zero,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    open: HashMap<String, Open>,
    /// Hears when a node is late for everyone.
    ear: MetronomeEar,
    /// Which case a pod belongs to, by the pod's name.
    pods: HashMap<String, String>,
    /// The beginnings of the names that controllers will give to pods, each with its case.
    expected: Vec<(String, String)>,
    /// What was heard of such pods before the watch showed them, by the pod's name.
    early: HashMap<String, Vec<(i64, Happening)>>,
    /// The first and the newest reading of each node, for histories that begin later.
    readings: HashMap<String, Vec<(i64, Reading)>>,
    /// Sources that can't be heard now, each with when it was heard last.
    away: Vec<(Source, i64)>,
    /// Gaps that have no end, such as a kind that may not be watched: they are in every history.
    endless: Vec<(i64, Gap)>,
    last_noise_us: i64,
    strays: u64,
}

struct Open {
    history: History,
    changed: watch::Sender<()>,
}

/// The book of one case, as its director holds it.
pub struct Book {
    books: Books,
    slug: String,
    changed: watch::Receiver<()>,
}

impl Books {
    /// Empty books.
    #[must_use]
    pub fn new(zero: Zero) -> Self {
        let inner = Inner {
            open: HashMap::new(),
            ear: Metronome::ear(),
            pods: HashMap::new(),
            expected: Vec::new(),
            early: HashMap::new(),
            readings: HashMap::new(),
            away: Vec::new(),
            endless: Vec::new(),
            last_noise_us: i64::MIN / 2,
            strays: 0,
        };
        Self { zero, inner: Arc::new(Mutex::new(inner)) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the book of a case. What is known of the clocks is its beginning.
    #[must_use]
    pub fn open(&self, slug: &str, header: Header) -> Book {
        let (sender, changed) = watch::channel(());
        let mut inner = self.lock();
        let mut history = History::new(header);
        for (us, reading) in inner.readings.values().flatten() {
            history.push(*us, Happening::Reading(reading.clone()));
        }
        for (us, gap) in &inner.endless {
            history.push(*us, Happening::Gap(gap.clone()));
        }
        inner.open.insert(slug.to_owned(), Open { history, changed: sender });
        Book { books: self.clone(), slug: slug.to_owned(), changed }
    }

    /// When noise was heard last, on the harness's clock.
    #[must_use]
    pub fn last_noise_us(&self) -> i64 {
        self.lock().last_noise_us
    }

    /// How many things came that belonged to no open case.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.lock().strays
    }

    /// Enters all that comes in, until the senders are gone.
    pub async fn keep(self, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(next) = incoming.recv().await {
            self.lock().enter(next);
        }
    }
}

impl Inner {
    fn enter(&mut self, next: Incoming) {
        match next {
            Incoming::Sighting { us, sighting } if sighting.kind == "Event" => {
                let pod = pod_of(&sighting).unwrap_or_default().to_owned();
                self.enter_of_pod(&pod, us, Happening::Sighting(sighting));
            }
            Incoming::Sighting { us, sighting } => {
                let slug = case_of(&sighting);
                let pod = (sighting.kind == "Pod").then(|| sighting.name.clone());
                self.enter_one(slug.clone(), us, Happening::Sighting(sighting));
                if let (Some(slug), Some(pod)) = (slug, pod) {
                    self.learn(pod, slug);
                }
            }
            Incoming::Heard { us, heard } if Metronome::is_one(&heard.pod) => {
                if let Some(noise) = self.ear.hear(us, &heard) {
                    self.enter(Incoming::Noise { us, noise });
                }
            }
            Incoming::Heard { us, heard } => {
                let pod = heard.pod.clone();
                self.enter_of_pod(&pod, us, Happening::Witness(heard));
            }
            Incoming::Away { of, since_us } => self.away.push((of, since_us)),
            Incoming::Back { of } => self.away.retain(|(away, _)| *away != of),
            Incoming::Gap { us, gap } => {
                if gap.to_us == i64::MAX {
                    self.endless.push((us, gap.clone()));
                }
                self.enter_all(us, &Happening::Gap(gap));
            }
            Incoming::Noise { us, noise } => {
                self.last_noise_us = us;
                self.enter_all(us, &Happening::Noise(noise));
            }
            Incoming::Reading { us, reading } => {
                let known = self.readings.entry(reading.node.clone()).or_default();
                known.truncate(1);
                known.push((us, reading.clone()));
                self.enter_all(us, &Happening::Reading(reading));
            }
        }
    }

    fn enter_one(&mut self, slug: Option<String>, us: i64, what: Happening) {
        match slug.and_then(|slug| self.open.get_mut(&slug)) {
            Some(open) => {
                open.history.push(us, what);
                open.changed.send_replace(());
            }
            None => self.strays += 1,
        }
    }

    fn enter_all(&mut self, us: i64, what: &Happening) {
        for open in self.open.values_mut() {
            open.history.push(us, what.clone());
            open.changed.send_replace(());
        }
    }

    /// Enters what is about a pod; if the pod is yet to be learnt of, it waits.
    fn enter_of_pod(&mut self, pod: &str, us: i64, what: Happening) {
        let slug = self.pods.get(pod).cloned();
        if slug.is_none() && self.expected.iter().any(|(begins, _)| pod.starts_with(begins)) {
            let waiting = self.early.entry(pod.to_owned()).or_default();
            if waiting.len() < MOST_EARLY {
                return waiting.push((us, what));
            }
        }
        self.enter_one(slug, us, what);
    }

    /// Expects no more pods of a case. What waited for one in vain is counted.
    fn forget_expected(&mut self, slug: &str) {
        self.expected.retain(|(_, of)| of != slug);
        let expected = std::mem::take(&mut self.expected);
        let hoped = |pod: &String| expected.iter().any(|(begins, _)| pod.starts_with(begins));
        let vain: u64 =
            self.early.iter().filter(|(pod, _)| !hoped(pod)).map(|(_, all)| all.len() as u64).sum();
        self.early.retain(|pod, _| hoped(pod));
        self.strays += vain;
        self.expected = expected;
    }

    /// A pod was shown that carries the label of an open case: it is the case's, whoever made it.
    fn learn(&mut self, pod: String, slug: String) {
        if self.pods.contains_key(&pod) || !self.open.contains_key(&slug) {
            return;
        }
        for (us, what) in self.early.remove(&pod).unwrap_or_default() {
            self.enter_one(Some(slug.clone()), us, what);
        }
        self.pods.insert(pod, slug);
    }
}

/// The case whose label an object carries.
fn case_of(sighting: &Sighting) -> Option<String> {
    let labels = sighting.object.get("metadata")?.get("labels")?;
    labels.get(CASE).and_then(Value::as_str).map(str::to_owned)
}

/// What an event is about.
fn pod_of(sighting: &Sighting) -> Option<&str> {
    sighting.object.get("involvedObject")?.get("name")?.as_str()
}

impl Book {
    /// Says that a pod of this name belongs to the case.
    pub fn own_pod(&self, pod: &str) {
        self.books.lock().pods.insert(pod.to_owned(), self.slug.clone());
    }

    /// Says that a controller will make pods for the case whose names begin so.
    pub fn expect_pods(&self, begins: &str) {
        self.books.lock().expected.push((begins.to_owned(), self.slug.clone()));
    }

    /// Enters something that the harness did, which began at `began_us` and is done now.
    pub fn deed(&self, began_us: i64, did: Did) -> EventId {
        self.enter(Happening::Deed(Deed { began_us, did }))
    }

    /// Enters anything.
    pub fn enter(&self, what: Happening) -> EventId {
        let us = self.books.zero.us();
        let mut inner = self.books.lock();
        let Some(open) = inner.open.get_mut(&self.slug) else { return EventId(0) };
        let id = open.history.push(us, what);
        open.changed.send_replace(());
        id
    }

    /// Looks at the history so far.
    pub fn look<T>(&self, at: impl FnOnce(&History) -> T) -> T {
        let inner = self.books.lock();
        match inner.open.get(&self.slug) {
            Some(open) => at(&open.history),
            None => at(&History::default()),
        }
    }

    /// Waits until something is entered.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Enters who can't be heard now: whatever they would have told belongs to a gap that lasts until the end. They all
    /// speak through the API server, so where one is away the others may be about to be missed.
    pub fn enter_absences(&self) {
        let us = self.books.zero.us();
        let mut inner = self.books.lock();
        let Some(since_us) = inner.away.iter().map(|(_, since)| *since).min() else { return };
        let Some(open) = inner.open.get_mut(&self.slug) else { return };
        for of in [Source::Recorder, Source::Watch("Pod".to_owned())] {
            let why = "the cluster could not be heard any more".to_owned();
            open.history.push(us, Happening::Gap(Gap { of, from_us: since_us, to_us: us, why }));
        }
    }

    /// Closes the book and hands the history over. Noise that has not ended yet is its last entry.
    #[must_use]
    pub fn close(self) -> History {
        let us = self.books.zero.us();
        let mut inner = self.books.lock();
        for noise in inner.ear.overdue(us, TRAVEL_US) {
            if let Some(open) = inner.open.get_mut(&self.slug) {
                open.history.push(us, Happening::Noise(noise));
            }
        }
        inner.pods.retain(|_, slug| *slug != self.slug);
        inner.forget_expected(&self.slug);
        inner.open.remove(&self.slug).map(|open| open.history).unwrap_or_default()
    }
}
