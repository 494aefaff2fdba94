//! Writes one history for each case that runs.
//!
//! All cases of a run share the watches, the stream of the recorder and the clocks. The writer finds the case of each
//! entry: by the label of the case, by the pod that the entry is about, or, for gaps, noise and readings, all cases.
//! Pods that the harness did not name are recognized by the case label that the watch shows. Until the watch shows such
//! a pod, events about it are kept. Entries that belong to no open case, such as late events about pods of a finished
//! case, are left out.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_case::manifest::CASE;
use probity_model::History;
use probity_model::echo::Echoes;
use probity_model::history::{Deed, Did, Gap, Happening, Header, Listener, Noise, Reading, Source};
use probity_model::metronome::MetronomeReader;
use tokio::sync::{mpsc, watch};

use crate::fields::Fields as _;
use crate::listen::echo::ANNOTATION;
use crate::listen::incoming::Incoming;
use crate::run_clock::RunClock;
use crate::setup::metronome::{self, is_metronome};

/// The maximum time that a line takes from a target to the harness, on a machine that is not stalled.
const LONGEST_TRAVEL_US: i64 = 500_000;
/// The maximum number of entries that are kept about a pod that the watch has not shown yet. Usually, the watch shows
/// the pod within milliseconds.
const MOST_EARLY: usize = 1_000;

/// Writes the histories of a run.
#[derive(Clone)]
pub(super) struct HistoryWriter {
    clock: RunClock,
    state: Arc<Mutex<WriterState>>,
}

struct WriterState {
    open: HashMap<String, OpenHistory>,
    /// Detects when a node is late for every pod.
    lateness: MetronomeReader,
    /// Detects when the path to the watch is late for everything.
    echoes: Echoes,
    /// The case of each pod, by the name of the pod.
    pods: HashMap<String, String>,
    /// The beginnings of the names that controllers will give to pods, each with its case.
    expected: Vec<(String, String)>,
    /// The entries about such pods that arrived before the watch showed them, by the name of the pod.
    early: HashMap<String, Vec<(i64, Happening)>>,
    /// The first and the newest reading of each node, for histories that begin later.
    readings: HashMap<String, Vec<(i64, Reading)>>,
    /// Sources that are unreachable now, each with the time at which it last sent something.
    away: Vec<(Source, i64)>,
    /// The newest outage of the API server, for histories that begin while kubelets still feel its effects.
    outage: Option<(i64, Noise)>,
    /// Gaps without an end, for example because a kind may not be watched. Every history contains them.
    endless: Vec<(i64, Gap)>,
    last_noise_us: i64,
    last_busy_us: i64,
    strays: u64,
}

struct OpenHistory {
    history: History,
    changed: watch::Sender<()>,
}

impl OpenHistory {
    fn push(&mut self, us: i64, what: Happening) {
        self.history.push(us, what);
        self.changed.send_replace(());
    }
}

/// The history of one case, for its director.
pub(super) struct CaseHistory {
    writer: HistoryWriter,
    slug: String,
    changed: watch::Receiver<()>,
}

