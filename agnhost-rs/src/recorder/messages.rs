//! The protocol of a target's connection. It turns bytes into greetings, lines and beats.
//!
//! It is a state machine without sockets and clocks. The result does not depend on how the bytes were split. It never
//! keeps more than one unfinished line, whose length is limited. After the first invalid bytes, it accepts nothing more.
//! A line is checked completely, so that every reader of the merged stream can read it, but it is passed on unchanged.

use std::borrow::Cow;

use probity_script::WitnessLine;
use probity_script::witness::{Beat, Hello, VERSION};
use serde::Deserialize;

use crate::token::Token;

/// The longest accepted line, without its line break.
pub const LONGEST_LINE: usize = 1 << 20;
/// The longest accepted greeting, without its line break.
pub const LONGEST_HELLO: usize = 8 << 10;
/// The longest accepted name of a process.
pub const LONGEST_BOOT: usize = 64;

/// The longest explanation, in characters.
const LONGEST_ERROR: usize = 300;

/// A message of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetMessage<'a> {
    /// The identity of the target. It is always the first message.
    Hello(Box<Hello>),
    /// A witness line of the process that greeted.
    Line {
        /// Its number.
        seq: u64,
        /// The line as received, without leading and trailing white space.
        text: Cow<'a, str>,
    },
    /// A beat.
    Beat {
        /// The number that its next line will have.
        next: u64,
    },
    /// Invalid bytes. They are always the last message.
    Nonsense(Nonsense),
}

/// Bytes that were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonsense {
    /// How many bytes: the whole line with its line break, or the bytes until the line was known to be too long or
    /// incomplete.
    pub bytes: u64,
    /// What was wrong with the bytes.
    pub error: String,
}

/// The parser of one connection.
#[derive(Debug)]
pub struct MessageParser {
    token: Token,
    known: bool,
    boot: Option<String>,
    unfinished: Vec<u8>,
    over: bool,
}

impl MessageParser {
    /// A parser for a new connection, which must first greet with this token.
    #[must_use]
    pub fn new(token: Token) -> Self {
        Self { token, known: false, boot: None, unfinished: Vec::new(), over: false }
    }

    /// Whether the connection has shown the token. What other connections send is not recorded.
    #[must_use]
    pub fn known(&self) -> bool {
        self.known
    }

    /// Whether it has greeted.
    #[must_use]
    pub fn greeted(&self) -> bool {
        self.boot.is_some()
    }

    /// How many bytes of an unfinished line are kept.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Parses the next bytes.
    pub fn feed<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<TargetMessage<'a>> {
        let mut said = Vec::new();
        while !self.over && !bytes.is_empty() {
            let (line, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&bytes[..end], true),
                None => (bytes, false),
            };
            bytes = &bytes[(line.len() + usize::from(ended)).min(bytes.len())..];
            let limit = if self.greeted() { LONGEST_LINE } else { LONGEST_HELLO };
            if self.unfinished.len() + line.len() > limit {
                said.push(self.stop(limit + 1, format!("the line is longer than {limit} bytes")));
            } else if !ended {
                self.unfinished.extend_from_slice(line);
            } else if self.unfinished.is_empty() {
                said.push(self.line(Cow::Borrowed(line)));
            } else {
                let mut whole = std::mem::take(&mut self.unfinished);
                whole.extend_from_slice(line);
                said.push(self.line(Cow::Owned(whole)));
            }
        }
        said
    }

    /// The connection has ended. An unfinished line is reported as dropped bytes.
    pub fn end(&mut self) -> Option<Nonsense> {
        let bytes = self.unfinished.len();
        (bytes > 0).then(|| self.drop_all(bytes, "the connection ended in the middle of a line".to_owned()))
    }

    /// Stops accepting bytes from this connection, for a reason of the recorder.
    pub fn give_up(&mut self, why: &str) -> Nonsense {
        self.drop_all(self.unfinished.len(), why.to_owned())
    }

    fn line<'a>(&mut self, line: Cow<'a, [u8]>) -> TargetMessage<'a> {
        let bytes = line.len() + 1;
        let said = match &self.boot {
            None => shown(&self.token, &line).and_then(|()| {
                self.known = true;
                hello(&line)
            }),
            Some(boot) => line_or_beat(boot, line),
        };
        match said {
            Ok(TargetMessage::Hello(hello)) => {
                self.boot = Some(hello.boot.clone());
                TargetMessage::Hello(hello)
            }
            Ok(said) => said,
            Err(error) => self.stop(bytes, error),
        }
    }

    fn stop(&mut self, bytes: usize, error: String) -> TargetMessage<'static> {
        TargetMessage::Nonsense(self.drop_all(bytes, error))
    }

    fn drop_all(&mut self, bytes: usize, error: String) -> Nonsense {
        self.over = true;
        self.unfinished = Vec::new();
        // A parser's error may quote its input.
        let error = match error.char_indices().nth(LONGEST_ERROR) {
            Some((end, _)) => format!("{}…", &error[..end]),
            None => error,
        };
        Nonsense { bytes: bytes as u64, error }
    }
}

