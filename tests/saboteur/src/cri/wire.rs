//! Protobuf in its wire format: fields by number, in their order, including unknown fields. This is enough to read and
//! change single fields of a message without its definition, so that the proxy works with every release of the
//! runtime's API.

use bytes::Bytes;

/// A message: its fields in the order in which they were received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    fields: Vec<(u32, Value)>,
}

/// The value of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Integers, booleans and enumerations.
    Varint(u64),
    /// Eight bytes, such as a double.
    Fixed64([u8; 8]),
    /// Strings, bytes, messages and packed lists.
    Bytes(Bytes),
    /// Four bytes, such as a float.
    Fixed32([u8; 4]),
}

/// Bytes that are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a protobuf message")]
pub struct Malformed;

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// When the bytes end in the middle of a field, or contain a group: proto3 has none.
    pub fn parse(bytes: &Bytes) -> Result<Self, Malformed> {
        let mut rest = bytes.clone();
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let key = take_varint(&mut rest)?;
            let number = u32::try_from(key >> 3).map_err(|_| Malformed)?;
            let value = match key & 7 {
                0 => Value::Varint(take_varint(&mut rest)?),
                1 => Value::Fixed64(take_array(&mut rest)?),
                2 => {
                    let length = usize::try_from(take_varint(&mut rest)?).map_err(|_| Malformed)?;
                    Value::Bytes(take(&mut rest, length)?)
                }
                5 => Value::Fixed32(take_array(&mut rest)?),
                _ => return Err(Malformed),
            };
            fields.push((number, value));
        }
        Ok(Self { fields })
    }

    /// The message as bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::new();
        for (number, value) in &self.fields {
            let kind = match value {
                Value::Varint(_) => 0,
                Value::Fixed64(_) => 1,
                Value::Bytes(_) => 2,
                Value::Fixed32(_) => 5,
            };
            put_varint(&mut out, u64::from(*number) << 3 | kind);
            match value {
                Value::Varint(number) => put_varint(&mut out, *number),
                Value::Fixed64(bytes) => out.extend_from_slice(bytes),
                Value::Fixed32(bytes) => out.extend_from_slice(bytes),
                Value::Bytes(bytes) => {
                    put_varint(&mut out, bytes.len() as u64);
                    out.extend_from_slice(bytes);
                }
            }
        }
        out.into()
    }

    /// The last value of a field, which is the value that counts if there are several.
    fn last(&self, number: u32) -> Option<&Value> {
        self.fields.iter().rev().find(|(of, _)| *of == number).map(|(_, value)| value)
    }

    /// The value of an integer field; 0 if it is absent, as in proto3.
    #[must_use]
    pub fn integer(&self, number: u32) -> i64 {
        match self.last(number) {
            Some(Value::Varint(value)) => value.cast_signed(),
            _ => 0,
        }
    }

    /// The bytes of a field; none if it is absent.
    #[must_use]
    pub fn bytes(&self, number: u32) -> Bytes {
        match self.last(number) {
            Some(Value::Bytes(bytes)) => bytes.clone(),
            _ => Bytes::new(),
        }
    }

    /// The text of a field; empty if it is absent.
    #[must_use]
    pub fn text(&self, number: u32) -> String {
        String::from_utf8_lossy(&self.bytes(number)).into_owned()
    }

    /// All values of a repeated field of bytes.
    pub fn all_bytes(&self, number: u32) -> impl Iterator<Item = &Bytes> {
        self.fields.iter().filter_map(move |(of, value)| match value {
            Value::Bytes(bytes) if *of == number => Some(bytes),
            _ => None,
        })
    }

    /// A message inside this one; an empty one if it is absent or malformed.
    #[must_use]
    pub fn message(&self, number: u32) -> Self {
        Self::parse(&self.bytes(number)).unwrap_or_default()
    }

    /// All messages of a repeated field.
    pub fn messages(&self, number: u32) -> impl Iterator<Item = Self> {
        self.all_bytes(number).filter_map(|bytes| Self::parse(bytes).ok())
    }

    /// The value of `key` in a map from strings to strings.
    #[must_use]
    pub fn entry(&self, number: u32, key: &str) -> Option<String> {
        self.messages(number).find(|entry| entry.bytes(1) == key).map(|entry| entry.text(2))
    }

    /// Sets an integer. An existing field keeps its place.
    pub fn set_integer(&mut self, number: u32, value: i64) {
        self.set(number, Value::Varint(value.cast_unsigned()));
    }

    /// Sets text or bytes.
    pub fn set_bytes(&mut self, number: u32, value: impl Into<Bytes>) {
        self.set(number, Value::Bytes(value.into()));
    }

    /// Changes the message inside a field, or creates the message if it is absent.
    pub fn change(&mut self, number: u32, change: impl FnOnce(&mut Self)) {
        let mut inner = self.message(number);
        change(&mut inner);
        self.set_bytes(number, inner.encode());
    }

    /// Changes each message of a repeated field, and drops the messages for which `change` returns false.
    pub fn change_each(&mut self, number: u32, mut change: impl FnMut(&mut Self) -> bool) {
        self.fields.retain_mut(|(of, value)| {
            let Value::Bytes(bytes) = value else { return true };
            if *of != number {
                return true;
            }
            let Ok(mut inner) = Self::parse(bytes) else { return true };
            let before = inner.clone();
            let stays = change(&mut inner);
            if inner != before {
                *bytes = inner.encode();
            }
            stays
        });
    }

    /// Sets `key` in a map from strings to strings or bytes.
    pub fn set_entry(&mut self, number: u32, key: &str, value: &str) {
        self.change_each(number, |entry| entry.bytes(1) != key);
        let mut entry = Self::default();
        entry.set_bytes(1, key.to_owned());
        entry.set_bytes(2, value.to_owned());
        self.push(number, entry.encode());
    }

    /// Adds one more value to a repeated field.
    pub fn push(&mut self, number: u32, value: impl Into<Bytes>) {
        self.fields.push((number, Value::Bytes(value.into())));
    }

    /// Removes a field.
    pub fn remove(&mut self, number: u32) {
        self.fields.retain(|(of, _)| *of != number);
    }

    fn set(&mut self, number: u32, value: Value) {
        match self.fields.iter_mut().rev().find(|(of, _)| *of == number) {
            Some((_, place)) => *place = value,
            None => self.fields.push((number, value)),
        }
    }
}

fn take(rest: &mut Bytes, length: usize) -> Result<Bytes, Malformed> {
    if rest.len() < length {
        return Err(Malformed);
    }
    Ok(rest.split_to(length))
}

fn take_array<const LENGTH: usize>(rest: &mut Bytes) -> Result<[u8; LENGTH], Malformed> {
    take(rest, LENGTH)?.as_ref().try_into().map_err(|_| Malformed)
}

fn take_varint(rest: &mut Bytes) -> Result<u64, Malformed> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let [byte] = take_array(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests;
