use bytes::Bytes;
use proptest::prelude::*;

use super::{Malformed, Message, Value};

/// A message with all four kinds of fields, in any order, including unknown fields.
fn any_message() -> impl Strategy<Value = Message> {
    let value = prop_oneof![
        any::<u64>().prop_map(Value::Varint),
        any::<[u8; 8]>().prop_map(Value::Fixed64),
        any::<[u8; 4]>().prop_map(Value::Fixed32),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Value::Bytes(bytes.into())),
    ];
    proptest::collection::vec((1..2000_u32, value), 0..12).prop_map(|fields| Message { fields })
}

proptest! {
    #[test]
    fn a_message_survives_the_round_trip(message in any_message()) {
        prop_assert_eq!(Message::parse(&message.encode()), Ok(message));
    }

    #[test]
    fn setting_one_field_leaves_all_others(message in any_message(), number in 1..2000_u32, value: i64) {
        let mut changed = message.clone();
        changed.set_integer(number, value);
        prop_assert_eq!(changed.integer(number), value);
        let others = |message: &Message| {
            message.fields.iter().filter(|(of, _)| *of != number).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(others(&changed), others(&message));
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused_without_panic(bytes: Vec<u8>) {
        if let Ok(message) = Message::parse(&bytes.into()) {
            prop_assert_eq!(Message::parse(&message.encode()), Ok(message));
        }
    }
}

#[test]
fn a_message_cut_short_is_refused() {
    assert_eq!(Message::parse(&Bytes::from_static(&[0x12, 0x05, b'a'])), Err(Malformed));
    assert_eq!(Message::parse(&Bytes::from_static(&[0x80])), Err(Malformed));
}

#[test]
fn an_entry_of_a_map_is_replaced_not_doubled() {
    let mut message = Message::default();
    message.set_entry(8, "restarts", "1");
    message.set_entry(8, "other", "x");
    message.set_entry(8, "restarts", "7");
    assert_eq!(message.entry(8, "restarts").as_deref(), Some("7"));
    assert_eq!(message.entry(8, "other").as_deref(), Some("x"));
    assert_eq!(message.messages(8).count(), 2);
}

#[test]
fn negative_integers_keep_their_sign() {
    let mut message = Message::default();
    message.set_integer(3, -1);
    assert_eq!(Message::parse(&message.encode()).map(|again| again.integer(3)), Ok(-1));
}
