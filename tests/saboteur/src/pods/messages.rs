//! Changes, judges and creates complete requests and answers in HTTP/2.

use bytes::Bytes;
use http::header::HeaderName;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, request, response};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use http_body_util::{Empty, StreamBody};
use hyper::body::Frame;

use super::effects::Effects;
use super::fault::{self, Judge, Outcome};
use super::health;
use super::memory::Last;

/// The body of an answer to the kubelet.
pub(super) type AnswerBody = BoxBody<Bytes, std::convert::Infallible>;

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// Status and header fields.
    pub(super) head: response::Parts,
    /// The body.
    pub(super) body: Bytes,
    /// The fields after it.
    pub(super) trailers: Option<HeaderMap>,
}

const SERVING: u64 = 1;
const NOT_SERVING: u64 = 2;
const UNAVAILABLE: u32 = 14;

impl Answer {
    /// The answer as it is sent.
    #[must_use]
    pub(super) fn into_response(self) -> Response<AnswerBody> {
        if self.body.is_empty() && self.trailers.is_none() {
            // An error in gRPC consists only of headers.
            return Response::from_parts(self.head, Empty::new().boxed());
        }
        let data = (!self.body.is_empty()).then(|| Frame::data(self.body));
        let frames = data.into_iter().chain(self.trailers.map(Frame::trailers)).map(Ok);
        let body = StreamBody::new(futures_util::stream::iter(frames.collect::<Vec<_>>())).boxed();
        Response::from_parts(self.head, body)
    }

    fn is_grpc(&self) -> bool {
        let kind = self.head.headers.get("content-type");
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
    }

    /// The gRPC error code: in the trailers, or in the head if there is nothing else.
    #[must_use]
    fn code(&self) -> Option<u32> {
        let fields = self.trailers.iter().chain([&self.head.headers]);
        fields.filter_map(|fields| fields.get("grpc-status")?.to_str().ok()?.parse().ok()).next()
    }
}

fn head(status: StatusCode, kind: Option<&'static str>) -> response::Parts {
    let mut response = Response::new(());
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    }
    response.into_parts().0
}

fn health_answer(status: u64) -> Answer {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    Answer {
        head: head(StatusCode::OK, Some("application/grpc")),
        body: health::answer(status).into(),
        trailers: Some(trailers),
    }
}

fn error_answer(code: u32) -> Answer {
    let mut head = head(StatusCode::OK, Some("application/grpc"));
    head.headers.insert("grpc-status", HeaderValue::from(code));
    Answer { head, body: Bytes::new(), trailers: None }
}

fn status_answer(status: StatusCode) -> Answer {
    Answer { head: head(status, None), body: Bytes::new(), trailers: None }
}

