//! The user's command that acts on nodes: how it is run, and what it returns.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::setup::trust::{is_node_name, is_uid};

/// The longest output that is read.
const LONGEST: u64 = 256 * 1024;
/// How many bytes of the end of standard error are kept.
const END: usize = 4096;
/// The maximum time of a command.
const WITHIN: Duration = Duration::from_secs(300);
/// How long to wait for more output after the command has exited. A program that the command left in the background may
/// keep standard output open for longer.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Why a command did not apply a verb to a node.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeCommandError {
    /// The user gave no command.
    #[error("this needs a command that acts on nodes; pass one with --node-command")]
    Missing,
    /// A pod claims to be on a node that cannot exist.
    #[error("`{0}` is not a valid node name; the command was not run")]
    NoNode(String),
    /// The API server shows a pod UID that is not valid.
    #[error("`{0}` is not a valid UID of a pod; the command was not run")]
    NoUid(String),
    /// It could not be run.
    #[error("failed to run `{program}`: {error}")]
    Unusable {
        /// The program.
        program: String,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// It did not exit in time.
    #[error("`{program}` did not exit within {WITHIN:?} and was killed")]
    Endless {
        /// The program.
        program: String,
    },
    /// It printed too much.
    #[error(
        "`{program}` printed more than {LONGEST} bytes; it must print one JSON object, and anything else to standard error"
    )]
    TooLong {
        /// The program.
        program: String,
    },
}

/// What a command is asked to do.
#[derive(Clone, Copy)]
pub(crate) struct Order<'o> {
    /// The verb.
    pub(crate) verb: &'o str,
    /// The node.
    pub(crate) node: &'o str,
    /// The UID of the pod that the verb is about.
    pub(crate) pod: Option<&'o str>,
    /// What it receives on its standard input.
    pub(crate) input: Option<&'o Value>,
}

/// The result of a command.
pub(crate) struct CommandAnswer {
    /// How the command ended.
    pub(crate) status: ExitStatus,
    /// The JSON object that the command printed; `None` if it printed anything else.
    pub(crate) output: Option<Value>,
    /// The end of the command's standard error.
    said: String,
}

impl CommandAnswer {
    /// How the command failed, with its last line on standard error; `None` if it succeeded.
    pub(crate) fn failure(&self) -> Option<String> {
        let why = self.said.lines().map(str::trim).rfind(|line| !line.is_empty());
        let why = why.map(|line| format!(": {line}")).unwrap_or_default();
        (!self.status.success()).then(|| format!("the command ended with {}{why}", self.status))
    }
}

/// Runs the user's command. Its last arguments are the verb and the node, followed by the UID of a pod if the verb
/// concerns one. It receives the input on its standard input, as JSON.
pub(crate) async fn act(
    command: Option<&[String]>,
    order: Order<'_>,
) -> Result<CommandAnswer, NodeCommandError> {
    let (program, arguments) = command.and_then(<[String]>::split_first).ok_or(NodeCommandError::Missing)?;
    if !is_node_name(order.node) {
        return Err(NodeCommandError::NoNode(order.node.to_owned()));
    }
    if let Some(uid) = order.pod.filter(|uid| !is_uid(uid)) {
        return Err(NodeCommandError::NoUid(uid.to_owned()));
    }
    let unusable = |error| NodeCommandError::Unusable { program: program.clone(), error };
    let mut command = Command::new(program);
    command.args(arguments).args([order.verb, order.node]).args(order.pod);
    command.stdin(if order.input.is_some() { Stdio::piped() } else { Stdio::null() });
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let ended = timeout(WITHIN, converse(child.map_err(unusable)?, order.input)).await;
    let (status, told, said) =
        ended.map_err(|_| NodeCommandError::Endless { program: program.clone() })?.map_err(unusable)?;
    if told.len() as u64 > LONGEST {
        return Err(NodeCommandError::TooLong { program: program.clone() });
    }
    let output = serde_json::from_slice(&told).ok().filter(Value::is_object);
    Ok(CommandAnswer { status, output, said })
}