impl HistoryWriter {
    pub(super) fn new(clock: RunClock) -> Self {
        let state = WriterState {
            open: HashMap::new(),
            lateness: metronome::lateness(),
            echoes: Echoes::default(),
            pods: HashMap::new(),
            expected: Vec::new(),
            early: HashMap::new(),
            readings: HashMap::new(),
            away: Vec::new(),
            outage: None,
            endless: Vec::new(),
            last_noise_us: i64::MIN / 2,
            last_busy_us: i64::MIN / 2,
            strays: 0,
        };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the history of a case. It starts with the known clock offsets.
    pub(super) fn open(&self, slug: &str, header: Header) -> CaseHistory {
        let (sender, changed) = watch::channel(());
        let mut state = self.lock();
        let mut history = History::new(header);
        for (us, reading) in state.readings.values().flatten() {
            history.push(*us, Happening::Reading(reading.clone()));
        }
        for (us, gap) in &state.endless {
            history.push(*us, Happening::Gap(gap.clone()));
        }
        if let Some((us, outage)) = &state.outage
            && outage.outage_felt_until() >= Some(self.clock.us())
        {
            history.push(*us, Happening::Noise(outage.clone()));
        }
        state.open.insert(slug.to_owned(), OpenHistory { history, changed: sender });
        CaseHistory { writer: self.clone(), slug: slug.to_owned(), changed }
    }

    /// The time at which the harness last learned of noise.
    pub(super) fn last_noise_us(&self) -> i64 {
        self.lock().last_noise_us
    }

    /// The time of the last report that all processors of a node were busy.
    pub(super) fn last_busy_us(&self) -> i64 {
        self.lock().last_busy_us
    }

    /// Writes everything that arrives, until the senders are gone.
    pub(super) async fn write(self, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(next) = incoming.recv().await {
            self.lock().take(next);
        }
    }
}

impl WriterState {
    fn take(&mut self, next: Incoming) {
        match next {
            Incoming::Happening { us, what } => self.write(us, what),
            Incoming::Away { of, since_us } => self.away.push((of, since_us)),
            Incoming::Back { of, since_us } => {
                let place = self.away.iter().position(|away| *away == (of.clone(), since_us));
                place.map(|place| self.away.swap_remove(place));
            }
            Incoming::EchoSent { us, number } => self.echoes.sent(number, us),
            Incoming::EchoRefused { number } => self.echoes.refused(number),
        }
    }

    fn write(&mut self, us: i64, what: Happening) {
        match &what {
            Happening::Sighting(seen) if seen.kind == "Event" => {
                let pod = seen.object.text("/involvedObject/name").to_owned();
                self.write_about_pod(&pod, us, what);
            }
            Happening::Sighting(seen) if is_metronome(&seen.name) => {
                let echo = seen.object["metadata"]["annotations"][ANNOTATION].as_str();
                let number = echo.and_then(|number| number.parse().ok());
                if let Some(noise) = number.and_then(|number| self.echoes.heard(number, us)) {
                    self.write(us, Happening::Noise(noise));
                }
            }
            Happening::Sighting(seen) => {
                let slug = seen.object["metadata"]["labels"][CASE].as_str().map(str::to_owned);
                let pod = (seen.kind == "Pod").then(|| seen.name.clone());
                self.write_for(slug.as_deref(), us, what);
                if let (Some(slug), Some(pod)) = (slug, pod) {
                    self.learn(pod, slug);
                }
            }
            Happening::Witness(heard) if is_metronome(&heard.pod) => {
                if let Some(noise) = self.lateness.hear(us, heard) {
                    self.write(us, Happening::Noise(noise));
                }
            }
            Happening::Witness(heard) => {
                let pod = heard.pod.clone();
                self.write_about_pod(&pod, us, what);
            }
            Happening::Gap(gap) => {
                if gap.to_us == i64::MAX {
                    self.endless.push((us, gap.clone()));
                }
                self.write_for_all(us, &what);
            }
            Happening::Reading(reading) => {
                let known = self.readings.entry(reading.node.clone()).or_default();
                known.truncate(1);
                known.push((us, reading.clone()));
                self.write_for_all(us, &what);
            }
            Happening::Noise(noise) => {
                match noise.by {
                    Listener::Node | Listener::Overload => self.last_busy_us = us,
                    Listener::Echo => {}
                    Listener::Harness | Listener::Target | Listener::Metronome => self.last_noise_us = us,
                }
                if noise.outage().is_some() {
                    self.outage = Some((us, noise.clone()));
                }
                self.write_for_all(us, &what);
            }
            Happening::Deed(_) => self.write_for_all(us, &what),
        }
    }

    fn write_for(&mut self, slug: Option<&str>, us: i64, what: Happening) {
        match slug.and_then(|slug| self.open.get_mut(slug)) {
            Some(open) => open.push(us, what),
            None => self.strays += 1,
        }
    }

