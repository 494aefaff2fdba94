//! A trial of someone's own probe settings: their pod with the target in the place of its images, a standard set of
//! faults, and what followed beside what the settings promise.
//!
//! ```text
//! pod -> StandIn -> Trial (a case and its promises) for each fault -> History -> TrialResult
//! ```
//!
//! A trial judges settings and not the kubelet: the clauses do that, over the same histories. What was seen is measured
//! against its promise as in every judgement: an interval, a bound, and the noise meanwhile.

mod faults;
mod pod;
pub mod promise;
mod remarks;
mod result;

pub use faults::{Fault, Promised, Quantity, Trial, trial};
pub use pod::{Note, NoteKind, StandIn, Traffic, Workload, plain_path, unknown_port};
pub use promise::{NEVER, Promise};
pub use remarks::{Remark, remarks};
pub use result::{Observation, TrialResult};

#[cfg(test)]
mod tests;
