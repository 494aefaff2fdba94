//! The kernel's packet queue: each packet waits until a verdict is sent, and verdicts may come in any order and from
//! any task.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket,
    sockopt::{RcvBuf, ReceiveTimeout},
};
use nix::sys::time::{TimeVal, TimeValLike};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::netlink::{self, Said, Verdict};

/// One queue of the packet filter. It ends when its receiver and its last packet are dropped.
pub(super) struct Queue {
    packets: UnboundedReceiver<Waiting>,
}

/// The interval at which the queue checks whether its receiver still exists.
const LOOK: Duration = Duration::from_secs(1);

/// A packet that waits.
pub(super) struct Waiting {
    /// Its first bytes, from the IP header on.
    pub(super) payload: Vec<u8>,
    id: u32,
    number: u16,
    socket: Arc<OwnedFd>,
}

impl Waiting {
    /// Sends the verdict. A packet without a verdict waits forever.
    pub(super) fn decide(self, verdict: Verdict) {
        let message = netlink::verdict(self.number, self.id, verdict);
        // A closed queue has dropped its packets; their senders repeat them, and then they pass.
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty()).ok();
    }
}

impl Queue {
    /// Takes over a queue.
    ///
    /// # Errors
    ///
    /// When the permission is missing, or another process has the queue.
    pub(super) fn open(number: u16) -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkNetFilter,
        )?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        // The buffer is large, because many pods start at once, and a full buffer would let packets pass unseen.
        setsockopt(&fd, RcvBuf, &(1 << 20))?;
        for request in netlink::requests(number) {
            send(fd.as_raw_fd(), &request, MsgFlags::empty())?;
            let mut buffer = [0; 4096];
            let length = recv(fd.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
            for said in netlink::read(&buffer[..length]) {
                if let Said::Answer(error) = said
                    && error != 0
                {
                    return Err(io::Error::from_raw_os_error(-error));
                }
            }
        }
        // The thread wakes up regularly to check whether the receiver still exists.
        setsockopt(&fd, ReceiveTimeout, &TimeVal::seconds(LOOK.as_secs().try_into().unwrap_or(1)))?;
        let (sender, packets) = unbounded_channel();
        // The async runtime cannot wait for this kind of socket without unsafe code.
        std::thread::Builder::new().name("packet queue".to_owned()).spawn(move || {
            let socket = Arc::new(fd);
            let mut buffer = vec![0; 1 << 16];
            while !sender.is_closed() {
                let length = match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                    Ok(length) => length,
                    // Packets that did not fit have passed; continue with the next ones.
                    Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => continue,
                    Err(_) => return,
                };
                for said in netlink::read(&buffer[..length]) {
                    if let Said::Packet { id, payload } = said {
                        let waiting = Waiting { payload, id, number, socket: Arc::clone(&socket) };
                        // If the receiver is gone, the packet is dropped with the queue, and passes when it is
                        // repeated.
                        drop(sender.send(waiting));
                    }
                }
            }
        })?;
        Ok(Self { packets })
    }

    /// Waits for a packet.
    ///
    /// # Errors
    ///
    /// When the queue is closed.
    pub(super) async fn next(&mut self) -> io::Result<Waiting> {
        self.packets.recv().await.ok_or_else(|| io::Error::other("the packet queue is gone"))
    }
}
