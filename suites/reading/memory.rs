//! Memory that a process takes, according to its own record, and the end of a process that needs too much.

use std::collections::BTreeMap;

use probity_model::timeline::{Life, Line};
use probity_model::{EventId, Timeline};
use probity_script::{Consumer, Fact};

use super::dumps::looks;
use super::ends::End;
use super::qos::amount;
use super::quantities::{WHOLE, thousandths};

/// A process that takes memory: how much it is planned to take, and the records of how much it took.
pub(crate) struct Taking<'t, 'h> {
    /// The planned total in bytes.
    pub(crate) planned: i128,
    /// The limit of its container in bytes.
    pub(crate) limit: Option<i128>,
    /// The request of its container in bytes.
    pub(crate) request: Option<i128>,
    /// The records of how much memory it has taken.
    pub(crate) records: Vec<(&'t Line<'h>, i128)>,
}

impl<'t, 'h> Taking<'t, 'h> {
    /// Reads an instance; `None` unless its plan takes memory exactly once.
    pub(crate) fn of(life: &Life<'t, 'h>) -> Option<Self> {
        let plan = life.container.plan()?;
        let mut planned = plan.process.consume.iter().filter_map(|consumer| match consumer {
            Consumer::Memory { bytes, .. } => Some(i128::from(bytes.0)),
            _ => None,
        });
        let (planned, None) = (planned.next()?, planned.next()) else { return None };
        let records = life.attempt.lines.iter().filter_map(|line| match &line.line.fact {
            Fact::Consumed(taken) if taken.resource == "memory" && taken.error.is_none() => {
                Some((line, i128::from(taken.amount)))
            }
            _ => None,
        });
        let bytes = |list: &str| Some(amount(life.container.spec, list, "memory")? / WHOLE);
        Some(Self { planned, limit: bytes("limits"), request: bytes("requests"), records: records.collect() })
    }

    /// The first record in which the process has taken more than this number of bytes.
    pub(crate) fn more_than(&self, bytes: i128) -> Option<&'t Line<'h>> {
        self.records.iter().find(|(_, taken)| *taken > bytes).map(|(line, _)| *line)
    }
}

/// The end of an instance before any deletion of its pod, if only a lack of memory explains this end: no stop signal
/// came, and the process did not exit by itself.
pub(crate) fn killed(life: &Life<'_, '_>) -> Option<EventId> {
    let end = End::of(life).filter(|end| end.was_killed(life))?;
    let by_signal = life.attempt.stop().is_some() || !life.before_deletion(&end.at().stamp);
    (!by_signal).then_some(end.at().id)
}

/// The end of an instance that needed more memory than its limit, and that nothing else ended.
pub(crate) fn killed_for_memory(life: &Life<'_, '_>) -> Option<EventId> {
    let beyond = |taking: &Taking<'_, '_>| taking.limit.is_some_and(|limit| taking.planned > limit);
    Taking::of(life).filter(beyond).and_then(|_| killed(life))
}

/// The file in which Linux shows how many inotify instances a user may have.
const INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";
/// A file that only a cgroup v2 has. Its directory is that of the container's cgroup.
const OF_CGROUP_2: &str = "/memory.events";

/// The line that shows that the runtime of a node may not learn why a container was killed. With cgroup v2, a runtime such as
/// containerd needs an inotify instance for each container, and this node allows fewer than `least`.
pub(crate) fn may_miss_reasons(run: &Timeline<'_>, node: &str, least: usize) -> Option<EventId> {
    let few = |files: &BTreeMap<String, String>| {
        let allowed = files.get(INSTANCES).and_then(|text| text.trim().parse::<usize>().ok());
        let events = files.keys().any(|path| path.ends_with(OF_CGROUP_2));
        events && allowed.is_some_and(|allowed| allowed < least)
    };
    let look = looks(run).into_iter().find(|look| look.life.attempt.node == node && few(&look.dump.files));
    look.map(|look| look.line.id)
}

/// The memory that pods can use on a node, in thousandths of a byte.
pub(crate) fn allocatable(run: &Timeline<'_>, node: &str) -> Option<i128> {
    thousandths(run.history.header.nodes.get(node)?.allocatable.get("memory")?)
}
