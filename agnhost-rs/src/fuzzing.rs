//! The functions that the fuzz targets in `fuzz/` call: thin wrappers for private parsers.
//!
//! They must neither panic nor hang, whatever the input is.

use probity_script::answer::HttpAnswer;
use probity_script::{Moment, Plan, Script, Span};

use crate::recorder::messages::MessageParser;
use crate::serve;
use crate::token::Token;
use probity_document as document;

/// The head of a request.
pub fn request_head(bytes: &[u8]) {
    serve::fuzzing::request_head(bytes);
}

/// Everything that arrives on an HTTP/1 connection.
pub fn request_stream(bytes: &[u8]) {
    serve::fuzzing::request_stream(bytes);
}

/// A plan, and some moments in the scripts of its paths. A plan that was read must be written so that it can be read
/// again.
///
/// # Panics
///
/// If a valid plan cannot be written and read again.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plan: Plan = match document::plan("fuzz", text) {
        Ok(plan) => plan,
        Err(problem) => {
            let said = problem.to_string();
            assert!(!said.is_empty(), "a problem says what is wrong");
            return;
        }
    };
    for script in plan.listeners.values().flat_map(|listener| listener.paths.values()) {
        look_around(script);
    }
    let again = serde_json::to_string(&plan).ok().and_then(|text| serde_json::from_str::<Plan>(&text).ok());
    assert!(again.is_some(), "a plan that was read can be written and read again");
}

/// A change as the control port reads it, applied to a plan that it may or may not fit.
pub fn change(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plan = "listeners: { web: { port: 0, paths: { /: 200 } }, rpc: { port: 0, protocol: grpc } }";
    let plan: Plan = document::plan("fuzz", plan).unwrap_or_default();
    if let Ok(change) = document::change("fuzz", text)
        && let Err(why) = change.apply(&plan)
    {
        assert!(!document::misfit("fuzz", text, &why).to_string().is_empty(), "a problem says what is wrong");
    }
}

/// What arrives on a connection to the recorder, both in one piece and split at a place that the bytes choose.
///
/// # Panics
///
/// If the result depends on where the bytes were split.
pub fn recorder_stream(bytes: &[u8]) {
    let cut = bytes.first().map_or(0, |byte| usize::from(*byte).min(bytes.len()));
    let Ok(token) = Token::new("fuzz") else { return };
    let hear = |pieces: &[&[u8]]| {
        let mut parser = MessageParser::new(token.clone());
        let said: usize = pieces.iter().map(|piece| parser.feed(piece).len()).sum();
        (said, parser.greeted(), parser.end().is_some())
    };
    assert_eq!(
        hear(&[bytes]),
        hear(&[&bytes[..cut], &bytes[cut..]]),
        "where the bytes are cut does not matter"
    );
}

/// Checks that some step answers at each of these moments.
fn look_around(script: &Script<HttpAnswer>) {
    let since = std::collections::BTreeMap::new();
    for micros in [0, 1, 1_000_000, u64::MAX / 4] {
        for probe in [1, 2, 1000, u64::MAX] {
            let elapsed = Span::from_micros(micros);
            let moment = Moment { attempt: 0, elapsed, probe, host: Some("a:1"), since: &since, dice: 7 };
            let _ = script.due(&moment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_for_fuzzing_lead_somewhere() {
        for bytes in [
            b"GET / HTTP/1.1\r\n\r\n".as_slice(),
            b"\x16\x03",
            b"",
            b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        ] {
            request_head(bytes);
            request_stream(bytes);
        }
        plan(b"listeners: { web: { port: 0, paths: { /: 200 } } }");
        plan(b"listeners: 7");
        change(b"listeners: { web: { paths: { /: hang } } }");
        change(b"listeners: { wbe: { paths: { /: hang } } }");
        recorder_stream(b"\x05{\"v\":1}\n{}\n");
    }
}
