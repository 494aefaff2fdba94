//! The resources that a container gets from a resize, and what its status shows.

use std::collections::BTreeMap;

use probity_model::clocks::Stamp;
use probity_model::timeline::{ContainerLife, ContainerSeen, Line, Revision};
use probity_model::verdict::Doubt;
use probity_model::{Clause, EventId, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use super::asked::{Amount, Resize, feasible};
use super::deferred::{has_no_room, is_plainly_possible};
use crate::reading::cgroups::{NO_CPU_LIMITS, in_cgroup, sets_cpu_limits};
use crate::reading::patches::{IN_PROGRESS, PENDING, container_in, is_resizing};
use crate::reading::qos::{DECIDING, total_request};
use crate::reading::quantities::{is_same, thousandths};
use crate::reading::statuses::status_of;

/// The files of a container's own cgroup, each time it read them.
fn readings<'t, 'h>(
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = (&'t Line<'h>, &'h BTreeMap<String, String>)> {
    let lines = container.attempts.iter().flat_map(|attempt| &attempt.lines);
    lines.filter_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line, &dump.files)),
        _ => None,
    })
}

/// The revision that shows that a resize must wait.
fn waits(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> Option<EventId> {
    let mut after = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until));
    after.find(|shown| resize.wait(shown).is_some()).map(|shown| shown.id)
}

/// The revision that shows that a node can never satisfy a resize.
fn infeasible(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> Option<EventId> {
    let mut after = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until));
    let says = |shown: &&Revision<'_>| resize.wait(shown).is_some_and(|said| said["reason"] == "Infeasible");
    after.find(says).map(|shown| shown.id)
}

/// Whether a resize must wait, so that it is not known when it will be enacted. This is a doubt, unless the case itself
/// takes the room for it.
pub(super) fn is_put_off(run: &Timeline<'_>, resize: &Resize<'_, '_>, seen: &mut Seen) -> bool {
    if let Some(failed) = could_not_lower(run, resize) {
        let why = "the kubelet could not lower the memory limit, perhaps because it did not know the usage";
        seen.doubt(Doubt::Ambiguous, why, [resize.patch.id, failed]);
        return true;
    }
    let Some(id) = waits(run, resize) else { return false };
    if let Some(marked) = infeasible(run, resize).filter(|_| is_plainly_possible(run, resize)) {
        let finding = format!(
            "the resize of {} is marked as infeasible, but its node has enough for it",
            resize.pod().key
        );
        seen.violated(finding, [resize.patch.id, marked]);
        return true;
    }
    if !has_no_room(run, resize) {
        seen.doubt(Doubt::Ambiguous, "the node may not have room for the resize", [resize.patch.id, id]);
    }
    true
}

/// The revision that shows that a resize failed, if it lowers a memory limit. For this, the kubelet must know how much memory
/// the container uses, and not every runtime reports it at once.
fn could_not_lower(run: &Timeline<'_>, resize: &Resize<'_, '_>) -> Option<EventId> {
    let number = |of: &Value| of.as_str().and_then(thousandths);
    let falls = |of: &Amount<'_>| {
        let memory = of.list == "limits" && of.resource == "memory";
        memory && of.old.and_then(number).zip(number(of.new)).is_some_and(|(old, new)| old > new)
    };
    let lowers = resize.containers().any(|of| resize.changes(&of.name).iter().any(falls));
    let mut after = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until));
    let failed = |shown: &&Revision<'_>| {
        shown.condition(IN_PROGRESS).is_some_and(|condition| condition["reason"] == "Error")
    };
    after.find(failed).filter(|_| lowers).map(|shown| shown.id)
}

/// A time in which the statuses show that a resize is complete and that a container has a new limit.
struct Said<'t, 'h> {
    first: &'t Revision<'h>,
    /// The first revision after it that no longer shows this.
    until: Option<&'t Revision<'h>>,
}

impl<'t, 'h> Said<'t, 'h> {
    fn of(
        run: &Timeline<'_>,
        resize: &Resize<'t, 'h>,
        container: &ContainerLife<'_>,
        amount: &Amount<'_>,
    ) -> Option<Self> {
        let old = resize.old_generation().filter(|_| amount.list == "limits" && amount.is_changed())?;
        let says = |shown: &&'t Revision<'h>| {
            let newest = shown.object["metadata"]["generation"].as_i64();
            let observed = shown.object["status"]["observedGeneration"].as_i64();
            let of_container = |of: Option<&Value>| {
                of.is_some_and(|of| is_same(&of["resources"][amount.list][amount.resource], amount.new))
            };
            newest == observed
                && newest.is_some_and(|newest| newest > old)
                && !is_resizing(shown)
                && of_container(container_in(shown.object, &container.name))
                && shown.container(&container.name).is_some_and(|seen| seen.is_running())
                && of_container(status_of(shown, &container.name))
        };
        let mut after = resize.patch.after(run).skip_while(|shown| !says(shown));
        let first = after.next()?;
        Some(Self { first, until: after.find(|shown| !says(shown)) })
    }

