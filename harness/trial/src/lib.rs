//! A trial of someone's own probe settings: their pod with the target in the place of its images, a standard set of
//! faults, and what followed beside what the settings promise.
//!
//! ```text
//! pod -> Stand -> Trial (a case and its promises) for each fault -> History -> Outcome
//! ```
//!
//! A trial judges settings and not the kubelet: the clauses do that, over the same histories.

mod faults;
mod outcome;
mod pod;
pub mod promise;
mod remarks;

pub use faults::{Expected, Fault, Promised, Quantity, Trial, trial};
pub use outcome::{Observed, Outcome, Row, Standing};
pub use pod::{Note, Stand, Traffic, What, Workload, plain_path};
pub use remarks::{Remark, remarks};

#[cfg(test)]
mod tests;
