//! The end of the process by its own will.

use std::time::Duration;

use probity_script::Fact;
use probity_script::witness::Exiting;

use crate::witness::Witness;

/// How long the last lines may take to leave. Whoever has not read them by then will not.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Writes down that the process ends, lets the last lines leave, and ends it.
pub fn end(witness: &Witness, code: u8, why: &str) -> ! {
    witness.arrival(&Fact::Exiting(Exiting { code, why: why.to_owned() }));
    witness.flush(LAST_WORDS);
    std::process::exit(i32::from(code))
}
