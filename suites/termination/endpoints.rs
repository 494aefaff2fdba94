//! The endpoints of a terminating pod, and the requests to it.

use probity_model::clocks::Order;
use probity_model::measure::{Bound, Fit, seconds};
use probity_model::mechanisms::{NEAR, PROXY, TWO_WATCHES};
use probity_model::stamp::counted;
use probity_model::timeline::{Asked, At, Life, Probe, ProbeKind, ProbeOutcome, ProbedLife, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::{Call, Fact};

use super::asked::{Going, going};
use crate::reading::endpoints::measure_last_request;
use crate::reading::ends::{End, alive_until};
use crate::reading::services::{Entry, Service, services};

/// A terminating pod behind a Service, from the revision that shows the deletion to the end of its first container.
struct Leaving<'t, 'h> {
    going: &'t Going<'t, 'h>,
    service: &'t Service<'t, 'h>,
    shown: &'t Revision<'h>,
    until: At,
    /// The entries of the EndpointSlices from about the time of that revision until the end.
    entries: Vec<Entry<'t, 'h>>,
}

/// Visits all terminating pods with a grace period, a Service and complete records.
fn leaving(run: &Timeline<'_>, mut judge: impl FnMut(&Leaving<'_, '_>)) {
    let (services, all) = (services(run), going(run));
    for going in all.iter().filter(|going| going.is_graceful()) {
        let lives = going.lives();
        let Some(shown) = going.shown().filter(|_| lives.len() == going.pod.containers.len()) else {
            continue;
        };
        let Some(until) = lives.iter().filter_map(alive_until).min_by_key(|end| end.at.lo) else { continue };
        for service in services.iter().filter(|service| service.selects(going.pod) && !service.publishes) {
            let all = service.entries(going.pod);
            // Pods and slices have separate watches: a later change may arrive first.
            let later = |entry: &Entry<'_, '_>| entry.at.at.lo >= shown.at.at.lo - TWO_WATCHES;
            let before = all.iter().rfind(|entry| !later(entry)).is_some_and(Entry::ready);
            if before {
                let entries =
                    all.into_iter().filter(later).filter(|entry| run.before(entry.at, &until)).collect();
                judge(&Leaving { going, service, shown, until: until.clone(), entries });
            }
        }
    }
}

impl Leaving<'_, '_> {
    /// How long its containers certainly kept running.
    fn lasted(&self) -> i64 {
        self.going.run.at_least(&self.shown.at, &self.until)
    }
}

/// Whether an entry is marked as terminating.
fn is_marked(entry: &Entry<'_, '_>) -> bool {
    entry.endpoint.is_some_and(|of| of.terminating == Some(true))
}

/// The endpoint stays in the slices, marked as terminating, as long as the pod's containers run.
pub(super) fn is_kept(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    leaving(run, |leaving| {
        let (name, node) = (leaving.service.name, &leaving.going.pod.node);
        if let Some(dropped) = leaving.entries.iter().find(|entry| entry.endpoint.is_none()) {
            if run.at_least(dropped.at, &leaving.until) > TWO_WATCHES {
                let finding =
                    format!("the endpoint was removed from `{name}` while its pod was still running");
                seen.violated(finding, [leaving.shown.id, dropped.id, leaving.until.id]);
            }
            return;
        }
        match leaving.entries.iter().find(|entry| is_marked(entry)) {
            Some(marked) => {
                let quantity = format!("from the deletion to terminating=true in `{name}`");
                if seen.within(run, node, quantity, (leaving.shown, marked), clause.in_time())
                    == Some(Fit::Met)
                {
                    seen.facet("seen", "marked");
                }
                if run.at_least(marked.at, &leaving.until) > clause.slack_us() {
                    seen.fine([marked.id, leaving.until.id]);
                    seen.facet("seen", "kept");
                }
            }
            None => judge_unmarked(clause, leaving, seen),
        }
    });
}

fn judge_unmarked(clause: &Clause, leaving: &Leaving<'_, '_>, seen: &mut Seen) {
    let noise = leaving.going.run.noise_between(&leaving.going.pod.node, &leaving.shown.at, &leaving.until);
    if leaving.lasted() - noise > clause.slack_us() {
        let finding = format!(
            "the endpoint in `{}` did not change while its pod was terminating",
            leaving.service.name
        );
        seen.violated(finding, [leaving.shown.id, leaving.until.id]);
    }
}

/// The endpoint of a terminating pod is not ready, and gets no new requests while another endpoint is ready.
pub(super) fn is_not_ready(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    leaving(run, |leaving| {
        let (name, node) = (leaving.service.name, &leaving.going.pod.node);
        let Some(down) = leaving.entries.iter().find(|entry| !entry.ready()) else {
            judge_unmarked(clause, leaving, seen);
            return;
        };
        let quantity = format!("from the deletion to ready=false in `{name}`");
        let fit = seen.within(run, node, quantity, (leaving.shown, down), clause.in_time());
        if fit == Some(Fit::Met) {
            seen.facet("seen", "condition");
        }
        // The pod may have become ready just before its deletion.
        let surely_later = |entry: &Entry<'_, '_>| {
            is_marked(entry) || run.at_least(&leaving.shown.at, entry.at) > TWO_WATCHES
        };
        let mut later = leaving.entries.iter().filter(|entry| entry.id > down.id && surely_later(entry));
        let again = later.find(|entry| entry.ready());
        if let Some(again) = again {
            let finding =
                format!("the endpoint in `{name}` became ready again while its pod was terminating");
            seen.violated(finding, [down.id, again.id]);
        }
        if leaving.service.has_another(run, leaving.going.pod, &leaving.shown.at) {
            let changed = (fit != Some(Fit::Missed)).then_some(down);
            judge_traffic(clause, leaving, changed, seen);
        }
    });
}

/// Judges the traffic of a terminating pod. `changed` is the entry that shows it as not ready, if that came in time.
fn judge_traffic(
    clause: &Clause,
    leaving: &Leaving<'_, '_>,
    changed: Option<&Entry<'_, '_>>,
    seen: &mut Seen,
) {
    let (run, pod, shown) = (leaving.going.run, leaving.going.pod, leaving.shown);
    let most = clause.slack_us() + PROXY;
    let attempts = pod.containers.iter().flat_map(|container| &container.attempts);
    let brought =
        attempts.flat_map(|attempt| &attempt.requests).filter(|asked| leaving.service.brought(pod, asked));
    let late =
        brought.filter(|asked| run.at_least(&shown.at, &asked.at) > 0).max_by_key(|asked| asked.at.at.lo);
    if let Some(late) = late {
        let words = format!("the slack + {} for the node's proxy", seconds(PROXY));
        let quantity =
            format!("from the deletion to the last new request through `{}`", leaving.service.name);
        let measured = run.measure(quantity, &pod.node, shown, late, Bound::at_most(most, words));
        let fit = measured.map(|of| measure_last_request(run, seen, of, (pod, changed, late)));
        if fit != Some(Fit::Met) {
            return;
        }
    }
    let calls = calls(leaving, most);
    if let (Some(first), Some(last), true) =
        (calls.first(), calls.last(), calls.len() >= clause.tolerance_times("calls"))
    {
        seen.fine([shown.id, first.0.id, last.0.id]);
        seen.facet("seen", "traffic");
    }
}

/// The client calls to the Service that started at least this long after the deletion, while the containers were
/// running.
fn calls<'t>(leaving: &Leaving<'t, '_>, after: i64) -> Vec<(At, &'t Call)> {
    let run = leaving.going.run;
    let lives = run.containers().flat_map(|(_, container)| &container.attempts);
    let told = lives.flat_map(|attempt| &attempt.lines).filter_map(|line| {
        let Fact::Call(call) = &line.line.fact else { return None };
        let began = line.at.earlier(counted(call.took_us));
        let late = run.at_least(&leaving.shown.at, &began) > after
            && run.before(&line.at, &leaving.until.earlier(NEAR));
        let own = leaving.service.was_called(leaving.going.pod, call);
        (late && own).then_some((At::of(line), call))
    });
    told.collect()
}

