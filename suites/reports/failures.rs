//! Events about failed probes: one for each failed probe, with the kind of the probe.

use std::collections::{BTreeMap, BTreeSet};

use probity_model::history::Source;
use probity_model::mechanisms::{PROMPT, START_OF_A_COMMAND, TO_BEGIN, UNDER_WAY};
use probity_model::timeline::{
    Asked, At, Attempt, ContainerLife, Handler, KubeEvent, Life, PodLife, Probe, ProbeKind, ProbeOutcome,
    ProbeSpec, ProbedLife,
};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::answer::{ExecAnswer, ExecSettings};

use super::WARNING;
use super::tally::{Tally, Told};
use crate::reading::http::exchange::REDIRECTS;
use crate::reading::mains::lives_of;
use crate::reading::unreachable::UnreachableProbe;

/// An event is recorded for each failed probe.
pub(super) fn each_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            for probe in &container.probes {
                judge(run, clause, (pod, container, probe.kind), &tally, seen);
                judge_unseen(run, clause, &UnreachableProbe { pod, container, spec: probe }, &tally, seen);
            }
            judge_repeated_codes(run, (pod, container), &tally, seen);
            judge_repeated_errors(run, clause, (pod, container), &tally, seen);
        }
    }
}

fn judge(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, kind): (&PodLife<'_>, &ContainerLife<'_>, ProbeKind),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let says = |event: &KubeEvent<'_>| is_about(event, container, kind);
    for (nth, failed) in (1..).zip(failures(run, clause, (pod, container, kind))) {
        match tally.told(clause, &failed, (WARNING, nth), says) {
            Told::Yes(event) => seen.fine([failed.id, event]),
            Told::No => {
                let finding = format!(
                    "{nth} {} probes of {}/{} failed, but fewer events {} report this",
                    kind.word(),
                    pod.key,
                    container.name,
                    clause.slack.as_ref().map_or_else(String::new, |slack| format!("{} later", slack.by)),
                );
                seen.violated(finding, run.to_the_end([failed.id]));
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// Whether an event reports a probe of this kind that did not succeed.
fn is_about(event: &KubeEvent<'_>, container: &ContainerLife<'_>, kind: ProbeKind) -> bool {
    event.is_of(&container.name, "Unhealthy") && named(event).is_some_and(|word| word == kind.word())
}

/// A probe that cannot succeed, and that no target records, is reported at least once.
fn judge_unseen(
    run: &Timeline<'_>,
    clause: &Clause,
    probe: &UnreachableProbe<'_, '_>,
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let (kind, container) = (probe.spec.kind, probe.container);
    if !probe.is_hopeless() {
        return;
    }
    let says = |event: &KubeEvent<'_>| is_about(event, container, kind);
    let mechanism = || matches!(probe.spec.handler, Handler::Tcp { .. }).then_some("tcp");
    if let Some(event) = tally.nth(1, says) {
        seen.fine([event.id]);
        if let Some(word) = mechanism() {
            seen.facet("mechanism", word);
        }
        return;
    }
    let Some(by) = probe.must_have_run(run) else { return };
    if let Told::No = tally.told(clause, &by, (WARNING, 1), says) {
        let finding = format!(
            "the {} probe of {}/{} cannot succeed, but no event reports a failure",
            kind.word(),
            probe.pod.key,
            container.name
        );
        seen.violated(finding, run.to_the_end([by.id]));
    }
}

/// The kubelet's words before a status code that fails a probe.
const CODE: &str = "statuscode: ";

/// A status code is reported at most as often as a probe got it: each of these responses is in the target's record.
fn judge_repeated_codes(
    run: &Timeline<'_>,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let lives: Vec<_> = lives_of(run, pod, container).collect();
    let whole = lives.iter().all(|life| life.is_complete());
    // If a probe goes to another host, or is redirected there, the responses are in other records.
    let own = container.probes.iter().all(|probe| probe.handler.host().is_none());
    let led = lives.iter().any(|life| life.requests.iter().any(|asked| asked.followed()));
    let heard = !run.gaps.iter().any(|(_, gap)| matches!(gap.of, Source::Witness { .. } | Source::Recorder));
    if !whole || !own || led || !heard || lives.is_empty() {
        return;
    }
    let mut told: BTreeMap<(String, &str), (u64, EventId)> = BTreeMap::new();
    // The case may end before the record of a response arrives.
    let heard = |event: &KubeEvent<'_>| run.at_least(&event.at, &run.end()) > UNDER_WAY;
    let about = |event: &KubeEvent<'_>| event.is_of(&container.name, "Unhealthy") && heard(event);
    for (event, times) in tally.iter().filter(|(event, _)| about(event)) {
        let code = event.message.split_once(CODE).and_then(|(_, code)| code.split_whitespace().next());
        if let Some((kind, code)) = named(event).zip(code) {
            let entry = told.entry((kind, code)).or_insert((0, event.id));
            *entry = (entry.0 + times, event.id);
        }
    }
    for ((kind, code), (times, id)) in told {
        let got = |life: &Life<'_, '_>, probe: &Probe<'_>| {
            let could = ProbeKind::ALL.into_iter().any(|of| of.word() == kind && probe.can_be(of));
            // The answer after a redirect can have any status, and so can a response whose status is not known.
            let status = life.attempt.request(probe).and_then(Asked::status);
            let other =
                status.is_some_and(|status| !REDIRECTS.contains(&status) && status.to_string() != code);
            could && !other && probe.passed != Some(true)
        };
        let of = |life: &Life<'_, '_>| life.attempt.probes.iter().filter(|probe| got(life, probe)).count();
        let responses: usize = lives.iter().map(of).sum();
        if u64::try_from(responses).is_ok_and(|responses| times > responses) {
            let finding = format!(
                "{times} events say that {kind} probes of {}/{} got {code}, but the target sent at most {responses} \
                 such responses",
                pod.key, container.name
            );
            seen.violated(finding, run.to_the_end([id]));
        }
    }
}

/// An error is reported at most once for each turn of a probe, however often the kubelet tries the probe in this turn.
/// Readiness probes are left out, because they also run out of turn.
fn judge_repeated_errors(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container): (&PodLife<'_>, &ContainerLife<'_>),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let first = lives_of(run, pod, container).next();
    let Some(first) = first.filter(|first| first.number == 0 && !pod.is_static) else { return };
    // On a busy node, the kubelet may probe a container before its process has begun.
    let began = first.began.earlier(TO_BEGIN);
    let from = began.earlier(first.noise(&began, &first.began));
    for spec in container.probes.iter().filter(|spec| spec.kind != ProbeKind::Readiness) {
        let errs = |event: &KubeEvent<'_>| {
            is_about(event, container, spec.kind) && event.message.contains(" probe errored")
        };
        let mut told = 0;
        for (event, times) in tally.iter().filter(|(event, _)| errs(event)) {
            told += times;
            let Some(since) = run.clocks.between(&from, &event.at) else { return };
            let turns = since.hi / spec.period.max(1) + clause.tolerance_multiple(1, "turns");
            if i64::try_from(told).is_ok_and(|told| told > turns) {
                let finding = format!(
                    "{told} events say that {} probes of {}/{} ended in an error, but at most {turns} can have run",
                    spec.kind.word(),
                    pod.key,
                    container.name
                );
                return seen.violated(finding, [first.began.id, event.id]);
            }
        }
    }
}

