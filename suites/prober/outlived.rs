//! The containers that existed when their kubelet was restarted.

use probity_model::Timeline;
use probity_model::timeline::{Attempt, ContainerLife, ContainerSeen, Life, PodLife, Revision};

use crate::reading::kubelet_restarts::Restart;

/// A container of a node whose kubelet was restarted.
pub(super) struct Outlived<'t, 'h> {
    pub(super) run: &'t Timeline<'h>,
    pub(super) restart: &'t Restart<'h>,
    pub(super) pod: &'t PodLife<'h>,
    pub(super) container: &'t ContainerLife<'h>,
}

/// The containers that existed when their kubelet restarted, and were not being deleted.
pub(super) fn outlived<'t, 'h>(run: &'t Timeline<'h>, restart: &'t Restart<'h>) -> Vec<Outlived<'t, 'h>> {
    let there = run.containers().filter(|(pod, container)| {
        pod.node == restart.node && container.stays() && run.before_deletion(pod, &restart.began)
    });
    there.map(|(pod, container)| Outlived { run, restart, pod, container }).collect()
}

impl<'t, 'h> Outlived<'t, 'h> {
    /// The last revision before the restart.
    pub(super) fn before(&self) -> Option<(&'t Revision<'h>, ContainerSeen<'h>)> {
        let before = |revision: &&Revision<'_>| self.run.before(&revision.at, &self.restart.began);
        let last = self.pod.revisions.iter().take_while(before).last()?;
        Some((last, last.container(&self.container.name)?))
    }

    /// The instance during which the restart took place.
    pub(super) fn life(&self) -> Option<Life<'t, 'h>> {
        let began = |attempt: &&Attempt<'_>| self.run.before(&attempt.began, &self.restart.began);
        Some(self.instance(self.container.attempts.iter().rfind(began)?))
    }

    /// An instance of the container.
    pub(super) fn instance(&self, attempt: &'t Attempt<'h>) -> Life<'t, 'h> {
        Life { run: self.run, pod: self.pod, container: self.container, attempt }
    }
}
