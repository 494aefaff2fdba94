//! The pods of a workload in a history, and what its controller reports about them. The labels from its template identify
//! its pods, because the controller chooses their names.

use probity_model::history::{Change, Did, Happening, History, Sighting};
use serde_json::Value;

use crate::case::Case;
use crate::manifest::{CASE, POD, object_name};
use crate::wait_conditions::Wait;
use crate::workload::Workload;

/// A workload as the history shows it.
pub(super) struct WorkloadPods<'a> {
    history: &'a History,
    kind: &'a str,
    name: String,
    slug: String,
    key: &'a str,
    /// When its newest template or number of replicas was sent. Earlier revisions are out of date.
    sent_us: Option<i64>,
}

impl<'a> WorkloadPods<'a> {
    pub(super) fn of(case: &Case, key: &'a str, workload: &'a Workload, history: &'a History) -> Self {
        let (kind, name) = (workload.kind(), object_name(case, key));
        let sent_us = history.events().rev().find_map(|(_, event)| match &event.what {
            Happening::Deed(deed) => match &deed.did {
                Did::Patched { kind: of, name: one, .. } | Did::Scaled { kind: of, name: one, .. } => {
                    (of == kind && *one == name).then_some(deed.began_us)
                }
                _ => None,
            },
            _ => None,
        });
        Self { history, kind, name, slug: case.name.slug(), key, sent_us }
    }

    fn sightings(&self) -> impl DoubleEndedIterator<Item = (i64, &'a Sighting)> {
        self.history.events().filter_map(|(_, event)| match &event.what {
            Happening::Sighting(sighting) => Some((event.us, sighting)),
            _ => None,
        })
    }

    /// The names of its pods, in the order in which they appeared.
    pub(super) fn pods(&self, wait: &Wait) -> Vec<&'a str> {
        // Each pod with the time when it was first seen, and whether it is gone.
        let mut pods: Vec<(&'a str, i64, bool)> = Vec::new();
        for (us, sighting) in self.sightings().filter(|(_, sighting)| self.owns(sighting)) {
            let name = sighting.name.as_str();
            let gone = sighting.change == Change::Deleted;
            match pods.iter_mut().find(|(known, ..)| *known == name) {
                Some(known) => known.2 = gone,
                None => pods.push((name, us, gone)),
            }
        }
        // A wait for pods to be gone also applies to pods that existed earlier.
        pods.retain(|(_, us, gone)| {
            wait.new.is_none_or(|new| new == self.is_new(*us)) && (wait.gone.is_some() || !gone)
        });
        pods.into_iter().map(|(name, ..)| name).collect()
    }

    fn owns(&self, sighting: &Sighting) -> bool {
        let labels = sighting.object.get("metadata").and_then(|of| of.get("labels"));
        let says = |label: &str| labels.and_then(|labels| labels.get(label)?.as_str());
        sighting.kind == "Pod" && says(CASE) == Some(self.slug.as_str()) && says(POD) == Some(self.key)
    }

    fn is_new(&self, us: i64) -> bool {
        self.sent_us.is_some_and(|sent| us >= sent)
    }

    /// Whether the conditions of the workload itself hold. The controller must have observed the newest generation.
    pub(super) fn stands(&self, wait: &Wait) -> bool {
        let asked = [wait.available.is_some(), wait.updated.is_some(), wait.stalled.is_some()];
        if !asked.contains(&true) && wait.finished.is_none() {
            return true;
        }
        let own = |sighting: &&'a Sighting| sighting.kind == self.kind && sighting.name == self.name;
        let mut fresh =
            self.sightings().rev().take_while(|(us, _)| self.sent_us.is_none_or(|sent| *us >= sent));
        let Some(object) =
            fresh.find_map(|(_, sighting)| Some(sighting).filter(own)).map(|seen| &seen.object)
        else {
            return false;
        };
        let status = |field: &str| object.get("status").and_then(|status| status.get(field));
        let count = |field: &str| status(field).and_then(Value::as_u64).unwrap_or(0);
        let generation = object.get("metadata").and_then(|of| of.get("generation")?.as_u64());
        let conditions = status("conditions").and_then(Value::as_array);
        let conditions = || conditions.into_iter().flatten();
        let stalled = conditions().any(|condition| {
            condition["type"] == "Progressing" && condition["reason"] == "ProgressDeadlineExceeded"
        });
        let finished = |kind: &str| {
            conditions().any(|condition| condition["type"] == kind && condition["status"] == "True")
        };
        let (available, updated) = match self.kind {
            "Job" => ("ready", ""),
            "DaemonSet" => ("numberAvailable", "updatedNumberScheduled"),
            _ => ("availableReplicas", "updatedReplicas"),
        };
        // The status of a Job has no observed generation.
        let observed = self.kind == "Job"
            || generation.is_none_or(|generation| count("observedGeneration") >= generation);
        observed
            && wait.available.is_none_or(|wanted| count(available) == wanted)
            && wait.updated.is_none_or(|wanted| count(updated) == wanted)
            && wait.finished.as_deref().is_none_or(finished)
            && wait.stalled.is_none_or(|wanted| stalled == wanted)
    }
}
