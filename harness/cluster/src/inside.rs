//! What is done inside a container through the API server: a command is run, a log is read.

use std::time::Duration;

use http::Request;
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::AttachParams;
use kube::client::Body;
use tokio::io::AsyncReadExt as _;

use crate::ask::{DEADLINE, broken, chain, failed, silent};
use crate::connect::Ground;
use crate::error::{ClusterError, Refusal, SendError};
use crate::kinds::escape;

/// A command in a container takes no longer.
const EXEC_DEADLINE: Duration = Duration::from_secs(60);
/// No more is read of a log.
const LARGEST_LOG: u64 = 16 << 20;

impl Ground {
    /// Runs a command in a container and waits for its end. What it prints is thrown away.
    ///
    /// # Errors
    ///
    /// If it cannot be run, or does not end within a minute.
    pub async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        command: &[String],
    ) -> Result<i32, SendError> {
        let doing = format!("run `{}` in {pod}/{container}", command.join(" "));
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let settings = AttachParams::default().container(container).stdin(false).stderr(true);
        let run = async {
            let mut process =
                pods.exec(pod, command, &settings).await.map_err(|error| failed(&doing, error))?;
            let status = process.take_status();
            let (out, err) = (process.stdout(), process.stderr());
            // Unread output would hold the command up.
            tokio::join!(drain(out), drain(err));
            let status = match status {
                Some(status) => status.await,
                None => None,
            };
            status.ok_or_else(|| broken(&doing, "the connection ended without telling the exit status"))
        };
        match tokio::time::timeout(EXEC_DEADLINE, run).await {
            Ok(status) => exit_status(&doing, &status?),
            Err(_) => Err(ClusterError::Silent { doing, seconds: EXEC_DEADLINE.as_secs() }.into()),
        }
    }

    /// Reads the log of a container, or of its life before.
    ///
    /// # Errors
    ///
    /// If there is none, or it broke off twice: [`ClusterError::CutOff`] has what came.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
    ) -> Result<String, SendError> {
        let doing = format!("read the log of {pod}/{container}");
        let target = format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={}&previous={previous}&limitBytes={LARGEST_LOG}",
            escape(container)
        );
        match self.read_text(&doing, &target).await {
            Err(SendError::Failed(ClusterError::CutOff { .. })) => self.read_text(&doing, &target).await,
            other => other,
        }
    }

    async fn read_text(&self, doing: &str, target: &str) -> Result<String, SendError> {
        let request = Request::get(target).body(Body::empty()).map_err(|error| broken(doing, error))?;
        let opened = tokio::time::timeout(DEADLINE, self.open(doing, request)).await;
        let mut body = opened.map_err(|_| silent(doing))??.into_body();
        let mut bytes = Vec::new();
        let cut = loop {
            match tokio::time::timeout(DEADLINE, body.frame()).await {
                Ok(None) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Ok(Some(Err(error))) => break chain(&error),
                Err(_) => break format!("nothing came for {} s", DEADLINE.as_secs()),
            }
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(bytes.get(..whole).unwrap_or_default()).into_owned();
        Err(ClusterError::CutOff { doing: doing.to_owned(), text, error: cut }.into())
    }
}

async fn drain(stream: Option<impl tokio::io::AsyncRead + Unpin>) {
    let Some(mut stream) = stream else { return };
    let mut bytes = vec![0; 8192];
    while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {}
}

/// What a command's last word says of its exit.
fn exit_status(doing: &str, status: &Status) -> Result<i32, SendError> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let causes = status.details.as_ref().and_then(|details| details.causes.as_ref());
    let code = causes
        .into_iter()
        .flatten()
        .find(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .and_then(|cause| cause.message.as_deref()?.parse().ok());
    code.ok_or_else(|| SendError::Refused {
        doing: doing.to_owned(),
        refusal: Refusal {
            code: status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500),
            reason: status.reason.clone().unwrap_or_default(),
            message: status.message.clone().unwrap_or_default(),
            causes: Vec::new(),
        },
    })
}