    /// Whether a process certainly read its limits in this time. It records them after it has read them.
    fn covers(&self, run: &Timeline<'_>, resize: &Resize<'_, '_>, clause: &Clause, line: &Line<'_>) -> bool {
        let apart = |from: &Stamp, to: &Stamp| {
            run.longer_than(resize.pod(), (from, to), clause.tolerance_us("reading"))
        };
        apart(&self.first.at, &line.at)
            && run.before(&line.at, &resize.until)
            && self.until.is_none_or(|until| apart(&line.at, &until.at))
    }
}

/// The cgroup of a container has the limits of its spec.
pub(super) fn limits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in feasible(run) {
        if is_put_off(run, &resize, seen) {
            continue;
        }
        for container in resize.containers() {
            for amount in resize.amounts(&container.name) {
                judge_limit(run, (&resize, container, &amount), clause, seen);
            }
        }
    }
}

fn judge_limit(
    run: &Timeline<'_>,
    (resize, container, amount): (&Resize<'_, '_>, &ContainerLife<'_>, &Amount<'_>),
    clause: &Clause,
    seen: &mut Seen,
) {
    let asked = amount.new.as_str().unwrap_or_default();
    let read = |(line, files)| Some((line, in_cgroup(files, (amount.list, amount.resource), asked)?));
    let all: Vec<(&Line<'_>, (i128, i128))> = readings(container).filter_map(read).collect();
    let said = Said::of(run, resize, container, amount);
    let is_said = |line: &Line<'_>| said.as_ref().is_some_and(|said| said.covers(run, resize, clause, line));
    let late = || all.iter().filter(|(line, _)| resize.is_complete(run, clause, &line.at) || is_said(line));
    if let Some((line, _)) = late().find(|(_, (is, wanted))| is != wanted) {
        let shown = said.as_ref().filter(|_| is_said(line)).map(|said| said.first.id);
        if (amount.list, amount.resource) == ("limits", "cpu") && !sets_cpu_limits(run, &resize.pod().node) {
            let why =
                format!("{}/{} has no CPU limit, but {NO_CPU_LIMITS}", resize.pod().key, container.name);
            seen.doubt(Doubt::Ambiguous, why, [resize.patch.id, line.id]);
            return;
        }
        let finding = format!(
            "{}/{} was resized, and {} of {} are in its {}, but its cgroup does not have them",
            resize.pod().key,
            container.name,
            amount.new,
            amount.resource,
            amount.list
        );
        let events = [Some(resize.patch.id), shown, Some(line.id)];
        seen.violated(finding, events.into_iter().flatten());
        return;
    }
    let changed = amount.list == "limits" && amount.is_changed();
    match late().next_back() {
        Some((last, _)) if changed => {
            seen.fine([resize.patch.id, last.id]);
            seen.facet("container", container.kind.word());
            let number = |of: &Value| of.as_str().and_then(thousandths);
            let falls = amount.old.and_then(number) > number(amount.new);
            seen.facet("change", format!("{}-{}", amount.resource, if falls { "fall" } else { "rise" }));
        }
        // A container that read its limits before the resize also reads them afterwards.
        None if changed && !all.is_empty() && resize.due(run, clause).is_some() => {
            let why =
                format!("{}/{} did not read its limits after the resize", resize.pod().key, container.name);
            seen.doubt(Doubt::WitnessMissing, why, [resize.patch.id]);
        }
        _ => {}
    }
}

/// The status shows the new resources, and the pod has no condition of an unfinished resize.
pub(super) fn shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in feasible(run) {
        if is_put_off(run, &resize, seen) {
            continue;
        }
        judge_progress(run, &resize, seen);
        let pod = resize.pod();
        let mut before_next = resize.patch.after(run).filter(|shown| run.before(&shown.at, &resize.until));
        if let Some(done) = before_next.find(|shown| is_shown(&resize, shown)) {
            seen.fine([resize.patch.id, done.id]);
            seen.facet("shown", "resources");
            seen.facet("shown", "allocatedResources");
        }
        // The last revision before the resize is due shows the state at that time, unless a gap in the watch hides
        // another revision.
        let due = resize.due(run, clause);
        let last =
            due.and_then(|due| pod.revisions.iter().take_while(|shown| run.before(&shown.at, &due)).last());
        let later = pod.revisions.iter().filter(|shown| resize.is_complete(run, clause, &shown.at));
        for (shown, by) in
            last.map(|last| (last, run.last_event())).into_iter().chain(later.map(|of| (of, None)))
        {
            judge_shown(&resize, shown, by, seen);
        }
    }
}