/// Whether the first line shows the token.
fn shown(token: &Token, line: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Shown<'a> {
        #[serde(borrow)]
        token: Cow<'a, str>,
    }
    let shown: Shown<'_> = serde_json::from_slice(line).map_err(|_| {
        "the first line is not a greeting with a token; set AGNHOST_TOKEN to the recorder's token".to_owned()
    })?;
    token.compare(shown.token.as_bytes()).map_err(str::to_owned)
}

fn hello(line: &[u8]) -> Result<TargetMessage<'static>, String> {
    let text = utf8(line)?;
    let hello: Hello =
        serde_json::from_str(text).map_err(|error| refusal(text, &format!("invalid greeting: {error}")))?;
    check_version(hello.v)?;
    if hello.boot.is_empty() || hello.boot.len() > LONGEST_BOOT {
        let length = hello.boot.len();
        return Err(format!(
            "the name of the process instance has {length} bytes; it needs 1 to {LONGEST_BOOT}"
        ));
    }
    Ok(TargetMessage::Hello(Box::new(hello)))
}

fn line_or_beat<'a>(boot: &str, line: Cow<'a, [u8]>) -> Result<TargetMessage<'a>, String> {
    let text = utf8(&line)?;
    let parsed: WitnessLine = match serde_json::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => return beat(boot, text, &error),
    };
    check_version(parsed.v)?;
    check_boot(boot, &parsed.boot)?;
    if parsed.seq == u64::MAX {
        return Err(format!("no line has the number {}", parsed.seq));
    }
    let text = match line {
        Cow::Borrowed(line) => Cow::Borrowed(utf8(line)?.trim_ascii()),
        Cow::Owned(line) => Cow::Owned(utf8(&line)?.trim_ascii().to_owned()),
    };
    Ok(TargetMessage::Line { seq: parsed.seq, text })
}

/// Reads a text that is not a line as a beat. If it is neither, the error is the error of the line.
fn beat(boot: &str, text: &str, error: &serde_json::Error) -> Result<TargetMessage<'static>, String> {
    let Ok(beat) = serde_json::from_str::<Beat>(text) else {
        return Err(refusal(text, &format!("neither a witness line nor a beat: {error}")));
    };
    check_version(beat.v)?;
    check_boot(boot, &beat.boot)?;
    Ok(TargetMessage::Beat { next: beat.beat })
}

/// The reason for a rejection. A line of a later version may have any form, so its version is the better explanation.
fn refusal(text: &str, otherwise: &str) -> String {
    #[derive(Deserialize)]
    struct Version {
        v: u32,
    }
    let version = serde_json::from_str::<Version>(text).ok().map(|version| version.v);
    version.and_then(|v| check_version(v).err()).unwrap_or_else(|| otherwise.to_owned())
}

fn check_version(v: u32) -> Result<(), String> {
    if v == VERSION {
        return Ok(());
    }
    Err(format!(
        "version {v} of the format; this recorder knows version {VERSION}: use the same program for both"
    ))
}

fn check_boot(expected: &str, found: &str) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let found: String = found.chars().take(LONGEST_BOOT).collect();
    Err(format!("a line of the process instance `{found}` arrived on the connection of `{expected}`"))
}

fn utf8(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))
}

#[cfg(test)]
#[path = "messages_tests.rs"]
mod tests;
