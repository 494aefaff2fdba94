//! The resources in the cgroup of a container, according to the files that its own process read.

use std::collections::BTreeMap;

use probity_model::Timeline;

use super::dumps::{Look, looks};
use super::quantities::{WHOLE, thousandths};

/// Why an amount of CPU beyond a limit proves nothing if [`sets_cpu_limits`] does not apply.
pub(crate) const NO_CPU_LIMITS: &str = "no container shows that its node enforces CPU limits";

/// More than any limit.
const UNLIMITED: i128 = i128::MAX;
/// Half of what cgroup v1 shows as the memory limit of a container without one, in thousandths: this is the largest number of
/// bytes that Linux can count, almost 2^63.
const BEYOND_LIMITS: i128 = (1 << 62) * WHOLE;
/// The shortest time in microseconds that the kernel allows as a quota, and the default period, according to the Linux
/// documentation on CFS bandwidth control. With a shorter period, more than one CPU limit has this quota.
const LEAST_QUOTA: i128 = 1_000;
const PERIOD: i128 = 100_000;
/// The list of a process's cgroups: Linux, cgroups(7).
const OWN: &str = "/proc/self/cgroup";
/// The CPU shares of one whole CPU in cgroup v1, according to the Linux documentation.
const SHARES: i128 = 1024;
/// The minimum CPU shares in cgroup v1, according to the Linux documentation.
const LEAST_SHARES: i128 = 2;

/// The value of an amount in a container's own cgroup, in thousandths of a CPU or of a byte, and the value that it should
/// have. Cgroup v1 and v2 have different files. Requests of CPU are compared only in v1, where their conversion is fixed.
pub(crate) fn in_cgroup(
    files: &BTreeMap<String, String>,
    (list, resource): (&str, &str),
    amount: &str,
) -> Option<(i128, i128)> {
    let wanted = thousandths(amount)?;
    match (list, resource) {
        ("limits", "memory") => {
            let bytes = file(files, "/memory.max").or_else(|| file(files, "/memory.limit_in_bytes"));
            Some((bytes.and_then(number)?.saturating_mul(WHOLE), wanted))
        }
        ("limits", "cpu") => Some((cpu_limit(files)?, wanted)),
        ("requests", "cpu") => {
            let shares = file(files, "/cpu.shares").and_then(number)?;
            Some((shares, wanted.checked_mul(SHARES)?.checked_div(WHOLE)?.max(LEAST_SHARES)))
        }
        _ => None,
    }
}

fn file<'f>(files: &'f BTreeMap<String, String>, name: &str) -> Option<&'f str> {
    files.iter().find_map(|(path, text)| path.ends_with(name).then(|| text.trim()))
}

fn number(text: &str) -> Option<i128> {
    if text == "max" { Some(UNLIMITED) } else { text.parse().ok() }
}

/// The CPU limit in a cgroup, in thousandths of a CPU.
fn cpu_limit(files: &BTreeMap<String, String>) -> Option<i128> {
    let (quota, period) = match file(files, "/cpu.max").and_then(|text| text.split_once(' ')) {
        Some((quota, period)) => (number(quota)?, number(period)?),
        None => (
            file(files, "/cpu.cfs_quota_us").and_then(number)?,
            file(files, "/cpu.cfs_period_us").and_then(number)?,
        ),
    };
    if quota <= LEAST_QUOTA && period < PERIOD && quota > 0 {
        return None;
    }
    let limited = (0..UNLIMITED).contains(&quota);
    if limited { quota.checked_mul(WHOLE)?.checked_div(period) } else { Some(UNLIMITED) }
}

/// Whether a value in a cgroup is a limit, and not the absence of one.
pub(crate) fn is_limit(value: i128) -> bool {
    value < BEYOND_LIMITS
}

/// Whether the path of a process's cgroup for a controller of cgroup v1 contains the ID of its container. The files that it
/// finds are then those of its own container, even if they have no limit.
pub(crate) fn is_own(look: &Look<'_, '_>, controller: &str) -> bool {
    let text = look.dump.files.get(OWN).map(String::as_str).unwrap_or_default();
    let mut paths = text.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|of| of == controller).then_some(path)
    });
    let ids: Vec<&str> = look
        .life
        .revisions()
        .filter_map(|(_, status)| status.id.split_once("://").map(|(_, id)| id))
        .filter(|id| !id.is_empty())
        .collect();
    paths.any(|path| ids.iter().any(|id| path.contains(id)))
}

/// Whether a container on a node found a CPU limit in its own cgroup, whatever its amount. A kubelet with the setting
/// `cpuCFSQuota: false` gives no container a CPU limit, as configured. One limit on the node rules this setting out.
pub(crate) fn sets_cpu_limits(run: &Timeline<'_>, node: &str) -> bool {
    let of_node = looks(run).into_iter().filter(|look| look.life.pod.node == node);
    of_node.filter_map(|look| cpu_limit(&look.dump.files)).any(|limit| limit < UNLIMITED)
}
