//! What followed from a fault, read from the history of its case, beside what was promised.
//!
//! Times come from the target's own clock where that is possible (the change of its plan, the stop signal, the client's
//! calls), and else from the moment at which the watch told. An observation that was not possible is said to be none;
//! it never counts as a promise that was kept.

use super::faults::{Expected, Fault, Promised, Quantity, Trial};
use probity_model::clocks::Stamp;
use probity_model::history::{Did, Happening};
use probity_model::measure::{Bound, Fit, Interval, Measurement, Unit};
use probity_model::timeline::{Attempt, PodLife, Revision};
use probity_model::{EventId, History, Timeline};
use probity_script::witness::{Call, Fact};

const SECOND: i64 = 1_000_000;

/// What was seen of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed {
    /// A span of time in microseconds.
    Span(Interval),
    /// A number.
    Times(i64),
    /// It did not happen.
    Never,
    /// It cannot be said, and why.
    Unseen(String),
}

/// How an observation stands to its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// As promised.
    Kept,
    /// Nothing was promised.
    Told,
    /// Too close to an end of the promise to be sure, or not seen.
    Unsure,
    /// Otherwise.
    Broken,
}

/// A quantity of a fault: what was promised and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is expected of what.
    pub promised: Promised,
    /// What was seen.
    pub observed: Observed,
    /// How that stands to the promise.
    pub standing: Standing,
    /// The events that it rests on.
    pub events: Vec<EventId>,
}

/// What followed from a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The fault.
    pub fault: Fault,
    /// All quantities, in their order.
    pub rows: Vec<Row>,
    /// How many requests the clients sent from the fault on.
    pub requests: usize,
}

impl Outcome {
    /// Reads what followed.
    #[must_use]
    pub fn of(trial: &Trial, history: &History) -> Self {
        let run = Timeline::of(history);
        let scene = match cut_short(history) {
            Some(why) => Err(why),
            None => Scene::of(&run, trial),
        };
        let rows = trial.promised.iter().map(|promised| row(&run, scene.as_ref(), promised)).collect();
        let requests = scene.map_or(0, |scene| scene.calls.len());
        Self { fault: trial.fault, rows, requests }
    }

    /// The worst of its standings.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.rows.iter().map(|row| row.standing).max().unwrap_or(Standing::Unsure)
    }
}

/// Why a trial ended before it was over, if it did: what did not happen by then says nothing of the settings.
fn cut_short(history: &History) -> Option<String> {
    history.events().find_map(|(_, event)| match &event.what {
        Happening::Deed(deed) => match &deed.did {
            Did::Over { why } if why == "interrupted" => Some("the run was interrupted".to_owned()),
            Did::Over { why } if why != "done" => Some(format!("the trial was cut short: {why}")),
            _ => None,
        },
        _ => None,
    })
}

/// An instant with its event.
type At = (EventId, Stamp);

/// A request of the client: when it began and ended, and whether it was answered well.
struct Called {
    id: EventId,
    began: Stamp,
    ended: Stamp,
    good: bool,
}

/// What all quantities of a history have in common.
struct Scene<'t, 'h> {
    run: &'t Timeline<'h>,
    trial: &'t Trial,
    pod: &'t PodLife<'h>,
    first: &'t Attempt<'h>,
    /// When the fault began; in calm, when the pod was ready.
    onset: At,
    calls: Vec<Called>,
}

