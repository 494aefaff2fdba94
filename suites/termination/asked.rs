//! Pods that the harness asked the API server to delete or to evict: when, with which grace period, and which of their
//! containers were running.

use probity_model::history::Did;
use probity_model::measure::whole_seconds;
use probity_model::timeline::{At, Attempt, ContainerKind, ContainerLife, Life, PodLife, Revision, State};
use probity_model::{EventId, Timeline};

use crate::reading::ends::{End, was_running};
use crate::reading::hooks::is_refused;
use crate::reading::mains::{lives_of, mains};
use crate::reading::patches::TARGET_CONTAINER;
use crate::reading::statuses::CRASH_LOOP;
use crate::reading::volumes::lacks_volume;

/// The waiting reasons of a container that cannot start without a change: Kubernetes' `pkg/kubelet/images` and
/// `pkg/kubelet/kuberuntime`.
const FOR_GOOD: [&str; 3] = ["ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"];

/// A request to delete a pod.
#[derive(Clone)]
pub(super) struct DeleteRequest {
    /// The event of the request, and the time between the request and its response: the API server processed the
    /// request in this time.
    pub(super) at: At,
    /// The grace period that it requests.
    pub(super) grace: Option<i64>,
}

/// A pod whose deletion was requested.
#[derive(Clone)]
pub(super) struct Going<'t, 'h> {
    /// The history.
    pub(super) run: &'t Timeline<'h>,
    /// The pod.
    pub(super) pod: &'t PodLife<'h>,
    /// The first request.
    pub(super) first: DeleteRequest,
    /// The requests that followed.
    pub(super) again: Vec<DeleteRequest>,
}

/// All pods whose deletion was requested, in cases without node actions.
pub(super) fn going<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Going<'t, 'h>> {
    if run.node_was_touched() { Vec::new() } else { going_anyway(run) }
}

/// All pods whose deletion was requested, whatever was done to their node.
pub(super) fn going_anyway<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Going<'t, 'h>> {
    let of_pod = |pod: &'t PodLife<'h>| {
        let mut requests = requests(run, pod).into_iter();
        let first = requests.next()?;
        Some(Going { run, pod, first, again: requests.collect() })
    };
    // The deletion of a mirror pod does not end its static pod.
    run.pods.iter().filter(|pod| !pod.is_static).filter_map(of_pod).collect()
}

/// The requests to delete a pod: deletions and evictions. Empty if the pod was already terminating before the first
/// request, because somebody else had deleted it. Another pod can have the same name later.
fn requests(run: &Timeline<'_>, pod: &PodLife<'_>) -> Vec<DeleteRequest> {
    let first = |pod: &PodLife<'_>| {
        let made = pod.created.map(|(id, _)| id);
        made.or_else(|| pod.revisions.first().map(|shown| shown.id))
    };
    let Some(from) = first(pod) else { return Vec::new() };
    let next = run.pods.iter().filter(|other| other.name == pod.name).filter_map(first);
    let until = next.filter(|id| *id > from).min();
    let own = |id: EventId| id > from && until.is_none_or(|until| id < until);
    let going = pod.revisions.iter().find(|shown| shown.terminating() || shown.gone);
    let of_pod = run.deeds.iter().filter(|(id, _)| own(*id)).filter_map(|(id, deed)| match &deed.did {
        Did::Deleted { kind, name, grace } if kind == "Pod" && *name == pod.name => {
            let grace = grace.and_then(|grace| i64::try_from(grace).ok()).map(whole_seconds);
            Some(DeleteRequest { at: run.deed_at(*id), grace })
        }
        Did::Evicted { pod: name, refused: None, .. } if *name == pod.name => {
            Some(DeleteRequest { at: run.deed_at(*id), grace: None })
        }
        _ => None,
    });
    let all: Vec<DeleteRequest> = of_pod.collect();
    let late = |first: &DeleteRequest| going.is_some_and(|going| run.before(&going.at, &first.at));
    if all.first().is_some_and(late) { Vec::new() } else { all }
}

impl<'t, 'h> Going<'t, 'h> {
    /// The effective grace period: from the request, or from the pod.
    pub(super) fn grace(&self) -> i64 {
        self.first.grace.unwrap_or_else(|| self.pod.grace())
    }

    /// Whether there was one request, with a grace period, while the pod was running on a node.
    pub(super) fn is_graceful(&self) -> bool {
        self.grace() > 0 && self.again.is_empty() && !self.was_idle()
    }

    /// Whether the pod had finished, or was never scheduled.
    pub(super) fn was_idle(&self) -> bool {
        self.was_over() || self.pod.node.is_empty()
    }

    /// Whether the pod was Succeeded or Failed before the request.
    pub(super) fn was_over(&self) -> bool {
        self.pod.over().is_some_and(|over| self.run.before(&over.at, &self.first.at))
    }

    /// The container instances that were running at the request, without an earlier stop signal and with complete
    /// records: init containers first.
    pub(super) fn lives(&self) -> Vec<Life<'t, 'h>> {
        self.running(&self.pod.containers)
    }

    /// The container instances that began after the request.
    pub(super) fn later_lives(&self) -> Vec<Life<'t, 'h>> {
        let lives = self.pod.containers.iter().flat_map(|of| lives_of(self.run, self.pod, of));
        lives.filter(|life| self.run.before(&self.first.at, &life.began)).collect()
    }

    /// Like [`Self::lives`], for ephemeral containers. An ephemeral container that shares the processes of another
    /// container may be killed when the other container ends.
    pub(super) fn ephemeral_lives(&self) -> Vec<Life<'t, 'h>> {
        let mut lives = self.running(&self.pod.ephemeral);
        lives.retain(|life| life.container.spec.get(TARGET_CONTAINER).is_none());
        lives
    }

