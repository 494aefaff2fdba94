//! What processes recorded of their containers from inside: the environment, files, interfaces and namespaces.

use probity_model::Timeline;
use probity_model::timeline::{Life, Line};
use probity_script::witness::{Dump, Fact};

/// A view of a container from inside.
pub(crate) struct Look<'t, 'h> {
    /// The instance of the container.
    pub(crate) life: Life<'t, 'h>,
    /// The line in which its process recorded it.
    pub(crate) line: &'t Line<'h>,
    /// What it saw.
    pub(crate) dump: &'h Dump,
}

/// All views, in the order of pods, containers and instances.
pub(crate) fn looks<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Look<'t, 'h>> {
    let mut all = Vec::new();
    for life in run.lives() {
        for line in &life.attempt.lines {
            if let Fact::Dump(dump) = &line.line.fact {
                all.push(Look { life, line, dump });
            }
        }
    }
    all
}
