//! Manifests that the API server rejected in a dry run.

use probity_model::history::Tried;
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen};

/// Records a doubt: a manifest that breaks a rule was rejected for another reason, so the rule was not tested.
pub(crate) fn for_another_reason((id, tried): (EventId, &Tried), seen: &mut Seen) {
    let why = format!("`{}` was rejected for another reason: {}", tried.name, tried.message);
    seen.doubt(Doubt::Ambiguous, why, [id]);
}
