//! Periods in which a probed port was closed: probes are refused in such a period, and no target records these probes.

use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{TO_STOP, UNNOTICED};
use probity_model::timeline::{At, ProbeKind, ProbeOutcome};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Stamp};
use probity_script::Fact;

use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{Due, Reaction};

/// A period in which the probed port was closed.
struct ClosedTime {
    from: At,
    until: Option<At>,
}

/// Judges that the probes of a course fail while their port is closed.
pub(crate) fn refusals_fail(clause: &Clause, course: &Exchanges<'_, '_>, seen: &mut Seen) {
    for closed in closed_times(course) {
        closed.judge(&Reaction::new(course.run, clause, course), seen);
    }
}

/// The periods in which the port of a probe was closed, after a probe had arrived at this port.
fn closed_times(course: &Exchanges<'_, '_>) -> Vec<ClosedTime> {
    let Some(first) = course.exchanges.first() else { return Vec::new() };
    let Some(plan) = course.container.plan() else { return Vec::new() };
    let port = course.spec.handler.port();
    let Some((name, _)) = plan.listeners.iter().find(|(_, listener)| Some(listener.port) == port) else {
        return Vec::new();
    };
    let mut times: Vec<ClosedTime> = Vec::new();
    for line in course.lines.iter().filter(|line| line.at.at.lo > first.at.at.lo) {
        let Fact::Listening(seen) = &line.line.fact else { continue };
        if seen.listener != *name {
            continue;
        }
        match times.last_mut().filter(|closed| closed.until.is_none()) {
            Some(open) if seen.state != "closed" => open.until = Some(At::of(line)),
            None if seen.state == "closed" => times.push(ClosedTime { from: At::of(line), until: None }),
            _ => {}
        }
    }
    times
}

impl ClosedTime {
    /// Judges a period that is so long that the refused probes must have an effect.
    fn judge(&self, reaction: &Reaction<'_, '_, '_>, seen: &mut Seen) {
        let course = reaction.course;
        let stop =
            course.stop().filter(|stop| stop.at.at.lo > self.from.at.hi && course.pod.deleted.is_none());
        let wait =
            course.spec.failures.saturating_mul(course.spec.period).saturating_add(course.spec.timeout);
        if let (ProbeKind::Liveness, Some(stop)) = (course.spec.kind, stop) {
            let most = wait + TO_STOP + reaction.others_to_end(&self.from) + reaction.lag;
            let bound = Bound::at_most(most, "failureThreshold × periodSeconds + timeoutSeconds + slack");
            let quantity =
                format!("from the closing of the port to the stop signal of {}", course.container.name);
            if seen.within(course.run, &course.node, quantity, (&self.from, stop), bound) == Some(Fit::Met) {
                seen.fine([self.from.id, stop.id]);
            }
            return;
        }
        if course.spec.kind == ProbeKind::Readiness && self.fell_untimely(reaction, seen) {
            return;
        }
        let Some(until) = reaction.end_of_life(self.until.as_ref().map(|at| at.stamp.clone())) else {
            return;
        };
        let mut due = self.from.later(wait);
        if course.spec.kind == ProbeKind::Liveness {
            // The pod's worker may first have to stop another container.
            due = due.later(TO_STOP + reaction.others_to_end(&due));
        }
        let Some(window) = reaction.window(&due, &until, Due::AtOnce) else { return };
        let accused = reaction.window(&due, &until, Due::AfterNoise).is_some();
        let of = format!("the {} probe of {}", course.spec.kind.word(), course.container.name);
        if reaction.hidden(&self.from, &until) {
            let why = format!("the result of {of} may have been missed");
            return seen.doubt(Doubt::Gap, why, [self.from.id]);
        }
        let ends = [Some(self.from.id), self.until.as_ref().map(|until| until.id)].into_iter().flatten();
        match course.spec.kind {
            ProbeKind::Liveness if accused => {
                seen.violated(format!("{of} was refused, but the container keeps running"), ends);
            }
            ProbeKind::Readiness => {
                let shown = reaction.shown_ready();
                let began = course.run.clocks.on_harness(&self.from).map_or(i64::MIN, |at| at.lo);
                let before = shown.iter().rfind(|(_, at, _)| *at <= began);
                let Some((id, _, ready)) = shown.iter().rfind(|(_, at, _)| *at <= window.hi) else { return };
                let events = ends.chain([*id]).chain(before.map(|(id, ..)| *id));
                if *ready && accused {
                    seen.violated(format!("{of} was refused, but the container stays ready"), events);
                } else if !*ready && before.is_some_and(|(_, _, ready)| *ready) {
                    seen.fine(events);
                }
            }
            ProbeKind::Liveness | ProbeKind::Startup => {}
        }
    }

