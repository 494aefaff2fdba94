//! Small and rare damages: a period that is wrong by a tenth, a probe that is sometimes left out, a timeout that is
//! wrong by half a second, statuses that are two and a half seconds late.

use probity_model::Clock;
use probity_model::history::{Deed, Did, Event, Happening, Listener, Noise, RESTART_KUBELET};
use probity_model::timeline::{ContainerKind, Handler, Probe, ProbeKind, State};
use probity_model::{EventId, History, Timeline};
use serde_json::{Value, json};

use super::copy::Copy;
use super::course::{Course, SECOND, courses, of_kind};
use super::statuses::down;
use super::{Damage, doubted, violated};

const PERIOD: &[&str] = &["probe.timing.period"];
const FOR_LIFE: &[&str] = &["probe.readiness.runs-for-life"];
const DELAY: &[&str] = &["probe.timing.initial-delay-honoured"];
const ENDS: &[&str] = &["container.state.terminated-fields"];

pub(crate) const ALL: &[Damage] = &[
    violated("the period of a liveness probe is a tenth longer", PERIOD, |run| {
        stretched(run, ProbeKind::Liveness, 100, |_| true)
    }),
    violated("the period of a liveness probe is a tenth shorter", PERIOD, |run| {
        stretched(run, ProbeKind::Liveness, -100, |_| true)
    }),
    violated("the period of a startup probe is a quarter longer", PERIOD, |run| {
        stretched(run, ProbeKind::Startup, 250, |_| true)
    }),
    violated(
        "the period of a liveness probe is half as long again, and so is that of all others",
        PERIOD,
        |run| {
            let slow = stretched(run, ProbeKind::Liveness, 500, |_| true)?;
            Some(all_late(&slow))
        },
    ),
    doubted(
        "a node verb succeeds, and nothing shows that the kubelet was restarted",
        &["prober.kubelet-restart.status-kept"],
        unproven_restart,
    ),
    violated("the period of a sidecar's liveness probe is a quarter longer", PERIOD, |run| {
        stretched(run, ProbeKind::Liveness, 250, |course| course.container.kind == ContainerKind::Sidecar)
    }),
    violated("the period of a restarted container's liveness probe is a quarter longer", PERIOD, |run| {
        stretched(run, ProbeKind::Liveness, 250, |course| course.attempt.number > 0)
    }),
    violated("the period of a readiness probe is a quarter longer", FOR_LIFE, |run| {
        stretched(run, ProbeKind::Readiness, 250, |_| true)
    }),
    violated("every fifth liveness probe is left out", PERIOD, |run| {
        left_out_now_and_then(run, ProbeKind::Liveness, 5)
    }),
    violated("every tenth liveness probe is left out", PERIOD, |run| {
        left_out_now_and_then(run, ProbeKind::Liveness, 10)
    }),
    violated("every fifth readiness probe is left out", FOR_LIFE, |run| {
        left_out_now_and_then(run, ProbeKind::Readiness, 5)
    }),
    violated("the first probe comes a second before its delay is over", DELAY, second_early),
    violated("an HTTP probe that hangs is waited for six tenths of a second more", HTTP, |run| {
        given_up_later(run, SECOND * 6 / 10, |course| matches!(course.spec.handler, Handler::Http { .. }))
    }),
    violated("an HTTP probe that hangs is given up half a second early", HTTP, |run| {
        given_up_later(run, -SECOND / 2, |course| matches!(course.spec.handler, Handler::Http { .. }))
    }),
    violated(
        "every status comes two and a half seconds late",
        &["probe.readiness.failure-marks-unready", "prober.sync.readiness-status-path"],
        late_statuses,
    ),
    violated("a lastState has the reason Completed and a status that is not 0", ENDS, |run| {
        last_states(run, false, |status| status["lastState"]["terminated"]["reason"] = json!("Completed"))
    }),
    violated("the times of an end are exchanged", ENDS, |run| {
        last_states(run, false, |status| {
            let ended = &mut status["lastState"]["terminated"];
            ended["startedAt"] = json!("2030-01-01T00:00:00Z");
        })
    }),
    violated("a pod that is not ready has no address", &["report.status.addresses"], no_address),
    violated(
        "ContainersReady stays True when Ready falls",
        &["probe.readiness.failure-marks-unready", "probe.scope.pod-ready-iff-all-containers"],
        one_condition_stays,
    ),
    violated("the failures of startup probes are not reported", &["report.event.unhealthy"], |run| {
        silent(run, "Startup probe")
    }),
    violated("the status is about the generation of the creation", GENERATION, |run| {
        let going = run.pods.iter().flat_map(|pod| &pod.revisions).filter(|shown| {
            shown.object.pointer("/status/observedGeneration").and_then(Value::as_i64) > Some(1)
        });
        let ids: Vec<EventId> = going.map(|shown| shown.id).collect();
        (!ids.is_empty()).then(|| {
            let first = |object: &mut Value| object["status"]["observedGeneration"] = json!(1);
            ids.iter().fold(Copy::of(run), |copy, id| copy.object(*id, first)).done()
        })?
    }),
];

