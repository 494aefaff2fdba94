//! The result of a fault, read from the history of its case, with the promises.
//!
//! If possible, times come from the target's own clock: the change of its plan, the stop signal, the client's calls.
//! Otherwise, times are the moments at which the watch reported a change. If an observation was not possible, its
//! promise never counts as kept.

use probity_model::history::{Did, Happening};
use probity_model::measure::{Blur, Fit, Interval, Measurement, Unit};
use probity_model::stamp::counted;
use probity_model::timeline::{At, Attempt, Line, PodLife, Revision};
use probity_model::{EventId, History, Stamp, Timeline};
use probity_script::witness::Fact;

use crate::faults::{Fault, Promised, Quantity, Trial};
use crate::promise::{NEVER, SECOND};

/// A quantity of a fault: the promise and the observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The quantity, and what the settings promise for it.
    pub promised: Promised,
    /// The observed value ([`NEVER`] if the event did not happen), or why it is unknown.
    pub seen: Result<Interval, String>,
    /// How the observed value compares with the promise. `None` if there is no promise.
    pub fit: Option<Fit>,
    /// The events on which it is based.
    pub events: Vec<EventId>,
}

/// The effects of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialResult {
    /// The fault.
    pub fault: Fault,
    /// All quantities, in order.
    pub observations: Vec<Observation>,
    /// How many requests the clients sent from the fault on.
    pub requests: usize,
}

impl TrialResult {
    /// Reads the effects from a history.
    #[must_use]
    pub fn of(trial: &Trial, history: &History) -> Self {
        let timeline = Timeline::of(history);
        let run = match cut_short(history) {
            Some(why) => Err(why),
            None => FaultRun::of(&timeline, trial),
        };
        let observe = |promised| observation(&timeline, run.as_ref(), promised);
        Self {
            fault: trial.fault,
            observations: trial.promised.iter().map(observe).collect(),
            requests: run.as_ref().map_or(0, |run| run.calls.len()),
        }
    }

    /// How the worst of the observations fits its promise.
    #[must_use]
    pub fn fit(&self) -> Fit {
        self.observations.iter().filter_map(|one| one.fit).fold(Fit::Met, Fit::worse)
    }
}

/// Why a trial ended early, if it did. If it ended early, something that did not happen before its end says nothing
/// about the settings.
fn cut_short(history: &History) -> Option<String> {
    history.events().find_map(|(_, event)| match &event.what {
        Happening::Deed(deed) => match &deed.did {
            Did::Over { why } if why == "interrupted" => Some("the run was interrupted".to_owned()),
            Did::Over { why } if why != "done" => Some(format!("the trial ended early: {why}")),
            _ => None,
        },
        _ => None,
    })
}

/// The observed value, with the events at its start and its end.
type Seen = (Result<Interval, String>, Vec<EventId>);

/// A request of the client.
struct Request {
    id: EventId,
    began: Stamp,
    ended: Stamp,
    succeeded: bool,
}

/// A fault in the history of its case.
struct FaultRun<'t, 'h> {
    timeline: &'t Timeline<'h>,
    trial: &'t Trial,
    pod: &'t PodLife<'h>,
    first: &'t Attempt<'h>,
    /// When the fault started. For the fault calm, when the pod became ready.
    onset: At,
    calls: Vec<Request>,
}

