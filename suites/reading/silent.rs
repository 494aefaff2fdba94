//! Containers that were killed without a stop signal and started again, though nothing condemned them.

use probity_model::timeline::{At, Life};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen};

use super::ends::heard_kill;

/// A life that was killed without a stop signal, and the next one that shows that its pod went on.
pub(crate) struct Silent {
    name: String,
    /// When it had ended.
    pub(crate) ended: At,
    again: EventId,
}

/// How a life ended that was killed without a stop signal and is followed by another. The kernel may kill what has a limit of
/// memory, or takes resources; a deletion explains an end, too.
pub(crate) fn silent_end(life: &Life<'_, '_>) -> Option<Silent> {
    let taking = life.container.plan().is_none_or(|plan| !plan.process.consume.is_empty());
    if taking || life.container.has_memory_limit() || !life.is_numbered() || life.stop().is_some() {
        return None;
    }
    let ended = heard_kill(life)?;
    let again = life.lives_again().filter(|_| life.before_deletion(&ended))?;
    Some(Silent { name: life.name(), ended, again })
}

/// Judges the ends without a cause of a history. One may be the work of a node that lacks memory; two are not.
pub(crate) fn judge_silent_ends(ends: &[Silent], seen: &mut Seen) {
    let events = ends.iter().flat_map(|end| [end.ended.id, end.again]);
    let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
    let finding = format!(
        "without a stop signal or a cause, these were killed and started again: {}",
        names.join(", ")
    );
    match ends {
        [] => {}
        [_] => seen.doubt(Doubt::Ambiguous, finding, events),
        _ => seen.violated(finding, events),
    }
}