const HTTP: &[&str] = &["probe.timeout.http"];
const GENERATION: &[&str] = &["report.status.observed-generation"];

/// This many probes show a schedule.
const MANY: usize = 8;

/// Whether nothing else explains the events of a course, and the course lasted long enough.
fn is_plain(run: &Timeline<'_>, course: &Course<'_, '_>, many: usize) -> bool {
    let own = course.probes.iter().all(|probe| probe.is(course.spec.kind) && probe.passed.is_some());
    let open = course.is_command() || course.always_open();
    course.probes.len() >= many && own && open && course.is_quick() && !run.node_was_touched()
}

/// The schedule of a probe drifts with each probe by a fraction of its period, in thousandths.
fn stretched(
    run: &Timeline<'_>,
    kind: ProbeKind,
    part: i64,
    which: impl Fn(&Course<'_, '_>) -> bool,
) -> Option<History> {
    // The time that a runtime takes to start a command is longer than such a drift.
    let fits = |course: &Course<'_, '_>| !course.is_command() && is_plain(run, course, MANY) && which(course);
    let course = of_kind(run, kind).filter(fits).max_by_key(|course| course.probes.len())?;
    let end = course.attempt.stop().or(course.attempt.last_line()).map_or(0, |line| line.at.at.lo);
    let mut copy = Copy::of(run);
    for (at, probe) in (0..).zip(&course.probes) {
        let by = at * course.spec.period * part / 1000;
        let ids = course.exchange(probe);
        copy = if probe.at.at.lo + by < end - SECOND / 10 { copy.moved(ids, by) } else { copy.without(ids) };
    }
    copy.done()
}

/// The idle pod of each node also gets each of its probes half a second late.
fn all_late(of: &History) -> History {
    let mut history = of.clone();
    let end = of.events().last().map_or(0, |(_, event)| event.us);
    let offset = of.events().find_map(|(_, event)| match &event.what {
        Happening::Reading(reading) => Some((reading.node.clone(), reading.mono_us - event.us)),
        _ => None,
    });
    if let Some((node, offset)) = offset {
        let mut from = 0;
        while from < end {
            let (from_us, to_us) = (from + offset + SECOND, from + offset + SECOND * 3 / 2);
            let clock = Clock::Node(node.clone());
            history.push(end, Happening::Noise(Noise { by: Listener::Metronome, clock, from_us, to_us }));
            from += SECOND * 3 / 2;
        }
    }
    history
}

/// The command for a verb in the middle of the case exited with 0, and later there is no sign of another kubelet.
fn unproven_restart(run: &Timeline<'_>) -> Option<History> {
    let ready = |(_, status): &(&probity_model::timeline::Revision<'_>, _)| {
        let status: &probity_model::timeline::ContainerSeen<'_> = status;
        status.ready
    };
    let course = courses(run).find(|course| {
        course.probes.len() > 20 && super::statuses::shown(course).any(|shown| ready(&shown))
    })?;
    let middle = run.history.get(course.probes[course.probes.len() / 2].id)?.us;
    let node = course.attempt.node.clone();
    let did = Did::verb(&node, RESTART_KUBELET, Some(0), None);
    let what = Happening::Deed(Deed { began_us: middle - SECOND, did });
    Copy::of(run).with(Event { us: middle, what }).done().filter(|_| !run.node_was_touched())
}

/// One of every `each` probes of an instance is left out.
fn left_out_now_and_then(run: &Timeline<'_>, kind: ProbeKind, each: usize) -> Option<History> {
    let fits = |course: &Course<'_, '_>| {
        is_plain(run, course, 2 * each + 2) && course.probes.iter().all(|probe| probe.passed == Some(true))
    };
    let course = of_kind(run, kind).filter(fits).max_by_key(|course| course.probes.len())?;
    let many = course.probes.len();
    let gone: Vec<&Probe<'_>> =
        course.probes[..many - 1].iter().skip(each - 1).step_by(each).copied().collect();
    Copy::of(run).without(course.exchanges(&gone)).done()
}

