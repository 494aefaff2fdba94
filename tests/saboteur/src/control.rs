//! How defects are activated and removed while the node runs: a unix socket that accepts one JSON request per line
//! and answers each with one line.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
};

use crate::{
    board::{Board, Count},
    defect::Defect,
};

/// The default path of the control socket.
pub const SOCKET: &str = "/run/saboteur/control.sock";

/// One line to the control socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Instruction {
    /// Activate these defects, in addition to the active ones.
    Set(Vec<Defect>),
    /// Deactivate the defect with this name.
    Clear(String),
    /// Deactivate the defects of this namespace.
    ClearNamespace(String),
    /// Deactivate all defects.
    ClearAll,
    /// Print the active defects.
    List,
}

/// The line that answers the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Acknowledgement {
    /// The defects that are active, or were active until now.
    Counts(Vec<Count>),
    /// Why the request was rejected.
    Refused(String),
}

/// Serves until it fails.
///
/// # Errors
///
/// When it cannot listen on `path`.
pub async fn serve(path: &Path, board: Board) -> io::Result<()> {
    let listener = listen(path)?;
    loop {
        let (stream, _) = listener.accept().await?;
        let board = board.clone();
        // A client that disconnects early does no harm.
        tokio::spawn(async move { converse(stream, &board).await.ok() });
    }
}

/// Listens on a socket whose file may be left over from an earlier process, and creates its folder.
///
/// # Errors
///
/// When the folder or the socket cannot be created.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    UnixListener::bind(path)
}

async fn converse(stream: UnixStream, board: &Board) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match serde_json::from_str(&line) {
            Ok(request) => obey(request, board),
            Err(error) => Acknowledgement::Refused(format!("not a valid request: {error}")),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        writer.write_all(&text).await?;
    }
    Ok(())
}

fn obey(request: Instruction, board: &Board) -> Acknowledgement {
    let nowhere = |defects: &[Defect]| defects.iter().find(|defect| defect.on.namespace.is_empty()).cloned();
    Acknowledgement::Counts(match request {
        Instruction::Set(defects) => {
            if let Some(defect) = nowhere(&defects) {
                return Acknowledgement::Refused(format!("the defect {} names no namespace", defect.name));
            }
            defects.into_iter().for_each(|defect| board.put(defect));
            board.counts()
        }
        Instruction::Clear(name) => board.remove(|defect| defect.name == name),
        Instruction::ClearNamespace(namespace) => board.remove(|defect| defect.on.namespace == namespace),
        Instruction::ClearAll => board.remove(|_| true),
        Instruction::List => board.counts(),
    })
}

/// Sends one request to a running saboteur and waits for its answer.
///
/// # Errors
///
/// When no saboteur listens on `path`, or its answer is not understood.
pub async fn ask(path: &Path, request: &Instruction) -> io::Result<Acknowledgement> {
    let mut stream = UnixStream::connect(path).await?;
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    stream.write_all(&text).await?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await?;
    serde_json::from_str(&line).map_err(io::Error::other)
}
