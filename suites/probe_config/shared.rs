//! Liveness probes whose endpoint another probe also uses. Their failures cannot be counted, but they still take a
//! minimum of time.

use probity_model::measure::{Bound, Fit, Measurement, seconds};
use probity_model::mechanisms::{QUICK, START_OF_A_COMMAND, UNNOTICED};
use probity_model::timeline::{At, Lives, Probe, ProbeKind, ProbeOutcome, ProbeSpec, ProbedLife};
use probity_model::{Clause, Seen, Timeline};

use super::schedule::is_command;
use crate::reading::causes::only_its_probe;
use crate::reading::heard::was_heard;
use crate::reading::ports::was_always_open;
use crate::reading::termination::{Exhausted, Stop};

/// The instances whose liveness probe uses the same endpoint or the same command as another probe.
fn shared<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    run.lives().of(ProbeKind::Liveness).undisturbed().whole().only(|life| !life.is_unmistaken())
}

/// The instances whose liveness probe sends requests to the same endpoint as another probe. Commands are left out,
/// because the time that they take to start is not known.
fn shared_endpoint<'t, 'h>(run: &'t Timeline<'h>) -> Lives<ProbedLife<'t, 'h>> {
    shared(run).only(|life| !is_command(life))
}

/// After the last success of either probe at the endpoint, the first failure may come at once. The stop signal comes no
/// earlier than `failureThreshold` − 1 periods after that success.
pub(super) fn not_before(run: &Timeline<'_>, seen: &mut Seen) {
    for life in shared_endpoint(run) {
        let Some(stop) = life.stop().filter(|_| only_its_probe(&life)) else { continue };
        let passed = |probe: &&&_| {
            was_heard(&life, probe) && life.attempt.result(probe, life.spec).at().at.hi < stop.at.at.lo
        };
        let Some(last) = life.probes.iter().rfind(passed) else { continue };
        let least = (life.spec.failures - 1) * life.spec.period - UNNOTICED;
        let formula = format!("(failureThreshold - 1) × periodSeconds - {}", seconds(UNNOTICED));
        let quantity =
            format!("from the last success at the endpoint of {} to the stop signal", life.words());
        life.within(seen, quantity, (*last, stop), Bound::at_least(least, formula));
    }
}

/// Once every probe at the endpoint fails, the stop signal comes within `failureThreshold` periods.
pub(super) fn not_after(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    // A startup probe at the same endpoint decides when the failures begin to count.
    for life in shared_endpoint(run).only(|life| life.container.probe(ProbeKind::Startup).is_none()) {
        let Some(spent) = spent(life) else { continue };
        let (allowed, formula) = spent.allowance(clause);
        let words = format!("{} at an endpoint that another probe uses, too", spent.life.words());
        match spent.stop(clause) {
            Stop::Came(stop) => {
                let quantity = format!(
                    "from the time when failureThreshold failures of {words} are due to the stop signal"
                );
                spent.life.within(seen, quantity, (&spent.at, stop), Bound::at_most(allowed, formula));
            }
            Stop::Missing(line) => {
                let finding =
                    format!("{words} failed for longer than its threshold allows, but no stop signal came");
                seen.violated(finding, spent.events().into_iter().chain([line.id]));
            }
            Stop::Unheard | Stop::Abrupt(_) | Stop::Moot => {}
        }
    }
}

/// Each probe sends its own requests: an endpoint that the liveness and the readiness probe share gets at least as many
/// requests as both must send. In the same way, each probe runs its own command. Reports the period with the fewest
/// requests.
pub(super) fn each_asks(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let unstarted = |life: &ProbedLife<'_, '_>| life.container.probe(ProbeKind::Startup).is_none();
    for life in shared(run).only(unstarted) {
        let Some(readiness) = life.container.probe(ProbeKind::Readiness) else { continue };
        if readiness.handler != life.spec.handler || !was_always_open(&life) {
            continue;
        }
        let specs = [life.spec, readiness];
        // A command whose timeout is shorter may fail unseen, and one whose timeout is longer may delay the next.
        let paced = |of: &ProbeSpec| (START_OF_A_COMMAND..of.period).contains(&of.timeout);
        if is_command(&life) && !specs.into_iter().all(paced) {
            continue;
        }
        let stretches = (0..life.probes.len()).filter_map(|at| stretch(clause, &life, specs, at));
        let fewest = stretches.min_by_key(Measurement::room);
        if let Some(fewest) = fewest.filter(|fewest| fewest.fit() == Fit::Missed) {
            seen.measure(fewest);
        }
    }
}

/// Compares the number of requests in a few periods, starting with the request at this index, with the number that both
/// probes must have sent. `None` if a request was not answered at once.
fn stretch(
    clause: &Clause,
    life: &ProbedLife<'_, '_>,
    specs: [&ProbeSpec; 2],
    at: usize,
) -> Option<Measurement> {
    let longest = |time: fn(&ProbeSpec) -> i64| specs.map(time).into_iter().max().unwrap_or(0);
    let (period, delay) = (longest(|of| of.period), longest(|of| of.initial_delay));
    let first = life.probes.get(at)?;
    let both = life.began.at.hi + delay + period + clause.slack_us();
    let periods = i64::try_from(clause.tolerance_times("stretch")).ok()?;
    let until = first.at.at.lo + periods * period;
    let rest = life.probes.get(at..)?;
    let last = rest.iter().rposition(|probe| probe.at.at.hi <= until)?;
    let asked = rest.get(..=last)?;
    let end = asked.last()?;
    let quick = |probe: &&Probe<'_>| life.result(probe).took().is_some_and(|took| took.hi < QUICK.of(period));
    let undisturbed =
        life.before_deletion(&end.at) && life.stop().is_none_or(|stop| life.run.before(&end.at, &stop.at));
    if first.at.at.lo < both || !undisturbed || !asked.iter().all(quick) || rest.len() == asked.len() {
        return None;
    }
    let to_start = if is_command(life) { START_OF_A_COMMAND } else { 0 };
    let span = end.at.at.lo - first.at.at.hi - life.noise(&first.at, &end.at) - clause.slack_us() - to_start;
    let least = specs.iter().map(|of| (span / of.period).max(0)).sum();
    let quantity =
        format!("requests in {} at the endpoint that the probes of {} share", seconds(span), life.name());
    let bound = Bound::default().and_at_least(least, "as many as both probes must send");
    Some(Measurement::count(quantity, last, bound, asked.iter().map(|probe| probe.id).collect()))
}

/// An instance whose last probes at the endpoint all failed, and when its liveness probe must have reached its
/// threshold: the first failure of the liveness probe may come a period after that of the other probe.
fn spent<'t, 'h>(life: ProbedLife<'t, 'h>) -> Option<Exhausted<'t, 'h>> {
    let from = life.began.at.hi + life.spec.initial_delay;
    let until = life.stop().map_or(i64::MAX, |stop| stop.at.at.lo);
    let asked = life.probes.iter().copied().filter(|probe| probe.at.at.hi < until);
    let failed = asked.rev().take_while(|probe| life.outcome(probe) == ProbeOutcome::Failure);
    let mut failures: Vec<_> = failed.filter(|probe| probe.at.at.lo > from).collect();
    failures.reverse();
    let first = *failures.first()?;
    let due = first.at.later(life.spec.failures.saturating_mul(life.spec.period) + life.spec.timeout);
    let due = due.later(life.noise(&first.at, &due));
    let at = At::new(first.id, due);
    Some(Exhausted { life, failures, at })
}
