//! Serves an HTTP/1.1 probe with the defects that strike it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::time::{sleep, sleep_until};

use super::Stream;
use super::exchange::{Errand, Reply};
use super::fault::{Instead, Outcome};
use super::http::{Head, instead};
use super::memory::Last;
use super::pace;
use super::session::Session;

/// The maximum size of a remembered answer: more than a kubelet reads.
const REMEMBERED: usize = 16 << 10;

/// Serves one probe.
///
/// # Errors
///
/// When either side breaks it.
pub(super) async fn serve(mut session: Session, errand: Errand, mut kubelet: Stream) -> io::Result<()> {
    let effects = &errand.effects;
    if effects.drop {
        return wait_for_end(&mut kubelet).await;
    }
    if effects.refuse {
        kubelet.reset();
        return Ok(());
    }
    tokio::select! {
        () = sleep(effects.delay) => {}
        ended = wait_for_end(&mut kubelet) => return ended,
    }
    if let Some(pace) = effects.pace {
        let last = pace::http(&session.shared, &errand, pace).await;
        return answer_with(&mut kubelet, last.as_ref(), Instead::Last).await;
    }
    if let Some((pass, stands_for)) = effects.skip
        && !session.shared.memory.passes(&errand.key, pass)
    {
        let last = session.shared.memory.last(&errand.key);
        return answer_with(&mut kubelet, last.as_ref(), stands_for).await;
    }
    if let Some(outcome) = session.ended {
        return answer(&mut kubelet, &instead(outcome)).await;
    }
    let open = session.open.take();
    match ask(&session, &errand, open, &mut kubelet).await? {
        Asked::Gone => Ok(()),
        Asked::Slow(outcome) => answer(&mut kubelet, &instead(outcome)).await,
        Asked::Silent => match errand.effects.judge.silence {
            Some(outcome) => answer(&mut kubelet, &instead(outcome)).await,
            None => {
                session.shared.memory.remember(&errand.key, Last::None);
                kubelet.reset();
                Ok(())
            }
        },
        Asked::Reply(reply) => deliver(&session, &errand, reply, kubelet).await,
    }
}

enum Asked {
    Reply(Reply),
    /// The pod gave no answer.
    Silent,
    /// The answer takes too long, and the probe ends in this way.
    Slow(Outcome),
    /// The kubelet has given up.
    Gone,
}

async fn ask(
    session: &Session,
    errand: &Errand,
    open: Option<Stream>,
    kubelet: &mut Stream,
) -> io::Result<Asked> {
    let slow = errand.effects.slow;
    let asked = errand.clone();
    let mut asking = tokio::spawn(async move { asked.run(open).await });
    let deadline = slow.map_or(session.since, |(after, _)| session.until(after));
    tokio::select! {
        reply = &mut asking => Ok(match reply {
            Ok(Ok(reply)) => Asked::Reply(reply),
            Ok(Err(_)) | Err(_) => Asked::Silent,
        }),
        () = sleep_until(deadline), if slow.is_some() => {
            let outcome = slow.map_or(Outcome::Failure, |(_, outcome)| outcome);
            // A kubelet that ignores the timeout waits for the whole answer.
            if outcome == Outcome::Failure {
                asking.abort();
            }
            Ok(Asked::Slow(outcome))
        }
        _ = wait_for_end(kubelet) => {
            asking.abort();
            Ok(Asked::Gone)
        }
    }
}

/// Judges the answer and passes it on.
async fn deliver(
    session: &Session,
    errand: &Errand,
    mut reply: Reply,
    mut kubelet: Stream,
) -> io::Result<()> {
    let effects = &errand.effects;
    tokio::select! {
        () = sleep(effects.late) => {}
        ended = wait_for_end(&mut kubelet) => return ended,
    }
    reply.head.judge(&effects.judge);
    let mut bytes = reply.head.bytes();
    bytes.extend(&reply.body);
    if effects.skip.is_some() {
        session.shared.memory.remember(&errand.key, Last::Http(remembered(&reply)));
    }
    kubelet.write_all(&bytes).await?;
    kubelet.flush().await?;
    let result = match reply.rest.as_mut() {
        Some(pod) => copy_bidirectional(&mut kubelet, pod).await.map(drop),
        None => kubelet.shutdown().await,
    };
    if let Some(pod) = reply.rest {
        errand.close(pod);
    }
    if let Some((times, after)) = effects.double {
        errand.again(times, after);
    }
    result
}

/// The answer in a form that can be repeated: always with a length.
pub(super) fn remembered(reply: &Reply) -> Vec<u8> {
    let mut head = Head { start: reply.head.start.clone(), fields: reply.head.fields.clone() };
    head.remove("Transfer-Encoding");
    head.set("Content-Length", "0");
    head.set("Connection", "close");
    let mut bytes = head.bytes();
    bytes.truncate(REMEMBERED);
    bytes
}

/// Answers in the pod's place.
async fn answer_with(kubelet: &mut Stream, last: Option<&Last>, stands_for: Instead) -> io::Result<()> {
    match (stands_for, last) {
        (Instead::Failure, _) => answer(kubelet, &instead(Outcome::Failure)).await,
        (Instead::Last, Some(Last::Http(bytes))) => answer(kubelet, bytes).await,
        (Instead::Last, Some(Last::None)) => {
            kubelet.reset();
            Ok(())
        }
        _ => answer(kubelet, &instead(Outcome::Success)).await,
    }
}

async fn answer(kubelet: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    kubelet.write_all(bytes).await?;
    kubelet.shutdown().await
}

/// Waits until the kubelet closes. The kubelet sends nothing more until then.
async fn wait_for_end(kubelet: &mut Stream) -> io::Result<()> {
    let mut more = [0; 256];
    while kubelet.read(&mut more).await? > 0 {}
    Ok(())
}
