//! To be written.

use probity_model::Judge;

pub(super) const JUDGES: &[Judge] = &[];
