//! Inside a container, through the API server: run a command, read the log.

use std::time::Duration;

use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, LogParams};
use serde_json::Value;

use crate::api::client::{BuiltRequest, ClusterClient, DEADLINE, in_time};
use crate::api::kinds;
use crate::error::{ClusterError, Refusal, RequestFailure, with_causes};
use crate::fields::Fields as _;

/// The maximum time of a command in a container.
const EXEC_DEADLINE: Duration = Duration::from_secs(60);
/// The maximum number of bytes that are read from a log.
const LARGEST_LOG: i64 = 16 << 20;

impl ClusterClient {
    /// Runs a command in a container, waits at most a minute until it exits, and returns its exit status. Its output is
    /// dropped.
    pub(crate) async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        command: &[String],
    ) -> Result<i32, ClusterError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let params = AttachParams::default().container(container).stdin(false).stderr(true);
        let run = async {
            let mut process = pods.exec(pod, command, &params).await?;
            let status = process.take_status();
            // Unread output would stall the command.
            tokio::join!(drain(process.stdout()), drain(process.stderr()));
            let status = match status {
                Some(status) => status.await,
                None => None,
            };
            exit_status(status.ok_or_else(|| {
                RequestFailure::Unreachable("the connection ended without the exit status".to_owned())
            })?)
        };
        let doing = || format!("run `{}` in {pod}/{container}", command.join(" "));
        in_time(EXEC_DEADLINE, run).await.map_err(|failure| failure.while_doing(&doing()))
    }

    /// Reads the log of a container, or of its previous instance.
    ///
    /// # Errors
    ///
    /// If there is no log, or if it was cut off twice: [`RequestFailure::CutOff`] then contains what arrived.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
    ) -> Result<String, ClusterError> {
        let params = LogParams {
            container: Some(container.to_owned()),
            previous,
            limit_bytes: Some(LARGEST_LOG),
            ..LogParams::default()
        };
        let requests = kinds::find("Pod")?.requests(namespace);
        let read = || self.read_log(requests.logs(pod, &params));
        let text = match read().await {
            Err(RequestFailure::CutOff { .. }) => read().await,
            other => other,
        };
        text.map_err(|failure| failure.while_doing(&format!("read the log of {pod}/{container}")))
    }

    /// Reads the log like [`log`](Self::log), but only of the pod with this UID. A log is requested by the name of the
    /// pod, and another pod can have this name by now. `None` if the pod was gone before the log was read, or another pod
    /// had its name before or after that.
    ///
    /// # Errors
    ///
    /// As for [`log`](Self::log), and if the pod cannot be read.
    pub async fn log_of(
        &self,
        namespace: &str,
        (pod, uid): (&str, &str),
        container: &str,
        previous: bool,
    ) -> Result<Option<String>, ClusterError> {
        let is_it = |found: &Value| found.text("/metadata/uid") == uid;
        if !self.get(namespace, "Pod", pod).await?.is_some_and(|found| is_it(&found)) {
            return Ok(None);
        }
        let text = self.log(namespace, pod, container, previous).await?;
        let after = self.get(namespace, "Pod", pod).await?;
        Ok(after.is_none_or(|found| is_it(&found)).then_some(text))
    }

    async fn read_log(&self, request: BuiltRequest) -> Result<String, RequestFailure> {
        let mut body = in_time(DEADLINE, self.send(request)).await?.into_body();
        let mut bytes = Vec::new();
        let error = loop {
            match tokio::time::timeout(DEADLINE, body.frame()).await {
                Ok(None) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Ok(Some(Err(error))) => break with_causes(&error),
                Err(_) => break format!("no data arrived for {} s", DEADLINE.as_secs()),
            }
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        Err(RequestFailure::CutOff { text: String::from_utf8_lossy(&bytes).into_owned(), error })
    }
}

async fn drain(stream: Option<impl tokio::io::AsyncRead + Unpin>) {
    if let Some(mut stream) = stream {
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
}

/// The exit status in the last message about a command.
fn exit_status(status: Status) -> Result<i32, RequestFailure> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let causes = status.details.and_then(|details| details.causes).unwrap_or_default();
    let exit = causes.iter().find(|cause| cause.reason.as_deref() == Some("ExitCode"));
    exit.and_then(|cause| cause.message.as_deref()?.parse().ok()).ok_or_else(|| {
        RequestFailure::Refused(Box::new(Refusal {
            code: status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(500),
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
            ..Refusal::default()
        }))
    })
}