impl<'t, 'h> FaultRun<'t, 'h> {
    /// The fault of a trial, or why it was not observed.
    fn of(timeline: &'t Timeline<'h>, trial: &'t Trial) -> Result<Self, String> {
        let slow_start = trial.fault == Fault::SlowStart;
        let never_ready = || "the pod did not become ready, so the fault could not be injected".to_owned();
        let run = Self::found(timeline, trial).ok_or_else(|| match timeline.pod("app") {
            Some(pod) if !slow_start && !was_ready(pod, |_| true) => never_ready(),
            _ => "the target sent no records, or the fault did not occur".to_owned(),
        })?;
        let before = |revision: &Revision<'h>| {
            let since = timeline.clocks.between(&revision.at, &run.onset);
            trial.fault == Fault::Calm || since.is_some_and(|since| since.hi >= 0)
        };
        if slow_start || was_ready(run.pod, before) { Ok(run) } else { Err(never_ready()) }
    }

    fn found(timeline: &'t Timeline<'h>, trial: &'t Trial) -> Option<Self> {
        let pod = timeline.pod("app")?;
        let first = pod.container(&trial.subject)?.attempts.first()?;
        let onset = match trial.fault {
            Fault::SlowStart => first.began.clone(),
            Fault::Calm => At::of(turn(pod, &trial.subject, true, |_| true)?),
            Fault::SlowShutdown => {
                let (id, deed) = timeline.deeds.iter().find(|(id, _)| Some(*id) == pod.deleted)?;
                At::new(*id, Stamp::harness(deed.began_us))
            }
            Fault::Overload => timeline.pod("client")?.container("client")?.attempts.first()?.began.clone(),
            Fault::Hang | Fault::Errors | Fault::Flapping | Fault::DependencyLoss => {
                line(first, |fact| matches!(fact, Fact::Change(_)))?
            }
        };
        let mut run = Self { timeline, trial, pod, first, onset, calls: Vec::new() };
        run.calls = run.requests();
        Some(run)
    }

    /// The client's requests that ended after the onset, in the order of their starts. Requests before the first success
    /// are left out, because a Service needs a moment to take effect.
    fn requests(&self) -> Vec<Request> {
        let client = self.timeline.pod("client").and_then(|pod| pod.container("client"));
        let attempts = client.into_iter().flat_map(|client| &client.attempts);
        let request = |line: &Line<'_>| match &line.line.fact {
            Fact::Call(call) => Some(Request {
                id: line.id,
                began: line.at.earlier(counted(call.took_us)),
                ended: line.at.clone(),
                succeeded: call.succeeded(),
            }),
            _ => None,
        };
        let mut requests: Vec<Request> = attempts.flat_map(|one| &one.lines).filter_map(request).collect();
        requests.sort_by_key(|request| request.began.at.lo);
        let in_force = requests.into_iter().skip_while(|request| !request.succeeded);
        in_force.filter(|request| self.after_onset(&request.ended)).collect()
    }

    fn after_onset(&self, at: &Stamp) -> bool {
        self.timeline.clocks.between(&self.onset, at).is_some_and(|span| span.hi >= 0)
    }

    /// The first time at which the subject became ready or unready after an instant.
    fn turned(&self, ready: bool, since: &Stamp) -> Option<At> {
        let after = |revision: &Revision<'h>| {
            self.timeline.clocks.between(since, &revision.at).is_some_and(|span| span.lo >= 0)
        };
        turn(self.pod, &self.trial.subject, ready, after).map(At::of)
    }

    /// The end of the fault, or the start of the next attempt, from which the recovery counts.
    fn relief(&self) -> Option<At> {
        let next = self.pod.container(&self.trial.subject)?.attempts.get(1);
        next.map(|next| next.began.clone())
            .or_else(|| line(self.first, |fact| matches!(fact, Fact::Reset(_))))
    }

    /// The time from one moment to another.
    fn span(&self, from: &At, to: Option<At>) -> Seen {
        let Some(to) = to else { return (Ok(NEVER), vec![from.id]) };
        let span = self.timeline.clocks.between(from, &to);
        (span.ok_or_else(|| "the clocks cannot be compared".to_owned()), vec![from.id, to.id])
    }

    /// The observed value of a quantity.
    fn observe(&self, quantity: Quantity) -> Seen {
        match quantity {
            Quantity::Ready => {
                let ready = turn(self.pod, &self.trial.subject, true, |_| true).map(At::of);
                self.span(&self.first.began, ready)
            }
            Quantity::Unready => self.span(&self.onset, self.turned(false, &self.onset)),
            Quantity::Killed => {
                let signal = self.first.stop_signal().filter(|(_, at)| self.after_onset(at));
                self.span(&self.onset, signal.map(|(id, at)| At::new(id, at.clone())))
            }
            Quantity::ReadyAgain => match self.relief() {
                None => (Ok(NEVER), vec![self.onset.id]),
                Some(relief) => self.span(&relief, self.turned(true, &relief)),
            },
            Quantity::Stopped => {
                let exiting = line(self.first, |fact| matches!(fact, Fact::Exiting(_)));
                self.span(&self.onset, exiting.or_else(|| self.first.ended.clone()))
            }
            Quantity::Restarts => match self.pod.restarts(&self.trial.subject) {
                Some((id, times)) => (Ok(count(times)), vec![id]),
                None => (Err("the container's status was not recorded".to_owned()), Vec::new()),
            },
            Quantity::Downtime | Quantity::Lost if self.calls.is_empty() => {
                (Err("no request of the clients was recorded".to_owned()), Vec::new())
            }
            Quantity::Downtime => self.downtime(),
            Quantity::Lost => {
                let lost = self.calls.iter().filter(|call| !call.succeeded).map(|call| call.id);
                (Ok(count(lost.clone().count())), lost.take(4).collect())
            }
        }
    }

    /// The total time during which requests failed. Each period lasts from the first request that failed to the first
    /// that succeeded again.
    fn downtime(&self) -> Seen {
        let (mut total, mut since, mut events) = (0, None, Vec::new());
        for call in &self.calls {
            if call.succeeded == since.is_some() {
                let began = call.began.at.lo;
                total += since.map_or(0, |from| began - from);
                since = since.is_none().then_some(began);
                events.push(call.id);
            }
        }
        if let (Some(from), Some(end)) = (since, self.calls.iter().map(|call| call.ended.at.hi).max()) {
            total += end - from;
        }
        events.truncate(4);
        (Ok(if total == 0 { NEVER } else { Interval::point(total) }), events)
    }
}

