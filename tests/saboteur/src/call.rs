//! Calls of other programs, such as the script that controls the cluster.

use std::{
    io,
    process::{Output, Stdio},
};

use tokio::{io::AsyncWriteExt as _, process::Command};

/// Runs a program with this standard input, and returns its standard output.
///
/// # Errors
///
/// If the program cannot be started, or fails. If it fails, the message is the last line that it wrote to standard
/// error.
pub async fn call(command: &mut Command, input: &str) -> io::Result<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing may have closed its standard input already.
        stdin.write_all(input.as_bytes()).await.ok();
    }
    let Output { status, stdout, stderr } = child.wait_with_output().await?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&stderr);
    Err(io::Error::other(complaint.lines().last().unwrap_or("a command failed without a message").to_owned()))
}