/// If no endpoint is ready, endpoints that are terminating but serving still get requests.
pub(super) fn is_the_last_resort(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    leaving(run, |leaving| {
        let others = run.pods.iter().filter(|other| other.name != leaving.going.pod.name);
        let serves = leaving.entries.iter().all(|entry| entry.endpoint.is_none() || entry.serving());
        if others.filter(|other| leaving.service.ever_selects(other)).count() > 0 || !serves {
            return;
        }
        let (calls, enough) = (calls(leaving, clause.slack_us() + PROXY), clause.tolerance_times("calls"));
        let (good, bad): (Vec<_>, Vec<_>) = calls.iter().partition(|(_, call)| call.status.is_some());
        if bad.len() >= enough {
            let finding = format!(
                "{} of {} calls to `{}` failed while its only pod was terminating but serving",
                bad.len(),
                calls.len(),
                leaving.service.name
            );
            seen.violated(finding, bad.iter().map(|(at, _)| at.id).chain([leaving.shown.id]));
        } else if let (Some(first), Some(last), true) = (good.first(), good.last(), good.len() >= enough) {
            seen.fine([leaving.shown.id, first.0.id, last.0.id]);
        }
    });
}

/// The `serving` condition of a terminating pod follows its readiness probe. If the pod also waits for readiness gates, the
/// probe alone does not decide.
pub(super) fn serves_as_it_says(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    leaving(run, |leaving| {
        if leaving.going.pod.spec.get("readinessGates").is_some() {
            return;
        }
        let lives = leaving.going.lives();
        let probed: Vec<_> = lives.iter().filter_map(|life| life.probed(ProbeKind::Readiness)).collect();
        let [probed] = probed.as_slice() else { return };
        if !probed.is_asked_alone() || !probed.is_seen() {
            return;
        }
        let failure = probed.probes.iter().find(|probe| {
            run.before(&leaving.shown.at, &probe.at) && probed.surely(probe) != ProbeOutcome::Success
        });
        judge_serving(clause, leaving, (probed, failure.map(|probe| At::of(*probe))), seen);
        let Some(failure) = failure.filter(|probe| probed.surely(probe) == ProbeOutcome::Failure) else {
            return;
        };
        let counts = (probed.spec.failures - 1) * probed.spec.period;
        let allowed = counts + clause.slack_us();
        let fallen = leaving.entries.iter().find(|entry| !entry.serving());
        match fallen {
            Some(fallen) => {
                let quantity =
                    format!("from the first failure to serving=false in `{}`", leaving.service.name);
                let bound = Bound::at_most(allowed, "failureThreshold and the slack");
                let node = &leaving.going.pod.node;
                if seen.within(run, node, quantity, (*failure, fallen), bound) == Some(Fit::Met) {
                    seen.facet("serving", "no");
                }
            }
            None => {
                let noise = probed.noise(&failure.at, &leaving.until);
                if run.at_least(&failure.at, &leaving.until) - noise > allowed {
                    let finding = format!(
                        "the readiness probe failed, but `{}` shows the endpoint as serving",
                        leaving.service.name
                    );
                    seen.violated(finding, [failure.id, leaving.until.id]);
                }
            }
        }
    });
}

