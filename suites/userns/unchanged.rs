//! Applications that do not know about user namespaces: two pods that differ only in hostUsers behave in the same way.
//! Some nodes cannot start pods with their own user namespaces, although their runtimes claim that they can.

use std::collections::BTreeMap;

use probity_model::timeline::{At, PodLife};
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;

use super::asks;

/// The things that an application does, each with its first event.
type Signs = BTreeMap<&'static str, At>;

/// If a pod with the users of its node does something, its twin with its own users does it as well.
pub(super) fn works_as_well(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for own in run.pods.iter().filter(|pod| asks(pod.spec)) {
        let Some(plain) = run.pods.iter().find(|plain| are_twins(plain, own)) else { continue };
        let (usual, here) = (signs(run, plain), signs(run, own));
        if !usual.is_empty() && !is_supported(run, own) {
            let why = format!(
                "no pod with its own user namespace started on {}, so the node may not support user namespaces, whatever its runtime claims",
                own.node
            );
            seen.doubt(Doubt::Ambiguous, why, usual.values().map(|at| at.id));
            continue;
        }
        for (what, at) in &usual {
            if let Some(same) = here.get(what) {
                seen.fine([at.id, same.id]);
                seen.facet("does", *what);
            } else if run.watched_for(own, at, clause.slack_us()) {
                let finding = format!(
                    "{} has its own users, and does not behave like {}, which differs in nothing else: {what}",
                    own.name, plain.name
                );
                seen.violated(finding, run.to_the_end([at.id]));
            }
        }
    }
}

/// Whether a pod with its own user namespace, this one or another one, started on the node of this pod.
fn is_supported(run: &Timeline<'_>, own: &PodLife<'_>) -> bool {
    let began = |pod: &PodLife<'_>| pod.containers.iter().any(|of| !of.attempts.is_empty());
    run.pods.iter().any(|pod| asks(pod.spec) && pod.node == own.node && began(pod))
}

/// The fields that two pods must have in common: with another user or another volume, an application may behave
/// differently.
const ALIKE: [&str; 3] = ["containers", "securityContext", "volumes"];

/// Whether two pods are alike, and the first has the users of its node.
fn are_twins(plain: &PodLife<'_>, own: &PodLife<'_>) -> bool {
    let alike = |field: &&str| plain.spec.get(*field) == own.spec.get(*field);
    !asks(plain.spec) && plain.node == own.node && ALIKE.iter().all(alike)
}

fn signs(run: &Timeline<'_>, pod: &PodLife<'_>) -> Signs {
    let mut all = Signs::new();
    let ready = pod.revisions.iter().find(|shown| shown.is("Ready") == Some(true));
    all.extend(ready.map(|shown| ("is-ready", At::of(shown))));
    for life in run.lives().into_iter().filter(|life| life.pod.uid == pod.uid) {
        for line in &life.attempt.lines {
            let sign = match &line.line.fact {
                Fact::ExecEnded(ended) if ended.exit == Some(0) => "runs-commands",
                Fact::Tried(trial) if trial.trial == "write" && trial.ok => "writes-files",
                Fact::Answer(_) => "answers",
                Fact::Started(_) if life.earlier_processes() > 0 => "restarts",
                Fact::Exiting(exiting) if exiting.code == 0 => "stops",
                _ => continue,
            };
            all.entry(sign).or_insert_with(|| At::of(line));
        }
    }
    all
}
