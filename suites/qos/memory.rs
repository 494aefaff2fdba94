//! Memory that a process takes, according to its own record.

use probity_model::timeline::{Life, Line};
use probity_script::{Consumer, Fact};

use crate::reading::qos::amount;
use crate::reading::quantities::WHOLE;

/// A process that takes memory: how much it is planned to take, and the records of how much it took.
pub(super) struct Taking<'t, 'h> {
    /// The planned total in bytes.
    pub(super) planned: i128,
    /// The limit of its container in bytes.
    pub(super) limit: Option<i128>,
    /// The request of its container in bytes.
    pub(super) request: Option<i128>,
    /// The records of how much memory it has taken.
    pub(super) records: Vec<(&'t Line<'h>, i128)>,
}

impl<'t, 'h> Taking<'t, 'h> {
    /// Reads an instance; `None` unless its plan takes memory exactly once.
    pub(super) fn of(life: &Life<'t, 'h>) -> Option<Self> {
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

    /// The first record of more than this number of bytes.
    pub(super) fn more_than(&self, bytes: i128) -> Option<&'t Line<'h>> {
        self.records.iter().find(|(_, taken)| *taken > bytes).map(|(line, _)| *line)
    }
}
