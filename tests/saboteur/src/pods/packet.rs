//! The first packet of a TCP connection over IPv4, read from its bytes.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The identity of a connection. A repeated first packet has the same number, and another connection has a different
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Syn {
    /// The client.
    pub(super) source: SocketAddrV4,
    /// The server.
    pub(super) destination: SocketAddrV4,
    /// The initial sequence number.
    pub(super) number: u32,
}

const TCP: u8 = 6;

/// Reads a packet from its IP header on. `None` for anything except a TCP packet over IPv4.
#[must_use]
pub(super) fn read(packet: &[u8]) -> Option<Syn> {
    let first = *packet.first()?;
    if first >> 4 != 4 || *packet.get(9)? != TCP {
        return None;
    }
    let address = |at: usize| {
        packet.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()).map(Ipv4Addr::from)
    };
    let tcp = packet.get(usize::from(first & 0x0f) * 4..)?;
    let port = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
    Some(Syn {
        source: SocketAddrV4::new(address(12)?, port(0)?),
        destination: SocketAddrV4::new(address(16)?, port(2)?),
        number: u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::read;

    const PACKET: [u8; 40] = [
        0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 244, 1, 1, 10, 244, 1, 7, // IP
        0x9c, 0x40, 0x1f, 0x90, 1, 2, 3, 4, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0, // TCP
    ];

    #[test]
    fn a_first_packet_says_who_wants_whom() {
        let syn = read(&PACKET).map(|syn| (syn.source.to_string(), syn.destination.to_string(), syn.number));
        assert_eq!(syn, Some(("10.244.1.1:40000".into(), "10.244.1.7:8080".into(), 0x0102_0304)));
    }

    #[test]
    fn options_of_the_ip_header_are_skipped() {
        let mut packet = PACKET.to_vec();
        packet[0] = 0x46;
        packet.splice(20..20, [1, 1, 1, 0]);
        assert_eq!(read(&packet).map(|syn| syn.destination.port()), Some(8080));
    }

    #[test]
    fn other_packets_and_broken_ones_are_none() {
        let mut udp = PACKET;
        udp[9] = 17;
        assert_eq!(read(&udp), None);
        for end in 0..28 {
            assert_eq!(read(&PACKET[..end]), None, "cut at {end}");
        }
    }
}
