//! Hand-written histories of pods that are changed.

mod generation;
mod shared;
mod updates;
