//! How the users of pods map to those of their node.

use probity_model::{Clause, Seen, Timeline};

use super::asks;
use crate::reading::dumps::{Look, looks, overlap};

/// The file in which the kernel shows how the users of a namespace map to those outside.
pub(super) const USERS: &str = "/proc/self/uid_map";
/// The file in which the kernel shows how the groups of a namespace map to those outside.
const GROUPS: &str = "/proc/self/gid_map";
/// The field that makes a pod see the processes of its node.
const SEES_ALL: &str = "hostPID";

/// A range of ids inside, with the ids outside to which they map.
#[derive(Clone, Copy)]
pub(super) struct Range {
    inside: u64,
    outside: u64,
    length: u64,
}

impl Range {
    fn overlaps(self, other: Self) -> bool {
        self.outside < other.outside.saturating_add(other.length)
            && other.outside < self.outside.saturating_add(self.length)
    }

    /// The id outside to which an id inside maps.
    fn outside_of(self, id: u64) -> Option<u64> {
        let offset = id.checked_sub(self.inside).filter(|offset| *offset < self.length)?;
        self.outside.checked_add(offset)
    }
}

/// The ranges that a map consists of.
pub(super) fn ranges(map: &str) -> Vec<Range> {
    let range = |line: &str| {
        let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
        match fields?.as_slice() {
            [inside, outside, length] => Some(Range { inside: *inside, outside: *outside, length: *length }),
            _ => None,
        }
    };
    map.lines().filter_map(range).collect()
}

/// Whether a map gives each user the same id as outside.
pub(super) fn is_identity(map: &str) -> bool {
    ranges(map).first().is_some_and(|first| first.inside == first.outside)
}

/// How the users of a container map to those outside, according to a view from inside.
pub(super) fn users_of(look: &Look<'_, '_>) -> Vec<Range> {
    ranges_of(look, USERS)
}

/// How the users or the groups of a container map to those outside, according to a view from inside.
fn ranges_of(look: &Look<'_, '_>, file: &str) -> Vec<Range> {
    look.dump.files.get(file).map(|map| ranges(map)).unwrap_or_default()
}

/// Whether a container has a user, and has it in a user namespace of its own.
pub(super) fn has_own_user(look: &Look<'_, '_>, user: u64) -> bool {
    let map = look.dump.files.get(USERS).filter(|map| !is_identity(map));
    map.is_some_and(|map| outside_of(&ranges(map), user).is_some())
}

/// The id of a user outside.
fn outside_of(ranges: &[Range], id: u64) -> Option<u64> {
    ranges.iter().find_map(|range| range.outside_of(id))
}

/// Whether a user of the node is one of the users to which a map leads, and is not root.
fn is_outside_of(ranges: &[Range], user: u64) -> bool {
    let one_of = |range: &Range| user.checked_sub(range.outside).is_some_and(|offset| offset < range.length);
    user != 0 && ranges.iter().any(one_of)
}

/// The minimum number of ids of a pod, and the number of ids that the node keeps for itself.
fn least(clause: &Clause) -> u64 {
    clause.tolerance_times("ids") as u64
}

/// A pod has its own users if it requests them, and otherwise the users of its node.
pub(super) fn of_its_own(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let all = looks(run);
    for look in &all {
        if asks(look.life.pod.spec) {
            judge_own(clause, look, &all, seen);
        } else {
            judge_shared(look, &all, seen);
        }
    }
}

fn judge_own(clause: &Clause, look: &Look<'_, '_>, all: &[Look<'_, '_>], seen: &mut Seen) {
    let name = look.life.name();
    let mut own = true;
    for (what, file) in [("users", USERS), ("groups", GROUPS)] {
        let Some(map) = look.dump.files.get(file) else { return };
        let root = ranges(map).into_iter().find(|range| range.inside == 0);
        let good = root.is_some_and(|range| range.outside != 0 && range.length >= least(clause));
        let finding = || format!("{name} requests its own {what}, but its map is {}", map.trim());
        seen.check(good, finding, [look.line.id]);
        own &= good;
    }
    let Some(here) = look.dump.namespaces.get("user") else { return };
    let of_node = all
        .iter()
        .filter(|other| !asks(other.life.pod.spec) && other.life.attempt.node == look.life.attempt.node);
    for other in of_node {
        let Some(there) = other.dump.namespaces.get("user") else { continue };
        let finding = || format!("{name} requests its own users, but shares those of {}", other.life.name());
        seen.check(here != there, finding, [look.line.id, other.line.id]);
        own &= here != there;
        if own {
            seen.facet("host-users", "false");
        }
    }
}

