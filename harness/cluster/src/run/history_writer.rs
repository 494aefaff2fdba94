//! Writes one history for each case that runs.
//!
//! All cases of a run share the watches, the stream of the recorder and the clocks. The writer finds the case of each
//! entry: by the label of the case, by the pod that the entry is about, or, for gaps, noise and readings, all cases.
//! The noise and the readings of a node are written only to the histories of cases that this node can affect.
//! Otherwise, a run on a thousand nodes would write the entries of every node into the history of every case. Pods that
//! the harness did not name are recognized by the case label that the watch shows. Until the watch shows such a pod,
//! events about it are kept. Events about workloads are written only if they tell why a workload has no pods. Entries
//! that belong to no open case, such as late events about pods of a finished case, are left out.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_case::manifest::CASE;
use probity_model::Clock;
use probity_model::History;
use probity_model::echo::Echoes;
use probity_model::history::{Deed, Did, Gap, Happening, Header, Listener, Noise, Reading, Source};
use probity_model::metronome::MetronomeReader;
use tokio::sync::{mpsc, watch};

use crate::fields::Fields as _;
use crate::listen::echo::ANNOTATION;
use crate::listen::incoming::Incoming;
use crate::run::latest::LatestByNode;
use crate::run_clock::RunClock;
use crate::setup::echo_pod;
use crate::setup::metronome::{self, is_metronome};

/// The maximum time that a line takes from a target to the harness, on a machine that is not stalled.
const LONGEST_TRAVEL_US: i64 = 500_000;
/// The maximum number of entries that are kept about a pod that the watch has not shown yet. Usually, the watch shows
/// the pod within milliseconds.
const MOST_EARLY: usize = 1_000;
/// The reason of the events with which controllers report that they cannot create pods. Other events about workloads are
/// left out.
const NO_PODS: &str = "FailedCreate";

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
    /// The outage of the API server whose effects last longest, for histories that begin while kubelets still feel its effects.
    outage: Option<(i64, Noise)>,
    /// Gaps without an end, for example because a kind may not be watched. Every history contains them.
    endless: Vec<(i64, Gap)>,
    noisy: LatestByNode,
    busy: LatestByNode,
    strays: u64,
}

struct OpenHistory {
    history: History,
    /// The nodes that can affect the case; all of them, if absent.
    nodes: Option<BTreeSet<String>>,
    /// The names of the pods of the case.
    pods: Vec<String>,
    changed: watch::Sender<()>,
}

