//! The ticker: notices when the process was stalled, sends beats to the recorder and, if requested, checks the node's
//! processors.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_script::witness::{Beat, Stall, VERSION};

use super::processors::Processors;
use super::{Outlet, Witness};

/// A node with a hundred targets has a hundred tickers, so a shorter tick would cost CPU time that its pods need.
const TICK: Duration = Duration::from_millis(20);
/// A tick that is later than this is a stall. An idle machine never reaches it.
const LATE: Duration = Duration::from_millis(20);
const TICKS_PER_BEAT: u32 = 5;
const TICKS_PER_LOOK: u32 = 12;
/// A node that stays busy is recorded once a second.
const LONGEST_BUSY_US: u64 = 1_000_000;

/// Starts the ticker on its own thread. Beats are sent to `recorder`, if there is one. With `watch_node`, it records when
/// all processors of the node are busy.
pub fn start(witness: Witness, recorder: Option<Arc<Outlet>>, watch_node: bool) {
    let body = move || {
        let mut ticks = 0_u32;
        let mut processors = Processors::default();
        let mut looked = Instant::now();
        loop {
            let began = Instant::now();
            thread::sleep(TICK);
            let late = began.elapsed().saturating_sub(TICK);
            if late > LATE {
                let late_us = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
                witness.record(&Fact::Stall(Stall { late_us }));
            }
            ticks = ticks.wrapping_add(1);
            if let Some(outlet) = recorder.as_ref().filter(|_| ticks.is_multiple_of(TICKS_PER_BEAT)) {
                beat(&witness, outlet);
            }
            if watch_node && ticks.is_multiple_of(TICKS_PER_LOOK) {
                let turn_us = u64::try_from(looked.elapsed().as_micros()).unwrap_or(u64::MAX);
                looked = Instant::now();
                processors.look(&witness, turn_us, LONGEST_BUSY_US);
            }
        }
    };
    let _ = thread::Builder::new().name("ticker".to_owned()).stack_size(64 * 1024).spawn(body);
}

fn beat(witness: &Witness, outlet: &Outlet) {
    let at = witness.clock().read();
    let boot = witness.identity().boot.clone();
    let beat = Beat { v: VERSION, boot, beat: witness.next_seq(), mono_us: at.mono_us, wall_us: at.wall_us };
    if let Ok(mut line) = serde_json::to_vec(&beat) {
        line.push(b'\n');
        outlet.whisper(&line);
    }
}
