//! Counts every request to the API server, and repeats those that the server asks to repeat.
//!
//! kube's own policy is switched off: it repeats up to fifteen times without an end in time, repeats a refused eviction (for
//! which 429 is the answer itself), and counts nothing. Here a 429 is repeated, and so is any answer with a `Retry-After`;
//! without one, 502, 503 and 504 only if doing it twice does no harm. What a broken connection may have done is not
//! repeated, except for reads.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower_service::Service;

/// A request is repeated at most so often.
const MOST_REPEATS: u32 = 8;
/// A request that waited so long in all is not repeated any more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The first wait, if the server names none; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    sent: AtomicU64,
    repeated: AtomicU64,
}

impl Tally {
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(crate) fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }
}

/// A layer around a client.
#[derive(Clone)]
pub(crate) struct Steady {
    inner: Client,
    tally: Arc<Tally>,
}

impl Steady {
    /// A client that counts and repeats, around one that does not.
    pub(crate) fn around(inner: Client, tally: Arc<Tally>) -> Client {
        let namespace = inner.default_namespace().to_owned();
        Client::new(Self { inner, tally }, namespace)
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let until = Instant::now() + PATIENCE;
        let mut repeats = 0;
        loop {
            let (method, eviction) = (request.method().clone(), request.uri().path().ends_with("/eviction"));
            let again = copy(&request);
            self.tally.sent.fetch_add(1, Ordering::Relaxed);
            let result = self.inner.send(request).await;
            let wait = if eviction { None } else { wait_for(&result, &method, repeats) };
            match (wait, again) {
                (Some(wait), Some(again)) if repeats < MOST_REPEATS && Instant::now() + wait < until => {
                    tokio::time::sleep(wait).await;
                    self.tally.repeated.fetch_add(1, Ordering::Relaxed);
                    repeats += 1;
                    request = again;
                }
                _ => return result,
            }
        }
    }
}

/// How long to wait before the request is repeated; none if it should not be.
fn wait_for(result: &Result<Response<Body>, kube::Error>, method: &Method, repeats: u32) -> Option<Duration> {
    let usual = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(repeats)).min(LONGEST_WAIT);
    let response = match result {
        Ok(response) => response,
        Err(_) => return (method == Method::GET && repeats < 2).then_some(usual),
    };
    let named = response
        .headers()
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let passing = matches!(
        response.status(),
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    );
    if response.status() == StatusCode::TOO_MANY_REQUESTS {
        Some(named.unwrap_or(usual))
    } else if response.status().is_server_error() && named.is_some() {
        named
    } else {
        (passing && method != Method::POST).then_some(usual)
    }
}

/// The same request again; none if its body is a stream.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let body = request.body().try_clone()?;
    let mut again = Request::new(body);
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.version_mut() = request.version();
    *again.headers_mut() = request.headers().clone();
    *again.extensions_mut() = request.extensions().clone();
    Some(again)
}

impl Service<Request<Body>> for Steady {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
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
        assert_eq!(wait_for(&answer(429, Some("7")), &Method::POST, 0), Some(Duration::from_secs(7)));
        assert_eq!(wait_for(&answer(500, Some("1")), &Method::POST, 3), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_post_that_may_have_been_done_is_not_repeated() {
        assert_eq!(wait_for(&answer(504, None), &Method::POST, 0), None);
        assert_eq!(wait_for(&answer(504, None), &Method::GET, 1), Some(FIRST_WAIT * 2));
    }

    #[test]
    fn what_is_decided_is_not_asked_again() {
        for status in [200, 400, 403, 404, 409, 410, 422, 500] {
            assert_eq!(wait_for(&answer(status, None), &Method::GET, 0), None, "{status}");
        }
    }
}
