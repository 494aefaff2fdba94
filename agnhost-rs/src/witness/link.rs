//! The link to the recorder: one permanent connection, which is resumed after an interruption.
//!
//! The target sends its identity and its next line number. The recorder answers with the number of the line that it
//! needs. So a broken connection loses nothing if the lines in transit are still in the memory of the witness. Lines that
//! are no longer in memory are counted as lost.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use probity_script::witness::{Greeting, Hello, VERSION, Want};

use super::{Outlet, Witness};
use crate::token::Token;

const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Keeps an outlet connected to the recorder at `address` (`host:port`), on its own thread.
pub fn follow(witness: Witness, outlet: Arc<Outlet>, (address, token): (String, Token)) {
    let body = move || {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Ok(stream) = greet(&witness, &address, &token) {
                pause = FIRST_PAUSE;
                carry(&witness, &outlet, stream);
                outlet.disconnect();
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    // Without the thread, the outlet stays unconnected, fills up and counts its losses.
    let _ = thread::Builder::new().name("recorder-link".to_owned()).stack_size(128 * 1024).spawn(body);
}

/// A connection on which both sides know which line comes next.
struct Greeted {
    stream: TcpStream,
    want: u64,
}

fn greet(witness: &Witness, address: &str, token: &Token) -> io::Result<Greeted> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for candidate in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, CONNECT_PATIENCE) {
            Ok(stream) => return shake_hands(witness, stream, token),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn shake_hands(witness: &Witness, mut stream: TcpStream, token: &Token) -> io::Result<Greeted> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT_PATIENCE))?;
    stream.set_write_timeout(Some(CONNECT_PATIENCE))?;
    let identity = witness.identity();
    let hello = Hello {
        v: VERSION,
        boot: identity.boot.clone(),
        attempt: identity.attempt,
        hello: witness.next_seq(),
        identity: crate::identity::from_environment(),
    };
    let mut line = serde_json::to_vec(&Greeting { hello, token: token.reveal().to_owned() })?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new((&mut stream).take(1024)).read_line(&mut answer)?;
    let Want { want } = serde_json::from_str(&answer)?;
    Ok(Greeted { stream, want })
}

/// Passes the connection to the outlet, and returns when the connection is broken.
fn carry(witness: &Witness, outlet: &Outlet, greeted: Greeted) {
    let Greeted { mut stream, want } = greeted;
    let Ok(way) = stream.try_clone() else { return };
    let quiet = stream.set_read_timeout(None).and_then(|()| stream.set_nonblocking(true));
    if quiet.is_err() {
        return;
    }
    witness.resume(outlet, want, way.into());
    // The recorder sends nothing after its greeting, so anything that is received means the end of the connection.
    let mut byte = [0_u8; 64];
    loop {
        match wait_readable(&stream).and_then(|()| stream.read(&mut byte)) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

fn wait_readable(stream: &TcpStream) -> io::Result<()> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE)?;
    Ok(())
}