impl<'t, 'h> Scene<'t, 'h> {
    /// The scene of a trial, or why its fault was not to be seen.
    fn of(run: &'t Timeline<'h>, trial: &'t Trial) -> Result<Self, String> {
        let unheard = || "the target was not heard, or the fault did not come about".to_owned();
        let scene = Self::found(run, trial).ok_or_else(|| match run.pod("app") {
            Some(pod) if trial.fault != Fault::SlowStart && !was_ready(pod, |_| true) => never_ready(),
            _ => unheard(),
        })?;
        let before = |revision: &Revision<'h>| {
            let since = run.clocks.between(&revision.at, &scene.onset.1);
            trial.fault == Fault::Calm || since.is_some_and(|since| since.hi >= 0)
        };
        match trial.fault {
            Fault::SlowStart => Ok(scene),
            _ if was_ready(scene.pod, before) => Ok(scene),
            _ => Err(never_ready()),
        }
    }

    fn found(run: &'t Timeline<'h>, trial: &'t Trial) -> Option<Self> {
        let pod = run.pod("app")?;
        let container = pod.container(&trial.subject)?;
        let first = container.attempts.first()?;
        let began = || Some((first.began.id, first.began.stamp.clone()));
        let onset = match trial.fault {
            Fault::SlowStart => began(),
            Fault::Calm => {
                turn(pod, &trial.subject, true, |_| true).map(|revision| (revision.id, revision.at.clone()))
            }
            Fault::SlowShutdown => {
                let (id, deed) = run.deeds.iter().find(|(id, _)| Some(*id) == pod.deleted)?;
                Some((*id, Stamp::harness(deed.began_us)))
            }
            Fault::Overload => {
                let client = run.pod("client")?.container("client")?.attempts.first()?;
                Some((client.began.id, client.began.stamp.clone()))
            }
            Fault::Hang | Fault::Errors | Fault::Flapping | Fault::DependencyLoss => {
                let mut lines = first.lines.iter();
                let changed = lines.find(|line| matches!(line.line.fact, Fact::Change(_)))?;
                Some((changed.id, changed.at.clone()))
            }
        }?;
        let mut scene = Self { run, trial, pod, first, onset, calls: Vec::new() };
        scene.calls = scene.called();
        Some(scene)
    }

    /// The client's requests that ended after the onset, by their beginning. Those before the first good answer are left
    /// out: it takes a Service a moment to be in force.
    fn called(&self) -> Vec<Called> {
        let attempts = self.run.pod("client").and_then(|pod| pod.container("client"));
        let lines =
            attempts.into_iter().flat_map(|client| &client.attempts).flat_map(|attempt| &attempt.lines);
        let mut calls: Vec<Called> = lines
            .filter_map(|line| match &line.line.fact {
                Fact::Call(call) => Some(Called {
                    id: line.id,
                    began: line.at.earlier(i64::try_from(call.took_us).unwrap_or(0)),
                    ended: line.at.clone(),
                    good: answered_well(call),
                }),
                _ => None,
            })
            .collect();
        calls.sort_by_key(|call| call.began.at.lo);
        let mut calls: Vec<Called> = calls.into_iter().skip_while(|call| !call.good).collect();
        calls.retain(|call| self.after_onset(&call.ended));
        calls
    }

    fn after_onset(&self, at: &Stamp) -> bool {
        self.run.clocks.between(&self.onset.1, at).is_some_and(|span| span.hi >= 0)
    }

    /// The first time at which the subject became ready or unready after an instant.
    fn turned(&self, ready: bool, since: &Stamp) -> Option<&'t Revision<'h>> {
        turn(self.pod, &self.trial.subject, ready, |revision| {
            self.run.clocks.between(since, &revision.at).is_some_and(|span| span.lo >= 0)
        })
    }

    /// The end of the fault, or the start of the next life: what the pod recovers from.
    fn relief(&self) -> Option<At> {
        let container = self.pod.container(&self.trial.subject)?;
        if let Some(next) = container.attempts.get(1) {
            return Some((next.began.id, next.began.stamp.clone()));
        }
        let mut lines = self.first.lines.iter();
        let reset = lines.find(|line| matches!(line.line.fact, Fact::Reset(_)))?;
        Some((reset.id, reset.at.clone()))
    }
}

/// The first revision that shows a change of a container's readiness and meets a condition. The promises follow from the
/// probes of one container, and the pod's readiness from those of all.
fn turn<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &str,
    ready: bool,
    meets: impl Fn(&Revision<'h>) -> bool,
) -> Option<&'t Revision<'h>> {
    let mut last = None;
    pod.revisions.iter().find(|revision| {
        let Some(now) = revision.container(container).map(|seen| seen.ready) else { return false };
        let changed = last != Some(now);
        last = Some(now);
        changed && now == ready && meets(revision)
    })
}

/// Whether the pod was ready at a revision that meets a condition.
fn was_ready<'h>(pod: &PodLife<'h>, meets: impl Fn(&Revision<'h>) -> bool) -> bool {
    pod.revisions.iter().any(|revision| revision.is("Ready") == Some(true) && meets(revision))
}

fn never_ready() -> String {
    "the pod did not become ready, so the fault could not be tried".to_owned()
}

fn answered_well(call: &Call) -> bool {
    call.status.is_some_and(|status| status < 400)
}

fn row(run: &Timeline<'_>, scene: Result<&Scene<'_, '_>, &String>, promised: &Promised) -> Row {
    let (mut observed, events) = match scene {
        Ok(scene) => observe(scene, promised.quantity),
        Err(why) => (Observed::Unseen(why.clone()), Vec::new()),
    };
    let blind = run.gaps.iter().any(|(_, gap)| gap.to_us - gap.from_us > SECOND);
    if observed == Observed::Never && blind {
        observed =
            Observed::Unseen("something may have been missed: there is a gap in the history".to_owned());
    }
    let standing = stands(run, scene.ok(), promised, &observed, &events);
    Row { promised: promised.clone(), observed, standing, events }
}

