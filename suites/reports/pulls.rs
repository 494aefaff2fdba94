//! How long the kubelet waits before it retries the pull of an image that no registry serves.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF};
use probity_model::timeline::{ContainerLife, KubeEvent, PodLife};
use probity_model::{Clause, Seen, Stamp, Timeline};

use super::NORMAL;
use super::images::{Lack, lacking};
use super::tally::Tally;

/// Each pull waits twice as long as the previous pull.
pub(super) fn wait_longer(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let unserved =
        lacking(run).filter(|(pod, _, lack)| matches!(lack, Lack::Unserved) && !pod.had_deadline());
    for (pod, container, _) in unserved.filter(|(pod, container, _)| has_own_image(pod, container)) {
        let tally = Tally::of(run, pod);
        let mut pulls = tally.iter().filter(|(event, _)| event.is_of(&container.name, "Pulling"));
        let Some((mut last, 1)) = pulls.next() else { continue };
        let mut delay = FIRST_BACK_OFF;
        loop {
            let pull = Pull { run, clause, pod, container, last, delay };
            match pulls.next() {
                Some((next, 1)) => {
                    pull.judge(next, seen);
                    last = next;
                }
                // The event counts two pulls at once: the time of the first one is not known.
                Some(_) => break,
                None => {
                    pull.judge_missing(&tally, seen);
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
    last: &'t KubeEvent<'h>,
    delay: i64,
}

impl Pull<'_, '_> {
    fn bound(&self) -> Bound {
        let (early, late) =
            (self.clause.tolerance_us("reported-late"), self.clause.tolerance_us("next-sync"));
        // The Pulling event may have been queued behind other events.
        let recorded = self.last.second("lastTimestamp");
        let recorded = recorded.map(|second| Stamp::wall_second(&self.pod.node, second));
        let waited = recorded.and_then(|at| self.run.clocks.between(&at, &self.last.at));
        // The allowance is at most the slack, because `lastTimestamp` comes from the kubelet itself.
        let early = early.max(waited.map_or(0, |span| span.hi.min(self.clause.slack_us())));
        let late = late + self.clause.slack_us();
        let delay = seconds(self.delay);
        Bound::at_most(self.delay + late, format!("the back-off of {delay} + {}", seconds(late)))
            .and_at_least(self.delay - early, format!("the back-off of {delay} - {}", seconds(early)))
    }

    fn judge(&self, next: &KubeEvent<'_>, seen: &mut Seen) {
        let quantity = format!("from a failed pull for {}/{} to the next", self.pod.key, self.container.name);
        let Some(waited) = self.run.measure(quantity, &self.pod.node, self.last, next, self.bound()) else {
            return;
        };
        if waited.fit() == Fit::Met {
            seen.facet("container", self.container.kind.word());
            seen.facet("back-off", if self.delay == FIRST_BACK_OFF { "first" } else { "longer" });
        }
        seen.measure(waited);
    }

    fn judge_missing(&self, tally: &Tally<'_, '_>, seen: &mut Seen) {
        let allowed = self.bound().upper.map_or(self.delay, |limit| limit.value);
        let due = self.last.at.later(allowed);
        if self.run.watched_for(self.pod, &self.last.at, allowed) && !tally.is_crowded(NORMAL, &due) {
            let finding = format!(
                "the pull for {}/{} failed, but the kubelet did not try again within {}",
                self.pod.key,
                self.container.name,
                seconds(allowed)
            );
            seen.violated(finding, self.run.to_the_end([self.last.id]));
        }
    }
}
