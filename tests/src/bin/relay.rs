//! A TCP relay that `ci/outages` puts between the harness and the API server: it delays bytes, holds them back, or
//! leaves connections without an answer. It does not look at the bytes, so TLS passes through unchanged.
//!
//! `relay ADDRESS` prints the address on which it listens, and forwards each connection to ADDRESS. It takes commands
//! from standard input, one per line, and exits when the input ends:
//!
//! - `delay MILLISECONDS`: from now on, bytes arrive this much later, in both directions.
//! - `hold`: no byte passes until `go`; connections stay open.
//! - `go`: ends `hold` and `delay`: held bytes pass, and later bytes are not delayed.
//! - `forget`: the connections that exist now are never answered again, but stay open; new ones work.

use std::io::{self, Error, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// What happens to bytes at the moment.
#[derive(Clone, Copy, Default)]
struct Treatment {
    delay: Duration,
    held: bool,
    /// How many times connections were forgotten. Connections from before the last time are not answered.
    forgotten: u64,
}

/// The number of chunks on their way in one direction; beyond it, the sender has to wait.
const ON_THE_WAY: usize = 1024;
const CHUNK: usize = 16 * 1024;
/// How long to wait before the next connection is accepted after an error.
const AFTER_AN_ERROR: std::time::Duration = std::time::Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let to = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let to: SocketAddr = to.ok_or_else(|| Error::other("usage: relay ADDRESS"))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    let (sender, treatment) = watch::channel(Treatment::default());
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((client, _)) => drop(tokio::spawn(serve(client, to, treatment.clone()))),
                // The connection was lost before it was accepted, or there are too many.
                Err(_) => tokio::time::sleep(AFTER_AN_ERROR).await,
            }
        }
    });
    tokio::task::spawn_blocking(move || {
        for command in io::stdin().lines() {
            let command = command?;
            sender.send_modify(|now| *now = treated(*now, &command));
        }
        Ok(())
    })
    .await?
}

fn treated(now: Treatment, command: &str) -> Treatment {
    match command.split_once(' ').unwrap_or((command, "")) {
        ("delay", number) => {
            Treatment { delay: Duration::from_millis(number.parse().unwrap_or_default()), ..now }
        }
        ("hold", _) => Treatment { held: true, ..now },
        ("go", _) => Treatment { held: false, delay: Duration::ZERO, ..now },
        ("forget", _) => Treatment { forgotten: now.forgotten + 1, ..now },
        _ => now,
    }
}

/// Forwards a connection until one side ends it, or until it is forgotten.
async fn serve(mut client: TcpStream, to: SocketAddr, mut treatment: watch::Receiver<Treatment>) {
    let forgotten = treatment.borrow().forgotten;
    {
        let forward = forward(&mut client, to, treatment.clone());
        let forget = treatment.wait_for(|now| now.forgotten > forgotten);
        tokio::select! {
            _ = forward => return,
            _ = forget => {}
        }
    }
    // Reading shows when the client gives up.
    let mut unread = vec![0; CHUNK];
    while client.read(&mut unread).await.is_ok_and(|count| count > 0) {}
}

async fn forward(
    client: &mut TcpStream,
    to: SocketAddr,
    treatment: watch::Receiver<Treatment>,
) -> io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        carry(from_client, to_server, treatment.clone()),
        carry(from_server, to_client, treatment)
    )?;
    Ok(())
}

/// Forwards the bytes of one direction. The delay in force when a chunk arrives applies to this chunk.
async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    treatment: watch::Receiver<Treatment>,
) -> io::Result<()> {
    let (sender, mut chunks) = mpsc::channel::<(Instant, Vec<u8>)>(ON_THE_WAY);
    let (mut reading, mut writing) = (treatment.clone(), treatment);
    let read = async move {
        loop {
            passing(&mut reading).await;
            let mut chunk = vec![0; CHUNK];
            let count = from.read(&mut chunk).await?;
            chunk.truncate(count);
            let due = Instant::now() + reading.borrow().delay;
            if count == 0 || sender.send((due, chunk)).await.is_err() {
                return Ok(());
            }
        }
    };
    let write = async move {
        while let Some((due, chunk)) = chunks.recv().await {
            sleep_until(due).await;
            passing(&mut writing).await;
            to.write_all(&chunk).await?;
        }
        to.shutdown().await
    };
    tokio::try_join!(read, write).map(drop)
}

/// Returns when bytes may pass. The channel stays open as long as the program runs.
async fn passing(treatment: &mut watch::Receiver<Treatment>) {
    drop(treatment.wait_for(|now| !now.held).await);
}
