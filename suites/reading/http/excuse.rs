//! The results of probes that noise excuses. For each probe, noise excuses at most its own duration.
//!
//! A stall of some milliseconds does not explain an answer that was seconds too late, and a stall during one probe does
//! not explain eleven others.

use std::ops::Range;

use probity_model::mechanisms::{NEAR, PROMPT};

use super::exchange::Exchange;
use super::reaction::{CountsAs, Due, PossibleResults, Reaction};

impl Reaction<'_, '_, '_> {
    /// The first part of a run that did not count as it should and that no noise excuses. Lateness of the node during
    /// one probe excuses only that probe, and not the other probes of the run.
    pub(crate) fn without_excuse(
        &self,
        range: &Range<usize>,
        promise: CountsAs,
    ) -> Option<(Range<usize>, PossibleResults)> {
        let places: Vec<usize> = range.clone().filter(|at| !self.is_excused(*at, promise)).collect();
        let stretches = places.chunk_by(|one, next| one + 1 == *next);
        let mut parts = stretches.filter_map(|part| Some(*part.first()?..part.last()? + 1));
        parts.find_map(|part| {
            let taken = self.by_kind(&part, Due::AfterNoise).filter(|taken| !taken.allows(promise))?;
            Some((part, taken))
        })
    }

    /// Whether a stall of the node can explain the results of all probes of a run.
    pub(crate) fn is_held_up(&self, range: &Range<usize>) -> bool {
        range.clone().all(|at| self.is_excused(at, CountsAs::Success))
    }

    /// Whether a stall of the node can explain that a probe did not count as it should. Noise excuses only its own
    /// duration. An answer in time may have come too late if the noise around it fills the rest of the timeout, and an
    /// answer that was too late may have been in time if the noise is as long as the excess. A failing answer is a
    /// failure whenever it comes.
    pub(crate) fn is_excused(&self, at: usize, promise: CountsAs) -> bool {
        let (all, timeout) = (&self.course.exchanges, self.course.spec.timeout);
        let Some(this) = all.get(at) else { return false };
        let took = self.took(this);
        let over = this.done.clone().unwrap_or_else(|| this.at.later(timeout));
        let before = at.checked_sub(1).and_then(|before| all.get(before)?.done.clone());
        let before = before.unwrap_or_else(|| this.at.earlier(timeout));
        let after = all.get(at + 1).map_or_else(|| over.later(timeout), |next| next.at.clone());
        let noise = self.course.noise(&before, &after);
        match promise {
            CountsAs::Success => took + noise >= timeout - NEAR,
            // An error comes after the headers of the answer, and only the headers can come too late.
            CountsAs::Nothing => noise >= PROMPT.of(timeout),
            CountsAs::Failure => took > timeout && took - noise <= timeout,
        }
    }

    /// How long a probe took at the target.
    fn took(&self, exchange: &Exchange<'_, '_>) -> i64 {
        let mut probes = self.course.life.probes.iter().copied();
        let own = probes.find(|probe| probe.id == exchange.id);
        let own = own.and_then(|probe| self.course.life.result(probe).took()).map(|took| took.hi);
        let whole = exchange.done.as_ref().map(|done| done.at.hi - exchange.at.at.lo);
        own.into_iter().chain(whole).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
