//! The CPU time that a process used between two readings of the kernel's counter, which the process itself recorded.

use probity_model::timeline::{Life, Line};
use probity_script::Consumer;
use probity_script::witness::{Dump, Fact};

use crate::reading::qos::amount;
use crate::reading::quantities::WHOLE;

/// The kernel's count for the whole process.
const STAT: &str = "/proc/self/stat";
/// The position of the time in user mode after the name of the program, according to the Linux manual.
const USER: usize = 11;
/// The position of the time in kernel mode after the name of the program, according to the Linux manual.
const KERNEL: usize = 12;
/// The length of one unit of this counter: a second has 100 units on every platform on which Linux runs containers.
const TICK_US: i64 = 10_000;

/// The maximum error of the difference between two readings. Both times of a reading are whole units, according to the
/// Linux manual.
pub(super) const ROUNDED: i64 = TICK_US + TICK_US;

/// The CPU time that a process used between two readings of its counter.
pub(super) struct Used<'t, 'h> {
    /// The first reading.
    pub(super) from: &'t Line<'h>,
    /// The second reading.
    pub(super) to: &'t Line<'h>,
    /// How much time passed between the two readings, in microseconds.
    pub(super) elapsed: i64,
    /// How much CPU time was used, in microseconds.
    pub(super) used: i64,
}

/// The CPU time that a process had used so far, in microseconds.
fn used(dump: &Dump) -> Option<i64> {
    let fields = dump.files.get(STAT)?.rsplit_once(')')?.1.split_whitespace();
    let fields: Vec<&str> = fields.collect();
    let of = |place: usize| fields.get(place)?.parse::<i64>().ok();
    of(USER)?.checked_add(of(KERNEL)?)?.checked_mul(TICK_US)
}

/// The CPU time of a process that burns CPU, from its first to its last reading while it did so. None if it does not
/// burn CPU, or if there are fewer than two such readings.
pub(super) fn burnt<'t, 'h>(life: &Life<'t, 'h>) -> Option<Used<'t, 'h>> {
    let plan = life.container.plan()?;
    let mut burning = plan.process.consume.iter().filter(|consumer| matches!(consumer, Consumer::Cpu { .. }));
    let (Some(_), None) = (burning.next(), burning.next()) else { return None };
    let lines = &life.attempt.lines;
    let begin = lines.iter().position(|line| is_of_processors(line, true))?;
    let end = lines.iter().position(|line| is_of_processors(line, false)).unwrap_or(lines.len());
    let views = lines.get(begin..end)?.iter().filter_map(|line| match &line.line.fact {
        Fact::Dump(dump) => Some((line, used(dump)?)),
        _ => None,
    });
    let views: Vec<_> = views.collect();
    let ((from, before), (to, after)) = (views.first()?, views.last()?);
    // Both times are from one process and one clock, so other clocks do not matter.
    let elapsed = i64::try_from(to.line.mono_us.checked_sub(from.line.mono_us)?).ok()?;
    (elapsed > 0).then_some(Used { from, to, elapsed, used: after - before })
}

fn is_of_processors(line: &Line<'_>, begins: bool) -> bool {
    matches!(&line.line.fact, Fact::Consumed(taken) if taken.resource == "cpu" && (taken.amount > 0) == begins)
}

/// The CPU limit or the CPU request of a container, in thousandths of a CPU.
pub(super) fn share(life: &Life<'_, '_>, list: &str) -> Option<i64> {
    i64::try_from(amount(life.container.spec, list, "cpu")?).ok()
}

/// The CPU time that a share allows in a period.
pub(super) fn share_of(elapsed: i64, share: i64) -> Option<i64> {
    elapsed.checked_mul(share)?.checked_div(i64::try_from(WHOLE).ok()?)
}
