//! The messages of the kernel's packet queue, as bytes: requests to it and messages from it. Numbers and layout come
//! from `linux/netlink.h` and `linux/netfilter/nfnetlink_queue.h`.

/// `NFNL_SUBSYS_QUEUE`, in the upper byte of a message's type.
const QUEUE: u16 = 3 << 8;
const PACKET: u16 = QUEUE;
const VERDICT: u16 = QUEUE | 1;
const CONFIG: u16 = QUEUE | 2;
/// `NLMSG_ERROR`, also an acknowledgement.
const ERROR: u16 = 2;

const REQUEST: u16 = 1;
const WANTS_ANSWER: u16 = 4;

const HEADER: usize = 16;
const GENERIC: usize = 4;

/// The number of bytes of a packet that are copied: enough for both headers with all options.
const COPIED: u32 = 128;

/// What the kernel does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is dropped.
    Drop,
    /// It passes.
    Accept,
    /// It passes with this mark.
    Mark(u32),
}

/// A message from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A packet waits for its verdict.
    Packet {
        /// Its number.
        id: u32,
        /// Its first bytes, from the IP header on.
        payload: Vec<u8>,
    },
    /// The result of a request: 0 for success, or this error number.
    Answer(i32),
}

fn message(kind: u16, flags: u16, queue: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut message = vec![0; HEADER];
    // Family "unspecified", version 0, and the queue in network order.
    message.extend([0, 0]);
    message.extend(queue.to_be_bytes());
    for (name, value) in attributes {
        message.extend(u16::try_from(value.len() + 4).unwrap_or(u16::MAX).to_ne_bytes());
        message.extend(name.to_ne_bytes());
        message.extend(*value);
        message.resize(message.len().next_multiple_of(4), 0);
    }
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&kind.to_ne_bytes());
    message[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
    message
}

/// The requests that claim a queue for this process, in order. Each is answered.
#[must_use]
pub(super) fn requests(queue: u16) -> Vec<Vec<u8>> {
    let mut params = COPIED.to_be_bytes().to_vec();
    params.push(2); // the packet itself is copied
    let fail_open = 1_u32.to_be_bytes();
    vec![
        message(CONFIG, WANTS_ANSWER, queue, &[(1, &[1, 0, 0, 0])]),
        message(CONFIG, WANTS_ANSWER, queue, &[(2, &params)]),
        // Packets pass when the queue is full.
        message(CONFIG, WANTS_ANSWER, queue, &[(4, &fail_open), (5, &fail_open)]),
    ]
}

/// The verdict about a packet.
#[must_use]
pub(super) fn verdict(queue: u16, id: u32, verdict: Verdict) -> Vec<u8> {
    let accept = u32::from(verdict != Verdict::Drop);
    let header = [accept.to_be_bytes(), id.to_be_bytes()].concat();
    match verdict {
        Verdict::Mark(mark) => message(VERDICT, 0, queue, &[(2, &header), (3, &mark.to_be_bytes())]),
        Verdict::Accept | Verdict::Drop => message(VERDICT, 0, queue, &[(2, &header)]),
    }
}

/// Reads what the kernel sent at once. Unknown messages are left out.
#[must_use]
pub(super) fn read(mut bytes: &[u8]) -> Vec<Said> {
    let mut said = Vec::new();
    while let Some((length, kind)) = head(bytes) {
        let Some(body) = bytes.get(HEADER..length) else { break };
        match kind {
            PACKET => said.extend(body.get(GENERIC..).and_then(packet)),
            ERROR => said.extend(number(body, 0).map(|number| Said::Answer(i32::from_ne_bytes(number)))),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    said
}

fn head(bytes: &[u8]) -> Option<(usize, u16)> {
    let length = usize::try_from(u32::from_ne_bytes(number(bytes, 0)?)).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    (length >= HEADER).then_some((length, kind))
}

fn number(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.try_into().ok()
}

fn packet(mut attributes: &[u8]) -> Option<Said> {
    let mut id = None;
    let mut payload = None;
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        // The two upper bits are flags.
        let name = u16::from_ne_bytes([attributes[2], attributes[3]]) & 0x3fff;
        let value = attributes.get(4..length)?;
        match name {
            1 => id = number(value, 0).map(u32::from_be_bytes),
            10 => payload = Some(value.to_vec()),
            _ => {}
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Said::Packet { id: id?, payload: payload? })
}

#[cfg(test)]
mod tests {
    use super::{PACKET, Said, Verdict, message, read, verdict};

    #[test]
    fn a_packet_is_read_with_its_number() {
        let bytes = message(PACKET, 0, 7, &[(1, &[0, 0, 0, 5, 8, 0, 3]), (9, &[1]), (10, b"abcde")]);
        let expected = Said::Packet { id: 5, payload: b"abcde".to_vec() };
        assert_eq!(read(&bytes), vec![expected.clone()]);
        assert_eq!(read(&[bytes.clone(), bytes.clone()].concat()), [expected.clone(), expected]);
        assert_eq!(read(&bytes[..bytes.len() - 9]), [], "a message cut short is no message");
    }

    #[test]
    fn an_answer_is_an_error_number() {
        let mut bytes = message(2, 0, 0, &[]);
        bytes.splice(16..20, (-1_i32).to_ne_bytes());
        assert_eq!(read(&bytes), [Said::Answer(-1)]);
    }

    #[test]
    fn a_verdict_has_its_number_and_mark() {
        let bytes = verdict(7, 5, Verdict::Mark(0x10));
        assert_eq!(bytes.len(), 16 + 4 + 12 + 8);
        assert_eq!(bytes[24..32], [0, 0, 0, 1, 0, 0, 0, 5]);
        assert_eq!(bytes[36..40], [0, 0, 0, 0x10]);
        assert_eq!(verdict(7, 5, Verdict::Drop)[24..28], [0, 0, 0, 0]);
    }
}
