//! Counts every request to the API server, and retries those that the server asks to retry.
//!
//! kube's own policy is disabled: it retries up to fifteen times without a time limit, retries a refused eviction (for
//! which 429 is the final answer), and counts nothing. Here, an eviction is retried only if the API server, or a proxy
//! in front of it, has too many requests: such a 429 has a text as its body, and not an object of the API. For other
//! requests, a 429 is retried, and so is any server error with a `Retry-After` header. Without the header, 502, 503 and
//! 504 are retried only if sending the request twice does no harm. After an interrupted connection, only reads are
//! retried. If no connection could be made, for example while an API server restarts, the request was never sent, so it
//! is retried whatever its method is.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Error as LegacyError;
use kube::Client;
use kube::client::Body;
use kube::client::retry::RetryPolicy as KubePolicy;
use tokio::sync::Semaphore;
use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::{Policy, Retry};

/// The maximum number of requests that wait for an answer at the same time. Further requests are queued in the harness.
/// An API server serves at most a few hundred requests at the same time, for all clients together, and rejects the
/// rest. A watch or a port-forward counts only until it is established.
const MOST_AT_ONCE: usize = 64;
/// A request is retried at most this many times.
const MOST_REPEATS: u32 = 8;
/// The waits before the retries of one request add up to less than this time.
pub(crate) const LONGEST_WAIT_IN_ALL: Duration = Duration::from_secs(30);
/// The wait before the first retry, if the server sets none. The wait doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How many times a read is retried after an interrupted connection, and any request after a 401.
const FEW_REPEATS: u32 = 2;

/// The number of requests that were sent, and the number of retries among them.
#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    pub(super) sent: AtomicU64,
    pub(super) repeated: AtomicU64,
    /// Whether the server has ever answered. Before its first answer, only reads are retried if no connection can be
    /// made, so that a wrong address is reported soon.
    answered: AtomicBool,
}

/// Clients that count and retry requests, around a client that does neither.
#[derive(Clone)]
pub(crate) struct CountingClients {
    /// For all requests but a few.
    pub(super) queued: Client,
    /// Its requests never wait in the queue of the harness. For requests whose delay says something about the API server.
    pub(super) unqueued: Client,
    pub(super) counts: Arc<RequestCounts>,
}

impl CountingClients {
    pub(super) fn around(plain: &Client) -> Self {
        let counts = Arc::new(RequestCounts::default());
        let client = |at_once| counting_and_retrying(plain.clone(), Arc::clone(&counts), at_once);
        let (queued, unqueued) = (client(MOST_AT_ONCE), client(Semaphore::MAX_PERMITS));
        Self { queued, unqueued, counts }
    }
}

fn counting_and_retrying(plain: Client, counts: Arc<RequestCounts>, at_once: usize) -> Client {
    let policy = RetryAsAsked {
        repeats: 0,
        waited: Duration::ZERO,
        counts: Arc::clone(&counts),
        copying: KubePolicy::default(),
    };
    let namespace = plain.default_namespace().to_owned();
    let at_once = Arc::new(Semaphore::new(at_once));
    let send = tower::service_fn(move |request: Request<Body>| {
        let (client, counts, at_once) = (plain.clone(), Arc::clone(&counts), Arc::clone(&at_once));
        async move {
            // The semaphore is never closed.
            let _permit = at_once.acquire().await;
            counts.sent.fetch_add(1, Ordering::Relaxed);
            client.send(request).await
        }
    });
    Client::new(Retry::new(policy, send), namespace)
}

/// The state of one request.
#[derive(Clone)]
struct RetryAsAsked {
    repeats: u32,
    waited: Duration,
    counts: Arc<RequestCounts>,
    copying: KubePolicy,
}

impl Policy<Request<Body>, Response<Body>, kube::Error> for RetryAsAsked {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        result: &mut Result<Response<Body>, kube::Error>,
    ) -> Option<Sleep> {
        let undecided = is_throttled(result)
            || result.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED);
        let decided = request.uri().path().ends_with("/eviction") && !undecided;
        let answered = self.counts.answered.fetch_or(result.is_ok(), Ordering::Relaxed);
        let wait = wait_before_retry(result, (request.method(), answered), self.repeats)?;
        let patient = self.repeats < MOST_REPEATS && self.waited.saturating_add(wait) < LONGEST_WAIT_IN_ALL;
        (patient && !decided).then(|| {
            self.repeats += 1;
            self.waited += wait;
            self.counts.repeated.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(wait)
        })
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Policy::<_, Response<Body>, BoxError>::clone_request(&mut self.copying, request)
    }
}

