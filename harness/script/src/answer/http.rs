//! The answer of an HTTP path, correct or not.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserializer, MapAccess, Visitor, value};
use serde::{Deserialize, Serialize, Serializer};

use crate::words::word_or_settings;
use crate::{Size, Span};

/// The answer to an HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpAnswer {
    /// Never answer; the connection stays open.
    Hang,
    /// Close the connection gracefully (FIN) before any header.
    Close,
    /// Abort the connection (RST) before any header.
    Reset,
    /// Send bytes that are not HTTP, then close.
    Garbage,
    /// A reply with these settings.
    Reply(Arc<HttpReply>),
}

word_or_settings!(
    HttpAnswer,
    "an HTTP answer: hang, close, reset, garbage, a status number, or settings such as { status: 503, delay: 2s }",
    { "hang" => Hang, "close" => Close, "reset" => Reset, "garbage" => Garbage },
    or ["a status number", "settings such as { status: 503, delay: 2s }"],
    settings Reply(Arc<HttpReply>),
    numbers Some((200, 599)),
    number |status| Status::try_from(status).map(|status| Arc::new(HttpReply { status, ..HttpReply::default() }))
);

impl HttpAnswer {
    /// The endpoint that must answer first, if there is one.
    #[must_use]
    pub fn depends_on(&self) -> Option<&DependsOn> {
        match self {
            Self::Reply(reply) => reply.depends_on.as_ref(),
            Self::Hang | Self::Close | Self::Reset | Self::Garbage => None,
        }
    }
}

/// The settings of a reply. Without settings, it is `200 OK` with the body `ok`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HttpReply {
    /// The status code, 200 to 599.
    pub status: Status,
    /// Header lines as sent, in this order, including duplicates: `X-A: 1`. In a value, `{ip}` and `{port}` are
    /// replaced with the address that the client connected to, and `{host}` with its Host header.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderLine>,
    /// Many more header lines, to make the head large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_headers: Option<Extra>,
    /// The body. `ok` if absent, and empty for statuses that have no body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// How the end of the body is signaled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<Framing>,
    /// Pause before the head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Pause between the head and the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_delay: Option<Span>,
    /// Send the body in small pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drip: Option<Drip>,
    /// Send this many bytes of the body, then nothing more, with the connection open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_after: Option<Size>,
    /// Send this many bytes of the body, then close gracefully (FIN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close_after: Option<Size>,
    /// Send this many bytes of the body, then abort (RST).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_after: Option<Size>,
    /// Redirect this request before it is answered as above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Redirect>,
    /// Ask another endpoint first, and answer 503 unless it answers with a status below 400.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<DependsOn>,
    /// Send exactly these bytes instead of anything above, then close. Line ends must be written out as `\r\n`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// An endpoint that must answer before the target does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DependsOn {
    /// Where to ask: `http://host:port/path`.
    pub url: String,
    /// How long to wait for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

impl DependsOn {
    /// How long to wait for its answer. The default is 5 s.
    #[must_use]
    pub fn patience(&self) -> Span {
        self.timeout.unwrap_or(Span::from_micros(5_000_000))
    }
}

/// A status code that may end a request: 200 to 599.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(extend("minimum" = 200, "maximum" = 599)))]
pub struct Status(u16);

impl Status {
    /// The code.
    #[must_use]
    pub fn code(self) -> u16 {
        self.0
    }

    /// Whether a response with this status has a body.
    #[must_use]
    pub fn has_body(self) -> bool {
        !matches!(self.0, 204 | 304)
    }
}

impl Default for Status {
    fn default() -> Self {
        Self(200)
    }
}

impl TryFrom<u64> for Status {
    type Error = String;

    fn try_from(code: u64) -> Result<Self, String> {
        match u16::try_from(code) {
            Ok(code @ 200..=599) => Ok(Self(code)),
            _ => Err(format!("a status must be between 200 and 599, not {code}; for anything else use raw")),
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(u64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// One header line. Everything except a line break is allowed, because wrong headers are a useful fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeaderLine(String);

impl HeaderLine {
    /// The line without its line break.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Name and value, if the line has a colon.
    #[must_use]
    pub fn parts(&self) -> Option<(&str, &str)> {
        self.0.split_once(':').map(|(name, value)| (name, value.trim()))
    }

    /// Whether this line sets the named header.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.parts().is_some_and(|(own, _)| own.eq_ignore_ascii_case(name))
    }
}

impl<'de> Deserialize<'de> for HeaderLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = String::deserialize(deserializer)?;
        if line.contains(['\r', '\n']) {
            return Err(de::Error::custom("a header line cannot contain a line break; for that, use raw"));
        }
        Ok(Self(line))
    }
}

/// The number and size of extra header lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Extra {
    /// How many lines.
    pub count: u16,
    /// The length of each value.
    pub bytes: Size,
}

