//! The process: how it starts, what it is told by signals, and how it ends.

mod doors;
pub mod dump;
mod end;

pub use doors::{Door, DoorWatch, Doors, Visit};
pub use end::end;