/// The observed value of a quantity, and how it fits the promise.
fn observation(
    timeline: &Timeline<'_>,
    run: Result<&FaultRun<'_, '_>, &String>,
    promised: &Promised,
) -> Observation {
    let (mut seen, events) = match run {
        Ok(run) => run.observe(promised.quantity),
        Err(why) => (Err(why.clone()), Vec::new()),
    };
    if seen == Ok(NEVER) && timeline.gaps.iter().any(|(_, gap)| gap.to_us - gap.from_us > SECOND) {
        seen = Err("something may have been missed: there is a gap in the history".to_owned());
    }
    let fit = match (&seen, run) {
        (Ok(seen), Ok(run)) => measurement(run, promised, *seen, &events).fit(),
        _ => Fit::Undecided,
    };
    let fit = (!promised.promise.is_open()).then_some(fit);
    Observation { promised: promised.clone(), seen, fit, events }
}

fn measurement(
    run: &FaultRun<'_, '_>,
    promised: &Promised,
    observed: Interval,
    events: &[EventId],
) -> Measurement {
    let unit = promised.quantity.unit();
    let (began, node) = (&run.onset, &run.pod.node);
    let noise = match unit {
        Unit::Us if observed != NEVER => {
            let ended = Stamp { clock: began.clock.clone(), at: began.at.plus(observed) };
            run.timeline.noise_between(node, began, &ended)
        }
        _ => 0,
    };
    Measurement {
        quantity: promised.quantity.words().to_owned(),
        unit,
        observed,
        bound: promised.bound(),
        noise,
        blur: Blur::default(),
        events: events.to_vec(),
    }
}

/// The first revision that meets a condition and shows a change of a container's readiness. The container's own
/// readiness is used because the promises follow from the probes of one container, but the pod's readiness depends on
/// the probes of all its containers.
fn turn<'t, 'h>(
    pod: &'t PodLife<'h>,
    container: &str,
    ready: bool,
    meets: impl Fn(&Revision<'h>) -> bool,
) -> Option<&'t Revision<'h>> {
    let mut last = None;
    pod.revisions.iter().find(|revision| {
        let Some(now) = revision.container(container).map(|seen| seen.ready) else { return false };
        last.replace(now) != Some(now) && now == ready && meets(revision)
    })
}

/// Whether the pod was ready at a revision that meets a condition.
fn was_ready<'h>(pod: &PodLife<'h>, meets: impl Fn(&Revision<'h>) -> bool) -> bool {
    pod.revisions.iter().any(|revision| revision.is("Ready") == Some(true) && meets(revision))
}

/// The first line of an attempt with a fact that meets a condition.
fn line(attempt: &Attempt<'_>, is: impl Fn(&Fact) -> bool) -> Option<At> {
    attempt.lines.iter().find(|line| is(&line.line.fact)).map(At::of)
}

fn count(times: impl TryInto<i64>) -> Interval {
    Interval::point(times.try_into().unwrap_or(i64::MAX))
}
