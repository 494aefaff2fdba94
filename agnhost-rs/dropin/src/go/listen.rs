//! Listening sockets as Go opens them: one dual-stack socket for IPv4 and IPv6, or a socket for IPv4 alone if IPv6 is
//! not available.
//!
//! Errors read like Go's: `listen tcp :8080: bind: address already in use`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::text;

/// The backlog that Go asks for. The kernel reduces it to its own limit.
const BACKLOG: i32 = 4096;

/// The network of a socket, as Go names it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Network {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }

    fn kind(self) -> (Type, Protocol) {
        match self {
            Self::Tcp => (Type::STREAM, Protocol::TCP),
            Self::Udp => (Type::DGRAM, Protocol::UDP),
        }
    }
}

/// Listens on a port of every address, for the current runtime.
pub(crate) fn tcp_async(port: i64) -> Result<tokio::net::TcpListener, String> {
    let listener: std::net::TcpListener = socket(Network::Tcp, None, port)?.into();
    listener
        .set_nonblocking(true)
        .and_then(|()| tokio::net::TcpListener::from_std(listener))
        .map_err(|error| format!("listen tcp :{port}: {error}"))
}

/// Receives datagrams on a port of one address or of every address, for the current runtime.
pub(crate) fn udp_async(address: Option<IpAddr>, port: i64) -> Result<tokio::net::UdpSocket, String> {
    let socket: std::net::UdpSocket = socket(Network::Udp, address, port)?.into();
    socket
        .set_nonblocking(true)
        .and_then(|()| tokio::net::UdpSocket::from_std(socket))
        .map_err(|error| text::errno(&error))
}

fn socket(network: Network, address: Option<IpAddr>, port: i64) -> Result<Socket, String> {
    let name = network.name();
    let Ok(number) = u16::try_from(port) else {
        return Err(format!("listen {name}: address {port}: invalid port"));
    };
    let host = address.map(|ip| ip.to_string()).unwrap_or_default();
    let shown = text::host_port(&host, &port.to_string());
    let opened =
        match address {
            Some(ip) if !ip.is_unspecified() => open(network, SocketAddr::new(ip, number)),
            _ => open(network, SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), number)).or_else(|error| {
                match error.0.raw_os_error() {
                    Some(code) if is_without_ipv6(code) => {
                        open(network, SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), number))
                    }
                    _ => Err(error),
                }
            }),
        };
    opened.map_err(|(error, step)| format!("listen {name} {shown}: {step}: {}", text::errno(&error)))
}

fn is_without_ipv6(code: i32) -> bool {
    use nix::errno::Errno;
    matches!(Errno::from_raw(code), Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL | Errno::ENOPROTOOPT)
}

fn open(network: Network, address: SocketAddr) -> Result<Socket, (io::Error, &'static str)> {
    let (kind, protocol) = network.kind();
    let socket =
        Socket::new(Domain::for_address(address), kind, Some(protocol)).map_err(|e| (e, "socket"))?;
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false).map_err(|e| (e, "setsockopt"))?;
    }
    if network == Network::Tcp {
        socket.set_reuse_address(true).map_err(|e| (e, "setsockopt"))?;
    }
    socket.bind(&SockAddr::from(address)).map_err(|e| (e, "bind"))?;
    if network == Network::Tcp {
        socket.listen(BACKLOG).map_err(|e| (e, "listen"))?;
    }
    Ok(socket)
}

/// A peer's address as Go prints it: an IPv4 peer of a dual-stack socket is shown as IPv4.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
