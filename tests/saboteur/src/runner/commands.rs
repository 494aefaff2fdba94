//! The programs that the runner calls: the cluster's script, and the harness.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};
use tokio::process::Command;

use super::{RunnerOptions, copies};
use crate::{
    board::Count,
    call::call,
    defect::{Defect, Fault},
};

/// The label of the namespaces.
pub(super) const LABEL: &str = "probity.dev/saboteur";

/// The machine of the control plane, where the saboteur of the controllers is.
const CONTROLLERS: &str = "control";

/// How the programs are called.
#[derive(Debug)]
pub(super) struct Commands {
    pub(super) options: RunnerOptions,
    kubeconfig: PathBuf,
}

impl Commands {
    /// Gets the path of the kubeconfig from the cluster, and checks that the node has a saboteur.
    pub(super) async fn new(options: &RunnerOptions) -> io::Result<Self> {
        let mut commands = Self { options: options.clone(), kubeconfig: PathBuf::new() };
        commands.kubeconfig = PathBuf::from(commands.cluster(&["kubeconfig"], "").await?.trim());
        for place in commands.places() {
            commands.saboteur(place, &["clear", "--all"], "").await?;
        }
        // Namespaces that an interrupted run left.
        commands
            .kubectl(&["delete", "namespaces", "--wait=false", &format!("--selector={LABEL}")], "")
            .await?;
        Ok(commands)
    }

    async fn cluster(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        let mut command = Command::new(&self.options.cluster);
        call(command.args(arguments), input).await
    }

    pub(super) async fn kubectl(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        self.cluster(&[&["kubectl"], arguments].concat(), input).await
    }

    /// The places of the saboteurs: on the node, and at the controllers.
    fn places(&self) -> [&str; 2] {
        [&self.options.node, CONTROLLERS]
    }

    async fn saboteur(&self, place: &str, arguments: &[&str], input: &str) -> io::Result<String> {
        self.cluster(&[&["node", "saboteur", place], arguments].concat(), input).await
    }

    /// Creates a namespace, and activates these defects in it.
    pub(super) async fn prepare(&self, namespace: &str, defects: &[Defect]) -> io::Result<()> {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": namespace, "labels": { LABEL: "rows", "pod-security.kubernetes.io/enforce": "privileged" } },
        });
        self.kubectl(&["create", "--filename=-"], &object.to_string()).await?;
        let (of_controllers, of_node): (Vec<&Defect>, Vec<&Defect>) =
            defects.iter().partition(|defect| matches!(defect.fault, Fault::Controllers(_)));
        for (place, defects) in self.places().into_iter().zip([of_node, of_controllers]) {
            if !defects.is_empty() {
                self.saboteur(place, &["set"], &serde_json::to_string(&defects)?).await?;
            }
        }
        Ok(())
    }

    /// Removes a namespace and its defects. Returns how often each defect struck.
    pub(super) async fn clean(&self, namespace: &str) -> io::Result<BTreeMap<String, u32>> {
        let mut lines = String::new();
        for place in self.places() {
            lines += &self.saboteur(place, &["clear", "--namespace", namespace], "").await?;
        }
        self.kubectl(&["delete", "namespace", namespace, "--wait=false"], "").await?;
        let counts = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Count>, _>>()?;
        Ok(counts.into_iter().map(|count| (count.name, count.strikes)).collect())
    }

    /// Runs copies of cases in a namespace, and returns the report. The output of the harness goes to a log, and its
    /// progress to the terminal.
    pub(super) async fn probity(
        &self,
        name: &str,
        namespace: &str,
        cases: &[(&str, String)],
        pods: u32,
    ) -> io::Result<Value> {
        let options = &self.options;
        let (out, suite) = (options.out.join(name), options.out.join(format!("{name}.cases")));
        empty(&out)?;
        empty(&suite)?;
        fs::create_dir_all(&suite)?;
        let copies: Vec<_> = cases.iter().filter(|(case, copy)| case != copy).collect();
        for (number, (case, copy)) in copies.iter().enumerate() {
            fs::write(suite.join(format!("{number:03}.yaml")), copies::copy(&options.book, case, copy)?)?;
        }
        let mut own = vec![OsStr::new("--suite"), suite.as_os_str()];
        own.truncate(if copies.is_empty() { 0 } else { own.len() });
        let log = fs::File::create(out.with_extension("log"))?;
        let node_command = format!("{} node", fs::canonicalize(&options.cluster)?.display());
        let status = Command::new(&options.probity)
            .args(["run", "--color", "never", "--exact", "--namespace", namespace, "--node", &options.node])
            // Undecided cases run again later, with fewer pods on the node.
            .args(["--retries", "0"])
            // The load on a node comes mostly from container starts. A crowd must be complete before its first pods end.
            .args(["--node-command", &node_command, "--pods", &pods.to_string()])
            .args(["--starts", if pods > options.pods { "8" } else { "2" }])
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(own)
            .arg("--out")
            .arg(&out)
            .args(cases.iter().map(|(_, name)| name))
            .stdin(Stdio::null())
            .stdout(log)
            .kill_on_drop(true)
            .status()
            .await?;
        let report = fs::read_to_string(out.join("report.json")).map_err(|_| {
            io::Error::other(format!("there is no report ({status}); see {}.log", out.display()))
        })?;
        Ok(serde_json::from_str(&report)?)
    }
}

/// Judges an earlier run again, and returns the report.
pub(super) async fn judge_again(options: &RunnerOptions, name: &str) -> io::Result<Value> {
    let out = options.out.join(name);
    let status =
        Command::new(&options.probity).arg("report").arg(&out).stdout(Stdio::null()).status().await?;
    let report = fs::read_to_string(out.join("report.json"))
        .map_err(|_| io::Error::other(format!("there is no report in {} ({status})", out.display())))?;
    Ok(serde_json::from_str(&report)?)
}

/// The harness requires a folder that does not exist.
fn empty(out: &Path) -> io::Result<()> {
    match fs::remove_dir_all(out) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    out.parent().map_or(Ok(()), fs::create_dir_all)
}
