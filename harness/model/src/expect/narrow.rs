//! Which occurrences count if an expectation names a container, an attempt, or the time since a step.

use super::occurrences::Found;
use crate::clocks::{Order, Stamp};
use crate::expectation::{DoneBy, Expectation, Occurrence, Only, Since};
use crate::history::{Did, EventId};
use crate::timeline::Timeline;

/// An occurrence, with all properties by which occurrences can be distinguished.
pub(super) struct Hit<'p> {
    pub(super) id: EventId,
    pub(super) at: Stamp,
    /// Whether it is unambiguous.
    pub(super) clear: bool,
    /// The container to which the occurrence belongs, if it belongs to one.
    pub(super) container: Option<&'p str>,
    /// The attempt of the container, if it is known.
    pub(super) attempt: Option<u64>,
}

impl Hit<'_> {
    /// An unambiguous occurrence that belongs to no container.
    pub(super) fn new(id: EventId, at: &Stamp) -> Self {
        Self { id, at: at.clone(), clear: true, container: None, attempt: None }
    }
}

impl Only {
    /// Leaves out occurrences that do not count. An occurrence is ambiguous if it is unclear whether it came before or
    /// after the step.
    pub(super) fn narrow(&self, run: &Timeline<'_>, hits: Vec<Hit<'_>>) -> Found {
        let mut found = Found::default();
        let done = self.since.as_ref().map(|since| since.done(run).map(|id| run.heard(id)));
        for mut hit in hits {
            let of_container = self.container.as_deref().is_none_or(|name| hit.container == Some(name));
            if !of_container || self.attempt.is_some_and(|attempt| hit.attempt != Some(attempt)) {
                continue;
            }
            match &done {
                None => {}
                Some(None) => continue,
                Some(Some(done)) => match run.clocks.order(done, &hit.at) {
                    Order::Before => {}
                    Order::TooClose => hit.clear = false,
                    Order::After => continue,
                },
            }
            found.add(hit);
        }
        found
    }
}

impl Since {
    /// The event that shows that the step was done.
    fn done(&self, run: &Timeline<'_>) -> Option<EventId> {
        let found = run.deeds.iter().find(|(_, deed)| self.is(&deed.did));
        found.map(|(id, _)| *id)
    }

    fn is(&self, did: &Did) -> bool {
        let by = match self {
            Self::Mark(name) => return matches!(did, Did::Called { call, .. } if call == name),
            Self::Step(by) => by,
        };
        match by {
            DoneBy::Change => matches!(did, Did::Changed { .. }),
            DoneBy::Reset => matches!(did, Did::Called { call, .. } if call == "reset"),
            DoneBy::Delete => matches!(did, Did::Deleted { .. }),
            DoneBy::Evict => matches!(did, Did::Evicted { refused: None, .. }),
            DoneBy::Patch => matches!(did, Did::Patched { .. }),
            DoneBy::Scale => matches!(did, Did::Scaled { .. }),
            DoneBy::Exec => matches!(did, Did::Executed { .. }),
            DoneBy::Node => matches!(did, Did::NodeVerb { .. }),
        }
    }

    /// The step in words.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Mark(name) => format!("since the mark {name}"),
            Self::Step(by) => {
                let word = serde_json::to_value(by).unwrap_or_default();
                format!("since the first `{}`", word.as_str().unwrap_or_default())
            }
        }
    }
}

impl Occurrence {
    /// Why the occurrence cannot be decided, if the step from which it is counted never ran.
    pub(super) fn not_begun(&self, run: &Timeline<'_>) -> Option<String> {
        let Self::Only(only) = self else { return None };
        let since = only.since.as_ref().filter(|since| since.done(run).is_none())?;
        Some(format!("the event that it counts from never occurred ({})", since.in_words()))
    }
}

impl Expectation {
    /// Whether the expectation is judged on the pod with this key.
    pub(super) fn is_about(&self, pod: &str) -> bool {
        self.pod().is_none_or(|wanted| wanted == pod)
    }
}
