//! What processes recorded of their containers from inside: the environment, files, interfaces and namespaces.

use probity_model::Timeline;
use probity_model::clocks::Order;
use probity_model::timeline::{Life, Line};
use probity_script::witness::{Dump, Fact, TrialSeen};
use serde_json::Value;

use super::mains::lives_of;
use super::volumes::list;

/// The file in which Linux lists the mounts of a process: the fifth field of each line is the mount point.
pub(crate) const MOUNTS: &str = "/proc/self/mountinfo";

/// The directory of the files that a target records, according to the target's manual.
const RECORDED: &str = "/etc/podinfo";

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

/// All views, also those from ephemeral containers, which are the last.
pub(crate) fn all_looks<'t, 'h>(run: &'t Timeline<'h>) -> Vec<Look<'t, 'h>> {
    let mut all = looks(run);
    let ephemeral = run.pods.iter().flat_map(|pod| pod.ephemeral.iter().map(move |of| (pod, of)));
    for (pod, container) in ephemeral {
        for life in lives_of(run, pod, container) {
            for line in &life.attempt.lines {
                if let Fact::Dump(dump) = &line.line.fact {
                    all.push(Look { life, line, dump });
                }
            }
        }
    }
    all
}

/// The mounts of a container whose files its target records, each with its path: the mount at the directory of these files,
/// or the mounts below this directory.
pub(crate) fn recorded_mounts(container: &Value) -> impl Iterator<Item = (&Value, &str)> {
    list(container, "volumeMounts").filter_map(|mount| {
        let path = mount.get("mountPath")?.as_str()?.trim_end_matches('/');
        let below = path.strip_prefix(RECORDED)?;
        (below.is_empty() || below.starts_with('/')).then_some((mount, path))
    })
}

/// A line of a process's list of mounts.
pub(crate) struct Mount<'l> {
    /// The numbers of the device on which the file system is: the third field.
    pub(crate) device: &'l str,
    /// The options of the mount: the sixth field.
    options: &'l str,
    /// The type of the file system: the first field after the separator.
    pub(crate) system: Option<&'l str>,
}

impl Mount<'_> {
    /// Whether the process cannot write to the mount.
    pub(crate) fn is_read_only(&self) -> bool {
        self.options.split(',').any(|option| option == "ro")
    }
}

/// The mount at a path, according to a process's list of mounts. The last mount at a path hides the others.
pub(crate) fn mount_at<'l>(mounts: &'l str, path: &str) -> Option<Mount<'l>> {
    mounts.lines().rev().find_map(|line| {
        let mut fields = line.split(' ').skip(2);
        let (device, _, at, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let system = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next());
        (at == path).then_some(Mount { device, options, system })
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
