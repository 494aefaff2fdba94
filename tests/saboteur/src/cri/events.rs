//! Events of the runtime, to which kubelets with evented PLEG listen. They arrive as one message after the other on a
//! call that never ends.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures_util::future::FutureExt as _;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::{
    fault::{CriFault, EventEffect},
    grpc::{ProxyBody, frame, frame_length, unframe},
    proxy::{Proxy, Upstream, streamed},
    wire::Message,
};
use crate::defect::Fault;

/// Passes the stream on, event by event.
pub(super) async fn stream(
    proxy: Arc<Proxy>,
    request: Request<Incoming>,
    mut upstream: Upstream,
) -> hyper::Result<Response<ProxyBody>> {
    let response = upstream.send_request(request.map(streamed)).await?;
    Ok(response.map(|body| Events::new(proxy, body).boxed_unsync()))
}

/// A body that splits its input into events and passes on each event as the defects allow.
struct Events {
    proxy: Arc<Proxy>,
    incoming: Incoming,
    /// The beginning of an event that has not arrived completely.
    begun: BytesMut,
    /// Events that wait, each with its own delay.
    waiting: VecDeque<(Duration, Bytes)>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Events {
    fn new(proxy: Arc<Proxy>, incoming: Incoming) -> Self {
        Self { proxy, incoming, begun: BytesMut::new(), waiting: VecDeque::new(), pause: None }
    }

    /// Splits complete events off the input so far.
    fn cut(&mut self) {
        while let Some(length) = frame_length(&self.begun).filter(|length| *length <= self.begun.len()) {
            let framed = self.begun.split_to(length).freeze();
            for (late, event) in self.proxy.event(framed) {
                self.waiting.push_back((late, event));
            }
        }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.poll_unpin(context));
                self.pause = None;
            }
            if let Some((late, event)) = self.waiting.pop_front() {
                if late.is_zero() {
                    return Poll::Ready(Some(Ok(Frame::data(event))));
                }
                self.pause = Some(Box::pin(sleep(late)));
                self.waiting.push_front((Duration::ZERO, event));
                continue;
            }
            match std::task::ready!(Pin::new(&mut self.incoming).poll_frame(context)) {
                Some(Ok(part)) => match part.into_data() {
                    Ok(data) => {
                        self.begun.extend_from_slice(&data);
                        self.cut();
                    }
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
    }
}

impl Proxy {
    /// What happens to one framed event: the delay of each copy.
    fn event(&self, framed: Bytes) -> Vec<(Duration, Bytes)> {
        let Some(mut event) = unframe(&framed).and_then(|bytes| Message::parse(&bytes).ok()) else {
            return vec![(Duration::ZERO, framed)];
        };
        let before = event.clone();
        self.showings.statuses(5, &mut event, &self.board);
        let framed = if event == before { framed } else { frame(&event.encode()) };
        let Some(target) = self.board.target_of_container(&event.text(1)) else {
            return vec![(Duration::ZERO, framed)];
        };
        let pick = |fault: &Fault| match fault {
            Fault::Cri(CriFault::Event(effect)) => Some(*effect),
            _ => None,
        };
        fates(&self.board.strikes(pick, &target)).into_iter().map(|late| (late, framed.clone())).collect()
    }
}

/// One delay for each remaining copy of an event.
fn fates(effects: &[EventEffect]) -> Vec<Duration> {
    let mut copies = vec![Duration::ZERO];
    for effect in effects {
        match effect {
            EventEffect::Late(by) => copies.iter_mut().for_each(|late| *late += by.0),
            EventEffect::Lost => copies.clear(),
            EventEffect::Doubled => copies.extend_from_within(..),
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use probity_script::Span;

    use super::{EventEffect, fates};

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn an_event_is_late_lost_or_doubled() {
        assert_eq!(fates(&[]), [NOW]);
        assert_eq!(fates(&[EventEffect::Late(Span(Duration::from_secs(2)))]), [Duration::from_secs(2)]);
        assert!(fates(&[EventEffect::Lost]).is_empty());
        assert_eq!(fates(&[EventEffect::Doubled]), [NOW, NOW]);
    }
}
