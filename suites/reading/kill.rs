//! The old names for chapters that do not use [`Life`](probity_model::timeline::Life) yet: they go with the last user.

use probity_model::clocks::Stamp;
use probity_model::timeline::{self, Attempt, ContainerLife, PodLife, ProbeKind, ProbeSpec};
use probity_model::{Clause, EventId, Seen, Timeline};

use super::termination;
use super::tolerance::Exhausted;

/// A life of a container, with both.
pub(crate) type Life<'t, 'h> = (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t Attempt<'h>);

fn life<'t, 'h>(run: &'t Timeline<'h>, (pod, container, attempt): Life<'t, 'h>) -> timeline::Life<'t, 'h> {
    timeline::Life { run, pod, container, attempt }
}

fn exhaustion<'t, 'h>(
    run: &'t Timeline<'h>,
    of: Life<'t, 'h>,
    spent: &Exhausted<'t, 'h>,
) -> Option<termination::Exhausted<'t, 'h>> {
    let kind = spent.failures.first()?.kinds.first().copied()?;
    termination::Exhausted::of(life(run, of).probed(kind)?)
}

pub(crate) fn all_spent<'t, 'h>(
    run: &'t Timeline<'h>,
    kind: ProbeKind,
) -> impl Iterator<Item = (Life<'t, 'h>, &'t ProbeSpec, Exhausted<'t, 'h>)> {
    termination::exhausted(run, kind).into_iter().map(|spent| {
        let life = (spent.life.pod, spent.life.container, spent.life.attempt);
        (life, spent.life.spec, Exhausted { failures: spent.failures, at: spent.at.stamp })
    })
}

pub(crate) fn judge_stop<'t, 'h>(
    run: &'t Timeline<'h>,
    clause: &Clause,
    of: Life<'t, 'h>,
    spent: &Exhausted<'t, 'h>,
    seen: &mut Seen,
) -> Option<(EventId, &'t Stamp)> {
    exhaustion(run, of, spent)?.judge_stop(clause, seen).map(|stop| (stop.id, &stop.at))
}
