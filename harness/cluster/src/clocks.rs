//! Reads the clocks of nodes by round trips, over the control port of a pod there.
//!
//! A reading says only that the node's clock was read between sending and receiving. So the shortest of several round
//! trips is taken, and the offset is known to within its length.

use std::sync::Arc;
use std::time::Duration;

use probity_model::history::Reading;
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::error::ClusterError;
use crate::forward::Door;
use crate::incoming::Incoming;
use crate::zero::Zero;

/// So many round trips make a reading.
const TRIPS: usize = 5;
/// Clocks drift; they are read so often.
const EVERY: Duration = Duration::from_secs(20);
/// After a failure they are read again sooner.
const SOON: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Answer {
    mono_us: i64,
    wall_us: i64,
}

/// Reads a node's clocks: the best of five round trips.
///
/// # Errors
///
/// If no trip brought an answer.
pub async fn read(door: &Door, zero: Zero, node: &str) -> Result<Reading, ClusterError> {
    // The first one opens the connection, and warms the way.
    let mut best = trip(door, zero, node).await?;
    for _ in 1..TRIPS {
        let next = trip(door, zero, node).await?;
        if next.received_us - next.sent_us < best.received_us - best.sent_us {
            best = next;
        }
    }
    Ok(best)
}

async fn trip(door: &Door, zero: Zero, node: &str) -> Result<Reading, ClusterError> {
    let sent_us = zero.us();
    let (status, body) = door.get("/v1/clock").await?;
    let received_us = zero.us();
    let answer: Result<Answer, String> = match status {
        200 => serde_json::from_slice(&body).map_err(|error| error.to_string()),
        other => Err(format!("the status is {other}")),
    };
    let Answer { mono_us, wall_us } = answer.map_err(|error| ClusterError::Answer {
        doing: format!("read the clocks of the node {node}"),
        error,
    })?;
    Ok(Reading { node: node.to_owned(), sent_us, received_us, mono_us, wall_us })
}

/// Reads a node's clocks every 20 s and tells, until the handle is dropped.
pub fn keep_reading(
    door: Arc<Door>,
    zero: Zero,
    node: String,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while !out.is_closed() {
            let pause = match read(&door, zero, &node).await {
                Ok(reading) => {
                    let _ = out.send(Incoming::Reading { us: zero.us(), reading });
                    EVERY
                }
                // Without a reading the offset is as it was, and its lack is doubt in the model.
                Err(_) => SOON,
            };
            tokio::time::sleep(pause).await;
        }
    }))
}
