//! The old names for chapters that do not use [`Life`](probity_model::timeline::Life) yet: they go with the last user.

use probity_model::Timeline;
use probity_model::timeline::{Attempt, ContainerLife, PodLife, ProbeKind, ProbeSpec};

use super::termination;
use super::tolerance::Exhausted;

/// A life of a container, with both.
pub(crate) type Life<'t, 'h> = (&'t PodLife<'h>, &'t ContainerLife<'h>, &'t Attempt<'h>);

pub(crate) fn all_spent<'t, 'h>(
    run: &'t Timeline<'h>,
    kind: ProbeKind,
) -> impl Iterator<Item = (Life<'t, 'h>, &'t ProbeSpec, Exhausted<'t, 'h>)> {
    termination::exhausted(run, kind).into_iter().map(|spent| {
        let life = (spent.life.pod, spent.life.container, spent.life.attempt);
        (life, spent.life.spec, Exhausted { failures: spent.failures, at: spent.at.stamp })
    })
}
