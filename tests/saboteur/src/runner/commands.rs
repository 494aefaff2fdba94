//! The programs that the runner calls: the cluster's script, and the harness.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use super::{Job, RunOutcome, RunnerOptions};
use crate::board::Count;

/// The label of the namespaces.
pub(super) const LABEL: &str = "probity.dev/saboteur";

/// How they are called.
#[derive(Debug)]
pub(super) struct Commands {
    pub(super) options: RunnerOptions,
    kubeconfig: PathBuf,
}

impl Commands {
    /// Asks the cluster where its kubeconfig is, and its node whether it has a saboteur.
    pub(super) async fn new(options: &RunnerOptions) -> io::Result<Self> {
        let mut commands = Self { options: options.clone(), kubeconfig: PathBuf::new() };
        commands.kubeconfig = PathBuf::from(commands.cluster(&["kubeconfig"], "").await?.trim());
        commands.saboteur(&["clear", "--all"], "").await?;
        // What an interrupted run of ours left.
        commands
            .kubectl(&["delete", "namespaces", "--wait=false", &format!("--selector={LABEL}")], "")
            .await?;
        Ok(commands)
    }

    async fn cluster(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        let mut command = Command::new(&self.options.cluster);
        run(command.args(arguments), input).await
    }

    pub(super) async fn kubectl(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        self.cluster(&[&["kubectl"], arguments].concat(), input).await
    }

    pub(super) async fn saboteur(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        self.cluster(&[&["node", "saboteur", &self.options.node], arguments].concat(), input).await
    }

    /// Takes the defects of a namespace back, and the namespace with them. Returns how often they struck.
    pub(super) async fn clean(&self, namespace: &str) -> io::Result<Vec<u32>> {
        let counts = self.saboteur(&["clear", "--namespace", namespace], "").await?;
        self.kubectl(&["delete", "namespace", namespace, "--wait=false"], "").await?;
        let counts = counts.lines().map(serde_json::from_str).collect::<Result<Vec<Count>, _>>()?;
        Ok(counts.into_iter().map(|count| count.strikes).collect())
    }

    /// Runs cases in a namespace, and reads what became of them.
    pub(super) async fn probity(&self, namespace: &str, job: &Job) -> io::Result<RunOutcome> {
        let out = self.options.out.join(job.name());
        empty(&out)?;
        let log = std::fs::File::create(out.with_extension("log"))?;
        let status = Command::new(&self.options.probity)
            .arg("run")
            .args([
                "--quiet",
                "--color",
                "never",
                "--exact",
                "--namespace",
                namespace,
                "--node",
                &self.options.node,
            ])
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--out")
            .arg(&out)
            .args(job.cases())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .status()
            .await?;
        let report = std::fs::read_to_string(out.join("report.json")).map_err(|_| {
            io::Error::other(format!("there is no report ({status}); see {}.log", out.display()))
        })?;
        RunOutcome::read(&report)
    }
}

/// The harness wants a folder that is not there.
fn empty(out: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(out) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    out.parent().map_or(Ok(()), std::fs::create_dir_all)
}

async fn run(command: &mut Command, input: &str) -> io::Result<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing has closed it already.
        stdin.write_all(input.as_bytes()).await.ok();
    }
    let Output { status, stdout, stderr } = child.wait_with_output().await?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&stderr);
    Err(io::Error::other(complaint.lines().last().unwrap_or("a command failed and said nothing").to_owned()))
}
