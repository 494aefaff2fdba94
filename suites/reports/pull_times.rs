//! How long the pulls for a pod took, as far as events and statuses show it.
//!
//! A pull may be queued behind the pulls of other pods, and a registry or its mirror may answer late. A kubelet handles the
//! containers of a pod one after another, so nothing that follows a pull is due before this pull has ended.

use probity_model::mechanisms::TWO_WATCHES;
use probity_model::timeline::{KubeEvent, PodLife, Revision, State};
use probity_model::{Stamp, Timeline};

use super::tally::Tally;
use crate::reading::statuses::of_kubelet;

/// The reason of the event about the start of a pull, in the reference implementation of Kubernetes.
pub(super) const PULLING: &str = "Pulling";
/// The reason of the event about a failed pull, in the reference implementation of Kubernetes. Later events about the wait
/// for the next pull also have it; each of them follows a `BackOff` event.
const FAILED: &str = "Failed";
/// The reason of the event about a pull that succeeded, in the reference implementation of Kubernetes.
pub(super) const PULLED: &str = "Pulled";
/// The reason of the event about the wait for the next pull, in the reference implementation of Kubernetes.
const WAITING: &str = "BackOff";
/// The waiting reason between a failed pull and the next pull, according to the Kubernetes documentation.
const BACK_OFF: &str = "ImagePullBackOff";
/// The waiting reasons of a container whose image could not be pulled, in the reference implementation of Kubernetes. Some
/// runtimes report that the registry does not answer, or that the signature of the image could not be checked.
pub(super) const FAILED_PULL: [&str; 4] =
    ["ErrImagePull", BACK_OFF, "RegistryUnavailable", "SignatureValidationFailed"];

/// The pulls for the containers of one pod.
pub(super) struct Pulls<'t, 'h> {
    run: &'t Timeline<'h>,
    pod: &'t PodLife<'h>,
    /// The events of the pod.
    pub(super) tally: Tally<'t, 'h>,
}

impl<'t, 'h> Pulls<'t, 'h> {
    pub(super) fn of(run: &'t Timeline<'h>, pod: &'t PodLife<'h>) -> Self {
        Self { run, pod, tally: Tally::of(run, pod) }
    }

    /// The first event about the same container as a Pulling event that follows it, or that arrived at the same instant, and
    /// that has one of these reasons.
    fn first_after(&self, pulling: &KubeEvent<'_>, reasons: &[&str]) -> Option<&'t KubeEvent<'h>> {
        let follows = |event: &KubeEvent<'_>| {
            let at_once = event.reason != PULLING && !self.run.before(&event.at, &pulling.at);
            event.container == pulling.container && (event.id > pulling.id || at_once)
        };
        let mut events = self.tally.iter().map(|(event, _)| event);
        events.find(|event| follows(event) && !event.is_combined() && reasons.contains(&event.reason))
    }

    /// The event that begins the next pull for the same container.
    fn next(&self, pulling: &KubeEvent<'_>) -> Option<&'t KubeEvent<'h>> {
        self.first_after(pulling, &[PULLING])
    }

    /// The first event that is recorded after the end of a pull.
    fn first_after_end(&self, pulling: &KubeEvent<'_>) -> Option<&'t KubeEvent<'h>> {
        self.first_after(pulling, &[FAILED, PULLED, WAITING, PULLING])
    }

    /// The event that reports the end of a pull. A kubelet sends its events in order, so if the first event
    /// after the end is about the wait for the next pull, or about the next pull, this pull has no such event.
    pub(super) fn answer(&self, pulling: &KubeEvent<'_>) -> Option<&'t KubeEvent<'h>> {
        self.first_after_end(pulling).filter(|event| [FAILED, PULLED].contains(&event.reason))
    }

    /// The status that begins to show that a pull failed.
    pub(super) fn shown(&self, pulling: &KubeEvent<'_>) -> Option<&'t Revision<'h>> {
        let name = pulling.container?;
        let from = pulling.at.earlier(TWO_WATCHES);
        let until = self.next(pulling).map(|next| next.at.earlier(TWO_WATCHES));
        let mut last = "";
        for shown in of_kubelet(self.pod) {
            let Some(status) = shown.container(name) else { continue };
            let reason = match status.state {
                State::Waiting { reason } => reason,
                _ => "",
            };
            let failed_before = FAILED_PULL.contains(&last);
            let fails =
                FAILED_PULL.contains(&reason) && (!failed_before || (last == BACK_OFF && reason != BACK_OFF));
            last = reason;
            let in_time = !self.run.before(&shown.at, &from)
                && until.as_ref().is_none_or(|until| self.run.before(&shown.at, until));
            if fails && in_time {
                return Some(shown);
            }
        }
        None
    }

    /// The time by which a pull had certainly ended. None if nothing shows its end.
    fn ended(&self, pulling: &KubeEvent<'_>) -> Option<&'t Stamp> {
        let answered = self.answer(pulling).map(|event| &event.at);
        let shown = || self.shown(pulling).map(|shown| &shown.at);
        answered.or_else(shown).or_else(|| self.first_after_end(pulling).map(|event| &event.at))
    }

    /// How long the pulls that count took together, in microseconds. None if nothing shows the end of one of them.
    fn time_of(&self, counts: impl Fn(&KubeEvent<'h>) -> bool) -> Option<i64> {
        let events = self.tally.iter().map(|(event, _)| event);
        let pulls = events.filter(|event| event.reason == PULLING && counts(event));
        let took = |pulling: &KubeEvent<'h>| {
            let ended = self.ended(pulling)?;
            Some(self.run.clocks.between(&pulling.at, ended)?.hi.max(0))
        };
        pulls.map(took).sum()
    }

    /// How long pulls for the pod delayed something that is due within this slack after an instant. None if such a pull had
    /// not ended.
    pub(super) fn delay(&self, from: &Stamp, slack: i64) -> Option<i64> {
        let mut delay = 0;
        loop {
            let due = from.later(slack.saturating_add(delay));
            let counts = |pulling: &KubeEvent<'h>| {
                let begun = !self.run.before(&due, &pulling.at);
                begun && self.ended(pulling).is_none_or(|ended| !self.run.before(ended, from))
            };
            // More pulls may have begun during the delay.
            let longer = self.time_of(counts)?;
            if longer <= delay {
                return Some(delay);
            }
            delay = longer;
        }
    }

    /// How long the pulls for other containers of the pod took that began after this pull and by an instant. None if such a
    /// pull had not ended.
    pub(super) fn time_of_others(&self, pulling: &KubeEvent<'_>, until: &Stamp) -> Option<i64> {
        self.time_of(|other| {
            let later = other.id > pulling.id && !self.run.before(until, &other.at);
            later && other.container != pulling.container
        })
    }
}
