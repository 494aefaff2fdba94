//! What the harness asked for when it resized pods.

use probity_model::Timeline;
use probity_model::clocks::Stamp;
use probity_model::timeline::{ContainerLife, Life, PodLife, Revision};
use serde_json::Value;

use crate::reading::patches::{Patch, container_in, of_part};
use crate::reading::quantities::is_same;

/// A resize that the API server accepted.
pub(super) struct Resize<'t, 'h> {
    /// The patch.
    pub(super) patch: Patch<'t, 'h>,
    /// The last revision before it.
    pub(super) before: &'t Revision<'h>,
    /// When its pod was patched again or deleted, or the history ended.
    pub(super) until: Stamp,
}

/// A change of one resource of a container.
pub(super) struct Change<'a> {
    /// `requests` or `limits`.
    pub(super) list: &'static str,
    pub(super) resource: &'a str,
    /// The quantities before and after it.
    pub(super) old: Option<&'a Value>,
    pub(super) new: &'a Value,
}

/// All resizes that were accepted, in order.
pub(super) fn resizes<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Resize<'t, 'h>> {
    let patches = of_part(run, "resize");
    let next = |patch: &Patch<'_, '_>| {
        let later = patches.iter().find(|next| next.id > patch.id && next.pod.uid == patch.pod.uid);
        let deleted = run.deletion(patch.pod);
        let until = [later.map(|next| next.began.clone()), deleted].into_iter().flatten();
        until.min_by_key(|stamp| stamp.at.lo).unwrap_or_else(|| run.end())
    };
    let untils: Vec<Stamp> = patches.iter().map(next).collect();
    let accepted = patches.into_iter().zip(untils).filter(|(patch, _)| patch.refused.is_none());
    accepted.filter_map(|(patch, until)| Some(Resize { before: patch.before(run)?, patch, until })).collect()
}

impl<'t, 'h> Resize<'t, 'h> {
    pub(super) fn pod(&self) -> &'t PodLife<'h> {
        self.patch.pod
    }

    /// What it changes of a container.
    pub(super) fn changes(&self, container: &str) -> Vec<Change<'_>> {
        let own = container_in(self.before.object, container);
        let mut all = Vec::new();
        for list in ["requests", "limits"] {
            let asked =
                container_in(&self.patch.asked, container).and_then(|of| of["resources"][list].as_object());
            for (resource, new) in asked.into_iter().flatten() {
                let old = own.and_then(|own| own["resources"][list].get(resource));
                if old.is_none_or(|old| !is_same(old, new)) {
                    all.push(Change { list, resource, old, new });
                }
            }
        }
        all
    }

    /// The policy of a container for a resource, if its spec has one.
    pub(super) fn policy(&self, container: &str, resource: &str) -> Option<&str> {
        let own = container_in(self.before.object, container)?;
        let all = own.get("resizePolicy").and_then(Value::as_array).into_iter().flatten();
        let mut of = all.filter(|policy| policy["resourceName"] == resource);
        of.find_map(|policy| policy["restartPolicy"].as_str())
    }

    /// Whether it restarts a container.
    pub(super) fn restarts(&self, container: &str) -> bool {
        let says = |change: &Change<'_>| self.policy(container, change.resource) == Some("RestartContainer");
        self.changes(container).iter().any(says)
    }

    /// The instance of a container that ran when it was asked for.
    pub(super) fn life(
        &self,
        run: &'t Timeline<'h>,
        container: &'t ContainerLife<'h>,
    ) -> Option<Life<'t, 'h>> {
        let began = |life: &Life<'_, '_>| run.before(&life.began, &self.patch.began);
        let mut all = container.attempts.iter().rev();
        let of = |attempt| Life { run, pod: self.pod(), container, attempt };
        let life = all.find_map(|attempt| Some(of(attempt)).filter(began))?;
        let runs = life.ended.as_ref().is_none_or(|ended| !run.before(&ended.stamp, &self.patch.began));
        runs.then_some(life)
    }

    /// The containers that it can concern: those that stay.
    pub(super) fn containers(&self) -> impl Iterator<Item = &'t ContainerLife<'h>> + use<'t, 'h> {
        self.pod().containers.iter().filter(|container| container.stays())
    }
}
