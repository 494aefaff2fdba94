//! Containers that were killed without a stop signal and restarted, although nothing required this.

use probity_model::timeline::{At, Life};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen};

use super::ends::heard_kill;

/// An instance that was killed without a stop signal, and the next one, which shows that its pod kept running.
pub(crate) struct Silent {
    name: String,
    /// When it had ended.
    pub(crate) ended: At,
    again: EventId,
}

/// The end of an instance that was killed without a stop signal and is followed by another. None if the kernel may have
/// killed it, because it has a memory limit or takes resources, or if a deletion explains its end.
pub(crate) fn silent_end(life: &Life<'_, '_>) -> Option<Silent> {
    let taking = life.container.plan().is_none_or(|plan| !plan.process.consume.is_empty());
    if taking || life.container.has_memory_limit() || !life.is_numbered() || life.stop().is_some() {
        return None;
    }
    let ended = heard_kill(life)?;
    let again = life.lives_again().filter(|_| life.before_deletion(&ended))?;
    Some(Silent { name: life.name(), ended, again })
}

/// Judges the instances that ended without a cause in a history. A lack of memory on the node may explain one such end,
/// but not two.
pub(crate) fn judge_silent_ends(ends: &[Silent], seen: &mut Seen) {
    let events = ends.iter().flat_map(|end| [end.ended.id, end.again]);
    let names: Vec<&str> = ends.iter().map(|end| end.name.as_str()).collect();
    let finding = format!(
        "these were killed and started again, without a stop signal or a cause: {}",
        names.join(", ")
    );
    match ends {
        [] => {}
        [_] => seen.doubt(Doubt::Ambiguous, finding, events),
        _ => seen.violated(finding, events),
    }
}