/// Gives a command its input, reads its output, and waits until it exits.
async fn converse(mut child: Child, input: Option<&Value>) -> std::io::Result<(ExitStatus, Vec<u8>, String)> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let exited = CancellationToken::new();
    let feed = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // If the command does not read its input, its exit status shows whether this is an error.
            let _ = stdin.write_all(input.to_string().as_bytes()).await;
        }
    };
    let wait = async {
        let status = child.wait().await;
        exited.cancel();
        status
    };
    let read = async {
        let mut told = Vec::new();
        if let Some(stdout) = stdout {
            let mut bounded = stdout.take(LONGEST + 1);
            tokio::select! {
                _ = bounded.read_to_end(&mut told) => {}
                () = after(&exited) => {}
            }
        }
        told
    };
    let listen = async {
        let mut said = Vec::new();
        if let Some(stderr) = stderr {
            tokio::select! {
                () = read_end(stderr, &mut said) => {}
                () = after(&exited) => {}
            }
        }
        String::from_utf8_lossy(&said).into_owned()
    };
    let (status, told, said, ()) = tokio::join!(wait, read, listen, feed);
    Ok((status?, told, said))
}

async fn after(exited: &CancellationToken) {
    exited.cancelled().await;
    sleep(LAST_WORDS).await;
}

/// Reads everything, but keeps only the end.
async fn read_end(mut from: impl AsyncRead + Unpin, end: &mut Vec<u8>) {
    let mut chunk = [0; END];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        end.extend_from_slice(&chunk[..count]);
        end.drain(..end.len().saturating_sub(END));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    async fn run(
        script: &str,
        pod: Option<&str>,
        input: Option<Value>,
    ) -> Result<CommandAnswer, NodeCommandError> {
        let command: Vec<String> = ["sh", "-c", script, "sh"].map(str::to_owned).into();
        act(Some(&command), Order { verb: "v", node: "n", pod, input: input.as_ref() }).await
    }

    #[tokio::test]
    async fn a_command_gets_arguments_and_an_input_and_tells_a_json_object() {
        let script = r#"printf '{"arguments": "%s", "input": %s}' "$*" "$(cat)""#;
        let outcome = run(script, Some("u"), Some(json!({ "a": 1 }))).await.unwrap();
        assert!(outcome.status.success());
        assert_eq!(outcome.output, Some(json!({ "arguments": "v n u", "input": { "a": 1 } })));
    }

    #[tokio::test]
    async fn what_is_not_a_json_object_is_not_recorded() {
        for script in ["echo done", "echo 1", "echo '[]'", "true"] {
            assert_eq!(run(script, None, None).await.unwrap().output, None, "{script}");
        }
        let outcome = run("echo '{}'; exit 3", None, None).await.unwrap();
        assert_eq!((outcome.status.code(), outcome.output), (Some(3), Some(json!({}))));
    }

    #[tokio::test]
    async fn a_command_that_fails_says_why_in_its_last_line() {
        let outcome =
            run("yes | head -c 100000 >&2; echo 'no such node' >&2; exit 3", None, None).await.unwrap();
        assert_eq!(outcome.failure().unwrap(), "the command ended with exit status: 3: no such node");
        assert_eq!(run("echo fine >&2", None, None).await.unwrap().failure(), None);
        assert_eq!(
            run("false", None, None).await.unwrap().failure().unwrap(),
            "the command ended with exit status: 1"
        );
    }

    #[tokio::test]
    async fn a_command_that_ignores_its_input_or_leaves_a_program_behind_still_ends() {
        let large = json!({ "a": "x".repeat(1_000_000) });
        assert!(run("exit 0", None, Some(large)).await.unwrap().status.success());
        let outcome = run("sleep 30 & echo '{}'", None, None).await.unwrap();
        assert_eq!(outcome.output, Some(json!({})));
    }

    #[tokio::test]
    async fn a_name_that_would_be_an_option_never_reaches_the_command() {
        let command = ["true".to_owned()];
        for (node, pod, why) in
            [("--all", None, "node name"), ("n", Some("--all"), "UID"), ("n", Some("../n"), "UID")]
        {
            let order = Order { verb: "v", node, pod, input: None };
            let told = act(Some(&command), order).await.err().unwrap().to_string();
            assert!(told.contains(&format!("is not a valid {why}")), "{told}");
        }
    }

    #[tokio::test]
    async fn an_output_that_is_too_long_is_a_fault() {
        let script = "head -c 300000 /dev/zero | tr '\\0' x";
        let told = run(script, None, None).await.err().unwrap().to_string();
        assert!(told.contains("more than 262144 bytes"), "{told}");
    }
}