/// What a body consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// This text.
    Text(String),
    /// This many bytes.
    Bytes(Size),
    /// An endless body.
    Endless,
    /// A report of the target about itself, as JSON.
    Report(Report),
}

/// What a target can report about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Which target answers: host name, boot id, attempt, and the number of this request.
    Identity,
    /// How many requests each endpoint has received.
    Counters,
    /// Environment, ids, cgroup, mounts, interfaces and processes as the container sees them.
    Dump,
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum BodySettings {
    Bytes(Size),
    Endless(bool),
    Report(Report),
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(size) => BodySettings::Bytes(*size).serialize(serializer),
            Self::Endless => BodySettings::Endless(true).serialize(serializer),
            Self::Report(report) => BodySettings::Report(*report).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyVisitor;
        impl<'de> Visitor<'de> for BodyVisitor {
            type Value = Body;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the body's text, or one of { bytes: 10KiB }, { endless: true }, { report: identity }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Body, E> {
                Ok(Body::Text(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Body, A::Error> {
                match BodySettings::deserialize(value::MapAccessDeserializer::new(map))? {
                    BodySettings::Bytes(size) => Ok(Body::Bytes(size)),
                    BodySettings::Endless(true) => Ok(Body::Endless),
                    BodySettings::Endless(false) => Err(de::Error::custom("endless must be true or omitted")),
                    BodySettings::Report(report) => Ok(Body::Report(report)),
                }
            }
        }
        deserializer.deserialize_any(BodyVisitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Body {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Body".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let settings = generator.subschema_for::<BodySettings>();
        schemars::json_schema!({ "description": "What a body consists of.", "anyOf": [{ "type": "string" }, settings] })
    }
}

/// How the end of a body is signaled to the client (HTTP/1.1; HTTP/2 has its own frames).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With a correct Content-Length. The default for bodies that end.
    ContentLength,
    /// With chunks. The default for endless bodies.
    Chunked,
    /// By closing the connection.
    Close,
    /// With a Content-Length that may be wrong.
    Claim(FramingSettings),
}

/// A claim about the body's length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FramingSettings {
    /// The Content-Length that is sent. If it is larger than the body, the connection is closed after the body.
    pub content_length: Size,
}

word_or_settings!(
    Framing,
    "a framing: content-length, chunked, close, or a claim such as { content-length: 100 }",
    { "content-length" => ContentLength, "chunked" => Chunked, "close" => Close },
    or ["a claim such as { content-length: 100 }"],
    settings Claim(FramingSettings),
    numbers None,
    number |_| Err("a framing is a word, or a map such as { content-length: 100 }".to_owned())
);

/// A body in small pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drip {
    /// The size of each piece.
    pub bytes: Size,
    /// The pause after each piece.
    pub every: Span,
}

/// A chain of redirects before the answer. For a single redirect, use a 3xx `status` with a `Location` header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Redirect {
    /// The number of redirects before the answer. Each redirect leads to the same path, with the number of the hop as a
    /// query. A hop does not count as a separate probe.
    pub hops: Hops,
    /// The status of each redirect.
    #[serde(default = "found")]
    pub status: Status,
    /// The text before the path in each Location: nothing (a relative reference), or a template such as
    /// `http://{ip}:8081`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
}

fn found() -> Status {
    Status(302)
}

/// A number of redirects, or an endless loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hops {
    /// This many, then the answer.
    Count(u64),
    /// Redirects without end, and never an answer.
    Endless,
}

impl Serialize for Hops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Endless => serializer.serialize_str("endless"),
        }
    }
}

impl<'de> Deserialize<'de> for Hops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HopsVisitor;
        impl Visitor<'_> for HopsVisitor {
            type Value = Hops;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of redirects, or endless")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Hops, E> {
                Ok(Hops::Count(count))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Hops, E> {
                match word {
                    "endless" => Ok(Hops::Endless),
                    _ => Err(E::unknown_variant(word, &["endless", "a number of redirects"])),
                }
            }
        }
        deserializer.deserialize_any(HopsVisitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Hops {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hops".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "endless" }] })
    }
}

impl HttpReply {
    /// The contradiction between the settings, if there is one.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        let ends = [self.stall_after, self.close_after, self.reset_after].into_iter().flatten().count();
        if ends > 1 {
            return Some("stall-after, close-after and reset-after cannot be combined");
        }
        if self.raw.is_some()
            && (Self { raw: None, ..self.clone() }) != (Self { delay: self.delay, ..Self::default() })
        {
            return Some("raw bytes are sent as they are: only delay can be used together with raw");
        }
        if self.redirect.is_some() && self.headers.iter().any(|line| line.is("location")) {
            return Some("redirect sets the Location header itself: remove it from headers");
        }
        if self.body == Some(Body::Endless) && self.framing == Some(Framing::ContentLength) {
            return Some("an endless body has no true Content-Length: claim one, or use chunked or close");
        }
        None
    }
}
