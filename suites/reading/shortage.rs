//! Nodes whose kubelets were configured to keep more memory free than there is, how much memory their pods used, and
//! what happened to the pods.
//!
//! A process's own records show how much memory it took. The additional memory of its program is not known, and is not
//! counted. Whether a node is short of memory follows from the configuration, from the node's allocatable memory before
//! the configuration, and from these records. It never follows from the kubelet's reports.

#[cfg(test)]
pub(crate) mod scene;

use probity_model::clocks::{Order, Stamp};
use probity_model::history::{CONFIGURE_KUBELET, Did};
use probity_model::timeline::{At, ContainerLife, Life, PodLife, ProbeKind};
use probity_model::verdict::Doubt;
use probity_model::{EventId, Seen, Timeline};
use probity_script::Fact;
use serde_json::Value;

use super::ends::End;
use super::kubelet_restarts::next_act_on_a_node;
use super::mains::{are_recorded, lives_of};
use super::memory::allocatable;
use super::qos::{amount, class_of};
use super::quantities::{WHOLE, thousandths};

/// The settings of a kubelet that define the minimum free memory.
const THRESHOLDS: [&str; 2] = ["/evictionHard/memory.available", "/evictionSoft/memory.available"];

/// A node whose kubelet has to evict pods until more memory is free.
pub(crate) struct Shortage<'t, 'h> {
    /// The step that configured the kubelet.
    pub(crate) id: EventId,
    /// When that step began.
    pub(crate) began: Stamp,
    /// When the kubelet was disturbed again, or the case ended.
    pub(crate) until: Stamp,
    /// The bytes that can be used before the kubelet has to evict a pod.
    spare: Option<i128>,
    /// The pods of the case on the node.
    pub(crate) members: Vec<Member<'t, 'h>>,
}

/// A pod on a node that is short of memory, all of whose processes are known.
pub(crate) struct Member<'t, 'h> {
    /// The pod.
    pub(crate) pod: &'t PodLife<'h>,
    /// Its class, according to its spec.
    pub(crate) class: &'static str,
    /// Its priority.
    pub(crate) priority: i64,
    /// The bytes that it requests.
    request: i128,
    /// The bytes that its processes had recorded when the step began.
    taken: i128,
    /// The last of these records.
    pub(crate) record: Option<EventId>,
    /// The first sign that it was evicted during the shortage.
    evicted: Option<At>,
}

/// The shortages of a history. A step that failed is recorded as a doubt.
pub(crate) fn shortages<'t, 'h>(run: &'t Timeline<'h>, seen: &mut Seen) -> Vec<Shortage<'t, 'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, input: Some(input), .. } = &deed.did else { continue };
        let least = THRESHOLDS.into_iter().find_map(|at| input.pointer(at)?.as_str());
        let Some(least) = least.filter(|_| verb == CONFIGURE_KUBELET) else { continue };
        if let Some(why) = deed.did.unproven() {
            seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            continue;
        }
        if deed.did.kubelet_refused() {
            continue;
        }
        let began = Stamp::harness(deed.began_us);
        let until = next_act_on_a_node(run, *id);
        let on_node = run.pods.iter().filter(|pod| pod.node == *node);
        let members = on_node.filter_map(|pod| Member::of(run, pod, (&began, &until))).collect();
        all.push(Shortage { id: *id, began, until, spare: spare(run, node, least), members });
    }
    all
}

/// How much memory can be used on a node whose kubelet must keep this much free, in bytes.
fn spare(run: &Timeline<'_>, node: &str, least: &str) -> Option<i128> {
    let all = allocatable(run, node)? / WHOLE;
    let kept = match least.strip_suffix('%') {
        Some(percent) => all.checked_mul(thousandths(percent)?)?.checked_div(thousandths("100")?)?,
        None => thousandths(least)? / WHOLE,
    };
    Some(all - kept)
}

impl<'t, 'h> Shortage<'t, 'h> {
    /// Whether the pods of the case alone use more memory than the kubelet allows.
    pub(crate) fn is_certain(&self) -> bool {
        let taken: i128 = self.members.iter().map(|member| member.taken).sum();
        self.spare.is_some_and(|spare| taken > spare)
    }

    /// The pods that were evicted, each with the first sign of it, in the order of these signs.
    pub(crate) fn evicted(&self) -> Vec<(&Member<'t, 'h>, &At)> {
        let evicted = |member| Some((member, Member::evicted(member)?));
        let mut all: Vec<_> = self.members.iter().filter_map(evicted).collect();
        all.sort_by_key(|(_, at)| at.id);
        all
    }