/// As long as the probe passes, the endpoint serves. A probe that fails because its port is closed leaves no record, so
/// the probe certainly passed all the time only if a later probe also passes.
fn judge_serving(
    clause: &Clause,
    leaving: &Leaving<'_, '_>,
    (probed, failed): (&ProbedLife<'_, '_>, Option<At>),
    seen: &mut Seen,
) {
    let run = leaving.going.run;
    let until = failed.unwrap_or_else(|| leaving.until.clone());
    let passing = leaving.entries.iter().filter(|entry| run.before(entry.at, &until));
    let mut last = None;
    for entry in passing.filter(|entry| is_marked(entry)) {
        if !entry.serving() {
            let passes = |probe: &&&Probe<'_>| {
                run.before(entry.at, &probe.at) && probed.surely(probe) == ProbeOutcome::Success
            };
            if let Some(later) =
                probed.probes.iter().find(passes).filter(|later| run.before(&later.at, &until))
            {
                let name = leaving.service.name;
                let finding =
                    format!("the readiness probe passed, but `{name}` shows the endpoint as not serving");
                seen.violated(finding, [leaving.shown.id, entry.id, later.id]);
            }
            return;
        }
        last = Some(entry);
    }
    if let Some(last) = last.filter(|_| run.at_least(&leaving.shown.at, &until) > clause.slack_us()) {
        seen.fine([leaving.shown.id, last.id, until.id]);
        seen.facet("serving", "yes");
    }
}

