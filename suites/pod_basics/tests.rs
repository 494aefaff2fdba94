//! Hand-written histories of pods that are changed.

mod generation;
mod identity;
mod images;
mod shared;
mod updates;
