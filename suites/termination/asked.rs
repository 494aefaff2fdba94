//! Pods that the harness asked the API server to delete: when, with which grace period, and which of their containers ran then.

use probity_model::history::{Did, Source};
use probity_model::measure::{Interval, whole_seconds};
use probity_model::timeline::{At, ContainerKind, Life, PodLife, Revision};
use probity_model::{EventId, Stamp, Timeline};

use crate::reading::ends::End;

/// A request to delete a pod.
pub(super) struct DeleteRequest {
    /// Its event, and the time from its sending to its answer: the API server took it in between.
    pub(super) at: At,
    /// The grace period that it asks for.
    pub(super) grace: Option<i64>,
}

/// A pod that was asked to go.
pub(super) struct Going<'t, 'h> {
    /// The history.
    pub(super) run: &'t Timeline<'h>,
    /// The pod.
    pub(super) pod: &'t PodLife<'h>,
    /// The first request.
    pub(super) first: DeleteRequest,
    /// Those that followed.
    pub(super) again: Vec<DeleteRequest>,
}

/// All pods that were asked to go, where no node was touched.
pub(super) fn going<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Going<'t, 'h>> {
    if run.node_was_touched() {
        return Vec::new();
    }
    let of_pod = |pod: &'t PodLife<'h>| {
        let mut requests = requests(run, pod).into_iter();
        let first = requests.next()?;
        Some(Going { run, pod, first, again: requests.collect() })
    };
    run.pods.iter().filter_map(of_pod).collect()
}

/// The requests to delete a pod. Another pod may have its name later.
fn requests(run: &Timeline<'_>, pod: &PodLife<'_>) -> Vec<DeleteRequest> {
    let made = |pod: &PodLife<'_>| pod.created.map(|(id, _)| id);
    let Some(from) = made(pod) else { return Vec::new() };
    let next = run.pods.iter().filter(|other| other.name == pod.name).filter_map(made);
    let until = next.filter(|id| *id > from).min();
    let own = |id: EventId| id > from && until.is_none_or(|until| id < until);
    let of_pod = run.deeds.iter().filter(|(id, _)| own(*id)).filter_map(|(id, deed)| match &deed.did {
        Did::Deleted { kind, name, grace } if kind == "Pod" && *name == pod.name => {
            let grace = grace.and_then(|grace| i64::try_from(grace).ok()).map(whole_seconds);
            Some(DeleteRequest { at: done(run, *id), grace })
        }
        _ => None,
    });
    of_pod.collect()
}

/// A deed with the time that it took.
pub(super) fn done(run: &Timeline<'_>, id: EventId) -> At {
    let heard = run.heard(id);
    let began = run.deeds.iter().find(|(deed, _)| *deed == id).map_or(heard.at.lo, |(_, deed)| deed.began_us);
    let at = Interval::new(began, heard.at.hi);
    At::new(id, Stamp { clock: heard.clock, at })
}

impl<'t, 'h> Going<'t, 'h> {
    /// The grace period that counts: the request's, or the pod's own.
    pub(super) fn grace(&self) -> i64 {
        self.first.grace.unwrap_or_else(|| self.pod.grace())
    }

    /// Whether it was asked once, with a grace period, while it ran on a node.
    pub(super) fn is_graceful(&self) -> bool {
        self.grace() > 0 && self.again.is_empty() && !self.was_idle()
    }

    /// Whether it was over, or never came to a node.
    pub(super) fn was_idle(&self) -> bool {
        self.was_over() || self.pod.node.is_empty()
    }

    /// Whether it was Succeeded or Failed before the request.
    pub(super) fn was_over(&self) -> bool {
        self.pod.over().is_some_and(|over| self.run.before(&over.at, &self.first.at))
    }

    /// The lives of its containers that ran when it was asked to go and had not been told to stop before, as far as all of
    /// their lines are there: init containers first.
    pub(super) fn lives(&self) -> Vec<Life<'t, 'h>> {
        let (run, pod, asked) = (self.run, self.pod, &self.first.at);
        let staying = pod.containers.iter().filter(|container| container.stays());
        let lives = staying.flat_map(|container| {
            container.attempts.iter().map(move |attempt| Life { run, pod, container, attempt })
        });
        let ran = |life: &Life<'_, '_>| {
            let told = life.stop().is_some_and(|stop| run.before(&stop.at, asked));
            let over = End::of(life).is_some_and(|end| run.before(&end.earliest, asked));
            run.before(&life.began, asked) && !told && !over
        };
        lives.filter(|life| life.is_numbered() && life.holes.is_empty() && ran(life)).collect()
    }

    /// Whether a target was shown to run of whose last life lines are missing.
    pub(super) fn lacks_lines(&self) -> bool {
        let staying =
            self.pod.containers.iter().filter(|container| container.stays() && container.plan().is_some());
        let mut lacking = staying.filter(|container| {
            let last = container.attempts.last();
            let whole = last.is_some_and(|last| last.is_numbered() && last.holes.is_empty());
            !whole && self.pod.changes_of(&container.name).any(|(_, status)| status.is_running())
        });
        lacking.next().is_some()
    }

    /// Those of its main containers.
    pub(super) fn mains(&self) -> Vec<Life<'t, 'h>> {
        self.lives().into_iter().filter(|life| life.container.kind == ContainerKind::Main).collect()
    }

    /// Those of its sidecars, in the order of their definition.
    pub(super) fn sidecars(&self) -> Vec<Life<'t, 'h>> {
        self.lives().into_iter().filter(|life| life.container.kind == ContainerKind::Sidecar).collect()
    }

    /// The first revision that shows that it goes.
    pub(super) fn shown(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().find(|revision| revision.terminating() && !revision.gone)
    }

    /// The revision by which it was removed.
    pub(super) fn gone(&self) -> Option<&'t Revision<'h>> {
        self.pod.revisions.iter().find(|revision| revision.gone)
    }

    /// Its removal, or the end of the history if it was not removed.
    pub(super) fn gone_or_end(&self) -> Option<At> {
        self.gone().map(At::of).or_else(|| end(self.run))
    }
}

/// The end of the history.
pub(super) fn end(run: &Timeline<'_>) -> Option<At> {
    Some(At::new(run.last_event()?, run.end()))
}

/// How long a process was alive at least: the last that was heard of it, or the end of the history if it never ended.
pub(super) fn alive_until(life: &Life<'_, '_>) -> Option<At> {
    let run = life.run;
    let deaf = |of: &Source| !matches!(of, Source::Watch(_));
    match End::of(life) {
        Some(end) => Some(end.earliest),
        None if run.gaps.iter().any(|(_, gap)| deaf(&gap.of)) => None,
        None => end(run),
    }
}

/// The end of a process that was killed, whatever is shown of it: whoever exits says so before.
pub(super) fn killed_at<'t>(life: &Life<'t, '_>) -> Option<&'t At> {
    let silent = life.exiting().is_none() && life.holes.is_empty();
    life.attempt.ended.as_ref().filter(|_| silent)
}

/// Whether a container has a hook before its stop.
pub(super) fn is_hooked(life: &Life<'_, '_>) -> bool {
    life.container.lifecycle("preStop").is_some()
}
