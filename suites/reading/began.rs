//! The instant at which a container instance started. Judges measure from it how soon the API shows the instance.

use probity_model::Timeline;
use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::{Interval, whole_seconds};
use probity_model::mechanisms::CUT_TO_SECONDS;
use probity_model::timeline::{At, ContainerLife, PodLife, State};

use super::absence::last_to_begin;

/// When an instance began, according to its process or else to `startedAt`, which is truncated to the second. A kubelet
/// shows nothing of a new pod before it has started all containers that it starts in one sync. For a first instance,
/// this is therefore the start of the last of these containers. None if the instant is not known, or if a hook may have
/// delayed the kubelet.
pub(crate) fn began(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    number: u64,
) -> Option<At> {
    let hooked = pod.containers.iter().any(|of| of.lifecycle("postStart").is_some());
    if hooked || run.node_was_touched() {
        return None;
    }
    let own = container.attempts.iter().find(|attempt| attempt.number == number);
    let own = own.map(|attempt| attempt.began.clone()).or_else(|| started_at(pod, container, number))?;
    if number > 0 {
        return Some(own);
    }
    let last = last_to_begin(run, pod, container)?;
    Some(if run.at_least(&own, &last) > 0 { last } else { own })
}

/// The revision that shows in which second an instance started, and that second.
fn started_at(pod: &PodLife<'_>, container: &ContainerLife<'_>, number: u64) -> Option<At> {
    pod.revisions.iter().find_map(|revision| {
        let status = revision.container(&container.name)?;
        let State::Running { started: Some(second) } = status.state else { return None };
        let second = whole_seconds(second);
        let at = Interval::new(second, second + CUT_TO_SECONDS);
        let stamp = Stamp { clock: Clock::Wall(pod.node.clone()), at };
        (status.restarts == number).then(|| At::new(revision.id, stamp))
    })
}
