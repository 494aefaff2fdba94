//! The two messages of a gRPC health check, as bytes: a request names a service, an answer has a status. Both have one
//! field with number 1, which the protocol's documentation defines permanently.

/// The length of the prefix of a message: a zero byte, and the message's length.
const PREFIX: usize = 5;

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], &length.to_be_bytes()[..], message].concat()
}

fn unframed(bytes: &[u8]) -> Option<&[u8]> {
    let length = u32::from_be_bytes(bytes.get(1..PREFIX)?.try_into().ok()?);
    bytes.get(PREFIX..PREFIX + usize::try_from(length).ok()?)
}

/// A request for a service.
#[must_use]
pub(super) fn request(service: &str) -> Vec<u8> {
    if service.is_empty() {
        return framed(&[]);
    }
    let mut message = vec![0x0a];
    write_number(&mut message, u64::try_from(service.len()).unwrap_or(u64::MAX));
    message.extend(service.as_bytes());
    framed(&message)
}

/// The service that a request names.
#[must_use]
pub(super) fn service(bytes: &[u8]) -> Option<String> {
    let message = unframed(bytes)?;
    let Some((first, rest)) = message.split_first() else { return Some(String::new()) };
    if *first != 0x0a {
        return None;
    }
    let (length, rest) = read_number(rest)?;
    String::from_utf8(rest.get(..usize::try_from(length).ok()?)?.to_vec()).ok()
}

/// An answer with a status.
#[must_use]
pub(super) fn answer(status: u64) -> Vec<u8> {
    if status == 0 {
        return framed(&[]);
    }
    let mut message = vec![0x08];
    write_number(&mut message, status);
    framed(&message)
}

/// The status of an answer.
#[must_use]
pub(super) fn status(bytes: &[u8]) -> Option<u64> {
    let message = unframed(bytes)?;
    match message.split_first() {
        None => Some(0),
        Some((0x08, rest)) => read_number(rest).map(|(status, _)| status),
        Some(_) => None,
    }
}

fn write_number(message: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        message.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    message.push(u8::try_from(number).unwrap_or(0));
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{answer, request, service, status};

    #[test]
    fn a_service_survives_the_round_trip() {
        let long = "x".repeat(300);
        for name in ["", "liveness", long.as_str()] {
            assert_eq!(service(&request(name)).as_deref(), Some(name));
        }
        assert_eq!(request("a"), [0, 0, 0, 0, 3, 0x0a, 1, b'a']);
    }

    #[test]
    fn a_status_survives_the_round_trip() {
        for number in [0, 1, 2, 3, 77, 300, u64::MAX] {
            assert_eq!(status(&answer(number)), Some(number));
        }
        assert_eq!(answer(1), [0, 0, 0, 0, 2, 0x08, 1]);
    }

    #[test]
    fn what_is_cut_short_is_none() {
        assert_eq!(status(&[0, 0, 0, 0, 2, 8]), None);
        assert_eq!(status(&[0, 0]), None);
        assert_eq!(service(&[0, 0, 0, 0, 2, 0x0a, 9]), None);
    }
}