/// What was seen of a quantity, with the events at its ends.
fn observe(scene: &Scene<'_, '_>, quantity: Quantity) -> (Observed, Vec<EventId>) {
    let span = |from: &At, to: Option<(EventId, &Stamp)>| match to {
        None => (Observed::Never, vec![from.0]),
        Some((id, at)) => match scene.run.clocks.between(&from.1, at) {
            Some(span) => (Observed::Span(span), vec![from.0, id]),
            None => (Observed::Unseen("the clocks cannot be compared".to_owned()), vec![from.0, id]),
        },
    };
    let began = (scene.first.began.id, scene.first.began.stamp.clone());
    match quantity {
        Quantity::Ready => {
            let ready = turn(scene.pod, &scene.trial.subject, true, |_| true);
            span(&began, ready.map(|revision| (revision.id, &revision.at)))
        }
        Quantity::Unready => {
            let unready = scene.turned(false, &scene.onset.1);
            span(&scene.onset, unready.map(|revision| (revision.id, &revision.at)))
        }
        Quantity::Killed => {
            let signal = scene.first.stop_signal().filter(|(_, at)| scene.after_onset(at));
            span(&scene.onset, signal)
        }
        Quantity::ReadyAgain => match scene.relief() {
            None => (Observed::Never, vec![scene.onset.0]),
            Some(relief) => {
                let again = scene.turned(true, &relief.1);
                span(&relief, again.map(|revision| (revision.id, &revision.at)))
            }
        },
        Quantity::Stopped => {
            let ended = scene.first.ended.as_ref().map(|ended| (ended.id, &ended.stamp));
            let exiting = scene.first.lines.iter().find(|line| matches!(line.line.fact, Fact::Exiting(_)));
            span(&scene.onset, exiting.map(|line| (line.id, &line.at)).or(ended))
        }
        Quantity::Restarts => match scene.pod.restarts(&scene.trial.subject) {
            Some((id, times)) => (Observed::Times(i64::try_from(times).unwrap_or(i64::MAX)), vec![id]),
            None => (Observed::Unseen("the container's status was not seen".to_owned()), Vec::new()),
        },
        Quantity::Downtime => downtime(scene),
        Quantity::Lost => {
            let bad: Vec<EventId> =
                scene.calls.iter().filter(|call| !call.good).map(|call| call.id).collect();
            if scene.calls.is_empty() {
                return (Observed::Unseen("no request of the clients was seen".to_owned()), Vec::new());
            }
            (Observed::Times(i64::try_from(bad.len()).unwrap_or(i64::MAX)), bad.into_iter().take(4).collect())
        }
    }
}

/// The time from the first request that failed to the first that was answered well again, for all such times.
fn downtime(scene: &Scene<'_, '_>) -> (Observed, Vec<EventId>) {
    let Some(last) = scene.calls.iter().max_by_key(|call| call.ended.at.hi) else {
        return (Observed::Unseen("no request of the clients was seen".to_owned()), Vec::new());
    };
    let (mut total, mut since, mut events) = (0, None, Vec::new());
    for call in &scene.calls {
        match (call.good, since) {
            (false, None) => {
                since = Some(call.began.at.lo);
                events.push(call.id);
            }
            (true, Some(from)) => {
                total += call.began.at.lo - from;
                since = None;
                events.push(call.id);
            }
            _ => {}
        }
    }
    if let Some(from) = since {
        total += last.ended.at.hi - from;
    }
    events.truncate(4);
    if total == 0 { (Observed::Never, events) } else { (Observed::Span(Interval::point(total)), events) }
}

/// How an observation stands to its promise.
fn stands(
    run: &Timeline<'_>,
    scene: Option<&Scene<'_, '_>>,
    promised: &Promised,
    observed: &Observed,
    events: &[EventId],
) -> Standing {
    let kept = |kept: bool| if kept { Standing::Kept } else { Standing::Broken };
    match (&promised.expected, observed) {
        (Expected::Unsaid(_), _) => Standing::Told,
        (_, Observed::Unseen(_)) => Standing::Unsure,
        (Expected::Times(wanted, _), Observed::Times(times)) => kept(wanted == times),
        (Expected::Times(wanted, _), Observed::Never) => kept(*wanted == 0),
        (Expected::Never(_), Observed::Times(times)) => kept(*times == 0),
        (Expected::Never(_), observed) => kept(*observed == Observed::Never),
        (Expected::Within(_), Observed::Never | Observed::Times(_))
        | (Expected::Times(..), Observed::Span(_)) => Standing::Broken,
        (Expected::Within(promise), Observed::Span(span)) => {
            let held_up = scene.map_or(0, |scene| {
                let to = Stamp { clock: scene.onset.1.clock.clone(), at: scene.onset.1.at.plus(*span) };
                run.noise_between(&scene.pod.node, &scene.onset.1, &to)
            });
            let measured = Measurement {
                quantity: promised.quantity.words().to_owned(),
                unit: Unit::Us,
                observed: *span,
                bound: Bound::at_most(promise.span.hi + promised.late, "")
                    .and_at_least(promise.span.lo - promised.early, ""),
                noise: held_up,
                events: events.to_vec(),
            };
            match measured.fit() {
                Fit::Met => Standing::Kept,
                Fit::Missed => Standing::Broken,
                Fit::Undecided => Standing::Unsure,
            }
        }
    }
}