/// An answer in the pod's place.
#[must_use]
pub(super) fn synthetic(is_grpc: bool, outcome: Outcome) -> Answer {
    match (is_grpc, outcome) {
        (true, Outcome::Success) => health_answer(SERVING),
        (true, Outcome::Failure) => health_answer(NOT_SERVING),
        (false, Outcome::Success) => status_answer(StatusCode::OK),
        (false, Outcome::Failure) => status_answer(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// The facts about an answer that are remembered.
#[must_use]
pub(super) fn last_of(answer: &Answer) -> Last {
    if !answer.is_grpc() {
        return Last::Status(answer.head.status.as_u16());
    }
    match (answer.code().unwrap_or(UNAVAILABLE), health::status(&answer.body)) {
        (0, Some(status)) => Last::Health(status),
        (0, None) => Last::Error(UNAVAILABLE),
        (code, _) => Last::Error(code),
    }
}

/// A remembered answer, sent again. If there is none, a success.
#[must_use]
pub(super) fn remembered(is_grpc: bool, last: Option<Last>) -> Answer {
    match last {
        Some(Last::Health(status)) => health_answer(status),
        Some(Last::Error(code)) => error_answer(code),
        Some(Last::Status(status)) => status_answer(StatusCode::from_u16(status).unwrap_or(StatusCode::OK)),
        _ => synthetic(is_grpc, Outcome::Success),
    }
}

/// An answer as a defective kubelet judges it.
#[must_use]
pub(super) fn judged(mut answer: Answer, judge: &Judge) -> Answer {
    if !answer.is_grpc() {
        let status = answer.head.status.as_u16();
        let fits =
            |rule: &&fault::StatusRule| (rule.from..=rule.up_to.unwrap_or(rule.from)).contains(&status);
        if let Some(rule) = judge.statuses.iter().find(fits) {
            answer.head.status = StatusCode::from_u16(rule.to).unwrap_or(answer.head.status);
        }
        return answer;
    }
    let code = answer.code().unwrap_or(UNAVAILABLE);
    let to = if code == 0 {
        let status = health::status(&answer.body);
        judge.health.iter().find(|rule| rule.from.is_none_or(|from| Some(from) == status)).map(|rule| rule.to)
    } else {
        judge.errors.iter().find(|rule| rule.code.is_none_or(|wanted| wanted == code)).map(|rule| rule.to)
    };
    to.map_or(answer, health_answer)
}

/// A request as a defective kubelet sends it.
#[must_use]
pub(super) fn altered(mut head: request::Parts, mut body: Bytes, effects: &Effects) -> Request<Bytes> {
    for change in &effects.requests {
        alter(&mut head, change);
    }
    if let Some(change) = &effects.grpc {
        if let Some(service) = &change.service {
            body = health::request(service).into();
            head.headers.remove("content-length");
        }
        if let Some(method) = &change.method {
            set_target(&mut head, method);
        }
        if let Some(agent) = &change.user_agent {
            head.headers.remove("user-agent");
            if let Ok(agent) = HeaderValue::from_str(agent)
                && !agent.is_empty()
            {
                head.headers.insert("user-agent", agent);
            }
        }
    }
    Request::from_parts(head, body)
}

fn set_target(head: &mut request::Parts, target: &str) {
    let mut parts = head.uri.clone().into_parts();
    if let Ok(target) = target.parse() {
        parts.path_and_query = Some(target);
        if let Ok(uri) = http::Uri::from_parts(parts) {
            head.uri = uri;
        }
    }
}

fn alter(head: &mut request::Parts, change: &fault::Request) {
    if let Some(method) = change.method.as_ref().and_then(|method| method.parse().ok()) {
        head.method = method;
    }
    let path = change.path.clone().unwrap_or_else(|| head.uri.path().to_owned());
    let target = match head.uri.query().filter(|_| !change.without_query) {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    set_target(head, &target);
    for name in &change.remove {
        head.headers.remove(name.as_str());
    }
    let field = |header: &fault::Header| {
        Some((HeaderName::try_from(&header.name).ok()?, HeaderValue::from_str(&header.value).ok()?))
    };
    for (name, value) in change.set.iter().filter_map(field) {
        head.headers.insert(name, value);
    }
    for (name, value) in change.add.iter().filter_map(field) {
        head.headers.append(name, value);
    }
    if change.first_of_each {
        let first =
            head.headers.keys().filter_map(|name| Some((name.clone(), head.headers.get(name)?.clone())));
        head.headers = first.collect();
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Last, altered, error_answer, health_answer, judged, last_of, remembered};
    use crate::pods::effects::Effects;
    use crate::pods::fault::{Does, Judge};
    use crate::pods::health;

    fn judge(words: &str) -> Judge {
        match serde_saphyr::from_str(words) {
            Ok(judge) => judge,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn health_statuses_are_judged_by_number() {
        let rules = judge("{ health: [{ from: 2, to: 1 }] }");
        assert_eq!(last_of(&judged(health_answer(2), &rules)), Last::Health(1));
        assert_eq!(last_of(&judged(health_answer(0), &rules)), Last::Health(0));
        let rules = judge("{ health: [{ to: 2 }] }");
        assert_eq!(last_of(&judged(health_answer(77), &rules)), Last::Health(2));
    }

    #[test]
    fn errors_become_statuses() {
        let rules = judge("{ errors: [{ code: 12, to: 1 }] }");
        assert_eq!(last_of(&judged(error_answer(12), &rules)), Last::Health(1));
        assert_eq!(last_of(&judged(error_answer(5), &rules)), Last::Error(5));
        assert_eq!(last_of(&judged(error_answer(5), &judge("{ errors: [{ to: 1 }] }"))), Last::Health(1));
    }

    #[test]
    fn what_is_remembered_is_given_again() {
        for last in [Last::Health(3), Last::Error(14), Last::Status(503)] {
            assert_eq!(last_of(&remembered(true, Some(last.clone()))), last);
        }
        assert_eq!(last_of(&remembered(true, None)), Last::Health(1));
    }

    #[test]
    fn another_service_and_method_are_asked_for() {
        let does: Does = match serde_saphyr::from_str(
            "grpc: { service: b, method: /grpc.health.v1.Health/List, user-agent: '' }",
        ) {
            Ok(does) => does,
            Err(error) => panic!("{error}"),
        };
        let request = http::Request::post("http://10.0.0.1:9090/grpc.health.v1.Health/Check")
            .header("user-agent", "kube-probe/1.36");
        let Ok(request) = request.body(Bytes::from(health::request("a"))) else { panic!("no request") };
        let (head, body) = request.into_parts();
        let request = altered(head, body, &Effects::of(&[does]));
        assert_eq!(request.uri().to_string(), "http://10.0.0.1:9090/grpc.health.v1.Health/List");
        assert_eq!(request.headers().get("user-agent"), None);
        assert_eq!(health::service(request.body()).as_deref(), Some("b"));
    }
}
