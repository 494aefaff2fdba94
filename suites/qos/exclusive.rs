//! Exclusive CPUs: on which CPUs containers may run, under a kubelet with the CPU manager policy `static`.
//!
//! The CPUs on which a container may run are those that the kernel reports to its process. Whether its kubelet must give
//! it exclusive CPUs follows from the configuration and the pod's spec.

use std::collections::BTreeSet;

use probity_model::clocks::Stamp;
use probity_model::history::{CONFIGURE_KUBELET, Did};
use probity_model::timeline::ContainerKind;
use probity_model::verdict::Doubt;
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Dump;

use crate::reading::dumps::{Look, looks};
use crate::reading::kubelet_restarts::next_act_on_a_node;
use crate::reading::qos::{GUARANTEED, amount, class_of};
use crate::reading::quantities::WHOLE;

/// The file with the state of a process, and the field that lists its CPUs.
const STATUS: &str = "/proc/self/status";
const ALLOWED: &str = "Cpus_allowed_list:";
/// The most CPUs that the Linux kernel can be built for: NR_CPUS_RANGE_END of x86-64.
const MOST: u32 = 8192;

/// A kubelet with the policy `static`.
struct Static<'h> {
    node: &'h str,
    began: Stamp,
    until: Stamp,
}

/// A record that a process made inside its container, and the CPUs that this record shows.
struct View<'t, 'h> {
    look: Look<'t, 'h>,
    cpus: BTreeSet<u32>,
}

/// A container of a Guaranteed pod that requests whole CPUs gets that many, and no other container may run on them.
pub(super) fn of_whole_requests(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for kubelet in statics(run, seen) {
        let views = views(run, &kubelet);
        let owners = views.iter().filter_map(|view| Some((view, owns(run, &kubelet, view)?)));
        for (owner, wanted) in owners {
            let (name, line) = (owner.look.life.name(), owner.look.line.id);
            if owner.cpus.len() != wanted {
                let got = owner.cpus.len();
                let finding = format!("{name} may run on {got} CPUs, but requests {wanted} exclusive CPUs");
                seen.violated(finding, [line]);
                continue;
            }
            for other in &views {
                judge_pair(run, clause, (owner, other), seen);
            }
        }
    }
}

/// The kubelets that were configured with this policy, each for the time until something else was done to its node.
fn statics<'h>(run: &'h Timeline<'_>, seen: &mut Seen) -> Vec<Static<'h>> {
    let mut all = Vec::new();
    for (id, deed) in &run.deeds {
        let Did::NodeVerb { node, verb, input: Some(input), .. } = &deed.did else { continue };
        if verb != CONFIGURE_KUBELET || input["cpuManagerPolicy"] != "static" {
            continue;
        }
        let refused =
            deed.did.kubelet_refused().then(|| "the kubelet does not run with this policy".to_owned());
        if let Some(why) = deed.did.unproven().or(refused) {
            seen.doubt(Doubt::StepFailed, format!("{verb}: {why}"), [*id]);
            continue;
        }
        all.push(Static { node, began: run.heard(*id), until: next_act_on_a_node(run, *id) });
    }
    all
}

/// The views from the containers of a node that were recorded while its kubelet had the policy.
fn views<'t, 'h>(run: &'t Timeline<'h>, kubelet: &Static<'_>) -> Vec<View<'t, 'h>> {
    let meanwhile = |look: &Look<'_, '_>| {
        let at = &look.line.at;
        look.life.pod.node == kubelet.node && run.before(&kubelet.began, at) && run.before(at, &kubelet.until)
    };
    let all = looks(run).into_iter().filter(meanwhile);
    all.filter_map(|look| Some(View { cpus: allowed(look.dump)?, look })).collect()
}

/// The CPUs that a process may run on.
fn allowed(dump: &Dump) -> Option<BTreeSet<u32>> {
    let list = dump.files.get(STATUS)?.lines().find_map(|line| line.strip_prefix(ALLOWED))?.trim();
    let mut all = BTreeSet::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last >= MOST {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// How many exclusive CPUs a container should have, if it began under the policy and should have any.
fn owns(run: &Timeline<'_>, kubelet: &Static<'_>, view: &View<'_, '_>) -> Option<usize> {
    let life = &view.look.life;
    let lasting = matches!(life.container.kind, ContainerKind::Main | ContainerKind::Sidecar);
    let limit = amount(life.container.spec, "limits", "cpu").filter(|amount| amount % WHOLE == 0)?;
    let counts =
        lasting && class_of(life.pod.spec) == GUARANTEED && run.before(&kubelet.began, &life.attempt.began);
    usize::try_from(limit / WHOLE).ok().filter(|_| counts)
}

/// Judges the view of another container that was recorded while a container had exclusive CPUs.
fn judge_pair(
    run: &Timeline<'_>,
    clause: &Clause,
    (owner, other): (&View<'_, '_>, &View<'_, '_>),
    seen: &mut Seen,
) {
    let (mine, theirs) = (&owner.look.life, &other.look.life);
    let same = mine.pod.key == theirs.pod.key && mine.container.name == theirs.container.name;
    let (began, at) = (&mine.attempt.began, &other.look.line.at);
    let meanwhile =
        run.before(began, at) && mine.attempt.ended.as_ref().is_none_or(|ended| run.before(at, ended));
    if same || !meanwhile {
        return;
    }
    let later = theirs.pod.created.is_some_and(|(id, _)| run.before(began, &run.heard(id)));
    let adjusted =
        clause.tolerance_us("adjusted") + run.noise_between(&owner.look.life.attempt.node, began, at);
    if !later && !run.before(&began.later(adjusted), at) {
        return;
    }
    let events = [owner.look.line.id, other.look.line.id];
    match owner.cpus.intersection(&other.cpus).next() {
        Some(shared) => {
            let (mine, theirs) = (mine.name(), theirs.name());
            seen.violated(
                format!("CPU {shared} is exclusive to {mine}, but {theirs} may also run on it"),
                events,
            );
        }
        None => {
            seen.fine(events);
            seen.facet("other", if later { "started-later" } else { "started-before" });
        }
    }
}
