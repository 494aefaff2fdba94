//! The ticker: notices when the process was held up, and gives the recorder a sign of life.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use probity_script::Fact;
use probity_script::witness::{Beat, Stall, VERSION};

use super::{Outlet, Witness};

const TICK: Duration = Duration::from_millis(10);
/// A tick later than this is a stall: twice the tick is what an idle machine never reaches.
const LATE: Duration = Duration::from_millis(20);
const TICKS_PER_BEAT: u32 = 10;

/// Starts the ticker on a thread of its own. Beats go to `recorder`, if there is one.
pub fn start(witness: Witness, recorder: Option<Arc<Outlet>>) {
    let body = move || {
        let mut ticks = 0_u32;
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
