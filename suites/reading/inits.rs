//! The initialization of a pod: which of its init containers succeeded and when, as recorded by their processes.

use probity_model::clocks::Order;
use probity_model::timeline::{
    At, Attempt, ContainerKind, ContainerLife, Life, Line, PodLife, ProbeKind, Revision,
};
use probity_model::{EventId, Timeline};

use super::ends::End;
use super::mains::{is_plain, is_plain_but_for_kubelets, is_recorded, lives_of};

/// The regular init containers, in the order of the spec.
pub(crate) fn inits<'t, 'h>(pod: &'t PodLife<'h>) -> impl Iterator<Item = &'t ContainerLife<'h>> {
    pod.containers.iter().filter(|container| container.kind == ContainerKind::Init)
}

/// The life of an init container that exited by itself with status 0, and the line that records this exit.
pub(crate) fn success<'t, 'h>(container: &'t ContainerLife<'h>) -> Option<(&'t Attempt<'h>, &'t Line<'h>)> {
    container.attempts.iter().find_map(|attempt| {
        let (line, code) = attempt.exited_by_itself()?;
        (code == 0).then_some((attempt, line))
    })
}

/// When the process of an init container that succeeded had ended.
pub(crate) fn end_of_success(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
) -> Option<At> {
    let (attempt, _) = success(container)?;
    Some(End::of(&Life { run, pod, container, attempt })?.at().clone())
}

/// The pods with init containers or sidecars in which only the containers and their policy decide what is started next: no
/// hook delays the kubelet.
pub(crate) fn plain_pods<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    run.pods.iter().filter(move |pod| is_staged(pod) && is_plain(run, pod))
}

/// Like [`plain_pods`], but kubelets may have been restarted: what is started next stays the same, but may come later.
pub(crate) fn ordered_pods<'t, 'h>(run: &'t Timeline<'h>) -> impl Iterator<Item = &'t PodLife<'h>> {
    run.pods.iter().filter(move |pod| is_staged(pod) && is_plain_but_for_kubelets(run, pod))
}

/// Whether a pod has init containers or sidecars, and no hook that delays the start of the next container.
fn is_staged(pod: &PodLife<'_>) -> bool {
    let staged = pod.containers.iter().any(|of| of.kind != ContainerKind::Main);
    staged && !pod.containers.iter().any(|of| of.lifecycle("postStart").is_some())
}

/// Whether a revision shows that a container was created.
pub(crate) fn was_made(pod: &PodLife<'_>, container: &ContainerLife<'_>) -> bool {
    let made = |shown: &Revision<'_>| {
        shown.container(&container.name).is_some_and(|status| !status.id.is_empty() || status.restarts > 0)
    };
    pod.revisions.iter().any(made)
}

/// The time in which a pod was initializing, according to its init containers.
pub(crate) struct Initializing<'t, 'h> {
    /// The first line of the first init container.
    pub(crate) began: &'t At,
    /// The line that records the exit of the last init container; none if an init container never succeeded.
    pub(crate) done: Option<&'t Line<'h>>,
}

/// When a pod was initializing. None if it has no init containers, or if their records are incomplete.
pub(crate) fn initializing<'t, 'h>(run: &Timeline<'h>, pod: &'t PodLife<'h>) -> Option<Initializing<'t, 'h>> {
    let first = inits(pod).next()?.attempts.first()?;
    let known = |of: &ContainerLife<'_>| match of.attempts.is_empty() {
        // Init containers after one that never succeeded were never created.
        true => of.plan().is_some() && !was_made(pod, of),
        false => is_recorded(of),
    };
    if !inits(pod).all(known) {
        return None;
    }
    let lines: Option<Vec<&Line<'_>>> = inits(pod).map(|of| success(of).map(|(_, line)| line)).collect();
    let later = |one: &'t Line<'h>, other: &'t Line<'h>| {
        if run.clocks.order(&one.at, &other.at) == Order::Before { other } else { one }
    };
    let done = lines.and_then(|lines| lines.into_iter().reduce(later));
    Some(Initializing { began: &first.began, done })
}

impl Initializing<'_, '_> {
    /// Whether a revision arrived before the last init container had succeeded.
    pub(crate) fn covers(&self, run: &Timeline<'_>, revision: &Revision<'_>) -> bool {
        self.done.is_none_or(|done| run.clocks.order(&revision.at, &done.at) == Order::Before)
    }
}

/// When a sidecar counts as started: at the first success of its startup probe, in any instance, or, without such a
/// probe, as soon as it runs.
pub(crate) fn start_of_sidecar(container: &ContainerLife<'_>) -> Option<At> {
    if container.probe(ProbeKind::Startup).is_none() {
        return Some(container.attempts.first()?.began.clone());
    }
    let success = container.attempts.iter().find_map(|attempt| attempt.first_success(ProbeKind::Startup))?;
    success.settled.clone()
}

/// When the main containers of a pod had nothing more to wait for: each init container had succeeded and each sidecar
/// had started. None if this instant is not known, or if the pod was deleted or one of its containers was stopped
/// during the time `within` after it.
pub(crate) fn all_helped(run: &Timeline<'_>, pod: &PodLife<'_>, within: i64) -> Option<At> {
    let mut done = match inits(pod).next() {
        Some(_) => Some(At::of(initializing(run, pod)?.done?)),
        None => None,
    };
    let sidecars = pod.containers.iter().filter(|of| of.kind == ContainerKind::Sidecar);
    for sidecar in sidecars {
        let known = is_recorded(sidecar) && sidecar.attempts.len() == 1;
        let start = start_of_sidecar(sidecar).filter(|_| known)?;
        done = Some(done.filter(|done| run.before(&start, done)).unwrap_or(start));
    }
    let done = done?;
    let by = done.later(within);
    let soon = |line: &Line<'_>| run.before(&done, &line.at) && !run.before(&by, &line.at);
    let disturbed = pod.containers.iter().any(|of| {
        let ended =
            |attempt: &Attempt<'_>| of.kind == ContainerKind::Sidecar && attempt.end().is_some_and(soon);
        of.attempts.iter().any(|attempt| attempt.stop().is_some_and(soon) || ended(attempt))
    });
    (!disturbed && run.before_deletion(pod, &by)).then_some(done)
}

/// The first instance that gets a stop signal or begins after an event of the harness, before the pod is deleted.
pub(crate) fn touched_after(run: &Timeline<'_>, pod: &PodLife<'_>, id: EventId) -> Option<(String, EventId)> {
    let since = run.heard(id);
    let after = |at: &At| run.clocks.order(&since, at) == Order::Before && run.before_deletion(pod, at);
    let lives = pod.containers.iter().flat_map(|container| lives_of(run, pod, container));
    lives.into_iter().find_map(|life| {
        let stopped = life
            .stop()
            .map(At::of)
            .filter(|stop| after(stop))
            .map(|stop| ("received a stop signal", stop.id));
        let began = Some(&life.began)
            // A process may not get a CPU until some time after its container is shown as running.
            .filter(|began| life.earlier_processes() > 0 && life.is_numbered() && after(began))
            .map(|began| ("was started again", began.id));
        let (what, event) = stopped.or(began)?;
        Some((format!("{} {what}", life.name()), event))
    })
}
