//! The course of a process's life, in its order.

use std::sync::Arc;

use probity_script::Fact;
use probity_script::witness::Trouble;

use super::{Doors, Family, Mailbox, StopSignals, clients, consume, dump, exit, signals, wait};
use crate::exec;
use crate::stage::Stage;

/// Begins what the plan has for the process, and returns when the ports may be opened.
///
/// Signals, planned ends and commands are served from the beginning, also while something is waited for. It must be
/// called within the runtime, with a mailbox that was opened before the runtime was made.
pub async fn begin(stage: &Stage, doors: &Doors, mailbox: Mailbox, stop: StopSignals) {
    let plan = stage.plan();
    let process = &plan.process;
    let witness = stage.witness();
    let family = Arc::new(Family::new(witness, process.reap));
    signals::watch(mailbox, stage, doors, &family, stop);
    wait::require_env(witness, &process.require_env);
    if let Err(error) = exec::serve(stage, &family) {
        let doing = "opening the socket for commands; commands that need the plan fail".to_owned();
        witness.record(&Fact::Trouble(Trouble { doing, error: error.to_string() }));
    }
    if !process.exit.is_empty() {
        tokio::spawn(exit::follow(stage.clone()));
    }
    if process.dump {
        witness.record(&Fact::Dump(dump::take()));
    }
    wait::wait_for(witness, &process.wait_for).await;
    process.children.iter().for_each(|child| family.start(child));
    consume::start(stage);
    clients::start(stage);
}