/// Whether a revision shows all of a resize that changes a request, as complete.
fn is_shown(resize: &Resize<'_, '_>, shown: &Revision<'_>) -> bool {
    let mut requests = 0;
    let mut shows = |name: &str| {
        let Some(status) = status_of(shown, name) else { return false };
        resize.changes(name).iter().all(|amount| {
            let allocated = &status["allocatedResources"][amount.resource];
            let is_request = amount.list == "requests";
            requests += usize::from(is_request);
            is_same(&status["resources"][amount.list][amount.resource], amount.new)
                && (!is_request || is_same(allocated, amount.new))
        })
    };
    !is_resizing(shown) && resize.containers().all(|container| shows(&container.name)) && requests > 0
}

/// As long as a container that a resize restarts runs with its old resources, a status about the new spec says that the
/// resize is in progress. The kubelet writes no other status before it starts the new instance.
fn judge_progress<'t, 'h>(run: &'t Timeline<'h>, resize: &Resize<'t, 'h>, seen: &mut Seen) {
    let Some(old) = resize.old_generation() else { return };
    let observed = |shown: &Revision<'_>| shown.object["status"]["observedGeneration"].as_i64();
    for container in resize.containers().filter(|container| resize.restarts(&container.name)) {
        let Some(life) = resize.life(run, container) else { continue };
        let (Some(ended), Some(next)) = (&life.ended, life.next()) else { continue };
        let is_old = |seen: ContainerSeen<'_>| seen.is_running() && seen.restarts == life.number;
        let runs = |shown: &Revision<'_>| {
            shown.container(&container.name).is_some_and(is_old)
                && run.before(&shown.at, &ended.stamp)
                && run.before(&shown.at, &next.began)
                && run.before(&shown.at, &resize.until)
        };
        let knows = |shown: &Revision<'_>| observed(shown).is_some_and(|observed| observed > old);
        let mut after = resize.patch.after(run).filter(|shown| runs(shown) && knows(shown));
        if let Some(wrong) = after.find(|shown| !is_resizing(shown)) {
            let finding = format!(
                "{} runs with its old resources, but a status that observed the resize lacks {IN_PROGRESS}",
                life.name()
            );
            seen.violated(finding, [resize.patch.id, wrong.id, ended.id]);
        }
    }
}

/// The requests that are allocated for the whole pod are the new total. Pod-level resources or an overhead lead to other
/// amounts, and not every kubelet shows this field.
fn judge_total(resize: &Resize<'_, '_>, shown: &Revision<'_>, by: Option<EventId>, seen: &mut Seen) {
    let spec = &shown.object["spec"];
    let more = ["resources", "overhead"].iter().any(|field| spec.get(field).is_some());
    let Some(all) = shown.object.pointer("/status/allocatedResources").filter(|all| all.is_object()) else {
        return;
    };
    if more || shown.phase() != "Running" {
        return;
    }
    for resource in DECIDING {
        let is = all.get(resource).map_or(Some(0), |amount| amount.as_str().and_then(thousandths));
        let (Some(is), Some(total)) = (is, total_request(spec, resource)) else { continue };
        if is != total {
            let finding = format!(
                "the containers of {} request {total} thousandths of {resource} in total after the resize, but {is} are \
                 allocated for the pod",
                resize.pod().key
            );
            seen.violated(finding, [resize.patch.id, shown.id].into_iter().chain(by));
        }
    }
}

fn judge_shown(resize: &Resize<'_, '_>, shown: &Revision<'_>, by: Option<EventId>, seen: &mut Seen) {
    let key = &resize.pod().key;
    let events = || [resize.patch.id, shown.id].into_iter().chain(by);
    if resize.wait(shown).is_some() {
        return seen.doubt(Doubt::Ambiguous, "the node may not have room for the resize", events());
    }
    if shown.condition(PENDING).is_some() {
        let finding = format!("{key} was resized again, but it still has {PENDING} of an earlier resize");
        return seen.violated(finding, events());
    }
    judge_total(resize, shown, by, seen);
    if shown.condition(IN_PROGRESS).is_some() {
        seen.violated(
            format!("the resize of {key} should be complete, but it still has {IN_PROGRESS}"),
            events(),
        );
    }
    for container in resize.containers() {
        let status = status_of(shown, &container.name);
        let Some(status) = status.filter(|status| status["state"].get("running").is_some()) else { continue };
        for amount in resize.amounts(&container.name) {
            let mut fields = vec![("resources", &status["resources"][amount.list][amount.resource])];
            if amount.list == "requests" {
                fields.push(("allocatedResources", &status["allocatedResources"][amount.resource]));
            }
            for (field, is) in fields {
                if is_same(is, amount.new) {
                    seen.fine(events());
                    seen.facet("shown", field);
                } else {
                    let finding = format!(
                        "{key}/{} was resized, and {} of {} are in its {}, but its {field} has {}",
                        container.name,
                        amount.new,
                        amount.resource,
                        amount.list,
                        if is.is_null() { "nothing".to_owned() } else { is.to_string() }
                    );
                    seen.violated(finding, events());
                }
            }
        }
    }
}
