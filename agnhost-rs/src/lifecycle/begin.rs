//! Starts everything that the process does, in the right order.

use std::sync::Arc;

use probity_script::{ExitFrom, Fact};

use super::{
    Children, ShutdownGate, SignalQueue, StopSignals, clients, consume, dump, exit, signals, trial, wait,
};
use crate::exec;
use crate::stage::Stage;

/// Starts the process section of the plan, and returns when the ports may be opened.
///
/// Signals, planned ends and commands are handled from the beginning, even while the process waits for something. Call it
/// inside the runtime, with a queue that was opened before the runtime was created.
pub async fn begin(stage: &Stage, gate: &ShutdownGate, queue: SignalQueue, stop: StopSignals) {
    let plan = stage.plan();
    let process = &plan.process;
    let witness = stage.witness();
    let children = Arc::new(Children::new(witness, process.reap));
    signals::watch(queue, stage, gate, &children, stop);
    wait::require_env(witness, &process.require_env);
    if let Err(error) = exec::serve(stage, &children) {
        witness.trouble("opening the socket for commands; commands that need the plan fail", &error);
    }
    if !process.exit.is_empty() {
        tokio::spawn(exit::follow(stage.clone(), ExitFrom::Start));
    }
    if process.dump {
        witness.record(&Fact::Dump(dump::take()));
    }
    wait::wait_for(witness, &process.wait_for).await;
    for trial in &process.trials {
        witness.record(&Fact::Tried(trial::planned(trial)));
    }
    if !process.exit.is_empty() {
        tokio::spawn(exit::follow(stage.clone(), ExitFrom::Waited));
    }
    process.children.iter().for_each(|child| children.start(child));
    consume::start(stage);
    clients::start(stage);
}
