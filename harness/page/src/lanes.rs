//! The lanes of a timeline: the events of a case, grouped by object.
//!
//! Each pod has a group with its phase, its conditions and the events recorded for it. Each container has a group with
//! its instances, its status, its probes by kind and its signals. The last groups are the endpoints, the node and the
//! harness. Events without a lane are dropped, unless a verdict cites them. Cited events without a lane are in the lane
//! of other evidence. If the case is a trial of probe settings, the first group shows the promises of the settings.

mod cluster;
mod container;
mod probes;
mod trial;

use std::collections::BTreeSet;

use probity_model::clocks::Stamp;
use probity_model::{EventId, Timeline};
use probity_report::event_in_words;

use crate::trials::Trial;
use crate::words::cut;

/// The maximum length of a text of an item, in characters.
const LONGEST: usize = 240;

/// Lanes that belong together.
pub(crate) struct LaneGroup {
    /// The object that the lanes are about.
    pub(crate) name: String,
    /// The lanes, in order.
    pub(crate) lanes: Vec<Lane>,
}

/// A row of the timeline.
pub(crate) struct Lane {
    /// What it shows.
    pub(crate) name: String,
    /// Its contents, in the order of time.
    pub(crate) items: Vec<Item>,
}

/// Something in a lane: a span, or a point if it has no length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// When it started, in microseconds since the run's zero.
    pub(crate) at: i64,
    /// How long it lasted.
    pub(crate) length: i64,
    /// How it is drawn.
    pub(crate) look: Look,
    /// The item in words.
    pub(crate) text: String,
    /// The events of the item: the first at its beginning, the others at its end.
    pub(crate) events: Vec<EventId>,
}

/// How an item is drawn. The script and the style sheet know these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A running container instance.
    Life,
    /// Something good: a success, ready.
    Good,
    /// A failure.
    Bad,
    /// Something in between: running but not ready, an unclear result.
    Mixed,
    /// Something that waits or is absent.
    Faint,
    /// Something that ended.
    Ended,
    /// A signal, a restart, a warning.
    Alarm,
    /// Neutral information.
    Plain,
    /// A time in which something was stalled or busy.
    Stalled,
}

impl Look {
    /// The first letter of its name, which identifies it for the script.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Life => 'l',
            Self::Good => 'g',
            Self::Bad => 'b',
            Self::Mixed => 'm',
            Self::Faint => 'f',
            Self::Ended => 'e',
            Self::Alarm => 'a',
            Self::Plain => 'p',
            Self::Stalled => 's',
        }
    }
}

impl Lane {
    fn new(name: impl Into<String>, items: Vec<Item>) -> Self {
        Self { name: name.into(), items }
    }
}

impl Item {
    fn point(at: i64, look: Look, text: impl AsRef<str>, event: EventId) -> Self {
        Self { at, length: 0, look, text: cut(text.as_ref(), LONGEST), events: vec![event] }
    }

    fn span(at: i64, until: i64, look: Look, text: impl AsRef<str>, events: Vec<EventId>) -> Self {
        Self { at, length: (until - at).max(0), look, text: cut(text.as_ref(), LONGEST), events }
    }
}

/// All lanes of a case that have items. If the case is a trial, its promises come first.
pub(crate) fn of(run: &Timeline<'_>, cited: &BTreeSet<EventId>, trial: Option<&Trial>) -> Vec<LaneGroup> {
    let mut groups = Vec::new();
    groups.extend(trial.map(|trial| trial::group(run, trial)));
    for pod in &run.pods {
        groups.push(cluster::pod(run, pod));
        let containers = pod.containers.iter().chain(&pod.ephemeral);
        groups.extend(containers.map(|container| container::group(run, pod, container)));
    }
    groups.extend(cluster::endpoints(run));
    groups.push(cluster::node(run));
    groups.push(cluster::harness(run));
    for group in &mut groups {
        for lane in &mut group.lanes {
            lane.items.sort_by_key(|item| item.at);
        }
        group.lanes.retain(|lane| !lane.items.is_empty());
    }
    let others = other_evidence(run, cited, &groups);
    if !others.items.is_empty() {
        groups.push(LaneGroup { name: "Evidence".to_owned(), lanes: vec![others] });
    }
    groups.retain(|group| !group.lanes.is_empty());
    groups
}

/// The cited events that are in no lane.
fn other_evidence(run: &Timeline<'_>, cited: &BTreeSet<EventId>, groups: &[LaneGroup]) -> Lane {
    let items = groups.iter().flat_map(|group| &group.lanes).flat_map(|lane| &lane.items);
    let shown: BTreeSet<EventId> = items.flat_map(|item| &item.events).copied().collect();
    let missing = cited.iter().filter(|id| !shown.contains(id) && run.history.get(**id).is_some());
    let items = missing.map(|id| Item::point(heard(run, *id), Look::Plain, words(run, *id), *id));
    Lane::new("other evidence", items.collect())
}

/// An event in words, without its time.
fn words(run: &Timeline<'_>, id: EventId) -> String {
    let words = event_in_words(run.history, id);
    words.split_once(" s ").map_or(words.clone(), |(_, what)| what.to_owned())
}

/// When something happened, on the harness's clock and as precisely as the clocks allow. If the clocks cannot be
/// compared, when its event was received.
pub(crate) fn when(run: &Timeline<'_>, stamp: &Stamp, id: EventId) -> i64 {
    run.clocks.on_harness(stamp).map_or_else(|| heard(run, id), |at| at.lo + (at.hi - at.lo) / 2)
}

/// When an event arrived.
fn heard(run: &Timeline<'_>, id: EventId) -> i64 {
    run.history.get(id).map_or(0, |event| event.us)
}

/// Spans from each change to the next. The last span lasts until the end.
fn until_next<T>(changes: &[(i64, T)], end: i64) -> impl Iterator<Item = (i64, i64, &T)> {
    let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([end]);
    changes.iter().zip(ends).map(|((at, what), until)| (*at, until.max(*at), what))
}
