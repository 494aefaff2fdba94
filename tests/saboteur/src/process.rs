//! Faults of the kubelet's own process: it is stopped and continued, starved of CPU, killed, or given a wrong time of
//! day. These faults affect everything on the node, so no other run may use the node at the same time.

#[cfg(target_arch = "x86_64")]
pub mod clock;
mod kubelet;

use std::{io, time::Duration};

use probity_script::Span;
use serde::{Deserialize, Serialize};
use tokio::{sync::broadcast::error::RecvError, time::sleep};

use crate::{
    board::{Board, Moment},
    defect::Fault,
};
use kubelet::Kubelet;

/// A fault of the kubelet's process, at a moment in the life of a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessFault {
    /// The moment.
    pub at: Moment,
    /// How long after that moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: Span,
    /// What happens then.
    pub does: ProcessDoes,
}

/// Faults of the kubelet's process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum ProcessDoes {
    /// It is stopped, and continued after `for`.
    Stopped {
        /// How long it is stopped.
        r#for: Span,
    },
    /// It stops for `for`, runs for `between`, and repeats this while the defect is active.
    Stuttering {
        /// How long it is stopped.
        r#for: Span,
        /// How long it runs in between.
        between: Span,
    },
    /// It gets this percentage of the CPU time of one core while the defect is active.
    Starved {
        /// The percentage of one core.
        percent: u32,
    },
    /// It is killed, and immediately started again.
    Killed,
    /// It receives SIGTERM, and is immediately started again.
    Terminated,
    /// It is restarted, and its time of day is then this much ahead, while the defect is active.
    ClockAhead {
        /// How much.
        by: Span,
    },
    /// It is restarted, and its time of day is then this much behind, while the defect is active.
    ClockBehind {
        /// How much.
        by: Span,
    },
}

fn is_zero(span: &Span) -> bool {
    span.0.is_zero()
}

/// Waits for the moments of the active defects, until it fails.
///
/// # Errors
///
/// When no more moments can come.
pub async fn serve(board: Board) -> io::Result<()> {
    let mut moments = board.moments();
    loop {
        let (moment, target) = match moments.recv().await {
            Ok(happened) => happened,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return Err(io::Error::other("no more moments come")),
        };
        let pick = |fault: &Fault| match fault {
            Fault::Process(fault) if fault.at == moment => Some(fault.clone()),
            _ => None,
        };
        for (active, fault) in board.matching(pick, &target) {
            if active.strikes(&target) {
                tokio::spawn(strike(board.clone(), active.name().to_owned(), fault));
            }
        }
    }
}

/// If the kubelet has ended in the meantime, nothing is done.
async fn strike(board: Board, name: String, fault: ProcessFault) -> Option<()> {
    sleep(fault.after.0).await;
    let kubelet = Kubelet::find()?;
    match fault.does {
        ProcessDoes::Stopped { r#for } => stand_still(&kubelet, r#for.0).await,
        ProcessDoes::Stuttering { r#for, between } => {
            while board.has(&name) {
                stand_still(&kubelet, r#for.0).await?;
                sleep(between.0).await;
            }
            Some(())
        }
        ProcessDoes::Starved { percent } => {
            let starved = kubelet.starve(percent).ok()?;
            while board.has(&name) {
                sleep(Duration::from_millis(200)).await;
            }
            starved.end();
            Some(())
        }
        ProcessDoes::Killed => kubelet.kill(),
        ProcessDoes::Terminated => kubelet.terminate(),
        ProcessDoes::ClockAhead { by } => set_clock(&board, &name, i64::try_from(by.micros()).ok()?).await,
        ProcessDoes::ClockBehind { by } => set_clock(&board, &name, -i64::try_from(by.micros()).ok()?).await,
    }
}

/// Restarts the kubelet with a wrong time of day, and again with the right time when the defect ends.
#[cfg(target_arch = "x86_64")]
async fn set_clock(board: &Board, name: &str, ahead_us: i64) -> Option<()> {
    clock::set(Some(ahead_us)).ok()?;
    Kubelet::find()?.kill();
    while board.has(name) {
        sleep(Duration::from_millis(200)).await;
    }
    clock::set(None).ok()?;
    Kubelet::find()?.kill()
}

/// The tracer that changes the clock supports only one architecture, so the defect never strikes on other
/// architectures.
#[cfg(not(target_arch = "x86_64"))]
async fn set_clock(_: &Board, _: &str, _: i64) -> Option<()> {
    None
}

async fn stand_still(kubelet: &Kubelet, time: Duration) -> Option<()> {
    kubelet.stop()?;
    sleep(time).await;
    kubelet.go_on()
}
