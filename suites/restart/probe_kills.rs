//! The back-off of containers that are killed because of their probes: the kubelet kills one instance and starts the
//! next in one sync, in which it knows only the old status. So the delay begins one restart later than after crashes.

use probity_model::clocks::Stamp;
use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{FIRST_BACK_OFF, LONGEST_BACK_OFF, TO_START};
use probity_model::timeline::{Life, ProbeKind};
use probity_model::{Clause, Doubt, Seen, Timeline};

use crate::reading::ends::{End, is_undivided};
use crate::reading::mains::lives_of;
use crate::reading::statuses::is_crash_loop;
use crate::reading::termination::Exhausted;

/// An instance that was killed because of a probe, with its end.
struct Kill<'t, 'h> {
    life: Life<'t, 'h>,
    end: End,
    by: ProbeKind,
}

impl Kill<'_, '_> {
    /// Whether the policy restarts the container, also after a wait: then the exit status counts.
    fn comes_back(&self) -> bool {
        match self.life.policy() {
            "Always" => true,
            "OnFailure" => self.end.code.is_some_and(|code| code != 0),
            _ => false,
        }
    }
}

/// The first instances of each container, as long as a probe of the same kind caused each kill.
fn kills<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Vec<Kill<'t, 'h>>> {
    let mut all = Vec::new();
    for (pod, container) in run.containers().filter(|_| !run.node_was_touched()) {
        for by in ProbeKind::STOPPING {
            let mut kills = Vec::new();
            for (at, life) in lives_of(run, pod, container).enumerate() {
                let numbered =
                    usize::try_from(life.number) == Ok(at) && life.is_numbered() && is_undivided(&life);
                let Some(kill) = kill(life, by).filter(|kill| numbered && kill.comes_back()) else {
                    break;
                };
                kills.push(kill);
            }
            all.push(kills);
        }
    }
    all
}

fn kill<'t, 'h>(life: Life<'t, 'h>, by: ProbeKind) -> Option<Kill<'t, 'h>> {
    let spent = Exhausted::of(life.probed(by)?)?;
    let stop = life.stopped_undeleted().filter(|stop| stop.at.at.lo >= spent.at.at.lo)?;
    let end = End::of(&life).filter(|end| end.latest.is_some())?;
    (end.at().id > stop.id).then_some(Kill { life, end, by })
}

/// The instance after a kill, if its record is complete from the first line.
fn next_of<'t, 'h>(kill: &Kill<'t, 'h>) -> Option<Life<'t, 'h>> {
    kill.life.next().filter(|next| next.is_numbered())
}

/// The first two restarts after kills because of a probe do not wait. If the kills continue without a pause, the third
/// restart waits for the first delay, and the fourth for twice as long.
pub(super) fn two_for_nothing(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let free = clause.tolerance_times("for-nothing");
    let all = kills(run);
    let mut skipped = Vec::new();
    for kills in &all {
        let mut delay = Delay { least: FIRST_BACK_OFF, most: FIRST_BACK_OFF };
        for (at, kill) in kills.iter().enumerate() {
            let Some(next) = next_of(kill) else { continue };
            let met = if at >= free {
                let waited = judge_wait(clause, (&kills[free - 1..=at], delay), &next, (seen, &mut skipped));
                delay = delay.after(waited);
                waited
            } else {
                let quantity = format!("from kill {} of {} to the restart", at + 1, kill.life.name());
                kill.life.within(seen, quantity, (kill.end.at(), &next.began), clause.in_time())
                    == Some(Fit::Met)
            };
            if let Some(word) = RESTARTS.get(at).filter(|_| met) {
                seen.facet("restart", *word);
            }
        }
    }
    judge_skipped(skipped, seen);
}

/// A restart that came before the end of its delay. The reference kubelet skips a delay if its cleanup happens while the
/// instance before is being created: then it also removes the instance from whose end the delay counts.
struct Skipped<'t, 'h> {
    early: Measurement,
    /// The instance that was being created.
    created: &'t Life<'t, 'h>,
    /// The earliest time at which it was being created.
    since: Stamp,
}

impl<'t, 'h> Skipped<'t, 'h> {
    fn new(clause: &Clause, early: Measurement, before: &Kill<'_, '_>, created: &'t Life<'t, 'h>) -> Self {
        let creating = clause.tolerance_us("creating") + created.run.stalled_at(&created.began);
        let (since, ended) = (created.began.earlier(creating), &before.end.earliest);
        let since = if created.run.before(&since, ended) { ended.stamp.clone() } else { since };
        Self { early, created, since }
    }

    /// Whether one cleanup cannot explain both.
    fn is_apart(&self, other: &Self) -> bool {
        let run = self.created.run;
        self.created.node != other.created.node
            || run.before(&self.created.began, &other.since)
            || run.before(&other.created.began, &self.since)
    }
}

