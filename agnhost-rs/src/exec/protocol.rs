//! How commands and children communicate with the serving process: lines of JSON over an abstract unix socket.
//!
//! The name of the socket contains the inode of the mount namespace. Containers of one pod share the network namespace,
//! in which such names exist, but not the mount namespace. So the other containers of the pod can reach the socket. They
//! can send false reports and learn the plan's answers, but nothing more: the socket never sends a secret, and unreadable
//! input is dropped within limits.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use probity_script::answer::CommandOrders;
use probity_script::witness::Command;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::orders::ExecFlags;

/// The longest line that either side reads.
pub(crate) const LONGEST_LINE: usize = 512 * 1024;
/// The variable that names another socket, for several serving processes in one mount namespace.
pub(crate) const SOCKET: &str = "AGNHOST_SOCKET";

const AGAIN: Duration = Duration::from_millis(2);

/// The first line on a connection.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExecHello {
    /// A command asks what to do.
    Exec { name: Option<String>, flags: ExecFlags, command: Box<Command> },
    /// A child process reports that it is running.
    Child { name: String, pid: u32 },
}

/// The response to a command. A child gets no response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExecReply {
    /// Do this.
    Orders(CommandOrders),
    /// The plan does not have this name; these are its names.
    Unknown { names: Vec<String> },
}

/// What happens later to a command or a child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExecReport {
    /// A signal arrived.
    Signal { signal: String, answer: String },
    /// A command is about to exit with this status.
    Ended(u8),
}

/// The socket of this container.
pub(crate) fn address() -> io::Result<SocketAddr> {
    let name = match std::env::var(SOCKET) {
        Ok(name) if !name.is_empty() => name,
        _ => format!("agnhost-rs/{}", mount_namespace()),
    };
    SocketAddr::from_abstract_name(name)
}

/// The inode of the mount namespace. 0 if the system does not provide it.
fn mount_namespace() -> u64 {
    let number = || {
        let target = std::fs::read_link("/proc/self/ns/mnt").ok()?;
        target.to_str()?.strip_prefix("mnt:[")?.strip_suffix(']')?.parse().ok()
    };
    number().unwrap_or(0)
}

/// Connects to the serving process. Tries for a while, because that process may be about to start.
pub(crate) fn connect(patience: Duration) -> io::Result<UnixStream> {
    let address = address()?;
    let deadline = Instant::now() + patience;
    loop {
        match UnixStream::connect_addr(&address) {
            Err(_) if Instant::now() < deadline => thread::sleep(AGAIN),
            outcome => return outcome,
        }
    }
}

/// Sends one line.
pub(crate) fn send<T: Serialize>(stream: &mut UnixStream, message: &T) -> io::Result<()> {
    stream.write_all(&line(message)?)
}

/// A message as a line.
pub(crate) fn line<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line. Nothing may follow it yet.
pub(crate) fn receive<T: DeserializeOwned>(stream: &mut UnixStream) -> io::Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(LONGEST_LINE as u64)).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}