/// The first probe of an instance comes one second too early, counted from `startedAt`.
fn second_early(run: &Timeline<'_>) -> Option<History> {
    let own = |course: &Course<'_, '_>| course.probes.iter().all(|probe| probe.is(course.spec.kind));
    let course = courses(run).find(|course| {
        let delayed = course.spec.initial_delay > SECOND && !course.is_command() && !course.probes.is_empty();
        delayed && own(course) && course.always_open() && !run.node_was_touched()
    })?;
    let first = course.probes.first()?;
    let since = first.at.at.lo - course.attempt.began.at.hi;
    let early = since - course.spec.initial_delay + SECOND + SECOND * 6 / 10;
    Copy::of(run).moved(course.exchange(first), -early.max(0)).done()
}

/// Requests that timed out in the kubelet end later, or earlier.
fn given_up_later(run: &Timeline<'_>, by: i64, which: impl Fn(&Course<'_, '_>) -> bool) -> Option<History> {
    let fits = |course: &Course<'_, '_>| {
        course.probes.iter().filter(|probe| course.given_up(probe).is_some()).count() > 1
    };
    let course = courses(run).find(|course| which(course) && fits(course) && !run.node_was_touched())?;
    let mut copy = Copy::of(run);
    for probe in course.probes.iter().filter(|probe| course.given_up(probe).is_some()) {
        let request = course.attempt.request(probe)?.request.conn;
        let ends = course.lines(|fact| match fact {
            probity_script::Fact::Answer(of) => of.conn == request,
            probity_script::Fact::Closed(of) => of.conn == request,
            _ => false,
        });
        copy = copy.moved(ends, by);
    }
    copy.done()
}

fn late_statuses(run: &Timeline<'_>) -> Option<History> {
    down(run)?;
    let revisions: Vec<EventId> =
        run.pods.iter().flat_map(|pod| pod.revisions.iter().map(|revision| revision.id)).collect();
    Copy::of(run).moved(revisions, SECOND * 5 / 2).done()
}

/// Changes all statuses of a container whose last instance failed. A stock kubelet that kills a container does not always know
/// how the container ended.
fn last_states(run: &Timeline<'_>, exited: bool, change: fn(&mut Value)) -> Option<History> {
    let failed = |state: &State<'_>| matches!(state, State::Terminated { code, .. } if *code != 0);
    let (name, ids) = run.containers().find_map(|(pod, container)| {
        let shown = pod.revisions.iter().filter(|revision| {
            revision
                .container(&container.name)
                .is_some_and(|status| status.is_running() && failed(&status.last))
        });
        let ids: Vec<EventId> = shown.map(|revision| revision.id).collect();
        let by_itself = container.attempts.first().is_some_and(|first| first.exited_by_itself().is_some());
        let twice = container.attempts.len() == 2;
        let fits = if exited { by_itself && twice } else { !container.attempts.is_empty() };
        (!ids.is_empty() && fits).then(|| (container.name.clone(), ids))
    })?;
    ids.iter().fold(Copy::of(run), |copy, id| copy.status(*id, &name, change)).done()
}

fn no_address(run: &Timeline<'_>) -> Option<History> {
    let (_, ids) = down(run)?;
    let id = *ids.first()?;
    let forget = |object: &mut Value| {
        if let Some(status) = object["status"].as_object_mut() {
            status.remove("podIP");
            status.remove("podIPs");
        }
    };
    Copy::of(run).object(id, forget).done()
}

fn one_condition_stays(run: &Timeline<'_>) -> Option<History> {
    let (_, ids) = down(run)?;
    ids.iter().fold(Copy::of(run), |copy, id| copy.condition(*id, "ContainersReady", true)).done()
}

/// Leaves out all events that begin with these words, if there are any.
fn silent(run: &Timeline<'_>, words: &str) -> Option<History> {
    let all = run.pods.iter().flat_map(|pod| &pod.events);
    let ids: Vec<EventId> =
        all.filter(|event| event.message.starts_with(words)).map(|event| event.id).collect();
    (ids.len() > 1 && !run.node_was_touched()).then(|| Copy::of(run).without(ids).done())?
}
