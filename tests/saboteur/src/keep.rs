//! Keeps a kubelet running, as a service manager does: if it exits unexpectedly, it is started again.

use std::{ffi::OsString, io, process::ExitStatus, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, Command},
    signal::unix::{SignalKind, signal},
    time::sleep,
};

/// How long a service manager waits before it restarts a service: systemd's default.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs `command` until this process is asked to end; then asks the command to end, and waits for it.
///
/// # Errors
///
/// When the command cannot be started.
pub async fn keep(command: &[OsString]) -> io::Result<()> {
    let mut asked = signal(SignalKind::terminate())?;
    loop {
        let words = [with_its_clock(), command.to_vec()].concat();
        let (program, arguments) =
            words.split_first().ok_or_else(|| io::Error::other("no command to keep"))?;
        let mut child = Command::new(program).args(arguments).spawn()?;
        tokio::select! {
            ended = child.wait() => { ended?; }
            _ = asked.recv() => return ask_to_end(&mut child).await.map(|_| ()),
        }
        sleep(PAUSE).await;
    }
}

/// The arguments before the command while a defect gives it a wrong time of day.
#[cfg(target_arch = "x86_64")]
fn with_its_clock() -> Vec<OsString> {
    crate::process::clock::prefix()
}

#[cfg(not(target_arch = "x86_64"))]
fn with_its_clock() -> Vec<OsString> {
    Vec::new()
}

async fn ask_to_end(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()) {
        kill(Pid::from_raw(pid), Signal::SIGTERM)?;
    }
    child.wait().await
}
