//! The hands of the harness: everything that touches a cluster.
//!
//! It arranges what a case says, writes down what happens, and cleans up. It asserts nothing: what follows from a
//! history is the model's business.

pub mod progress;
pub mod zero;

pub use progress::{Progress, Usage};
pub use zero::Zero;