/// Requests that were open when the stop signal came can be answered until the end of the grace period.
pub(super) fn requests_finish(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for going in going(run).iter().filter(|going| going.is_graceful()) {
        for life in going.lives() {
            let Some(stop) = life.stop() else {
                judge_abrupt(&life, going, seen);
                continue;
            };
            for asked in life.requests.iter().filter(|asked| asked.from_our_client()) {
                judge_open(clause, &life, (&stop.at, stop.id), asked, seen);
            }
        }
    }
}

/// Judges a container that terminated without a stop signal while a request was open.
fn judge_abrupt(life: &Life<'_, '_>, going: &Going<'_, '_>, seen: &mut Seen) {
    let Some(end) = End::of(life).filter(|end| end.was_killed(life)) else { return };
    if let Some(open) = life.requests.iter().find(|asked| asked.from_our_client() && asked.answer.is_none()) {
        let finding = format!("{} was killed while a request was open", life.name());
        seen.violated(finding, [going.first.at.id, open.id, end.at().id]);
    }
}

fn judge_open(
    clause: &Clause,
    life: &Life<'_, '_>,
    (stop, id): (&probity_model::Stamp, probity_model::EventId),
    asked: &Asked<'_>,
    seen: &mut Seen,
) {
    let run = life.run;
    if run.clocks.order(&asked.at, stop) != Order::Before {
        return;
    }
    match &asked.answer {
        Some(answer) if run.clocks.order(stop, &answer.at) == Order::Before && asked.status().is_some() => {
            seen.fine([asked.id, id, answer.at.id]);
            seen.facet("seen", "server");
            let back = call_of(run, &answer.at, clause.slack_us());
            if let Some(back) = back {
                seen.fine([answer.at.id, back.id]);
                seen.facet("seen", "client");
            }
        }
        Some(_) => {}
        None => {
            let Some(end) = End::of(life).filter(|end| end.was_killed(life)) else { return };
            let early = life.pod.grace() - clause.slack_us();
            if run.clocks.between(stop, end.at()).is_some_and(|span| span.hi < early) {
                let finding =
                    format!("{} was killed within its grace period while a request was open", life.name());
                seen.violated(finding, [asked.id, id, end.at().id]);
            }
        }
    }
}

/// The client call that received a response at about the time when the response was sent.
fn call_of(run: &Timeline<'_>, answered: &At, slack: i64) -> Option<At> {
    let lives = run.containers().flat_map(|(_, container)| &container.attempts);
    let mut calls = lives.flat_map(|attempt| &attempt.lines).filter(|line| {
        let near =
            run.clocks.between(answered, &line.at).is_some_and(|span| span.hi > -NEAR && span.lo < slack);
        near && matches!(&line.line.fact, Fact::Call(call) if call.status.is_some())
    });
    calls.next().map(At::of)
}
