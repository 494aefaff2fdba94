//! What processes recorded of their containers from inside: the environment, files, interfaces and namespaces.

use probity_model::Timeline;
use probity_model::clocks::Order;
use probity_model::timeline::{Life, Line};
use probity_script::witness::{Dump, Fact, TrialSeen};

/// The file in which Linux lists the mounts of a process: the fifth field of each line is the mount point.
pub(crate) const MOUNTS: &str = "/proc/self/mountinfo";

/// The directory of the files that a target records, according to the target's manual.
pub(crate) const RECORDED: &str = "/etc/podinfo";

/// A view of a container from inside.
pub(crate) struct Look<'t, 'h> {
    /// The instance of the container.
    pub(crate) life: Life<'t, 'h>,
    /// The line in which its process recorded it.
    pub(crate) line: &'t Line<'h>,
    /// What it saw.
    pub(crate) dump: &'h Dump,
}

/// All views, in the order of pods, containers and instances.
pub(crate) fn looks<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Look<'t, 'h>> {
    let mut all = Vec::new();
    for life in run.lives() {
        for line in &life.attempt.lines {
            if let Fact::Dump(dump) = &line.line.fact {
                all.push(Look { life, line, dump });
            }
        }
    }
    all
}

/// The options of the mount at a path, according to a process's list of mounts. The last mount at a path hides the others.
/// The sixth field has the options of the mount.
pub(crate) fn mount_options<'l>(mounts: &'l str, path: &str) -> Option<&'l str> {
    mounts.lines().rev().find_map(|line| {
        let mut fields = line.split(' ').skip(4);
        (fields.next()? == path).then(|| fields.next())?
    })
}

/// The pairs of views from two containers on one node, if the processes that recorded them ran at the same time.
pub(crate) fn side_by_side<'l, 't, 'h>(
    run: &'l Timeline<'_>,
    all: &'l [Look<'t, 'h>],
) -> impl Iterator<Item = (&'l Look<'t, 'h>, &'l Look<'t, 'h>)> {
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|(one, other)| {
        let same =
            one.life.pod.uid == other.life.pod.uid && one.life.container.name == other.life.container.name;
        !same && one.life.attempt.node == other.life.attempt.node && overlap(run, one, other)
    })
}

/// Whether the processes that recorded two views ran at the same time: one of them began while the other ran.
pub(crate) fn overlap(run: &Timeline<'_>, one: &Look<'_, '_>, other: &Look<'_, '_>) -> bool {
    let ran_on = |first: &Look<'_, '_>, second: &Look<'_, '_>| {
        let ended = first.life.attempt.ended.as_ref();
        ended.is_none_or(|ended| run.clocks.order(&second.life.attempt.began, ended) == Order::Before)
    };
    ran_on(one, other) && ran_on(other, one)
}

/// The attempts of a process to do something that may be forbidden, each with its line.
pub(crate) fn trials<'t, 'h>(
    run: &'t Timeline<'h>,
) -> impl Iterator<Item = (Life<'t, 'h>, &'t Line<'h>, &'h TrialSeen)> {
    run.lives().into_iter().flat_map(|life| {
        life.attempt.lines.iter().filter_map(move |line| match &line.line.fact {
            Fact::Tried(trial) => Some((life, line, trial)),
            _ => None,
        })
    })
}
