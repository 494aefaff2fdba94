//! A container whose readiness probe fails: it is not ready, keeps running, and is still probed.

use probity_model::clocks::Order;
use probity_model::measure::seconds;
use probity_model::timeline::{ContainerSeen, Probe, ProbeKind, ProbeOutcome, Revision};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::schedule::{countable, watched};
use crate::reading::readiness::stopped_after;
use crate::reading::termination::Exhausted;

/// A container whose readiness probe fails keeps running, and is still probed.
pub(super) fn readiness_goes_on(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for spent in countable(run, ProbeKind::Readiness).into_iter().filter_map(Exhausted::of) {
        let (life, Some(last)) = (&spent.life, spent.failures.last()) else { continue };
        let allowed = life.pace() + clause.slack_us();
        let more: Vec<_> = life.probes.iter().filter(|probe| probe.at.at.lo > last.at.at.lo).collect();
        if let [one, two, ..] = more.as_slice()
            && let Some(down) = says_unready(clause, &spent, seen)
        {
            seen.fine(spent.events().into_iter().chain([one.id, two.id, down]));
        }
        if let Some(stop) = stopped_after(life, &spent.at) {
            let finding =
                format!("{}: the container was stopped although only this probe had failed", life.words());
            seen.violated(finding, spent.events().into_iter().chain([stop]));
        }
        let known = life.last_line().is_some_and(|line| watched(life, &last.at, &line.at));
        let silent = more.is_empty() && life.lives_on() && life.lives_again().is_none() && known;
        if silent && life.watched_for(&spent.at, allowed) {
            let finding = format!("{} failed and was not repeated for {}", life.words(), seconds(allowed));
            seen.violated(finding, spent.events().into_iter().chain(run.last_event()));
        }
    }
}

/// The revision that shows the container as running and not ready, and its pod as not `Ready`, while its probes keep
/// failing. It is a violation if no revision shows this although the failures lasted longer than the slack.
fn says_unready(clause: &Clause, spent: &Exhausted<'_, '_>, seen: &mut Seen) -> Option<EventId> {
    let life = &spent.life;
    let failed = |probe: &&&Probe<'_>| life.outcome(probe) == ProbeOutcome::Failure;
    let after = life.probes.iter().skip_while(|probe| probe.at.at.lo < spent.at.at.lo);
    let last = after.take_while(failed).last()?;
    let down = |of: &Revision<'_>, status: &ContainerSeen<'_>| {
        status.is_running() && !status.ready && of.is("Ready") == Some(false)
    };
    let until = |of: &Revision<'_>| life.run.clocks.order(&of.at, &last.at) != Order::After;
    let shown = life.revisions().filter(|(of, _)| until(of)).last();
    if let Some((of, _)) = shown.clone().filter(|(of, status)| down(of, status)) {
        return Some(of.id);
    }
    let lasted = last.at.at.lo - spent.at.at.hi - life.noise(&spent.at, &last.at);
    if let Some((of, _)) = shown.filter(|_| lasted > clause.slack_us()) {
        let finding =
            format!("{} had been failing for {}, but the pod was still ready", life.words(), seconds(lasted));
        seen.violated(finding, spent.events().into_iter().chain([last.id, of.id]));
    }
    None
}
