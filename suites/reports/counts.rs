//! Events that occur again: the count of such an event grows, and its last time moves forward.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::{Interval, seconds, whole_seconds};
use probity_model::timeline::{KubeEvent, PodLife};
use probity_model::{Clause, Seen, Timeline};

use super::of_containers;

/// The count of an event grows with each revision, its first time does not change, and its last time does not go back.
pub(super) fn counts_up(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        judge_last_times(run, clause, pod, seen);
        let (mut last, mut said): (BTreeMap<&str, &KubeEvent<'_>>, BTreeSet<&str>) = Default::default();
        for event in of_containers(pod) {
            let name = event.text("/metadata/name").unwrap_or_default();
            let before = last.insert(name, event);
            // A restarted watch repeats what it has shown before.
            let revision = |of: &KubeEvent<'_>| of.text("/metadata/resourceVersion").map(str::to_owned);
            if before.is_some_and(|before| revision(before).is_some() && revision(before) == revision(event))
            {
                continue;
            }
            let word = if before.is_some() { "again" } else { "once" };
            match wrong(before, event).or_else(|| ahead(run, clause, pod, event)) {
                Some(wrong) => {
                    let finding = format!("an event {} of {} {wrong}", event.reason, pod.key);
                    seen.violated(finding, before.map(|of| of.id).into_iter().chain([event.id]));
                }
                None if said.insert(word) => {
                    seen.fine(before.map(|of| of.id).into_iter().chain([event.id]));
                    seen.facet("occurs", word);
                }
                None => {}
            }
        }
    }
}

/// If an event keeps occurring, its last time changes.
fn judge_last_times(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, seen: &mut Seen) {
    let mut first: BTreeMap<&str, &KubeEvent<'_>> = BTreeMap::new();
    for event in of_containers(pod) {
        let name = event.text("/metadata/name").unwrap_or_default();
        let from = *first.entry(name).or_insert(event);
        if from.second("lastTimestamp") != event.second("lastTimestamp") {
            first.insert(name, event);
            continue;
        }
        let more = usize::try_from(event.count.saturating_sub(from.count)).unwrap_or(usize::MAX);
        let allowed = clause.tolerance_us("moved") + run.noise_between(&pod.node, &from.at, &event.at);
        if more >= clause.tolerance_times("again") && run.at_least(&from.at, &event.at) > allowed {
            let finding = format!(
                "an event {} of {} occurred {more} more times in {}, but its last time did not change",
                event.reason,
                pod.key,
                seconds(run.at_least(&from.at, &event.at))
            );
            seen.violated(finding, [from.id, event.id]);
            return;
        }
    }
}

/// What is wrong with an event that arrived before its own last time, which its kubelet cannot have known.
fn ahead(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, event: &KubeEvent<'_>) -> Option<String> {
    let last = Interval::point(whole_seconds(event.second("lastTimestamp")?));
    let last = Stamp { clock: Clock::Wall(pod.node.clone()), at: last };
    let ahead = run.clocks.between(&event.at, &last)?.lo;
    (ahead > clause.tolerance_us("ahead")).then(|| format!("arrived {} before its last time", seconds(ahead)))
}

/// What is wrong with the count and the times of an event. `before` is its previous revision, if there was one.
fn wrong(before: Option<&KubeEvent<'_>>, event: &KubeEvent<'_>) -> Option<String> {
    let times = event.second("firstTimestamp").zip(event.second("lastTimestamp"));
    let Some((first, last)) = times else { return Some("does not say when it occurred".to_owned()) };
    match () {
        () if event.count == 0 => return Some("has the count 0".to_owned()),
        () if last < first => return Some("has a last time before its first time".to_owned()),
        () => {}
    }
    let before = before?;
    let (old_first, old_last) = before.second("firstTimestamp").zip(before.second("lastTimestamp"))?;
    match () {
        () if event.count <= before.count => {
            Some(format!("occurred again, but its count went from {} to {}", before.count, event.count))
        }
        () if first != old_first => Some("occurred again, but its first time changed".to_owned()),
        () if last < old_last => Some("occurred again, but its last time went back".to_owned()),
        () => None,
    }
}