    fn write_for_all(&mut self, us: i64, what: &Happening) {
        for open in self.open.values_mut() {
            open.push(us, what.clone());
        }
    }

    /// Writes an entry about a pod, or keeps it until the watch shows the pod.
    fn write_about_pod(&mut self, pod: &str, us: i64, what: Happening) {
        let slug = self.pods.get(pod).cloned();
        if slug.is_none() && self.expected.iter().any(|(beginning, _)| pod.starts_with(beginning)) {
            let waiting = self.early.entry(pod.to_owned()).or_default();
            if waiting.len() < MOST_EARLY {
                return waiting.push((us, what));
            }
        }
        self.write_for(slug.as_deref(), us, what);
    }

    /// The watch showed a pod with the label of an open case: it belongs to the case, whoever created it.
    fn learn(&mut self, pod: String, slug: String) {
        if self.pods.contains_key(&pod) || !self.open.contains_key(&slug) {
            return;
        }
        for (us, what) in self.early.remove(&pod).unwrap_or_default() {
            self.write_for(Some(&slug), us, what);
        }
        self.pods.insert(pod, slug);
    }

    /// Forgets the pods of a case, and the entries that waited for a pod that never appeared.
    fn forget_pods(&mut self, slug: &str) {
        self.pods.retain(|_, of| of != slug);
        self.expected.retain(|(_, of)| of != slug);
        let (expected, strays) = (&self.expected, &mut self.strays);
        self.early.retain(|pod, waiting| {
            let keep = expected.iter().any(|(beginning, _)| pod.starts_with(beginning));
            *strays += if keep { 0 } else { waiting.len() as u64 };
            keep
        });
    }
}

impl CaseHistory {
    /// A pod with this name belongs to the case.
    pub(super) fn own_pod(&self, pod: &str) {
        self.writer.lock().pods.insert(pod.to_owned(), self.slug.clone());
    }

    /// A controller will create pods for the case whose names begin like this.
    pub(super) fn expect_pods(&self, beginning: &str) {
        self.writer.lock().expected.push((beginning.to_owned(), self.slug.clone()));
    }

    /// Writes an action of the harness, which started at `began_us` and is complete now.
    pub(super) fn deed(&self, began_us: i64, did: Did) {
        self.write(Happening::Deed(Deed { began_us, did }));
    }

    /// Writes anything.
    pub(super) fn write(&self, what: Happening) {
        let us = self.writer.clock.us();
        if let Some(open) = self.writer.lock().open.get_mut(&self.slug) {
            open.push(us, what);
        }
    }

    /// Calls `at` with the history so far.
    pub(super) fn look<T>(&self, at: impl FnOnce(&History) -> T) -> T {
        let state = self.writer.lock();
        match state.open.get(&self.slug) {
            Some(open) => at(&open.history),
            None => at(&History::default()),
        }
    }

    /// Waits until something is written.
    pub(super) async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Writes a gap that lasts until now for each source that is unreachable. All sources use the API server, so if one
    /// is unreachable, the others may be, too.
    pub(super) fn write_absences(&self) {
        let since_us = self.writer.lock().away.iter().map(|(_, since_us)| *since_us).min();
        let Some(from_us) = since_us else { return };
        for of in [Source::Recorder, Source::Watch("Pod".to_owned())] {
            let (to_us, why) =
                (self.writer.clock.us(), "nothing more was received from the cluster".to_owned());
            self.write(Happening::Gap(Gap { of, from_us, to_us, why }));
        }
    }

    /// Closes the history and returns it. Noise that has not ended yet is its last entry.
    pub(super) fn close(self) -> History {
        let us = self.writer.clock.us();
        let mut state = self.writer.lock();
        state.forget_pods(&self.slug);
        let Some(mut open) = state.open.remove(&self.slug) else { return History::default() };
        let late = state.lateness.overdue(us, LONGEST_TRAVEL_US);
        for noise in late.into_iter().chain(state.echoes.overdue(us)) {
            open.push(us, Happening::Noise(noise));
        }
        open.history
    }
}