/// Pods that do not request their own users share the users of their node.
fn judge_shared(look: &Look<'_, '_>, all: &[Look<'_, '_>], seen: &mut Seen) {
    let beside = all.iter().find(|other| {
        !asks(other.life.pod.spec)
            && other.life.pod.uid != look.life.pod.uid
            && other.life.attempt.node == look.life.attempt.node
    });
    let Some(other) = beside else { return };
    let spaces = look.dump.namespaces.get("user").zip(other.dump.namespaces.get("user"));
    let Some((here, there)) = spaces else { return };
    let (a, b) = (look.life.name(), other.life.name());
    let finding = || format!("{a} and {b} do not request their own users, but have different ones");
    seen.check(here == there, finding, [look.line.id, other.line.id]);
    if here == there {
        seen.facet("host-users", "unset");
    }
}

/// No two pods of a node have a user or a group of the node in common, and no pod has one that the node keeps for
/// itself.
pub(super) fn do_not_overlap(run: &Timeline<'_>, clause: &Clause, seen: &mut Seen) {
    let own = |look: &Look<'_, '_>| asks(look.life.pod.spec) && !users_of(look).is_empty();
    let all: Vec<Look<'_, '_>> = looks(run).into_iter().filter(own).collect();
    for ids in [("users", USERS), ("groups", GROUPS)] {
        for (at, one) in all.iter().enumerate() {
            is_apart_from_the_node(clause, one, ids, seen);
            let later = all.iter().skip(at).filter(|other| other.life.attempt.node == one.life.attempt.node);
            for other in
                later.filter(|other| other.life.pod.uid != one.life.pod.uid && overlap(run, one, other))
            {
                are_apart(one, other, ids, seen);
            }
        }
    }
}

fn is_apart_from_the_node(clause: &Clause, one: &Look<'_, '_>, (words, file): (&str, &str), seen: &mut Seen) {
    let node = Range { inside: 0, outside: 0, length: least(clause) };
    let clear = !ranges_of(one, file).iter().any(|range| range.overlaps(node));
    let finding = || format!("{} has {words} among those that the node reserves", one.life.name());
    seen.check(clear, finding, [one.line.id]);
    if clear {
        seen.facet("apart-from", "node");
    }
}

fn are_apart(one: &Look<'_, '_>, other: &Look<'_, '_>, (words, file): (&str, &str), seen: &mut Seen) {
    let theirs = ranges_of(other, file);
    let apart = !ranges_of(one, file).iter().any(|a| theirs.iter().any(|b| a.overlaps(*b)));
    let (a, b) = (one.life.name(), other.life.name());
    let finding = || format!("{a} and {b} of two pods have {words} of the node in common");
    seen.check(apart, finding, [one.line.id, other.line.id]);
    if apart {
        seen.facet("apart-from", "pods");
    }
}

/// A user of a pod is the user that its map names on the node: root inside is not root outside.
pub(super) fn root_is_mapped(run: &Timeline<'_>, _: &Clause, seen: &mut Seen) {
    let all = looks(run);
    let watches = |look: &&Look<'_, '_>| look.life.pod.spec.get(SEES_ALL).is_some_and(|is| *is == true);
    for look in all.iter().filter(|look| asks(look.life.pod.spec)) {
        let Some(id) = look.dump.ids.first().map(|id| u64::from(*id)) else { continue };
        let Some(space) = look.dump.namespaces.get("user") else { continue };
        let name = look.life.name();
        for from_outside in all.iter().filter(watches).filter(|other| overlap(run, look, other)) {
            let events = [look.line.id, from_outside.line.id];
            if from_outside.life.attempt.node != look.life.attempt.node {
                continue;
            }
            if from_outside.dump.namespaces.get("user") == Some(space) {
                seen.violated(format!("{name} has the users of its node"), events);
                continue;
            }
            // The sandbox and the other containers of the pod share its namespace, so there are processes of other
            // users besides this one.
            let map = users_of(look);
            let of_pod = from_outside.dump.processes.iter().filter(|process| process.users == Some(*space));
            let users: Vec<u64> = of_pod.filter_map(|process| process.uid).map(u64::from).collect();
            if let Some(stray) = users.iter().find(|user| !is_outside_of(&map, **user)) {
                let finding = format!(
                    "a process of {name} is user {stray} on the node, which its map does not contain"
                );
                seen.violated(finding, events);
            } else if let Some(wanted) = outside_of(&map, id).filter(|_| !users.is_empty()) {
                let there = users.contains(&wanted);
                let finding =
                    || format!("user {id} of {name} should be {wanted} on the node, but no process is");
                seen.check(there, finding, events);
                if there {
                    seen.facet("user", if id == 0 { "root" } else { "other" });
                }
            }
        }
    }
}
