//! SCTP in its one-to-one style: the same calls as for TCP with another protocol number, so that the few commands that
//! use it need no library. The protocol is a parameter: the tests run the same path over TCP, because few build
//! machines load the kernel's SCTP module.
//!
//! It does not support several streams, unordered messages or multi-homing, because agnhost does not use them.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{listen, text};

const BACKLOG: i32 = 128;

/// The SCTP of the kernel.
pub(crate) const SCTP: Protocol = Protocol::SCTP;

/// Listens on a port of every address. The error is the bare text of the system, as in agnhost.
pub(crate) fn listen(protocol: Protocol, port: u16) -> Result<Socket, String> {
    let dual = |address: SocketAddr| -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&SockAddr::from(address))?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    };
    dual(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port))
        .or_else(|_| dual(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)))
        .map_err(|error| text::errno(&error))
}

/// Waits for one association and returns its peer.
pub(crate) fn accept(listener: &Socket) -> Result<(Socket, SocketAddr), String> {
    let (socket, address) = listener.accept().map_err(|error| text::errno(&error))?;
    let peer = address.as_socket().unwrap_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0));
    Ok((socket, listen::plain(peer)))
}

/// Connects, without its own timeout.
pub(crate) fn connect(protocol: Protocol, address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(protocol))?;
    socket.connect(&SockAddr::from(address))?;
    Ok(socket)
}

/// Sends `request` and reads one answer of at most `room` bytes.
pub(crate) fn exchange(
    mut socket: &Socket,
    request: &[u8],
    room: usize,
    limit: Option<Duration>,
) -> io::Result<Vec<u8>> {
    socket.set_read_timeout(limit)?;
    socket.write_all(request)?;
    let mut buffer = vec![0; room];
    let count = socket.read(&mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{accept, connect, exchange, listen};
    use socket2::Protocol;
    use std::io::{Read, Write};

    #[test]
    fn one_to_one_style_carries_a_question_and_an_answer() {
        let listener = listen(Protocol::TCP, 0).unwrap();
        let mut address = listener.local_addr().unwrap().as_socket().unwrap();
        address.set_ip("127.0.0.1".parse().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, peer) = accept(&listener).unwrap();
            let mut buffer = [0; 16];
            let count = socket.read(&mut buffer).unwrap();
            socket.write_all(&buffer[..count]).unwrap();
            peer
        });
        let socket = connect(Protocol::TCP, address).unwrap();
        assert_eq!(exchange(&socket, b"hostname", 1024, None).unwrap(), b"hostname");
        assert!(server.join().unwrap().is_ipv4());
    }
}
