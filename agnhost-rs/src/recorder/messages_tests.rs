#![expect(clippy::unwrap_used, reason = "tests")]

use probity_script::Fact;
use probity_script::witness::Mark;
use proptest::prelude::*;

use super::*;

const HELLO: &str =
    r#"{"v":1,"boot":"abcd","attempt":0,"hello":3,"identity":{"POD_NAME":"one"},"token":"s3cret"}"#;

fn line(seq: u64) -> String {
    let fact = Fact::Mark(Mark { name: "x".to_owned(), by: "test".to_owned() });
    let line = WitnessLine { v: 1, boot: "abcd".to_owned(), attempt: 0, seq, mono_us: 5, wall_us: 6, fact };
    serde_json::to_string(&line).unwrap()
}

fn beat(next: u64) -> String {
    format!(r#"{{"v":1,"boot":"abcd","beat":{next},"mono_us":5,"wall_us":6}}"#)
}

fn token() -> Token {
    Token::new("s3cret").unwrap()
}

fn owned(said: TargetMessage<'_>) -> TargetMessage<'static> {
    match said {
        TargetMessage::Line { seq, text } => TargetMessage::Line { seq, text: Cow::Owned(text.into_owned()) },
        TargetMessage::Hello(hello) => TargetMessage::Hello(hello),
        TargetMessage::Beat { next } => TargetMessage::Beat { next },
        TargetMessage::Nonsense(nonsense) => TargetMessage::Nonsense(nonsense),
    }
}

/// All messages of a connection that sends these pieces and ends.
fn all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<TargetMessage<'static>> {
    let mut parser = MessageParser::new(token());
    let mut said = Vec::new();
    for piece in pieces {
        said.extend(parser.feed(piece).into_iter().map(owned));
    }
    said.extend(parser.end().map(TargetMessage::Nonsense));
    said
}

fn error(said: &[TargetMessage<'_>]) -> String {
    match said.last() {
        Some(TargetMessage::Nonsense(nonsense)) => nonsense.error.clone(),
        other => panic!("{other:?} is no nonsense"),
    }
}

#[test]
fn a_line_comes_out_as_it_went_in() {
    let odd = line(3).replace("\"seq\":3", "\"later_field\": {\"a\":[1, 2]},\"seq\": 3");
    let text = format!("{HELLO}\n{odd}  \r\n{}\n", beat(4));
    let said = all([text.as_bytes()]);
    let TargetMessage::Hello(hello) = &said[0] else { panic!("{said:?}") };
    assert_eq!((hello.boot.as_str(), hello.hello), ("abcd", 3));
    assert_eq!(
        said[1..],
        [TargetMessage::Line { seq: 3, text: odd.into() }, TargetMessage::Beat { next: 4 }]
    );
}

#[test]
fn what_is_not_ours_is_named_and_nothing_after_it_is_taken() {
    for (bad, why) in [
        ("GET / HTTP/1.1", "neither a witness line nor a beat: expected value"),
        ("", "neither a witness line nor a beat: EOF"),
        (r#"{"v":2,"boot":"abcd","unheard":"of"}"#, "version 2 of the format; this recorder knows version 1"),
        (&line(4).replace("\"v\":1", "\"v\":7"), "version 7"),
        (&beat(4).replace("\"v\":1", "\"v\":7"), "version 7"),
        (
            &line(4).replace("abcd", "ef"),
            "a line of the process instance `ef` arrived on the connection of `abcd`",
        ),
        (
            &beat(4).replace("abcd", "ef"),
            "a line of the process instance `ef` arrived on the connection of `abcd`",
        ),
        (&line(4).replace("mark", "miracle"), "unknown variant `miracle`"),
        (&line(u64::MAX), "no line has the number"),
        (&"[".repeat(100_000), "neither a witness line nor a beat"),
    ] {
        let text = format!("{HELLO}\n{bad}\n{}\n", line(5));
        let said = all([text.as_bytes()]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(error(&said).contains(why), "{bad:.60}: {}", error(&said));
        let Some(TargetMessage::Nonsense(nonsense)) = said.last() else { unreachable!() };
        assert_eq!(nonsense.bytes, bad.len() as u64 + 1);
    }
}

#[test]
fn a_connection_has_to_greet_and_to_greet_well() {
    for (bad, why) in [
        (line(0), "not a greeting with a token; set AGNHOST_TOKEN"),
        (HELLO.replace("s3cret", "s3cre"), "the token is wrong"),
        (r#"{"token":"s3cret","v":1,"boot":"b"}"#.to_owned(), "invalid greeting: missing field `attempt`"),
        (HELLO.replace("\"v\":1", "\"v\":3"), "version 3"),
        (HELLO.replace("abcd", ""), "has 0 bytes"),
        (HELLO.replace("abcd", &"b".repeat(65)), "has 65 bytes"),
        ("x".repeat(LONGEST_HELLO + 1), "longer than 8192 bytes"),
    ] {
        let said = all([bad.as_bytes(), b"\n"]);
        assert_eq!(said.len(), 1);
        assert!(error(&said).contains(why), "{bad:.60}: {}", error(&said));
    }
    assert!(all([b"".as_slice()]).is_empty(), "a connection that says nothing is not worth a word");
}

#[test]
fn a_line_without_end_is_cut_off_at_the_limit_and_forgotten() {
    let mut parser = MessageParser::new(token());
    parser.feed(format!("{HELLO}\n").as_bytes());
    let piece = vec![b'a'; 64 * 1024];
    let mut said = Vec::new();
    for _ in 0..64 {
        said.extend(parser.feed(&piece));
        assert!(parser.unfinished() <= LONGEST_LINE);
    }
    assert_eq!(said.len(), 1);
    assert!(error(&said).contains("longer than 1048576 bytes"));
    assert_eq!((parser.unfinished(), parser.end()), (0, None));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_wherever_they_stand() {
    let mut bad = line(3).into_bytes();
    let at = bad.iter().position(|byte| *byte == b'x').unwrap();
    bad[at] = 0xff;
    let said = all([HELLO.as_bytes(), b"\n", &bad, b"\n"]);
    assert!(error(&said).contains("not UTF-8"));
}

#[test]
fn an_unfinished_line_at_the_end_is_told() {
    let said = all([HELLO.as_bytes(), b"\n", b"{\"v\":1"]);
    assert!(error(&said).contains("in the middle of a line"));
}

#[test]
fn an_explanation_is_short_whatever_it_quotes() {
    let said = all([HELLO.as_bytes(), b"\n", line(4).replace("mark", &"ä".repeat(9_000)).as_bytes(), b"\n"]);
    assert!(error(&said).chars().count() <= LONGEST_ERROR + 1);
}

/// Bytes as sent by targets, broken targets and clients without the token.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => (0_u64..50).prop_map(|seq| (line(seq) + "\n").into_bytes()),
        2 => (0_u64..50).prop_map(|next| (beat(next) + "\n").into_bytes()),
        1 => (0_u64..50).prop_map(|seq| (line(seq) + " \r\n").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let hello = prop_oneof![9 => Just((HELLO.to_owned() + "\n").into_bytes()), 1 => Just(Vec::new())];
    (hello, prop::collection::vec(piece, 0..12))
        .prop_map(|(hello, pieces)| hello.into_iter().chain(pieces.concat()).collect())
}

proptest! {
    #[test]
    fn how_the_bytes_were_cut_makes_no_difference(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(all(pieces), all([bytes.as_slice()]));
        prop_assert_eq!(all(bytes.chunks(1)), all([bytes.as_slice()]));
    }

    #[test]
    fn no_bytes_bring_it_down(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let said = all([HELLO.as_bytes(), b"\n", &bytes]);
        prop_assert!(said.iter().filter(|said| matches!(said, TargetMessage::Nonsense(_))).count() <= 1);
    }
}
