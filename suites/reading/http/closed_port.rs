//! Periods in which a probed port was closed: probes are refused then, and no target records them.

use probity_model::measure::{Bound, Fit};
use probity_model::mechanisms::TO_STOP;
use probity_model::timeline::{At, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen};
use probity_script::Fact;

use crate::reading::http::exchanges::Exchanges;
use crate::reading::http::reaction::{Due, Reaction};

/// A time in which the probed port was closed.
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

/// The times in which the port of a probe was closed after a probe had come to it.
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
    /// Judges such a time by its length: so many probes must have been refused in it that something follows.
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
}