/// The probes of a kind that certainly failed, in all instances of a container, each with the time at which the kubelet
/// knew of the failure. After the deletion of the pod, only readiness probes are counted.
fn failures(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, kind): (&PodLife<'_>, &ContainerLife<'_>, ProbeKind),
) -> Vec<At> {
    lives_of(run, pod, container)
        .filter_map(|life| life.probed(kind))
        .flat_map(|life| {
            let failed = |probe: &&&_| life.surely(probe) == ProbeOutcome::Failure;
            let alone = life.is_asked_alone() && life.is_unmistaken();
            let of = life.probes.iter().filter(|_| alone).filter(failed);
            let counted = of.filter(|probe| life.before_deletion(&probe.at) || goes_on(clause, &life, probe));
            counted.map(|probe| At::new(probe.id, life.result(probe).at())).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether a readiness probe ended long before its process: the kubelet reports its failure even while the pod
/// terminates.
fn goes_on(clause: &Clause, life: &ProbedLife<'_, '_>, probe: &Probe<'_>) -> bool {
    let lasts = |ended: &At| {
        let rest = life.run.clocks.between(&life.attempt.result(probe, life.spec).at(), ended);
        rest.is_some_and(|rest| rest.lo > clause.slack_us())
    };
    life.spec.kind == ProbeKind::Readiness && life.attempt.ended.as_ref().is_some_and(lasts)
}

/// The kind of probe that an event about a failure names first.
fn named(event: &KubeEvent<'_>) -> Option<String> {
    let (word, rest) = event.message.split_once(' ')?;
    (rest.starts_with("probe ") && !event.is_combined()).then(|| word.to_lowercase())
}

/// What a command prints when it fails, to standard output and to standard error: the texts of each step of its script
/// that fails, with the number of the step. None if a text may be truncated, or if no step fails.
fn printed(container: &ContainerLife<'_>, probe: &ProbeSpec) -> Option<Vec<(usize, Vec<String>)>> {
    let Handler::Exec { command } = &probe.handler else { return None };
    let plan = container.plan()?;
    let answers = plan.exec.get(command.get(2)?)?.steps().iter().map(|step| &step.answer).enumerate();
    let succeeds = |answer: &ExecAnswer| matches!(answer.settings(), Some(ExecSettings { exit: 0, .. }));
    let failing = answers.filter(|(_, answer)| !succeeds(answer)).map(|(step, answer)| match answer {
        ExecAnswer::With(ExecSettings { print, print_error, sleep: None, print_bytes: None, .. }) => {
            Some((step, [print, print_error].into_iter().flatten().cloned().collect()))
        }
        _ => None,
    });
    failing.collect::<Option<Vec<_>>>().filter(|steps| !steps.is_empty())
}

/// Whether an event contains all of these texts.
fn contains(event: &KubeEvent<'_>, texts: &[String]) -> bool {
    texts.iter().all(|text| event.message.contains(text))
}

/// What a command printed when it first failed in a step of its script is in an event about a failure.
fn judge_texts(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, spec): (&PodLife<'_>, &ContainerLife<'_>, &ProbeSpec),
    tally: &Tally<'_, '_>,
    seen: &mut Seen,
) {
    let changed = container.attempts.iter().any(Attempt::was_changed);
    let Some(steps) = printed(container, spec).filter(|_| !changed && !run.node_was_touched()) else {
        return;
    };
    let lives: Vec<_> = lives_of(run, pod, container).filter_map(|life| life.probed(spec.kind)).collect();
    for (step, texts) in steps.iter().filter(|(_, texts)| !texts.is_empty()) {
        let fails = |life: &ProbedLife<'_, '_>| {
            let alone = life.is_asked_alone() && life.is_unmistaken();
            let first = life.probes.iter().copied().filter(|_| alone).find(|probe| {
                let of_step = life.command(probe).is_some_and(|command| command.seen.step == *step);
                let prompt = life.result(probe).took().is_some_and(|took| took.hi < PROMPT.of(spec.timeout));
                of_step && prompt && life.surely(probe) == ProbeOutcome::Failure
            });
            let first = first.filter(|probe| life.before_deletion(&probe.at));
            first.map(|probe| At::new(probe.id, life.result(probe).at()))
        };
        let Some(failed) = lives.iter().find_map(fails) else { continue };
        let says = |event: &KubeEvent<'_>| is_about(event, container, spec.kind) && contains(event, texts);
        match tally.told(clause, &failed, (WARNING, 1), says) {
            Told::Yes(event) => seen.fine([failed.id, event]),
            Told::No => {
                let finding = format!(
                    "the {} probe of {}/{} failed and printed {texts:?}, but no event contains this",
                    spec.kind.word(),
                    pod.key,
                    container.name
                );
                seen.violated(finding, run.to_the_end([failed.id]));
            }
            Told::Unknown => {}
        }
    }
}

/// Whether the target recorded a failed run of a command shortly before an event. Otherwise, the event may be about a run that did
/// not reach the target, because its process had just started, or because the runtime gave up.
fn is_about_recorded(
    run: &Timeline<'_>,
    clause: &Clause,
    (pod, container, spec): (&PodLife<'_>, &ContainerLife<'_>, &ProbeSpec),
    event: &KubeEvent<'_>,
) -> bool {
    let since = event.at.earlier(spec.timeout + START_OF_A_COMMAND + clause.slack_us());
    let since = since.earlier(run.noise_between(&pod.node, &since, &event.at));
    let recorded = |life: &ProbedLife<'_, '_>| {
        let mut failed = life.probes.iter().filter(|probe| life.outcome(probe) == ProbeOutcome::Failure);
        failed.any(|probe| run.before(&since, &probe.at) && !run.before(&event.at, &probe.at))
    };
    let lives = lives_of(run, pod, container).filter_map(|life| life.probed(spec.kind));
    lives.into_iter().any(|life| recorded(&life))
}

/// An event about a failed probe names a kind of probe that the container has, and contains what its command printed.
pub(super) fn names_a_probe(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            for spec in &container.probes {
                judge_texts(run, clause, (pod, container, spec), &tally, seen);
            }
        }
        let mut said = BTreeSet::new();
        let unhealthy = |event: &&KubeEvent<'_>| event.reason == "Unhealthy" && !event.is_combined();
        for event in pod.events.iter().filter(unhealthy) {
            let Some(container) = event.container.and_then(|name| pod.container(name)) else { continue };
            let word = named(event).unwrap_or_default();
            let has = container.probes.iter().find(|probe| probe.kind.word() == word);
            match has {
                Some(probe)
                    if printed(container, probe)
                        .is_some_and(|steps| !steps.iter().any(|(_, texts)| contains(event, texts))) =>
                {
                    let finding = format!(
                        "an event says {:?}, but not what the command of {}/{} printed",
                        event.message, pod.key, container.name
                    );
                    if is_about_recorded(run, clause, (pod, container, probe), event) {
                        seen.violated(finding, [event.id]);
                    } else {
                        seen.doubt(Doubt::Ambiguous, finding, [event.id]);
                    }
                }
                Some(probe) if said.insert(probe.kind) => {
                    seen.fine([event.id]);
                    seen.facet("probe", probe.kind.word());
                }
                Some(_) => {}
                None => {
                    let finding = format!(
                        "an event says {:?}, but {}/{} has no such probe",
                        event.message, pod.key, container.name
                    );
                    seen.violated(finding, [event.id]);
                }
            }
        }
    }
}