impl OpenHistory {
    /// Whether an entry about this node belongs in this history. An entry that is not about a node belongs in all
    /// histories.
    fn concerns(&self, node: Option<&str>) -> bool {
        let (Some(nodes), Some(node)) = (&self.nodes, node) else { return true };
        nodes.contains(node)
    }

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
            noisy: LatestByNode::default(),
            busy: LatestByNode::default(),
            strays: 0,
        };
        Self { clock, state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the history of a case that only these nodes can affect, or any node, if `nodes` is absent. It starts with the
    /// known clock offsets.
    pub(super) fn open(&self, slug: &str, header: Header, nodes: Option<BTreeSet<String>>) -> CaseHistory {
        let (sender, changed) = watch::channel(());
        let mut state = self.lock();
        let mut open =
            OpenHistory { history: History::new(header), nodes, pods: Vec::new(), changed: sender };
        let known = match &open.nodes {
            Some(nodes) => nodes.iter().filter_map(|node| state.readings.get(node)).flatten().collect(),
            None => state.readings.values().flatten().collect::<Vec<_>>(),
        };
        for (us, reading) in known {
            open.history.push(*us, Happening::Reading(reading.clone()));
        }
        for (us, gap) in &state.endless {
            open.history.push(*us, Happening::Gap(gap.clone()));
        }
        if let Some((us, outage)) = &state.outage
            && outage.outage_felt_until() >= Some(self.clock.us())
        {
            open.history.push(*us, Happening::Noise(outage.clone()));
        }
        state.open.insert(slug.to_owned(), open);
        CaseHistory { writer: self.clone(), slug: slug.to_owned(), changed }
    }

    /// The time of the last report that this node was stalled; that any node was, if `node` is absent.
    pub(super) fn last_noise_us(&self, node: Option<&str>) -> i64 {
        self.lock().noisy.of(node)
    }

    /// The time of the last report that all processors of a node were busy, or of any node, if `node` is absent.
    pub(super) fn last_busy_us(&self, node: Option<&str>) -> i64 {
        self.lock().busy.of(node)
    }

    /// Writes everything that arrives, until the senders are gone. Entries come from the cluster under test. If one of them
    /// makes the writer panic, a gap without an end shows this: a history without entries would look like a silent cluster.
    pub(super) async fn write(self, mut incoming: mpsc::UnboundedReceiver<Incoming>) {
        while let Some(next) = incoming.recv().await {
            let mut state = self.lock();
            if catch_unwind(AssertUnwindSafe(|| state.take(next))).is_err() {
                let why = "the harness itself failed to process an entry: please report this bug".to_owned();
                let (us, of) = (self.clock.us(), Source::Recorder);
                state.write(us, Happening::Gap(Gap { of, from_us: us, to_us: i64::MAX, why }));
            }
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
            Incoming::EchoRefused { us, number } => {
                let late = self.echoes.refused(number, us);
                self.write_late(us, late);
            }
            Incoming::EchoFailed { number } => self.echoes.failed(number),
        }
    }

    /// Writes that the path to the watch was late, if it was.
    fn write_late(&mut self, us: i64, late: Option<Noise>) {
        if let Some(noise) = late {
            self.write(us, Happening::Noise(noise));
        }
    }

    fn write(&mut self, us: i64, what: Happening) {
        match &what {
            Happening::Sighting(seen) if seen.kind == "Event" => {
                let of = seen.object.text("/involvedObject/name").to_owned();
                if matches!(seen.object.text("/involvedObject/kind"), "" | "Pod") {
                    return self.write_about_pod(&of, us, what);
                }
                let tells_why = seen.object.text("/reason") == NO_PODS;
                let slug = self.case_of_workload(&of).filter(|_| tells_why);
                self.write_for(slug.as_deref(), us, what);
            }
            Happening::Sighting(seen) if seen.name == echo_pod::NAME => {
                let echo = seen.object["metadata"]["annotations"][ANNOTATION].as_str();
                let number = echo.and_then(|number| number.parse().ok());
                let late = number.and_then(|number| self.echoes.heard(number, us));
                self.write_late(us, late);
            }
            Happening::Sighting(seen) => {
                if seen.kind == "Pod" {
                    let late = self.echoes.passed(us);
                    self.write_late(us, late);
                }
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
                    Listener::Node | Listener::Overload => self.busy.note(node_of_noise(noise), us),
                    Listener::Echo => {}
                    Listener::Harness | Listener::Target | Listener::Metronome => {
                        self.noisy.note(node_of_noise(noise), us);
                    }
                }
                let felt = |noise: &Noise| noise.outage_felt_until();
                if felt(noise) > self.outage.as_ref().and_then(|(_, outage)| felt(outage)) {
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

    /// Writes an entry to the histories of all cases that its node can affect.
    fn write_for_all(&mut self, us: i64, what: &Happening) {
        let node = node_of(what);
        for open in self.open.values_mut().filter(|open| open.concerns(node)) {
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

    /// The case of a workload, or of an object between a workload and its pods: the names of the pods begin with its name.
    fn case_of_workload(&self, name: &str) -> Option<String> {
        let pods = format!("{name}-");
        let found = self.expected.iter().find(|(beginning, _)| pods.starts_with(beginning));
        found.map(|(_, slug)| slug.clone())
    }

    /// The watch showed a pod with the label of an open case: it belongs to the case, whoever created it.
    fn learn(&mut self, pod: String, slug: String) {
        if self.pods.contains_key(&pod) || !self.open.contains_key(&slug) {
            return;
        }
        for (us, what) in self.early.remove(&pod).unwrap_or_default() {
            self.write_for(Some(&slug), us, what);
        }
        self.own(pod, slug);
    }

    /// From now on, this pod belongs to a case.
    fn own(&mut self, pod: String, slug: String) {
        if let Some(open) = self.open.get_mut(&slug) {
            open.pods.push(pod.clone());
        }
        self.pods.insert(pod, slug);
    }

    /// Forgets the pods of a case, and the entries that waited for a pod that never appeared.
    fn forget_pods(&mut self, slug: &str, pods: &[String]) {
        for pod in pods {
            if self.pods.get(pod).is_some_and(|of| of == slug) {
                self.pods.remove(pod);
            }
        }
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
        self.writer.lock().own(pod.to_owned(), self.slug.clone());
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
        let Some(mut open) = state.open.remove(&self.slug) else { return History::default() };
        state.forget_pods(&self.slug, &open.pods);
        let late = state.lateness.overdue(us, LONGEST_TRAVEL_US);
        for noise in late.into_iter().chain(state.echoes.overdue(us)) {
            if open.concerns(node_of_noise(&noise)) {
                open.push(us, Happening::Noise(noise));
            }
        }
        open.history
    }
}

/// The node that an entry is about, if it is about one.
fn node_of(what: &Happening) -> Option<&str> {
    match what {
        Happening::Reading(reading) => Some(&reading.node),
        Happening::Noise(noise) => node_of_noise(noise),
        _ => None,
    }
}

fn node_of_noise(noise: &Noise) -> Option<&str> {
    match &noise.clock {
        Clock::Node(node) | Clock::Wall(node) => Some(node),
        Clock::Harness => None,
    }
}
