//! A kubelet starts and restarts the containers of a static pod by itself.

use probity_model::measure::Fit;
use probity_model::timeline::{At, PodLife};
use probity_model::{Clause, Seen, Timeline};

use super::static_pods;
use crate::reading::ends::End;
use crate::reading::mains::{lives_of, mains};

/// The main containers of a static pod start soon after its manifest was placed, and again after each crash. The first crash of
/// a container has no back-off.
pub(super) fn runs_and_restarts(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in static_pods(run) {
        for container in mains(pod) {
            judge_start(run, clause, pod, container.attempts.first().map(|first| &first.began), seen);
            let Some(life) = lives_of(run, pod, container).find(|life| life.number == 0) else { continue };
            let (Some((line, _)), Some(end)) = (life.exited_by_itself(), End::of(&life)) else { continue };
            if pod.restart_policy() != "Always" {
                continue;
            }
            if let Some(next) = life.next() {
                let quantity = format!("from the exit of {} to its restart", life.name());
                if life.within(seen, quantity, (end.at(), &next.began), clause.in_time()) == Some(Fit::Met) {
                    seen.facet("seen", "restarted");
                }
            } else if life.watched_for(end.at(), clause.slack_us()) {
                let finding = format!("{} terminated, but was not started again", life.name());
                seen.violated(finding, run.to_the_end([line.id]));
            }
        }
    }
}

fn judge_start(run: &Timeline<'_>, clause: &Clause, pod: &PodLife<'_>, began: Option<&At>, seen: &mut Seen) {
    let Some((deed, _)) = pod.created else { return };
    let placed = At::new(deed, run.heard(deed));
    match began {
        Some(began) => {
            let quantity = format!("from the placement of {} to its start", pod.key);
            // The pod may start before the command that placed it has ended.
            let fit = seen.within(run, &pod.node, quantity, (&run.deed_at(deed), began), clause.in_time());
            if fit == Some(Fit::Met) {
                seen.facet("seen", "started");
            }
        }
        None if run.watched_for(pod, &placed, clause.slack_us()) => {
            let finding =
                format!("{} was placed on {}, but none of its processes reported", pod.key, pod.node);
            seen.violated(finding, run.to_the_end([deed]));
        }
        None => {}
    }
}
