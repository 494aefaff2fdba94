//! Faults between a kubelet and its pods: the vocabulary of defects. The modules next to this one define
//! which bytes the faults change; the board decides when they strike.

use std::net::Ipv4Addr;

use probity_script::Span;
use serde::{Deserialize, Serialize};

use super::probes::{Mechanism, ProbeKind};

/// A fault that affects the probes of a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PodsFault {
    /// The pod's probes that the fault affects; all by default.
    #[serde(default, skip_serializing_if = "Of::is_all")]
    pub of: Of,
    /// What happens to them.
    pub does: Does,
}

/// A choice among the probes of a pod. All given conditions must match.
///
/// `probe` and `by` are known from the pod's specification. Two probes that send the same request to the same port
/// cannot be distinguished on the wire: a fault that strikes one of them strikes both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Of {
    /// Only connections to this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Only HTTP requests for this path (the query does not count).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only gRPC requests for this service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Only probes of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeKind>,
    /// Only probes with this mechanism.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Mechanism>,
}

impl Of {
    /// Whether it selects all probes.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Does {
    /// The first packet is dropped, and so is each repetition: the probe times out and the pod never sees it.
    Drop,
    /// The first packet is delayed: the probe arrives late by `by` plus a random share of `spread`.
    Delay {
        /// The minimum delay.
        by: Span,
        /// The maximum of a random additional delay.
        #[serde(default, skip_serializing_if = "is_none")]
        spread: Span,
    },
    /// The connection is refused, whatever the pod does.
    Refuse,
    /// The pod receives each probe this many additional times.
    Double {
        /// The number of repetitions.
        #[serde(default = "one")]
        times: u32,
        /// The time from the probe to its repetition.
        #[serde(default, skip_serializing_if = "is_none")]
        after: Span,
    },
    /// Only one probe in `pass` reaches the pod (none with 0). All other probes are answered in the pod's place.
    Skip {
        /// Only one in this many reaches the pod.
        #[serde(default)]
        pass: u32,
        /// The answer that the kubelet receives instead.
        answer: Instead,
    },
    /// The proxy probes the pod at a different pace: the kubelet's probes get the last answer.
    Pace {
        /// The time from one probe to the next.
        period: Span,
        /// The maximum of a random additional delay.
        #[serde(default, skip_serializing_if = "is_none")]
        spread: Span,
        /// The number of simultaneous probes.
        #[serde(default = "one")]
        burst: u32,
    },
    /// The probe goes to another address or port.
    Elsewhere {
        /// The address; the pod's own if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<Ipv4Addr>,
        /// The port; the probe's own if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// The HTTP request is changed.
    Request(Request),
    /// The TLS handshake is changed.
    Tls(Tls),
    /// The proxy follows redirects in place of the kubelet, with different rules.
    Redirects(Redirects),
    /// The body of the answer is read up to a limit other than 10 KiB.
    Body {
        /// The proxy waits for this number of bytes, and then closes the connection.
        read: u64,
        /// A body that ends too early, or with an error, counts as complete.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        lenient: bool,
    },
    /// One connection is kept and used for all probes.
    KeepAlive,
    /// How long the connection to the pod stays open after the probe.
    Linger {
        /// How long.
        r#for: Span,
    },
    /// The answer comes late.
    Late {
        /// The minimum delay.
        by: Span,
        /// The maximum of a random additional delay.
        #[serde(default, skip_serializing_if = "is_none")]
        spread: Span,
    },
    /// An answer that takes longer than `after` is judged immediately. If it is judged as a success, timeouts are not
    /// enforced; if it is judged as a failure, timeouts are too short.
    Slow {
        /// The time that the pod has to answer.
        after: Span,
        /// The result that the kubelet then receives.
        r#as: Outcome,
    },
    /// Answers are judged with different rules.
    Judge(Judge),
    /// gRPC requests and connections are changed.
    Grpc(GrpcChange),
    /// TCP probes are changed.
    Tcp(TcpChange),
    /// The connection comes from the pod itself instead of the node.
    FromInside,
}

/// What replaces an answer of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instead {
    /// The pod's last answer to this probe; a success until there is one.
    Last,
    /// A success.
    Success,
    /// A failure.
    Failure,
}

/// How a probe ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As a success.
    Success,
    /// As a failure.
    Failure,
}

/// Changes of an HTTP request. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Request {
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path; the query stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The query is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_query: bool,
    /// `HTTP/1.0` instead of `HTTP/1.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// TLS is added or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Header fields that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Header fields that get another value; they are added if they do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Header>,
    /// Header fields that are added.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Header>,
    /// Only the first of repeated header fields is kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first_of_each: bool,
    /// The header fields come in reverse order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
}

/// A header field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// With or without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Without.
    Http,
    /// With.
    Https,
}

/// Changes of the TLS handshake with the pod. Absent fields stay unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tls {
    /// The pod's certificate is verified, which fails for every pod.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verify: bool,
    /// Only this version, `1.2` or `1.3`, is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A server name is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Exactly these protocols are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocols: Option<Vec<String>>,
    /// A client certificate is presented if the pod requests one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client_certificate: bool,
}

/// Rules for following redirects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Redirects {
    /// Redirects to other hosts are also followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_host: bool,
    /// Redirects to other ports of the same host are not followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_port: bool,
    /// The maximum number.
    #[serde(default = "ten")]
    pub limit: u32,
    /// How the probe ends if a redirect is not followed.
    pub beyond: Outcome,
    /// The header fields of the specification are left out from the second request on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_headers: bool,
}

/// Other judgements of answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Judge {
    /// HTTP statuses: the first rule that matches applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<StatusRule>,
    /// gRPC health statuses by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<HealthRule>,
    /// gRPC errors by their code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorRule>,
    /// How the probe ends if there is no answer at all (refused, reset, closed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Outcome>,
}

/// HTTP statuses that reach the kubelet as another status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusRule {
    /// The lowest.
    pub from: u16,
    /// The highest status; if absent, only one status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<u16>,
    /// What the kubelet receives.
    pub to: u16,
}

/// A gRPC health status that reaches the kubelet as another status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthRule {
    /// The number; every number if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// What the kubelet receives.
    pub to: u64,
}

/// A gRPC error that reaches the kubelet as a health status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// The code; every code except 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
    /// The health status that the kubelet gets.
    pub to: u64,
}

/// Changes of a gRPC probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GrpcChange {
    /// Another service is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Another method is called, such as `/grpc.health.v1.Health/List`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Another user agent; none if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// TLS is tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
}

/// Changes of a TCP probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum TcpChange {
    /// This text is sent on the connection.
    Send(String),
    /// The connection ends with a reset.
    Reset,
    /// The probe counts as a failure if the pod sends nothing within this time.
    NeedsBanner {
        /// How long the probe waits for data.
        within: Span,
    },
    /// The probe counts as a failure if the pod closes the connection within this time.
    NeedsOpen {
        /// How long the connection must stay open.
        r#for: Span,
    },
    /// A closed port counts as an open one.
    OpenAnyway,
}

fn one() -> u32 {
    1
}

fn ten() -> u32 {
    10
}

fn is_none(span: &Span) -> bool {
    span.0.is_zero()
}
