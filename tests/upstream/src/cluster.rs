//! The programs that are called: the cluster's script, and upstream's specs.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use probity_saboteur::{board::Count, call::call, defect::Defect};
use serde_json::Value;
use tokio::process::Command;

use crate::outcome::{self, SpecOutcome};

/// The timeout of a spec. A spec that takes longer counts as failed; upstream's longest waits are ten minutes.
const PATIENCE: &str = "--ginkgo.timeout=15m";

/// The filter that leaves out slow specs, which take up to half an hour. Without any filter, upstream's framework would
/// also leave out all specs about features.
const LABELS: &str = "--ginkgo.label-filter=!Slow";

/// A cluster with a saboteur on its node, and the program with the specs.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// The script that controls the cluster.
    pub(crate) script: PathBuf,
    /// The node whose saboteur receives the defects.
    pub(crate) node: String,
    /// The program with the specs.
    pub(crate) specs: PathBuf,
    /// The kubeconfig of the cluster.
    pub(crate) kubeconfig: PathBuf,
    /// The folder for the logs and Ginkgo's reports.
    pub(crate) out: PathBuf,
    /// The prefix of all namespace names: an earlier run may have left namespaces.
    pub(crate) run: String,
}

impl Cluster {
    /// Gets the kubeconfig from the script.
    pub(crate) async fn find(mut self) -> io::Result<Self> {
        self.kubeconfig = PathBuf::from(self.call(&["kubeconfig"], "").await?.trim());
        self.saboteur(&["clear", "--all"], "").await?;
        Ok(self)
    }

    async fn call(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        let failed =
            |error| io::Error::other(format!("{} {}: {error}", self.script.display(), arguments.join(" ")));
        call(Command::new(&self.script).args(arguments), input).await.map_err(failed)
    }

    async fn saboteur(&self, arguments: &[&str], input: &str) -> io::Result<String> {
        self.call(&[&["node", "saboteur", &self.node], arguments].concat(), input).await
    }

    /// Makes the kubelet defective for the namespaces that the defects name.
    pub(crate) async fn set(&self, defects: &[Defect]) -> io::Result<()> {
        self.saboteur(&["set"], &serde_json::to_string(defects)?).await.map(drop)
    }

    /// Ends all defects. Returns how often each of them struck.
    pub(crate) async fn clear(&self) -> io::Result<BTreeMap<String, u32>> {
        let lines = self.saboteur(&["clear", "--all"], "").await?;
        let counts = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Count>, _>>()?;
        Ok(counts.into_iter().map(|count| (count.name, count.strikes)).collect())
    }

    /// The name of the namespaces of one spec, without their numbers.
    pub(crate) fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.run)
    }

    /// Runs one spec in namespaces with this name. Returns its outcome, and how long it took.
    pub(crate) async fn spec(&self, focus: &str, namespace: &str) -> io::Result<(SpecOutcome, Duration)> {
        let folder = self.out.join(namespace);
        fs::create_dir_all(&folder)?;
        let (report, log) = (folder.join("report.json"), fs::File::create(folder.join("log"))?);
        let began = Instant::now();
        let status = Command::new(&self.specs)
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--ginkgo.json-report={}", report.display()))
            .args([&format!("--ginkgo.focus-file={focus}"), &format!("--namespace={namespace}")])
            .args([
                "--provider=skeleton",
                "--ginkgo.no-color",
                "--dump-logs-on-failure=false",
                PATIENCE,
                LABELS,
            ])
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log)
            .kill_on_drop(true)
            .status()
            .await?;
        let unreadable = |why: &str| {
            io::Error::other(format!("{focus} ended with {status}, and {why}; see {}/log", folder.display()))
        };
        let text = fs::read_to_string(&report).map_err(|_| unreadable("wrote no report"))?;
        let outcome = outcome::of_report(&serde_json::from_str::<Value>(&text)?, focus)
            .map_err(|why| unreadable(&why))?;
        Ok((outcome, began.elapsed()))
    }
}

/// Creates the folder, or empties it.
pub(crate) fn empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    }
}
