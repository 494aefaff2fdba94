//! Something that happened, and when.

use std::ops::Deref;

use super::{Asked, Connection, Executed, KubeEvent, Line, Probe, Revision, SliceSeen};
use crate::EventId;
use crate::clocks::Stamp;

/// An event and its time. It can be used wherever a [`Stamp`] is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The event.
    pub id: EventId,
    /// Its time.
    pub stamp: Stamp,
}

impl At {
    /// An event at a time.
    #[must_use]
    pub fn new(id: EventId, stamp: Stamp) -> Self {
        Self { id, stamp }
    }

    /// The event and the time of something that happened.
    #[must_use]
    pub fn of(happened: &impl Happened) -> Self {
        Self { id: happened.id(), stamp: happened.when().clone() }
    }
}

impl Deref for At {
    type Target = Stamp;

    fn deref(&self) -> &Stamp {
        &self.stamp
    }
}

/// The end of an action, as the target recorded it. It can be used wherever the record itself is expected.
#[derive(Clone, Debug)]
pub struct Completion<'h, T> {
    /// The event and its time.
    pub at: At,
    /// What the target recorded.
    pub record: &'h T,
}

impl<T> Deref for Completion<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.record
    }
}

/// Something with an event and a time, such as an end of a measurement.
pub trait Happened {
    /// The event.
    fn id(&self) -> EventId;
    /// Its time.
    fn when(&self) -> &Stamp;
}

impl<T: Happened + ?Sized> Happened for &T {
    fn id(&self) -> EventId {
        (**self).id()
    }

    fn when(&self) -> &Stamp {
        (**self).when()
    }
}

impl Happened for At {
    fn id(&self) -> EventId {
        self.id
    }

    fn when(&self) -> &Stamp {
        &self.stamp
    }
}

impl<T> Happened for Completion<'_, T> {
    fn id(&self) -> EventId {
        self.at.id
    }

    fn when(&self) -> &Stamp {
        &self.at.stamp
    }
}

impl Happened for (EventId, &Stamp) {
    fn id(&self) -> EventId {
        self.0
    }

    fn when(&self) -> &Stamp {
        self.1
    }
}

macro_rules! happened {
    ($($record:ident),+) => {
        $(impl Happened for $record<'_> {
            fn id(&self) -> EventId {
                self.id
            }

            fn when(&self) -> &Stamp {
                &self.at
            }
        })+
    };
}

happened!(Asked, Connection, Executed, KubeEvent, Line, Probe, Revision, SliceSeen);
