//! Listening sockets: one for both address families, or only for IPv4 on a node without IPv6.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

/// How many connections may wait to be accepted.
pub(crate) const BACKLOG: i32 = 4096;

/// Listens on a port of one address or, without an address, of all addresses. The socket does not block.
pub(crate) fn bind(address: Option<IpAddr>, port: u16, backlog: i32) -> io::Result<Socket> {
    match address {
        Some(ip) => bind_to(SocketAddr::new(ip, port), backlog),
        None => {
            let both = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
            bind_to(both, backlog).or_else(|error| match error.kind() {
                io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
                _ => bind_to(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), backlog),
            })
        }
    }
}

fn bind_to(address: SocketAddr, backlog: i32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(address.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED))?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog)?;
    Ok(socket)
}
