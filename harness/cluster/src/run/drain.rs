//! `kubectl drain` as a client of the cluster: its arguments, and the lines that it prints, with their times.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use probity_model::history::Printed;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::run_clock::RunClock;
use crate::setup::trust::is_node_name;

/// kubectl gives up by itself at its timeout. If it does not exit then, it is killed after this additional time.
const BEYOND: Duration = Duration::from_secs(20);
/// The maximum number of lines that are kept: a drain prints a few for each pod and each try.
const MOST_LINES: usize = 1_000;

/// The program kubectl, and how it reaches the cluster of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubectl {
    /// The program.
    pub program: PathBuf,
    /// The kubeconfig from the command line. If it is absent, kubectl searches the default locations.
    pub kubeconfig: Option<PathBuf>,
    /// The context; absent if the service account of a pod is used.
    pub context: Option<String>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum DrainError {
    #[error("kubectl was not found; give its path with --kubectl")]
    Missing,
    #[error("`{0}` is not a valid node name; kubectl was not run")]
    NoNode(String),
    #[error("failed to run `{program}`: {error}")]
    Unusable { program: String, error: std::io::Error },
    #[error("kubectl did not exit within {0} s after its own timeout and was killed")]
    Stuck(u64),
}

impl Kubectl {
    /// The arguments of a drain of the pods with these labels.
    fn arguments(&self, node: &str, labels: &str, timeout: u64) -> Vec<String> {
        let kubeconfig = self.kubeconfig.iter().map(|path| format!("--kubeconfig={}", path.display()));
        let context = self.context.iter().map(|context| format!("--context={context}"));
        let drain = [
            "drain".to_owned(),
            node.to_owned(),
            format!("--pod-selector={labels}"),
            format!("--timeout={timeout}s"),
            "--ignore-daemonsets".to_owned(),
            "--delete-emptydir-data".to_owned(),
            // Pods of a case may have no controller.
            "--force".to_owned(),
        ];
        kubeconfig.chain(context).chain(drain).collect()
    }

    /// Drains a node. Returns the exit status and the lines.
    pub(super) async fn drain(
        &self,
        (node, labels): (&str, &str),
        timeout: u64,
        clock: RunClock,
    ) -> Result<(Option<i32>, Vec<Printed>), DrainError> {
        if !is_node_name(node) {
            return Err(DrainError::NoNode(node.to_owned()));
        }
        let unusable = |error| DrainError::Unusable { program: self.program.display().to_string(), error };
        let mut command = tokio::process::Command::new(&self.program);
        command.args(self.arguments(node, labels, timeout)).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(unusable)?;
        let (out, mut lines) = unbounded_channel();
        let read_out = child.stdout.take().map(|stream| read(stream, clock, out.clone()));
        let read_err = child.stderr.take().map(|stream| read(stream, clock, out));
        let reading = async {
            tokio::join!(in_case(read_out), in_case(read_err));
        };
        let ending = async {
            let (status, ()) = tokio::join!(child.wait(), reading);
            status
        };
        let within = Duration::from_secs(timeout) + BEYOND;
        let status = tokio::time::timeout(within, ending).await;
        let status = status.map_err(|_| DrainError::Stuck(BEYOND.as_secs()))?.map_err(unusable)?;
        let mut output = Vec::new();
        while let Ok(line) = lines.try_recv() {
            output.push(line);
        }
        output.sort_by_key(|printed: &Printed| printed.us);
        output.truncate(MOST_LINES);
        Ok((status.code(), output))
    }
}

async fn in_case(reading: Option<impl Future<Output = ()>>) {
    if let Some(reading) = reading {
        reading.await;
    }
}

async fn read(stream: impl AsyncRead + Unpin, clock: RunClock, out: UnboundedSender<Printed>) {
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let _ = out.send(Printed { us: clock.us(), line });
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn kubectl(program: &str) -> Kubectl {
        Kubectl { program: program.into(), kubeconfig: Some("/k".into()), context: Some("c".to_owned()) }
    }

    #[test]
    fn only_pods_with_the_labels_are_drained() {
        let arguments = kubectl("kubectl").arguments("n1", "a=b,c=d", 9).join(" ");
        assert!(
            arguments
                .starts_with("--kubeconfig=/k --context=c drain n1 --pod-selector=a=b,c=d --timeout=9s ")
        );
    }

    #[tokio::test]
    async fn what_it_prints_and_its_status_are_kept() {
        let (status, lines) = kubectl("/bin/echo").drain(("n1", "a=b"), 1, RunClock::now()).await.unwrap();
        assert_eq!((status, lines.len()), (Some(0), 1));
        assert!(lines[0].line.contains("drain n1"), "{lines:?}");
        let missing = kubectl("/no/such/program").drain(("n1", "a=b"), 1, RunClock::now()).await;
        assert!(missing.unwrap_err().to_string().contains("/no/such/program"));
    }
}
