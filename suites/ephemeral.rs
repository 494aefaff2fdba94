//! Ephemeral containers: how they are added, which fields they may have, and how they affect their pod.

mod added;
mod forbidden;
mod harmless;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "ephemeral.added-via-subresource", judge: added::by_the_subresource },
        Judge { clause: "ephemeral.same-spec-type", judge: added::with_usual_fields },
        Judge { clause: "ephemeral.fields-forbidden", judge: forbidden::fields },
        Judge { clause: "ephemeral.resources-forbidden", judge: forbidden::resources },
        Judge { clause: "ephemeral.immutable", judge: forbidden::changes },
        Judge { clause: "ephemeral.static-pod-refused", judge: forbidden::mirrors },
        Judge { clause: "ephemeral.never-restarted", judge: harmless::never_again },
        Judge { clause: "ephemeral.no-effect-on-readiness", judge: harmless::no_effect },
        Judge { clause: "ephemeral.shared-pid", judge: harmless::shared_processes },
    ]
}

#[cfg(test)]
mod tests;
