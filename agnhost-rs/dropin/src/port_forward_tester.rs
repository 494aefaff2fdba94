//! `port-forward-tester`: accepts one connection, may check what it receives, sends chunks, and exits.
//!
//! Its settings are environment variables. Its exit status shows the fault: 1 for the setup, 2 if too little data was
//! received, 3 if different data was received, and 4 if a chunk was not written completely.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use super::go::text::{errno, quoted};
use super::go::{resolve, signals};

/// The time between closing this side of the connection and closing the whole connection, so that the peer can read to
/// the end.
const LAST_READ: Duration = Duration::from_millis(500);

struct Fault(u8, String);

/// Serves one connection.
pub(super) fn run() -> ExitCode {
    signals::end_by_default();
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Fault(status, words)) => {
            say(&words);
            ExitCode::from(status)
        }
    }
}

fn serve() -> Result<(), Fault> {
    let mut stream = accept()?;
    say("Accepted client connection");
    let expected = variable("EXPECTED_CLIENT_DATA");
    if !expected.is_empty() {
        receive(&mut stream, expected.as_bytes())?;
    }
    send_chunks(&mut stream)?;
    say("Shutting down connection");
    // The peer may have closed first.
    let _ = stream.shutdown(Shutdown::Write);
    std::thread::sleep(LAST_READ);
    drop(stream);
    say("Done");
    Ok(())
}

fn accept() -> Result<TcpStream, Fault> {
    let host =
        Some(variable("BIND_ADDRESS")).filter(|host| !host.is_empty()).unwrap_or("localhost".to_owned());
    let addresses = resolve::addresses("tcp", &host, &variable("BIND_PORT"))
        .map_err(|error| Fault(1, format!("Error resolving: {error}")))?;
    let address = addresses[0];
    let listener = TcpListener::bind(address).map_err(|error| {
        Fault(1, format!("Error listening: listen tcp {address}: bind: {}", errno(&error)))
    })?;
    let (stream, _) = listener
        .accept()
        .map_err(|error| Fault(1, format!("Error accepting connection: {}", errno(&error))))?;
    Ok(stream)
}

fn receive(stream: &mut TcpStream, expected: &[u8]) -> Result<(), Fault> {
    let mut buffer = vec![0; expected.len()];
    let (count, cause) = match stream.read(&mut buffer) {
        Ok(0) => (0, "EOF".to_owned()),
        Ok(count) => (count, "<nil>".to_owned()),
        Err(error) => (0, errno(&error)),
    };
    if count != expected.len() {
        let words = format!(
            "Expected to read {} bytes from client, but got {count} instead. err={cause}",
            expected.len()
        );
        return Err(Fault(2, words));
    }
    if buffer != expected {
        let words = format!("Expect to read {}, but got {}. err={cause}", quoted(expected), quoted(&buffer));
        return Err(Fault(3, words));
    }
    say("Received expected client data");
    Ok(())
}

fn send_chunks(stream: &mut TcpStream) -> Result<(), Fault> {
    let chunks = number("CHUNKS")?;
    let size = number("CHUNK_SIZE")?;
    let between = number("CHUNK_INTERVAL")?;
    let chunk = vec![b'x'; usize::try_from(size).unwrap_or(0)];
    for index in 1..=chunks {
        if let Err((written, error)) = write_whole(stream, &chunk) {
            let cause = errno(&error);
            let words = format!(
                "Expected to write {size} bytes from client, but wrote {written} instead. err={cause}"
            );
            return Err(Fault(4, words));
        }
        if index < chunks {
            std::thread::sleep(Duration::from_millis(u64::try_from(between).unwrap_or(0)));
        }
    }
    Ok(())
}

fn write_whole(stream: &mut TcpStream, chunk: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut written = 0;
    while written < chunk.len() {
        match stream.write(&chunk[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err((written, error)),
        }
    }
    Ok(())
}

fn number(name: &str) -> Result<i64, Fault> {
    let text = variable(name);
    text.parse().map_err(|_| {
        let quoted = quoted(text.as_bytes());
        Fault(1, format!("Error parsing {name} {quoted}: strconv.Atoi: parsing {quoted}: invalid syntax"))
    })
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn say(line: &str) {
    // Without standard output, only the exit status shows the result.
    let _ = writeln!(io::stdout().lock(), "{line}");
}