    /// Reports a kubelet that showed a container as not ready before `failureThreshold` probes can have been refused, or later
    /// than that number of periods. Returns whether the kubelet did so. Until the port closed, all probes of the
    /// container must have passed.
    fn fell_untimely(&self, reaction: &Reaction<'_, '_, '_>, seen: &mut Seen) -> bool {
        let course = reaction.course;
        let Some((fell, since)) = self.fell(reaction).filter(|_| course.is_asked_alone()) else {
            return false;
        };
        let mut before = course.probes.iter().filter(|probe| probe.at.at.lo <= self.from.at.hi);
        let Some(last) = before.next_back() else { return false };
        // A result from before `since` already shows in the status of the container at that time.
        let recent = before.filter(|probe| course.run.before(&since, &probe.at)).chain([last]);
        let passed = recent.into_iter().all(|probe| course.surely(probe) == ProbeOutcome::Success);
        // A kubelet that could not run may have missed a success, and the next probe then comes early.
        let missed = course.noise(&last.at.earlier(course.spec.timeout), &fell) >= course.spec.timeout;
        if !passed || missed || reaction.hidden(&last.at, &fell) {
            return false;
        }
        let refusals = (course.spec.failures - 1).saturating_mul(course.spec.period);
        let least = refusals - UNNOTICED - course.noise(&self.from, &fell);
        let formula = format!("(failureThreshold - 1) × periodSeconds - {}", seconds(refusals - least));
        let quantity =
            format!("from the closing of the port to the status of {} as not ready", course.container.name);
        let early = (&self.from, quantity, Bound::at_least(least, formula));
        let most =
            course.spec.failures.saturating_mul(course.spec.period) + course.spec.timeout + reaction.lag;
        let quantity = format!(
            "from the last success before its port closed to the status of {} as not ready",
            course.container.name
        );
        let bound = Bound::at_most(most, "failureThreshold × periodSeconds + timeoutSeconds + slack");
        let late = (&At::of(*last), quantity, bound);
        let mut untimely = [early, late].into_iter().filter_map(|(from, quantity, bound)| {
            let measured = course.run.measure(quantity, &course.node, from, &fell, bound)?;
            (measured.fit() == Fit::Missed).then_some(measured)
        });
        let Some(measured) = untimely.next() else { return false };
        seen.measure(measured);
        true
    }

    /// The time at which the container was first shown as not ready after its port closed, and the time since which it
    /// had been shown as ready. `None` if something else may have caused the change. The container must have been ready
    /// for at least a period, because a kubelet may send extra probes to a container that is not ready.
    fn fell(&self, reaction: &Reaction<'_, '_, '_>) -> Option<(At, Stamp)> {
        let course = reaction.course;
        let on_harness = |at: &Stamp| course.run.clocks.on_harness(at);
        let closed = on_harness(&self.from)?;
        let until = on_harness(&reaction.end_of_life(self.until.as_ref().map(|at| at.stamp.clone()))?)?;
        let shown = reaction.shown_ready();
        let then = shown.partition_point(|(_, at, _)| *at <= closed.lo);
        let (_, since, _) = shown.get(..then)?.iter().rev().take_while(|(.., ready)| *ready).last()?;
        let (id, at, _) = shown.get(then..)?.iter().find(|(.., ready)| !*ready)?;
        let calm = closed.lo - since > course.spec.period && *at < until.lo;
        calm.then(|| (At::new(*id, Stamp::harness(*at)), Stamp::harness(*since)))
    }
}
