//! How long the kubelet waits before it retries the pull of an image that no registry serves.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF};
use probity_model::timeline::{At, ContainerLife, Happened, KubeEvent, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Measurement, Seen, Stamp, Timeline};

use super::NORMAL;
use super::images::{Lack, lacking};
use super::pull_times::{PULLING, Pulls};

/// Each pull waits twice as long as the previous pull.
pub(super) fn wait_longer(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let unserved =
        lacking(run).filter(|(pod, _, lack)| matches!(lack, Lack::Unserved) && !pod.had_deadline());
    for (pod, container, _) in unserved.filter(|(pod, container, _)| has_own_image(pod, container)) {
        let all = Pulls::of(run, pod);
        let mut pulls = all.tally.iter().filter(|(event, _)| event.is_of(&container.name, PULLING));
        let Some((mut last, 1)) = pulls.next() else { continue };
        let mut delay = FIRST_BACK_OFF;
        loop {
            let pull = Pull { run, clause, pod, container, all: &all, last, delay };
            match pulls.next() {
                Some((next, 1)) => {
                    pull.judge(next, seen);
                    last = next;
                }
                // The event counts two pulls at once: the time of the first one is not known.
                Some(_) => break,
                None => {
                    pull.judge_missing(seen);
                    break;
                }
            }
            delay = delay.saturating_add(delay).min(LONGEST_BACK_OFF);
        }
    }
}

/// Whether no other container of the pod has the same image: they would share the back-off.
fn has_own_image(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let image = container.spec.get("image");
    pod.containers.iter().filter(|other| other.spec.get("image") == image).count() == 1
}

/// A pull that failed, and how long the next one waits.
struct Pull<'t, 'h> {
    run: &'t Timeline<'h>,
    clause: &'t Clause,
    pod: &'t PodLife<'h>,
    container: &'t ContainerLife<'h>,
    all: &'t Pulls<'t, 'h>,
    last: &'t KubeEvent<'h>,
    delay: i64,
}

impl Pull<'_, '_> {
    fn name(&self) -> String {
        format!("{}/{}", self.pod.key, self.container.name)
    }

    /// How long the next pull must wait after this event.
    fn at_least(&self, from: &KubeEvent<'_>) -> Bound {
        let early = self.clause.tolerance_us("reported-late");
        // The event may have been queued behind other events.
        let recorded = from.second("lastTimestamp");
        let recorded = recorded.map(|second| Stamp::wall_second(&self.pod.node, second));
        let waited = recorded.and_then(|at| self.run.clocks.between(&at, &from.at));
        // The allowance is at most the slack, because `lastTimestamp` comes from the kubelet itself.
        let early = early.max(waited.map_or(0, |span| span.hi.min(self.clause.slack_us())));
        let delay = seconds(self.delay);
        Bound::at_least(self.delay - early, format!("the back-off of {delay} - {}", seconds(early)))
    }

    /// How long the next pull may wait after the end of this pull. Pulls for other containers of the pod delay it. None if
    /// it is not known how long these pulls took.
    fn at_most(&self, end: &Stamp, next: Option<&KubeEvent<'_>>) -> Option<Bound> {
        let late = self.clause.tolerance_us("next-sync") + self.clause.slack_us();
        let due = end.later(self.delay + late);
        let others = self.all.time_of_others(self.last, next.map_or(&due, |next| &next.at))?;
        let (delay, late) = (seconds(self.delay), late.saturating_add(others));
        let formula = format!("the back-off of {delay} + {}", seconds(late));
        Some(Bound::at_most(self.delay.saturating_add(late), formula))
    }

    fn measure(&self, from: impl Happened, next: &KubeEvent<'_>, bound: Bound) -> Option<Measurement> {
        let quantity = format!("from a failed pull for {} to the next", self.name());
        let mut waited = self.run.measure(quantity, &self.pod.node, from, next, bound)?;
        // If an event about the end of the pull was missed, another event may have taken its place.
        if !waited.events.contains(&self.last.id) {
            waited.events.insert(1, self.last.id);
        }
        Some(waited)
    }

    fn judge(&self, next: &KubeEvent<'_>, seen: &mut Seen) {
        let answer = self.all.answer(self.last);
        // Without an event about the end of the pull, a wait that is too short even from its beginning is too short.
        let from = answer.unwrap_or(self.last);
        let most = self.ended().and_then(|end| Some((self.at_most(&end, Some(next))?, end)));
        let bound = match (&most, answer) {
            (Some((most, _)), Some(_)) => Bound { upper: most.upper.clone(), ..self.at_least(from) },
            _ => self.at_least(from),
        };
        let Some(waited) = self.measure(from, next, bound) else { return };
        match most {
            _ if waited.fit() != Fit::Met => seen.measure(waited),
            Some(_) if answer.is_some() => self.add(waited, seen),
            Some((most, end)) => {
                if let Some(waited) = self.measure(end, next, most) {
                    self.add(waited, seen);
                }
            }
            None => self.doubt(seen),
        }
    }

    /// Adds a measurement of the wait.
    fn add(&self, waited: Measurement, seen: &mut Seen) {
        if waited.fit() == Fit::Met {
            seen.facet("container", self.container.kind.word());
            seen.facet("back-off", if self.delay == FIRST_BACK_OFF { "first" } else { "longer" });
        }
        seen.measure(waited);
    }

    /// What shows that the pull has failed: an event or, without one, a status.
    fn ended(&self) -> Option<At> {
        let shown = || self.all.shown(self.last).map(At::of);
        self.all.answer(self.last).map(At::of).or_else(shown)
    }

    fn doubt(&self, seen: &mut Seen) {
        let why = format!("nothing shows when a pull for {} or for its pod ended", self.name());
        seen.doubt(Doubt::TooShort, why, [self.last.id]);
    }

    fn judge_missing(&self, seen: &mut Seen) {
        let known = self.ended().and_then(|end| Some((self.at_most(&end, None)?, end)));
        let (bound, from) = match &known {
            Some((bound, end)) => (bound.upper.as_ref(), end.stamp.clone()),
            None => (None, self.last.at.clone()),
        };
        let allowed = bound.map_or(self.delay, |limit| limit.value);
        let due = from.later(allowed);
        if !self.run.watched_for(self.pod, &from, allowed) || self.all.tally.is_crowded(NORMAL, &due) {
            return;
        }
        if known.is_none() {
            return self.doubt(seen);
        }
        let finding = format!(
            "the pull for {} failed, but the kubelet did not try again within {}",
            self.name(),
            seconds(allowed)
        );
        seen.violated(finding, self.run.to_the_end([self.last.id]));
    }
}
