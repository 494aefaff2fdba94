//! A stream of changes on its way to the kubelet: each line is read, and passed on immediately or later, as the defects
//! require.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};

use super::heard::{Ear, Lines, Waiting};
use super::upstream::AnyBody;

/// The stream as the kubelet receives it. It ends when the API server ends it, or when its reader is dropped.
#[must_use]
pub(super) fn altered(body: Incoming, ear: Ear) -> AnyBody {
    let (sender, receiver) = channel(64);
    tokio::spawn(async move { copy(body, &ear, &sender).await.ok() });
    StreamBody::new(futures_util::stream::unfold(receiver, next)).boxed()
}

async fn next(mut receiver: Receiver<Bytes>) -> Option<(hyper::Result<Frame<Bytes>>, Receiver<Bytes>)> {
    let bytes = receiver.recv().await?;
    Some((Ok(Frame::data(bytes)), receiver))
}

async fn copy(mut body: Incoming, ear: &Ear, out: &Sender<Bytes>) -> io::Result<()> {
    let mut lines = Lines::default();
    let mut waiting = Waiting::default();
    let gone = |_| io::Error::other("the kubelet no longer listens");
    loop {
        let due = waiting.due();
        tokio::select! {
            frame = body.frame() => {
                let Some(frame) = frame else { break };
                let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
                for line in lines.add(&data) {
                    if let Some(bytes) = waiting.add(ear.hear(line), Instant::now()) {
                        out.send(bytes).await.map_err(gone)?;
                    }
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                while let Some(bytes) = waiting.next(Instant::now()) {
                    out.send(bytes).await.map_err(gone)?;
                }
            }
            () = out.closed() => return Ok(()),
        }
    }
    let rest = lines.rest();
    if rest.is_empty() { Ok(()) } else { out.send(rest).await.map_err(gone) }
}
