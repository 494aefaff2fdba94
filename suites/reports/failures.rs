//! Events about failed probes: one for each, which names the kind of probe.

use std::collections::BTreeSet;

use probity_model::timeline::{At, ContainerLife, KubeEvent, PodLife, ProbeKind, ProbeOutcome};
use probity_model::{Clause, Seen, Timeline};

use super::WARNING;
use super::tally::{Tally, Told};
use crate::reading::mains::lives_of;

/// For each failed probe an event is recorded.
pub(super) fn each_failure(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    if run.node_was_touched() {
        return;
    }
    for pod in &run.pods {
        let tally = Tally::of(run, pod);
        for container in &pod.containers {
            for probe in &container.probes {
                judge(run, clause, (pod, container, probe.kind), &tally, seen);
            }
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
    let says = |event: &KubeEvent<'_>| {
        event.is_of(&container.name, "Unhealthy") && named(event).is_some_and(|word| word == kind.word())
    };
    for (nth, failed) in (1..).zip(failures(run, pod, container, kind)) {
        match tally.told(clause, &failed, (WARNING, nth), says) {
            Told::Yes(event) => seen.fine([failed.id, event]),
            Told::No => {
                let finding = format!(
                    "{nth} {} probes of {}/{} failed, and fewer events {} say so",
                    kind.word(),
                    pod.key,
                    container.name,
                    clause.slack.as_ref().map_or_else(String::new, |slack| format!("{} later", slack.by)),
                );
                seen.violated(finding, [Some(failed.id), run.last_event()].into_iter().flatten());
                return;
            }
            Told::Unknown => return,
        }
    }
}

/// The probes of a kind that failed for sure, in all instances of a container, before its pod was deleted: each with when the
/// kubelet knew.
fn failures(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    kind: ProbeKind,
) -> Vec<At> {
    lives_of(run, pod, container)
        .filter_map(|life| life.probed(kind))
        .flat_map(|life| {
            let failed = |probe: &&&_| life.surely(probe) == ProbeOutcome::Failure;
            let alone = life.is_asked_alone() && life.is_unmistaken();
            let of = life.probes.iter().filter(|_| alone).filter(failed);
            let before = of.filter(|probe| life.before_deletion(&probe.at));
            before.map(|probe| At::new(probe.id, life.result(probe).at())).collect::<Vec<_>>()
        })
        .collect()
}

/// The kind of probe that an event about a failure names first.
fn named(event: &KubeEvent<'_>) -> Option<String> {
    let (word, rest) = event.message.split_once(' ')?;
    (rest.starts_with("probe ") && !event.is_combined()).then(|| word.to_lowercase())
}

/// An event about a failed probe names a kind of probe that the container has.
pub(super) fn names_a_probe(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    for pod in &run.pods {
        let mut said = BTreeSet::new();
        let unhealthy = |event: &&KubeEvent<'_>| event.reason == "Unhealthy" && !event.is_combined();
        for event in pod.events.iter().filter(unhealthy) {
            let Some(container) = event.container.and_then(|name| pod.container(name)) else { continue };
            let word = named(event).unwrap_or_default();
            let has = container.probes.iter().find(|probe| probe.kind.word() == word);
            match has {
                Some(probe) if said.insert(probe.kind) => {
                    seen.fine([event.id]);
                    seen.facet("probe", probe.kind.word());
                }
                Some(_) => {}
                None => {
                    let finding = format!(
                        "an event says {:?}, and {}/{} has no such probe",
                        event.message, pod.key, container.name
                    );
                    seen.violated(finding, [event.id]);
                }
            }
        }
    }
}
