//! Processor time that a process used, as the kernel counts it, between two views from inside.

use probity_model::timeline::{Life, Line};
use probity_script::Consumer;
use probity_script::witness::{Dump, Fact};

use crate::reading::qos::amount;
use crate::reading::quantities::WHOLE;

/// The kernel's count for the whole process.
const STAT: &str = "/proc/self/stat";
/// The place of the time in user mode behind the name of the program, by the manual of Linux.
const USER: usize = 11;
/// The place of the time in the kernel behind the name of the program, by the manual of Linux.
const KERNEL: usize = 12;
/// How long a unit of this count is: 100 of them make a second wherever Linux runs containers.
const TICK_US: i64 = 10_000;

/// What a process used between two views.
pub(super) struct Used<'t, 'h> {
    /// The first view.
    pub(super) from: &'t Line<'h>,
    /// The second view.
    pub(super) to: &'t Line<'h>,
    /// How much time was between them, in microseconds.
    pub(super) elapsed: i64,
    /// How much processor time was used, in microseconds.
    pub(super) used: i64,
}

/// The processor time that a process had used so far.
fn used(dump: &Dump) -> Option<i64> {
    let fields = dump.files.get(STAT)?.rsplit_once(')')?.1.split_whitespace();
    let fields: Vec<&str> = fields.collect();
    let of = |place: usize| fields.get(place)?.parse::<i64>().ok();
    of(USER)?.checked_add(of(KERNEL)?)?.checked_mul(TICK_US)
}

/// What a process that burns processor time used from its first view while it burned to its last one. None if it does not
/// burn, or was not seen twice meanwhile.
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
    // Of one process, on one clock: how the clock compares with others does not matter.
    let elapsed = i64::try_from(to.line.mono_us.checked_sub(from.line.mono_us)?).ok()?;
    (elapsed > 0).then_some(Used { from, to, elapsed, used: after - before })
}

fn is_of_processors(line: &Line<'_>, begins: bool) -> bool {
    matches!(&line.line.fact, Fact::Consumed(taken) if taken.resource == "cpu" && (taken.amount > 0) == begins)
}

/// The limit or the request of a container, in thousandths of a processor.
pub(super) fn share(life: &Life<'_, '_>, list: &str) -> Option<i64> {
    i64::try_from(amount(life.container.spec, list, "cpu")?).ok()
}

/// This share of a time.
pub(super) fn share_of(elapsed: i64, share: i64) -> Option<i64> {
    elapsed.checked_mul(share)?.checked_div(i64::try_from(WHOLE).ok()?)
}
