//! The resources in the cgroup of a container, according to the files that its own process read.

use std::collections::BTreeMap;

use super::quantities::{WHOLE, thousandths};

/// More than any limit.
const UNLIMITED: i128 = i128::MAX;
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
    let file = |name: &str| files.iter().find_map(|(path, text)| path.ends_with(name).then(|| text.trim()));
    let number = |text: &str| if text == "max" { Some(UNLIMITED) } else { text.parse::<i128>().ok() };
    match (list, resource) {
        ("limits", "memory") => {
            let bytes = file("/memory.max").or_else(|| file("/memory.limit_in_bytes")).and_then(number)?;
            Some((bytes.saturating_mul(WHOLE), wanted))
        }
        ("limits", "cpu") => {
            let (quota, period) = match file("/cpu.max").and_then(|text| text.split_once(' ')) {
                Some((quota, period)) => (number(quota)?, number(period)?),
                None => (
                    file("/cpu.cfs_quota_us").and_then(number)?,
                    file("/cpu.cfs_period_us").and_then(number)?,
                ),
            };
            let limited = (0..UNLIMITED).contains(&quota);
            let is = if limited { quota.checked_mul(WHOLE)?.checked_div(period)? } else { UNLIMITED };
            Some((is, wanted))
        }
        ("requests", "cpu") => {
            let shares = file("/cpu.shares").and_then(number)?;
            Some((shares, wanted.checked_mul(SHARES)?.checked_div(WHOLE)?.max(LEAST_SHARES)))
        }
        _ => None,
    }
}