    /// The other pods that had not been evicted when the pod `gone` was.
    pub(crate) fn left<'m>(
        &'m self,
        run: &'m Timeline<'_>,
        (gone, at): (&'m Member<'t, 'h>, &'m At),
    ) -> impl Iterator<Item = &'m Member<'t, 'h>> {
        self.members.iter().filter(move |other| {
            let later = |evicted: &At| run.clocks.order(at, evicted) == Order::Before;
            !std::ptr::eq(*other, gone) && other.evicted().is_none_or(later)
        })
    }
}

impl<'t, 'h> Member<'t, 'h> {
    /// A pod that was on the node when the shortage began. None if something else may have ended the pod, or if the
    /// records of its processes are incomplete.
    fn of(run: &'t Timeline<'h>, pod: &'t PodLife<'h>, (began, until): (&Stamp, &Stamp)) -> Option<Self> {
        let probed = |of: &ContainerLife<'_>| {
            [ProbeKind::Startup, ProbeKind::Liveness].into_iter().any(|kind| of.probe(kind).is_some())
        };
        let plain = pod.restart_policy() == "Always"
            && !pod.had_deadline()
            && pod.containers.iter().all(|of| of.stays() && !probed(of));
        let there = pod.revisions.first().is_some_and(|first| run.before(&first.at, began));
        if !plain || !there || !are_recorded(pod) || !run.before_deletion(pod, until) {
            return None;
        }
        let (mut taken, mut record) = (0, None);
        for (id, bytes) in pod.containers.iter().filter_map(|of| memory_of(run, pod, of, began)) {
            taken += bytes;
            record = record.max(Some(id));
        }
        let requests = pod.containers.iter().filter_map(|of| {
            let asked = amount(of.spec, "requests", "memory").or_else(|| amount(of.spec, "limits", "memory"));
            Some(asked? / WHOLE)
        });
        let priority = pod.spec.get("priority").and_then(Value::as_i64).unwrap_or_default();
        let (class, request) = (class_of(pod.spec), requests.sum());
        let evicted = eviction(run, pod, (began, until));
        Some(Self { pod, class, priority, request, taken, record, evicted })
    }

    /// Whether it certainly used more than it requested.
    pub(crate) fn is_above(&self) -> bool {
        self.taken > self.request
    }

    /// Whether it certainly used less than it requested, including some memory for its program.
    pub(crate) fn is_below(&self) -> bool {
        self.record.is_some() && self.taken + self.taken <= self.request
    }

    /// Whether it certainly exceeded its request by more than another pod did, including some memory for the programs.
    pub(crate) fn is_further_above(&self, other: &Self) -> bool {
        let beyond = |of: &Self| of.taken - of.request;
        self.is_above() && beyond(self) > beyond(other) + beyond(other).max(0)
    }

    /// The first sign that it was evicted during the shortage.
    pub(crate) fn evicted(&self) -> Option<&At> {
        self.evicted.as_ref()
    }

    /// Whether it was not evicted, and all its processes keep running.
    pub(crate) fn stays(&self, run: &'t Timeline<'h>) -> bool {
        self.evicted.is_none() && self.lives(run).all(|life| life.lives_on())
    }

    /// The lives of its containers.
    pub(crate) fn lives(&self, run: &'t Timeline<'h>) -> impl Iterator<Item = Life<'t, 'h>> {
        let pod = self.pod;
        pod.containers.iter().flat_map(move |container| lives_of(run, pod, container))
    }
}

/// How much memory the process of a container had taken at an instant, and the record of it.
fn memory_of(
    run: &Timeline<'_>,
    pod: &PodLife<'_>,
    container: &ContainerLife<'_>,
    at: &Stamp,
) -> Option<(EventId, i128)> {
    let life = lives_of(run, pod, container).rfind(|life| run.before(&life.began, at))?;
    life.attempt.lines.iter().rev().find_map(|line| match &line.line.fact {
        Fact::Consumed(of) if of.resource == "memory" && of.error.is_none() && run.before(&line.at, at) => {
            Some((line.id, i128::from(of.amount)))
        }
        _ => None,
    })
}

/// The first sign that a pod was evicted between two instants: a stop signal to one of its processes, the end of a
/// process without a stop signal, or a terminal phase in the API.
fn eviction(run: &Timeline<'_>, pod: &PodLife<'_>, (from, to): (&Stamp, &Stamp)) -> Option<At> {
    let mut signs: Vec<At> = pod.over().map(At::of).into_iter().collect();
    for life in pod.containers.iter().flat_map(|container| lives_of(run, pod, container)) {
        signs.extend(life.stopped_undeleted().map(At::of));
        let killed = End::of(&life).filter(|end| pod.over().is_some() && end.was_killed(&life));
        signs.extend(killed.map(|end| end.at().clone()));
    }
    let first = signs.into_iter().min_by_key(|sign| sign.id)?;
    (run.before(from, &first) && run.before(&first, to)).then_some(first)
}