    fn running(&self, containers: &'t [ContainerLife<'h>]) -> Vec<Life<'t, 'h>> {
        let (run, pod, asked) = (self.run, self.pod, &self.first.at);
        let lives = containers.iter().flat_map(|container| lives_of(run, pod, container));
        // An ephemeral container has only one instance.
        let known =
            |life: &Life<'_, '_>| life.is_numbered() || life.container.kind == ContainerKind::Ephemeral;
        lives.filter(|life| known(life) && life.holes.is_empty() && was_running(life, asked)).collect()
    }

    /// Whether [`Self::lives`] may lack a container that was running: the last record of the container is incomplete,
    /// or its only process may have begun after the request, because the node was slow to start this process. Then
    /// nothing that waits for the last container to terminate can be judged.
    pub(super) fn may_lack_one(&self) -> bool {
        let lives = self.lives();
        let ran =
            |container: &ContainerLife<'_>| lives.iter().any(|life| life.container.name == container.name);
        let began_before = |last: &Attempt<'_>| self.run.before(&last.began, &self.first.at);
        let mut staying = self.pod.containers.iter().filter(|container| container.stays());
        staying.any(|container| match container.attempts.last() {
            Some(last) if !last.is_complete() => true,
            Some(last) => !began_before(last) && !ran(container),
            None if container.plan().is_none() => false,
            None => self.pod.changes_of(&container.name).any(|(_, status)| status.is_running()),
        })
    }

    /// Whether nothing ran at the request or later: each container was waiting for its restart, or for an image, a
    /// setting or a volume that it cannot get. All of them must be main containers, unless the pod lacks a volume: then
    /// none of its containers can ever run.
    pub(super) fn runs_nothing(&self) -> bool {
        let (earlier, later): (Vec<_>, Vec<_>) =
            self.pod.revisions.iter().partition(|shown| self.run.before(&shown.at, &self.first.at));
        let Some(last) = earlier.last() else { return false };
        let unmounted = lacks_volume(self.run, self.pod);
        let rests = |of: &ContainerLife<'_>| match last.container(&of.name).map(|of| of.state) {
            Some(State::Terminated { .. }) => of.plan().is_some(),
            Some(State::Waiting { reason: CRASH_LOOP }) => of.plan().is_some(),
            Some(State::Waiting { reason }) => FOR_GOOD.contains(&reason) || unmounted,
            _ => false,
        };
        let runs = |of: &ContainerLife<'_>| {
            later.iter().any(|shown| shown.container(&of.name).is_some_and(|status| status.is_running()))
        };
        let waits = |of: &ContainerLife<'_>| unmounted && of.attempts.is_empty();
        let idle =
            |of: &ContainerLife<'_>| (of.kind == ContainerKind::Main || waits(of)) && rests(of) && !runs(of);
        !self.was_idle()
            && !self.may_lack_one()
            && self.lives().is_empty()
            && self.pod.containers.iter().all(idle)
    }

    /// The instances of its main containers.
    pub(super) fn mains(&self) -> Vec<Life<'t, 'h>> {
        self.lives().into_iter().filter(|life| life.container.kind == ContainerKind::Main).collect()
    }

    /// Whether no main container was running at the request, and nothing was already being stopped, so that its sidecars do not
    /// wait. This is not known for a container that is not a target, and the hook of a container that had just ended
    /// may still run.
    pub(super) fn runs_no_main(&self) -> bool {
        let (run, pod, asked) = (self.run, self.pod, &self.first.at);
        let stops = |life: Life<'_, '_>| {
            let over = End::of(&life).is_some_and(|end| run.before(end.at(), asked));
            !over && life.stop().is_some_and(|stop| run.before(&stop.at, asked))
        };
        // Every instance of it left complete records.
        let heard = |main: &ContainerLife<'_>| {
            let last = main.attempts.last().map_or(0, |last| last.number);
            pod.changes_of(&main.name).all(|(_, status)| status.restarts <= last)
        };
        let known = |main: &ContainerLife<'_>| {
            main.plan().is_some() && main.lifecycle("preStop").is_none() && heard(main)
        };
        let mut lives = pod.containers.iter().flat_map(|of| lives_of(run, pod, of));
        self.mains().is_empty() && !self.may_lack_one() && mains(pod).all(known) && !lives.any(stops)
    }

    /// The instances that do not wait for others: those of its main containers, and of an init container that may still
    /// run.
    pub(super) fn stopped_first(&self) -> Vec<Life<'t, 'h>> {
        self.lives().into_iter().filter(|life| life.container.kind != ContainerKind::Sidecar).collect()
    }

    /// The instances of its sidecars, in the order of the spec.
    pub(super) fn sidecars(&self) -> Vec<Life<'t, 'h>> {
        self.lives().into_iter().filter(|life| life.container.kind == ContainerKind::Sidecar).collect()
    }

    /// The first revision that shows the pod as terminating.
    pub(super) fn shown(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().find(|revision| revision.terminating() && !revision.gone)
    }

    /// The revision that reports its removal.
    pub(super) fn gone(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().find(|revision| revision.gone)
    }

    /// The removal of the pod, or the end of the history if the pod was not removed.
    pub(super) fn gone_or_end(&self) -> Option<At> {
        self.gone().map(At::of).or_else(|| self.run.end_event())
    }
}

/// Whether a container has a preStop hook that may take time: a request to a closed port fails at once.
pub(super) fn has_lasting_hook(life: &Life<'_, '_>) -> bool {
    life.container.lifecycle("preStop").is_some_and(|hook| !is_refused(life.pod, hook))
}

/// Whether a container has a preStop hook.
pub(super) fn is_hooked(life: &Life<'_, '_>) -> bool {
    life.container.lifecycle("preStop").is_some()
}