/// How long to wait before the request is retried; `None` if it should not be.
fn wait_before_retry(
    result: &Result<Response<Body>, kube::Error>,
    (method, answered): (&Method, bool),
    repeats: u32,
) -> Option<Duration> {
    let usual = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(repeats)).min(LONGEST_WAIT);
    let response = match result {
        Ok(response) => response,
        Err(error) if answered && was_never_sent(error) => return Some(usual),
        Err(_) => return (method == Method::GET && repeats < FEW_REPEATS).then_some(usual),
    };
    let named =
        response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let named = named.map(Duration::from_secs);
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS => named.or(Some(usual)),
        StatusCode::UNAUTHORIZED => (repeats < FEW_REPEATS).then_some(usual),
        status if status.is_server_error() && named.is_some() => named,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            (method != Method::POST).then_some(usual)
        }
        _ => None,
    }
}

/// Whether a request was refused because there were too many requests. Such a refusal has another content type than the
/// objects of the API.
fn is_throttled(result: &Result<Response<Body>, kube::Error>) -> bool {
    let Ok(response) = result else { return false };
    let content = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    response.status() == StatusCode::TOO_MANY_REQUESTS
        && content.is_some_and(|content| !content.contains("json"))
}

/// Whether a request failed because no connection could be made.
fn was_never_sent(error: &kube::Error) -> bool {
    let kube::Error::Service(error) = error else { return false };
    let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
    while let Some(error) = cause {
        if error.downcast_ref::<LegacyError>().is_some_and(LegacyError::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn answer(status: u16, retry_after: Option<&str>) -> Result<Response<Body>, kube::Error> {
        let mut response = Response::builder().status(status);
        if let Some(after) = retry_after {
            response = response.header(RETRY_AFTER, after);
        }
        Ok(response.body(Body::empty()).unwrap())
    }

    #[test]
    fn the_server_says_when() {
        let post = |answer, repeats| wait_before_retry(&answer, (&Method::POST, true), repeats);
        assert_eq!(post(answer(429, Some("7")), 0), Some(Duration::from_secs(7)));
        assert_eq!(post(answer(500, Some("1")), 3), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_refusal_without_an_object_of_the_api_is_about_the_number_of_requests() {
        let throttled = |status: u16, content: Option<&str>| {
            let mut response = Response::builder().status(status);
            if let Some(content) = content {
                response = response.header(CONTENT_TYPE, content);
            }
            is_throttled(&Ok(response.body(Body::empty()).unwrap()))
        };
        assert!(throttled(429, Some("text/plain; charset=utf-8")));
        assert!(!throttled(429, Some("application/json")), "a budget forbids the eviction");
        assert!(!throttled(429, None));
        assert!(!throttled(500, Some("text/plain")));
    }

    #[test]
    fn a_post_that_may_have_been_done_is_not_repeated() {
        assert_eq!(wait_before_retry(&answer(504, None), (&Method::POST, true), 0), None);
        assert_eq!(wait_before_retry(&answer(504, None), (&Method::GET, true), 1), Some(FIRST_WAIT * 2));
    }

    #[tokio::test]
    async fn a_request_that_found_no_server_is_repeated_whatever_it_is() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let mut config = kube::Config::new(format!("http://{address}").parse().unwrap());
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        let request = || Request::post("/api").body(Body::empty()).unwrap();
        let refused = client.send(request()).await.map(|_| Response::new(Body::empty()));
        assert!(refused.is_err());
        assert_eq!(wait_before_retry(&refused, (&Method::POST, true), 2), Some(FIRST_WAIT * 4));
        let wrong_address = wait_before_retry(&refused, (&Method::GET, false), 2);
        assert_eq!(wrong_address, None, "it never answered: the address may be wrong");
        let broken = Err(kube::Error::Service("the connection was reset".into()));
        assert_eq!(wait_before_retry(&broken, (&Method::POST, true), 0), None, "it may have been done");
    }

    #[test]
    fn a_401_is_repeated_twice_and_no_more() {
        for method in [Method::GET, Method::POST] {
            let wait = |repeats| wait_before_retry(&answer(401, None), (&method, true), repeats);
            assert_eq!((wait(0), wait(1)), (Some(FIRST_WAIT), Some(FIRST_WAIT * 2)), "{method}");
            assert_eq!(wait(2), None, "{method}");
        }
    }

    #[test]
    fn what_is_decided_is_not_asked_again() {
        for status in [200, 400, 403, 404, 409, 410, 422, 500] {
            assert_eq!(wait_before_retry(&answer(status, None), (&Method::GET, true), 0), None, "{status}");
        }
    }
}
