//! The proxy's own connections, which carry a mark so that they are not taken over.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

use super::rules::OWN;

/// Where the node keeps the network namespaces of its pods.
const NAMESPACES: &str = "/run/netns";

/// Connects from the node, as the kubelet does.
///
/// # Errors
///
/// When the pod refuses, or nothing answers.
pub(super) async fn from_node(to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    // Outside of tests this needs a permission, which every process that changes the packet filter has.
    socket.set_mark(OWN)?;
    socket.set_nonblocking(true)?;
    let stream = TcpSocket::from_std_stream(socket.into()).connect(to.into()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connects from inside the pod that has the address `to`, as no kubelet should.
///
/// # Errors
///
/// When the pod's network namespace is not found, or the pod refuses.
pub(super) async fn from_inside(to: SocketAddrV4) -> io::Result<TcpStream> {
    let (done, result) = oneshot::channel();
    // A separate thread is used, because its namespace ends with it.
    std::thread::spawn(move || {
        // If the kubelet has given up, nothing waits for this.
        drop(done.send(connect_inside(to)));
    });
    let stream = result.await.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

fn connect_inside(to: SocketAddrV4) -> io::Result<std::net::TcpStream> {
    for entry in std::fs::read_dir(NAMESPACES)? {
        let Ok(namespace) = std::fs::File::open(entry?.path()) else { continue };
        if setns(namespace, CloneFlags::CLONE_NEWNET).is_ok() && is_here(*to.ip()) {
            return std::net::TcpStream::connect_timeout(&to.into(), Duration::from_secs(60));
        }
    }
    Err(io::Error::other(format!("no network namespace in {NAMESPACES} has the address {}", to.ip())))
}

/// Whether an address belongs to this network namespace. Only such an address can be bound.
fn is_here(address: Ipv4Addr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}
