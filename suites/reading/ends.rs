//! How a container instance ended: what its process recorded, and what the API shows.
//!
//! The target's record is authoritative: it records its exit status before it exits, and its connection closes
//! immediately when it is killed. The reports of a kubelet are compared with this record, and never used in its place.

use probity_model::Timeline;
use probity_model::clocks::{Clock, Stamp};
use probity_model::measure::Interval;
use probity_model::mechanisms::{LEAST_GRACE, NEAR};
use probity_model::timeline::{At, Attempt, ContainerLife, ContainerSeen, Life, PodLife, Revision, State};
use probity_script::witness::{Entry, Fact};

use probity_model::history::{Happening, Source};

use super::lost_signals::stopped_from;
use super::statuses::ended_id;
use super::termination::KILLED;

/// The end of an instance, as the records of its process and its connection show it.
pub(crate) struct End {
    /// The earliest possible end: the last record of the process.
    pub(crate) earliest: At,
    /// The latest possible end: the connection of the process was closed. None if this was not recorded.
    pub(crate) latest: Option<At>,
    /// The exit status, if the records of the process or the way in which it ended show it.
    pub(crate) code: Option<i64>,
}

impl End {
    /// The end of a life. None if the life is not known to have ended.
    pub(crate) fn of(life: &Life<'_, '_>) -> Option<Self> {
        let latest = life.ended.clone().filter(|gone| life.last_line().is_none_or(|last| last.id < gone.id));
        if let Some(line) = life.exiting() {
            let Fact::Exiting(exiting) = &line.line.fact else { return None };
            return Some(Self { earliest: At::of(line), latest, code: Some(i64::from(exiting.code)) });
        }
        let gone = latest?;
        let earliest = At::new(gone.id, last_word(life, &gone)?);
        // A process that exits records this. If there is no such record, and no line is missing, it was killed.
        let code = life.holes.is_empty().then_some(KILLED);
        Some(Self { earliest, latest: Some(gone), code })
    }

    /// The instant by which it had certainly ended or, if that is not known, the earliest possible end.
    pub(crate) fn at(&self) -> &At {
        self.latest.as_ref().unwrap_or(&self.earliest)
    }

    /// The time from which others no longer wait for this instance: the exit that it recorded or, without such a
    /// record, its certain end.
    pub(crate) fn over_at(&self, life: &Life<'_, '_>) -> &At {
        if life.exiting().is_some() { &self.earliest } else { self.at() }
    }

    /// Whether it was killed: a process that exits by itself records this, with any exit status.
    pub(crate) fn was_killed(&self, life: &Life<'_, '_>) -> bool {
        life.exiting().is_none() && self.code == Some(KILLED)
    }
}

/// The end of a process that was killed, if the recorder saw its connection close after its last line.
pub(crate) fn heard_kill(life: &Life<'_, '_>) -> Option<At> {
    End::of(life).filter(|end| end.was_killed(life))?.latest
}

/// The end of a killed process, whatever the status shows. (A process that exits by itself records its exit.)
pub(crate) fn killed_at<'t>(life: &Life<'t, '_>) -> Option<&'t At> {
    let silent = life.exiting().is_none() && life.holes.is_empty();
    life.attempt.ended.as_ref().filter(|_| silent)
}

/// Whether a stall before a kill lasted for the shortest grace period, so that the process may have been killed before it
/// could record its stop signal.
pub(crate) fn may_be_unrecorded(life: &Life<'_, '_>, killed: &At) -> bool {
    life.run.stalled_at(&killed.stamp) >= LEAST_GRACE - NEAR
}

/// The last time that the recorder heard from an instance before its connection was closed, on its node's clock.
fn last_word(life: &Life<'_, '_>, gone: &At) -> Option<Stamp> {
    let told = match &life.run.history.get(gone.id)?.what {
        Happening::Witness(heard) => match &heard.entry {
            Entry::Left { last_mono_us, .. } => i64::try_from(*last_mono_us).ok(),
            _ => None,
        },
        _ => None,
    };
    let line = life.last_line()?;
    Some(told.map_or_else(
        || line.at.clone(),
        |us| Stamp { at: Interval::point(us.max(line.at.at.lo)), ..line.at.clone() },
    ))
}

/// Whether an instance was running at an instant, without an earlier stop signal.
pub(crate) fn was_running(life: &Life<'_, '_>, at: &Stamp) -> bool {
    let stopped = life.stop().is_some_and(|stop| life.run.before(&stop.at, at));
    let over = End::of(life).is_some_and(|end| life.run.before(&end.earliest, at));
    life.run.before(&life.began, at) && !stopped && !over
}

/// The latest time at which a process was certainly alive: its last record, or the end of the history if it never
/// terminated.
pub(crate) fn alive_until(life: &Life<'_, '_>) -> Option<At> {
    let run = life.run;
    let deaf = |of: &Source| !matches!(of, Source::Watch(_));
    match End::of(life) {
        Some(end) => Some(end.earliest),
        None if run.gaps.iter().any(|(_, gap)| deaf(&gap.of)) => None,
        None => run.end_event(),
    }
}

