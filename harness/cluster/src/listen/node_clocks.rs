//! Reads the clocks of nodes with round trips to the control port of a pod on each node.
//!
//! A reading shows only that the node's clock was read between sending and receiving. So the shortest of several round
//! trips is used, and the offset is known to within the time of that round trip.

use std::time::Duration;

use probity_model::history::{Happening, Reading};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use crate::api::port_forward::PortForwardClient;
use crate::listen::incoming::Incoming;
use crate::run_clock::RunClock;

/// Round trips of one reading.
const TRIPS: usize = 5;
/// The interval between readings. Clocks drift, so they are read at regular intervals.
const EVERY: Duration = Duration::from_secs(20);
/// The wait after a failed reading.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct NodeClocks {
    mono_us: i64,
    wall_us: i64,
}

/// Reads the clocks of a node every 20 s and reports them, until the handle is dropped.
pub(crate) fn keep_reading(
    pod: PortForwardClient,
    clock: RunClock,
    node: String,
    out: UnboundedSender<Incoming>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        while !out.is_closed() {
            let reading = read(&pod, clock, &node).await;
            // The next reading opens a new connection: a thousand open connections would be a load on the API server.
            pod.close().await;
            let pause = match reading {
                Some(reading) => {
                    let what = Happening::Reading(reading);
                    let _ = out.send(Incoming::Happening { us: clock.us(), what });
                    EVERY
                }
                // Without a reading, the offset stays as it was. The model treats the missing reading as a doubt.
                None => AFTER_FAILURE,
            };
            tokio::time::sleep(pause).await;
        }
    }))
}

/// The shortest of several round trips; `None` if one of them fails.
async fn read(pod: &PortForwardClient, clock: RunClock, node: &str) -> Option<Reading> {
    // The first round trip also opens the connection.
    let mut best = round_trip(pod, clock, node).await?;
    for _ in 1..TRIPS {
        let next = round_trip(pod, clock, node).await?;
        if next.received_us - next.sent_us < best.received_us - best.sent_us {
            best = next;
        }
    }
    Some(best)
}

async fn round_trip(pod: &PortForwardClient, clock: RunClock, node: &str) -> Option<Reading> {
    let sent_us = clock.us();
    let response =
        pod.get("/v1/clock", Duration::ZERO).await.ok().filter(|response| response.status == 200)?;
    let received_us = clock.us();
    let NodeClocks { mono_us, wall_us } = serde_json::from_slice(&response.body).ok()?;
    Some(Reading { node: node.to_owned(), sent_us, received_us, mono_us, wall_us })
}
