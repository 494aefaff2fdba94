//! What a kubelet sees of the program: a client on the bus holds a lock, and is told about shutdowns.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::net::UnixStream;
use zbus::connection::Builder;
use zbus::{Connection, MessageStream, OwnedFd, OwnedVariant};

const PATH: &str = "/org/freedesktop/login1";
const MANAGER: &str = "org.freedesktop.login1.Manager";

/// The program that serves. It ends with the test.
struct Logind {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Logind {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Logind {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus.sock");
        let child = program(&socket, "serve").spawn().unwrap();
        while !socket.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Self { child, folder }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("bus.sock")
    }

    async fn ask(&self, command: &'static str) -> String {
        let socket = self.socket();
        let run = move || program(&socket, command).output().unwrap();
        let Output { stdout, stderr, status } = tokio::task::spawn_blocking(run).await.unwrap();
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap().trim().to_owned()
    }
}

fn program(socket: &Path, command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_logind"));
    program.arg(command).arg("--socket").arg(socket).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// A client such as a kubelet, and what it receives.
struct Kubelet {
    connection: Connection,
    messages: MessageStream,
}

impl Kubelet {
    async fn connect(logind: &Logind) -> Self {
        let stream = UnixStream::connect(logind.socket()).await.unwrap().into_std().unwrap();
        let connection = Builder::unix_stream(stream).p2p().build().await.unwrap();
        let messages = MessageStream::from(&connection);
        let (bus, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus");
        let name = connection.call_method(Some(bus), path, Some(bus), "Hello", &()).await.unwrap();
        assert!(name.body().deserialize::<String>().unwrap().starts_with(':'));
        Self { connection, messages }
    }

    async fn lock(&self, mode: &str) -> zbus::Result<OwnedFd> {
        let arguments = ("shutdown", "kubelet", "a test", mode);
        let to = Some("org.freedesktop.login1");
        let answer = self.connection.call_method(to, PATH, Some(MANAGER), "Inhibit", &arguments).await?;
        answer.body().deserialize()
    }

    /// The next signal about a shutdown: whether it begins.
    async fn signal(&mut self) -> bool {
        loop {
            let message = self.messages.next().await.unwrap().unwrap();
            if message.header().member().is_some_and(|name| name.as_str() == "PrepareForShutdown") {
                return message.body().deserialize().unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_lock_delays_an_announced_shutdown_until_it_is_released() {
    let logind = Logind::start().await;
    let mut kubelet = Kubelet::connect(&logind).await;
    let lock = kubelet.lock("delay").await.unwrap();
    assert_eq!(logind.ask("announce").await, r#"{"delayed":true}"#);
    assert!(kubelet.signal().await);
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(lock);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let told: serde_json::Value = serde_json::from_str(&logind.ask("cancel").await).unwrap();
    assert_eq!(told["delayed"], true);
    assert!(told["releasedAfterUs"].as_i64().unwrap() >= 300_000, "{told}");
    assert!(!kubelet.signal().await);
}

#[tokio::test]
async fn a_lock_that_is_still_held_was_not_released() {
    let logind = Logind::start().await;
    let kubelet = Kubelet::connect(&logind).await;
    let _lock = kubelet.lock("delay").await.unwrap();
    logind.ask("announce").await;
    assert_eq!(logind.ask("cancel").await, r#"{"delayed":true,"releasedAfterUs":null}"#);
    assert_eq!(logind.ask("cancel").await, r#"{"delayed":false,"releasedAfterUs":null}"#, "there is none");
}

#[tokio::test]
async fn a_second_shutdown_is_not_mistaken_for_the_first() {
    let logind = Logind::start().await;
    let mut kubelet = Kubelet::connect(&logind).await;
    let lock = kubelet.lock("delay").await.unwrap();
    logind.ask("announce").await;
    drop(lock);
    tokio::time::sleep(Duration::from_millis(200)).await;
    logind.ask("cancel").await;
    let _lock = kubelet.lock("delay").await.unwrap();
    assert_eq!(logind.ask("announce").await, r#"{"delayed":true}"#);
    assert_eq!(logind.ask("cancel").await, r#"{"delayed":true,"releasedAfterUs":null}"#, "it is still held");
    for begins in [true, false, true, false] {
        assert_eq!(kubelet.signal().await, begins);
    }
}

#[tokio::test]
async fn only_a_lock_that_delays_shutdowns_is_given_and_the_longest_delay_suffices() {
    let logind = Logind::start().await;
    let kubelet = Kubelet::connect(&logind).await;
    assert!(kubelet.lock("block").await.unwrap_err().to_string().contains("only of shutdown by delay"));
    let arguments = (MANAGER, "InhibitDelayMaxUSec");
    let to = (Some("org.freedesktop.login1"), Some("org.freedesktop.DBus.Properties"));
    let answer = kubelet.connection.call_method(to.0, PATH, to.1, "Get", &arguments).await.unwrap();
    let longest = answer.body().deserialize::<OwnedVariant>().unwrap();
    assert!(u64::try_from(longest).unwrap() >= 3_600_000_000);
}
