//! Events that were recorded more often than the things that they report happened.

use std::collections::BTreeSet;

use probity_model::history::Did;
use probity_model::mechanisms::UNDER_WAY;
use probity_model::timeline::{ContainerKind, ContainerLife, KubeEvent, PodLife};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::tally::Tally;
use crate::reading::alive::is_forced;

/// The events of a pod that are too many for what happened.
pub(super) struct Excess<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    tally: &'t Tally<'t, 'h>,
    more: u64,
    cited: Vec<EventId>,
}

impl<'t, 'h> Excess<'t, 'h> {
    pub(super) fn of(run: &'t Timeline<'h>, pod: &'t PodLife<'h>, tally: &'t Tally<'t, 'h>) -> Self {
        Self { run, pod, tally, more: 0, cited: Vec::new() }
    }

    /// Counts the matching events beyond the allowed number. An event shortly before the end may be about something whose
    /// record has not arrived yet.
    pub(super) fn count(&mut self, allowed: u64, wanted: impl Fn(&KubeEvent<'h>) -> bool) {
        let heard =
            |event: &KubeEvent<'_>| self.run.longer_than(self.pod, (&event.at, &self.run.end()), UNDER_WAY);
        let of = self.tally.iter().filter(|(event, _)| wanted(event) && heard(event));
        let (times, last) = of.fold((0, None), |(times, _), (event, more)| (times + more, Some(event.id)));
        let excess = u64::saturating_sub(times, allowed);
        self.more += excess;
        self.cited.extend(last.filter(|_| excess > 0));
    }

    /// Reports a violation if the whole pod has more excess events than the clause tolerates.
    pub(super) fn judge(self, clause: &Clause, what: &str, seen: &mut Seen) {
        let more = usize::try_from(self.more).unwrap_or(usize::MAX);
        if more >= clause.tolerance_times("more") {
            let finding = format!("{}: {more} more events were recorded than {what}", self.pod.key);
            seen.violated(finding, self.cited);
        }
    }
}

/// How many instances a container had, if the records of each are complete and none failed to start.
pub(super) fn instances(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Option<u64> {
    let lives = &container.attempts;
    let numbered = (0..).zip(lives).all(|(number, life)| life.number == number && life.is_complete());
    let failed = |event: &KubeEvent<'_>| {
        event.is_combined() || (event.reason == "Failed" && event.container == Some(container.name.as_str()))
    };
    let restarts = pod.restarts(&container.name).map_or(0, |(_, restarts)| restarts);
    let count = u64::try_from(lives.len()).ok()?;
    let all = numbered && restarts < count && !pod.restarts_as_one();
    (all && !pod.events.iter().any(failed)).then_some(count)
}

/// How often a container may be stopped without a probe as the cause: once for each request to delete its pod, and, if
/// it is a sidecar, once more when the work of the pod is done. None if something else can stop it.
pub(super) fn stops(run: &Timeline<'_>, pod: &PodLife<'_>, container: &ContainerLife<'_>) -> Option<u64> {
    if pod.had_deadline() || pod.was_ended_from_outside() || is_forced(run, pod) || pod.restarts_as_one() {
        return None;
    }
    let asked = |did: &Did| match did {
        Did::Deleted { name, .. } => *name == pod.name,
        Did::Evicted { pod: of, refused: None, .. } => *of == pod.name,
        _ => false,
    };
    let asked = run.deeds.iter().filter(|(_, deed)| asked(&deed.did)).count();
    let graces: BTreeSet<Option<i64>> = pod
        .revisions
        .iter()
        .filter(|shown| shown.terminating() && !shown.gone)
        .map(|shown| shown.deletion_grace())
        .collect();
    let requests = u64::try_from(asked.max(graces.len())).ok()?.max(1);
    Some(requests + u64::from(container.kind == ContainerKind::Sidecar))
}
