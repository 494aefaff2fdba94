//! What a container gets by a resize, and what its status shows.

use std::collections::BTreeMap;

use probity_model::clocks::Stamp;
use probity_model::timeline::{ContainerLife, Line, Revision};
use probity_model::{Clause, Seen, Timeline};
use probity_script::witness::Fact;
use serde_json::Value;

use super::asked::{Change, Resize, resizes};
use crate::reading::quantities::{WHOLE, is_same, thousandths};
use crate::reading::statuses::statuses;

/// The conditions that a pod has while a resize is not complete.
const CONDITIONS: [&str; 2] = ["PodResizeInProgress", "PodResizePending"];

/// More than any limit.
const UNLIMITED: i128 = i128::MAX;

/// The limit of a container that its own cgroup has, in thousandths of a processor or of a byte; cgroup v1 and v2 have different
/// files.
fn limit_in(files: &BTreeMap<String, String>, resource: &str) -> Option<i128> {
    let file = |name: &str| files.iter().find_map(|(path, text)| path.ends_with(name).then(|| text.trim()));
    let number = |text: &str| if text == "max" { Some(UNLIMITED) } else { text.parse::<i128>().ok() };
    if resource == "memory" {
        let bytes = file("/memory.max").or_else(|| file("/memory.limit_in_bytes")).and_then(number)?;
        return Some(bytes.saturating_mul(WHOLE));
    }
    let (quota, period) = match file("/cpu.max").and_then(|text| text.split_once(' ')) {
        Some((quota, period)) => (number(quota)?, number(period)?),
        None => (file("/cpu.cfs_quota_us").and_then(number)?, file("/cpu.cfs_period_us").and_then(number)?),
    };
    let limited = (0..UNLIMITED).contains(&quota);
    if limited { quota.checked_mul(WHOLE)?.checked_div(period) } else { Some(UNLIMITED) }
}

/// The files of a container's own cgroup, each time that it read them.
fn readings<'t, 'h>(
    container: &'t ContainerLife<'h>,
) -> impl Iterator<Item = (&'t Line<'h>, &'h BTreeMap<String, String>)> {
    let lines = container.attempts.iter().flat_map(|attempt| &attempt.lines);
    lines.filter_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line, &dump.files)),
        _ => None,
    })
}

/// Whether an instant is within the time in which a resize must have been complete.
fn is_complete(run: &Timeline<'_>, resize: &Resize<'_, '_>, clause: &Clause, at: &Stamp) -> bool {
    run.before(&resize.patch.done.later(clause.slack_us()), at) && run.before(at, &resize.until)
}

/// The cgroup of a container has the new limits.
pub(super) fn limits(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in resizes(run).iter().filter(|resize| !is_impossible(resize)) {
        for container in resize.containers() {
            let changes = resize.changes(&container.name);
            for change in changes.iter().filter(|change| change.list == "limits") {
                judge_limit(run, (resize, container, change), clause, seen);
            }
        }
    }
}

fn judge_limit(
    run: &Timeline<'_>,
    (resize, container, change): (&Resize<'_, '_>, &ContainerLife<'_>, &Change<'_>),
    clause: &Clause,
    seen: &mut Seen,
) {
    let amount = |of: &Value| of.as_str().and_then(thousandths);
    let Some(new) = amount(change.new) else { return };
    let late = readings(container).filter(|(line, _)| is_complete(run, resize, clause, &line.at));
    let mut last = None;
    for (line, files) in late {
        let Some(is) = limit_in(files, change.resource) else { continue };
        if is != new {
            let finding = format!(
                "the {} limit of {}/{} was resized to {}, but its cgroup has {}",
                change.resource,
                resize.pod().key,
                container.name,
                change.new,
                in_words(change.resource, is)
            );
            seen.violated(finding, [resize.patch.id, line.id]);
            return;
        }
        last = Some(line.id);
    }
    if let Some(last) = last {
        seen.fine([resize.patch.id, last]);
        seen.facet("resource", change.resource);
        seen.facet("container", container.kind.word());
        let old = change.old.and_then(amount);
        seen.facet("direction", if old.is_some_and(|old| old > new) { "fall" } else { "rise" });
    }
}

fn in_words(resource: &str, thousandths: i128) -> String {
    match resource {
        _ if thousandths == UNLIMITED => "no limit".to_owned(),
        "memory" => format!("{} bytes", thousandths / WHOLE),
        _ => format!("{thousandths}m"),
    }
}

/// Whether a resize asks for more than any node has; see [`super::refused`].
fn is_impossible(resize: &Resize<'_, '_>) -> bool {
    resize.containers().any(|container| super::refused::is_too_large(resize, &container.name))
}

/// The status shows the new resources, and the pod has no condition of an unfinished resize.
pub(super) fn shown(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    for resize in resizes(run).iter().filter(|resize| !is_impossible(resize)) {
        let pod = resize.pod();
        // What the last revision of a quiet pod shows, it shows until the next change.
        let due = resize.patch.done.later(clause.slack_us());
        let quiet =
            run.before(&due, &resize.until) && run.watched_for(pod, &resize.patch.done, clause.slack_us());
        let last = |at: &Stamp| pod.revisions.iter().take_while(|shown| run.before(&shown.at, at)).last();
        let at_due = quiet.then(|| last(&due)).flatten();
        let later = pod.revisions.iter().filter(|shown| is_complete(run, resize, clause, &shown.at));
        for shown in at_due.into_iter().chain(later) {
            judge_shown(resize, shown, seen);
        }
    }
}

fn judge_shown(resize: &Resize<'_, '_>, shown: &Revision<'_>, seen: &mut Seen) {
    if let Some(condition) = CONDITIONS.iter().find(|kind| shown.condition(kind).is_some()) {
        let finding =
            format!("the resize of {} should be complete, but {condition} is still there", resize.pod().key);
        seen.violated(finding, [resize.patch.id, shown.id]);
    }
    for container in resize.containers() {
        let status = statuses(shown).find(|(name, _)| *name == container.name).map(|(_, status)| status);
        let Some(status) = status.filter(|status| status["state"].get("running").is_some()) else { continue };
        for change in resize.changes(&container.name) {
            let mut fields = vec![("resources", &status["resources"][change.list][change.resource])];
            if change.list == "requests" {
                fields.push(("allocatedResources", &status["allocatedResources"][change.resource]));
            }
            for (field, is) in fields {
                if is_same(is, change.new) {
                    seen.fine([resize.patch.id, shown.id]);
                    seen.facet("shown", field);
                } else {
                    let finding = format!(
                        "{}/{} was resized to {} of {} in its {}, but its {field} still has {}",
                        resize.pod().key,
                        container.name,
                        change.new,
                        change.resource,
                        change.list,
                        if is.is_null() { "nothing".to_owned() } else { is.to_string() }
                    );
                    seen.violated(finding, [resize.patch.id, shown.id]);
                }
            }
        }
    }
}
