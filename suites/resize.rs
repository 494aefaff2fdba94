//! Resources that change while a pod runs: which containers restart, which resources they get, and what the status
//! shows.

mod asked;
mod deferred;
mod enacted;
mod refused;
mod restarts;

use probity_model::Judge;

/// How each clause of the chapter is judged.
pub(crate) fn judges() -> Vec<Judge> {
    vec![
        Judge { clause: "resize.without-restart", judge: restarts::none },
        Judge { clause: "resize.with-restart", judge: restarts::one },
        Judge { clause: "resize.enacted", judge: enacted::limits },
        Judge { clause: "resize.completed", judge: enacted::shown },
        Judge { clause: "resize.deferred", judge: deferred::is_retried },
        Judge { clause: "resize.infeasible", judge: refused::too_large },
        Judge { clause: "resize.class-kept", judge: refused::another_class },
    ]
}

#[cfg(test)]
mod tests;
