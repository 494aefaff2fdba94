//! The real cluster of `ci/cluster`, as the live tests use it. They run the program `probity` against this cluster, and
//! check what it leaves behind.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The cluster that `ci/live` gave to the tests.
pub struct Cluster {
    kubeconfig: PathBuf,
    context: String,
    root: PathBuf,
}

impl Cluster {
    /// The cluster that the environment names.
    #[must_use]
    pub fn given() -> Self {
        let variable = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| {
                panic!("{name} is not set: run these tests with ci/live, which starts a cluster")
            })
        };
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        Self {
            kubeconfig: variable("PROBITY_LIVE_KUBECONFIG").into(),
            context: variable("PROBITY_LIVE_CONTEXT"),
            root,
        }
    }

    /// The path of its kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &PathBuf {
        &self.kubeconfig
    }

    /// The project's folder.
    #[must_use]
    pub fn root(&self) -> &PathBuf {
        &self.root
    }

    /// Runs kubectl as the cluster's administrator; returns the standard output of a command that must succeed.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.try_kubectl(arguments, "");
        assert!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs kubectl with this standard input.
    #[must_use]
    pub fn try_kubectl(&self, arguments: &[&str], input: &str) -> Output {
        use std::io::Write as _;
        let mut command = Command::new(self.root.join("ci/cluster"));
        command
            .arg("kubectl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("ci/cluster kubectl: {error}"));
        if let Some(mut pipe) = child.stdin.take() {
            let _ = pipe.write_all(input.as_bytes());
        }
        child.wait_with_output().unwrap_or_else(|error| panic!("ci/cluster kubectl: {error}"))
    }

    /// The command `probity run` against the cluster, with these arguments, which writes its report to `out`.
    #[must_use]
    pub fn run(&self, out: &std::path::Path, arguments: &[&str]) -> Command {
        let mut command = probity();
        command.arg("run").arg("--kubeconfig").arg(&self.kubeconfig).args(["--context", &self.context]);
        command.args(["--image", "probity.local/agnhost-rs:dev", "--pull-policy", "Never"]);
        command.arg("--out").arg(out).args(arguments).stdin(Stdio::null());
        command
    }

    /// Everything of Probity that is in the cluster, by name.
    #[must_use]
    pub fn remains(&self) -> Vec<String> {
        let namespaces = self.kubectl(&["get", "namespaces", "-l", "probity.dev/run", "-o", "json"]);
        let pods = self.kubectl(&[
            "get",
            "pods,services,endpointslices",
            "-A",
            "-l",
            "probity.dev/run",
            "-o",
            "json",
        ]);
        [namespaces, pods].iter().flat_map(|text| names(text)).collect()
    }
}

fn names(list: &str) -> Vec<String> {
    let list: Value = serde_json::from_str(list).unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let name = |item: &Value| {
        format!(
            "{} {}",
            item["kind"].as_str().unwrap_or("?"),
            item["metadata"]["name"].as_str().unwrap_or("?")
        )
    };
    items.iter().map(name).collect()
}

/// The program next to the tests.
#[must_use]
pub fn probity() -> Command {
    let own = std::env::current_exe().unwrap_or_else(|error| panic!("where is this test? {error}"));
    let found = own.ancestors().skip(1).take(2).map(|dir| dir.join("probity")).find(|path| path.is_file());
    Command::new(found.unwrap_or_else(|| {
        panic!(
            "there is no probity beside {}: build it first with `cargo build -p probity-cli`",
            own.display()
        )
    }))
}

/// Sends a signal to a program that the test started.
pub fn signal(child: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let _ = nix::sys::signal::kill(pid, signal);
}