/// Whether the target recorded at the stop signal that its ports stay open, and the ports did stay open.
pub(crate) fn keeps_serving(attempt: &Attempt<'_>) -> bool {
    let said = attempt
        .signals()
        .next()
        .is_some_and(|(_, _, signal)| signal.answer == "ignore" || signal.answer.starts_with("serve"));
    let closed = attempt
        .lines
        .iter()
        .any(|line| matches!(&line.line.fact, Fact::Listening(listening) if listening.state != "open"));
    said && !closed
}

/// The revisions that show the end of an instance, each with the state that shows it: `state`, or `lastState` once the container
/// waits or runs again. The state of another instance, according to its container ID, is left out: the kubelet may show an
/// earlier instance with the current restart count when it has removed the record of the last one
/// (docs/findings/deleted-pod-shows-an-earlier-instance.md).
pub(crate) fn shown_ends<'t, 'h>(
    life: &Life<'t, 'h>,
) -> impl Iterator<Item = (&'t Revision<'h>, State<'h>)> + use<'t, 'h> {
    let (pod, container, number) = (life.pod, life.container, life.number);
    let ran_as = life.revisions().find(|(_, seen)| seen.is_running()).map(|(_, seen)| seen.id);
    pod.revisions.iter().filter_map(move |revision| {
        let seen = revision.container(&container.name)?;
        let ended = |state: &State<'_>| matches!(state, State::Terminated { .. });
        let waits = matches!(seen.state, State::Waiting { .. });
        let (place, of) = match () {
            () if seen.restarts == number && ended(&seen.state) => ("state", seen.state),
            () if seen.restarts == number && waits && ended(&seen.last) => ("lastState", seen.last),
            () if seen.restarts == number + 1 && !waits && ended(&seen.last) => {
                if is_of_itself(pod, &container.name, revision, &seen) {
                    return None;
                }
                ("lastState", seen.last)
            }
            () => return None,
        };
        let id = ended_id(revision, &container.name, place);
        let of_another = id.zip(ran_as).is_some_and(|(id, ran)| id != ran);
        (!of_another).then_some((revision, of))
    })
}

/// Whether the status of a pod that is being deleted shows an earlier instance of a container as the last one
/// (docs/findings/deleted-pod-shows-an-earlier-instance.md). The phase then follows from the wrong exit status.
pub(crate) fn shows_an_earlier_instance(pod: &PodLife<'_>) -> bool {
    pod.containers.iter().any(|of| {
        let mut known: Vec<&str> = Vec::new();
        pod.revisions.iter().any(|shown| {
            let Some(status) = shown.container(&of.name) else { return false };
            for id in ended_id(shown, &of.name, "lastState").into_iter().chain([status.id]) {
                if !id.is_empty() && !known.contains(&id) {
                    known.push(id);
                }
            }
            let ended = ended_id(shown, &of.name, "state");
            shown.terminating() && ended.is_some_and(|ended| known.last().is_some_and(|last| *last != ended))
        })
    })
}

/// Whether `state` and `lastState` show the same termination, which happens if a pod is deleted while its container waits for
/// its restart.
fn is_of_itself(pod: &PodLife<'_>, name: &str, shown: &Revision<'_>, seen: &ContainerSeen<'_>) -> bool {
    let waited = |earlier: &Revision<'_>| {
        earlier.container(name).is_some_and(|was| {
            let same = was.restarts == seen.restarts && was.last == seen.last;
            same && matches!(was.state, State::Waiting { .. })
        })
    };
    seen.state == seen.last && pod.revisions.iter().any(|earlier| earlier.id < shown.id && waited(earlier))
}

/// A second that the API shows, on the clock of the pod's node.
pub(crate) fn second(life: &Life<'_, '_>, revision: &Revision<'_>, second: i64) -> At {
    At::new(revision.id, Stamp::wall_second(&life.pod.node, second))
}

/// Whether the wall clock of a pod's node can be compared with the others.
pub(crate) fn has_wall_clock(life: &Life<'_, '_>) -> bool {
    let zero = Stamp { clock: Clock::Wall(life.pod.node.clone()), at: Interval::point(0) };
    life.run.clocks.on_harness(&zero).is_some()
}

/// Whether nothing else in the pod can delay the kubelet's work on this container and its status: there is no postStart
/// hook, and no other container got a stop signal.
pub(crate) fn is_undivided(life: &Life<'_, '_>) -> bool {
    !may_be_busy(life.run, life.pod, Some(&life.container.name))
}

/// Whether the kubelet may be busy with a pod for a long time: with a postStart hook, or with the end of a container
/// that got a stop signal. The container named in `except` is not considered.
pub(crate) fn may_be_busy(run: &Timeline<'_>, pod: &PodLife<'_>, except: Option<&str>) -> bool {
    let stops = |container: &ContainerLife<'_>| {
        let mut lives = container.attempts.iter().map(|attempt| Life { run, pod, container, attempt });
        lives.any(|life| stopped_from(&life).is_some())
    };
    let mut others = pod.containers.iter().filter(|other| Some(other.name.as_str()) != except);
    pod.containers.iter().any(|of| of.lifecycle("postStart").is_some()) || others.any(stops)
}
