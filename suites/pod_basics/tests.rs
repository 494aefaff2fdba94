//! Hand-written histories of pods that are changed.

mod generation;
mod given;
mod identity;
mod images;
mod inside;
mod shared;
mod updates;
