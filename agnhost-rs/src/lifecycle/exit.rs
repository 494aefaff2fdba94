//! The voluntary end of the process: with an exit status, or like a crash.
//!
//! The witness line is written first and gets time to be sent, so that the harness can distinguish a planned end from
//! a real one.

use std::time::Duration;

use nix::sys::signal::{Signal, kill, raise};
use nix::unistd::Pid;
use probity_script::witness::{Exiting, VolumeSeen};
use probity_script::{ExitFrom, ExitWay, Fact};

use crate::stage::Stage;
use crate::witness::Witness;

/// How long it may take to send the last lines. If the reader has not received them by then, it never will.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Ends the process when the plan for this attempt of the container requires it, if the plan counts the time from `from`.
pub async fn follow(stage: Stage, from: ExitFrom) {
    let attempt = stage.witness().identity().attempt;
    let plan = stage.plan();
    let Some(exit) = plan.process.exit_for(attempt).filter(|exit| exit.from == from) else { return };
    let over = match from {
        ExitFrom::Start => stage.witness().clock().elapsed().0,
        ExitFrom::Waited => Duration::ZERO,
    };
    tokio::time::sleep(exit.after.0.saturating_sub(over)).await;
    leave(stage.witness(), exit.code, exit.way, "plan")
}

/// Records that the process ends, and ends it with this status.
pub fn end(witness: &Witness, code: u8, why: &str) -> ! {
    leave(witness, code, ExitWay::Exit, why)
}

/// Records the end, and ends the process in the given way.
///
/// The first process of a container cannot kill itself: it exits with the status that would have been reported.
pub fn leave(witness: &Witness, code: u8, way: ExitWay, why: &str) -> ! {
    let code = way.status(code);
    if let Some(counter) = &witness.identity().counter {
        witness.record(&Fact::Volume(VolumeSeen { kept: counter.is_file() }));
    }
    witness.arrival(&Fact::Exiting(Exiting { code, why: why.to_owned() }));
    witness.flush(LAST_WORDS);
    if std::process::id() != 1 {
        die(way);
    }
    std::process::exit(i32::from(code))
}

fn die(way: ExitWay) {
    match way {
        ExitWay::Exit => {}
        ExitWay::Abort => std::process::abort(),
        ExitWay::Segfault => {
            // The runtime's check for stack overflows handles the first signal, and then removes its handler.
            for _ in 0..2 {
                let _ = raise(Signal::SIGSEGV);
            }
        }
        ExitWay::Kill => {
            let _ = kill(Pid::this(), Signal::SIGKILL);
            // The signal may take a moment to arrive. An exit before that would change the cause of the end.
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}
