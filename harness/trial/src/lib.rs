//! A trial of a user's own probe settings: their pod runs with the target instead of its images, under a standard set of
//! faults, and the results are compared with the promises of the settings.
//!
//! ```text
//! pod -> StandIn -> Trial (a case and its promises) for each fault -> History -> TrialResult
//! ```
//!
//! A trial judges the settings and not the kubelet. The clauses judge the kubelet, on the same histories. A result is
//! compared with its promise in the same way as in every judgement: as an interval, with a bound and the noise at the
//! time.

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
