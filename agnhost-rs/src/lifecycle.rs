//! The process: how it starts, what it is told by signals, and how it ends.

mod doors;
mod end;

pub use doors::{Door, Doors, Visit};
pub use end::end;
