//! The commands that a target runs, and what its plan says about them.

use probity_model::timeline::Executed;
use probity_script::answer::ExecSettings;
use probity_script::{Endpoint, Plan};

/// The settings that a plan gives to a command. None if the command hangs, or is not in the plan.
pub(crate) fn settings(plan: &Plan, command: &Executed<'_>) -> Option<ExecSettings> {
    let Endpoint::Exec(name) = &command.seen.endpoint else { return None };
    plan.exec.get(name)?.steps().get(command.seen.step)?.answer.settings()
}