/// Reports restarts that came before the end of their delay, unless a single cleanup of the kubelet explains all of them.
fn judge_skipped(skipped: Vec<Skipped<'_, '_>>, seen: &mut Seen) {
    let apart = skipped.iter().any(|one| skipped.iter().any(|other| one.is_apart(other)));
    if apart {
        skipped.into_iter().for_each(|one| seen.measure(one.early));
    } else if let Some(Skipped { early, .. }) = skipped.first() {
        let why = format!(
            "{}: {}; the kubelet's cleanup may have removed the record of this end",
            early.quantity,
            early.in_words()
        );
        seen.doubt(Doubt::Ambiguous, why, early.events.clone());
    }
}

/// The shortest and the longest delay that a restart may have.
#[derive(Clone, Copy)]
struct Delay {
    least: i64,
    most: i64,
}

impl Delay {
    /// The delay of the next restart. A restart that skipped its delay does not double it.
    fn after(self, waited: bool) -> Delay {
        let doubled = |delay: i64| (delay + delay).min(LONGEST_BACK_OFF);
        let least = if waited { doubled(self.least) } else { self.least };
        Delay { least, most: doubled(self.most) }
    }
}

/// The restarts that a facet names.
const RESTARTS: [&str; 4] = ["first", "second", "third", "fourth"];

/// The restart after the last of these kills waits if it comes within the delay after the end of the previous instance.
/// When the kubelet kills an instance, it knows only the end of the previous instance. If the delay since that end is not over,
/// it looks again later, and then the delay counts from the end of the killed instance. Returns whether the restart waited,
/// and not for too long.
fn judge_wait<'t, 'h>(
    clause: &Clause,
    (kills, delay): (&'t [Kill<'t, 'h>], Delay),
    next: &Life<'_, '_>,
    (seen, skipped): (&mut Seen, &mut Vec<Skipped<'t, 'h>>),
) -> bool {
    let [.., before, kill] = kills else { return false };
    let run = kill.life.run;
    let listed =
        |kill: &Kill<'_, '_>| run.at_least(&kill.life.began, kill.end.at()) >= clause.tolerance_us("listed");
    let apart = run.clocks.between(&before.end.earliest, kill.end.at());
    let Some(apart) = apart.filter(|apart| apart.hi < delay.least && kills.iter().all(listed)) else {
        return false;
    };
    // Surely the delay was not over when the kubelet decided about the restart.
    let decided = clause.tolerance_us("decided") + kill.life.noise(&kill.end.earliest, &next.began);
    let since = if apart.hi + decided < delay.least { kill } else { before };
    let quantity = |of: &Kill<'_, '_>| {
        let (name, restart) = (kill.life.name(), next.number);
        format!("from the exit of instance {} of {name} to restart {restart}", of.life.number)
    };
    let bound = Bound::at_least(delay.least, format!("the back-off of {}", seconds(delay.least)));
    let early = run.measure(quantity(since), &kill.life.node, &since.end.earliest, &next.began, bound);
    let Some(early) = early else { return false };
    if early.fit() == Fit::Missed {
        skipped.push(Skipped::new(clause, early, before, &kill.life));
        return false;
    }
    let waited = early.fit() == Fit::Met;
    seen.measure(early);
    let late = TO_START + clause.slack_us();
    let because = format!("the back-off of {} + {}", seconds(delay.most), seconds(late));
    let bound = Bound::at_most(delay.most + late, because);
    let late = kill.life.within(seen, quantity(kill), (kill.end.at(), &next.began), bound);
    waited && late == Some(Fit::Met)
}

/// Containers that are repeatedly killed because of their probes enter back-off.
pub(super) fn lead_to_it(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kills in kills(run) {
        let Some(first) = kills.first() else { continue };
        let waits = first
            .life
            .pod
            .changes_of(&first.life.container.name)
            .find(|(_, status)| is_crash_loop(&status.state));
        if let Some((revision, _)) = waits {
            let killed = kills.iter().map(|kill| kill.end.at().id).filter(|id| *id < revision.id);
            let killed: Vec<_> = killed.chain([revision.id]).collect();
            if killed.len() > 1 {
                seen.fine(killed);
                seen.facet("cause", first.by.word());
            }
            continue;
        }
        let quick = kills.windows(2).all(|pair| {
            let [one, two] = pair else { return false };
            let apart = run.clocks.between(&one.end.earliest, two.end.at());
            apart.is_some_and(|apart| apart.hi < FIRST_BACK_OFF)
        });
        let again = kills.iter().filter_map(|kill| Some((kill, kill.life.next()?))).collect::<Vec<_>>();
        if quick && again.len() > clause.tolerance_times("kills") {
            let finding = format!(
                "the {} probe of {} caused {} kills in a row, but the status never showed a back-off",
                first.by.word(),
                first.life.name(),
                kills.len()
            );
            seen.violated(finding, again.iter().flat_map(|(kill, next)| [kill.end.at().id, next.began.id]));
        }
    }
}
