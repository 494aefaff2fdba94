//! What the kubelet, the runtime and the cluster's controllers take beyond what a document says, and how far a target's
//! record can be off: the tolerances that are facts about a mechanism.
//!
//! A reading uses these by name, and no judge has a number of its own: what one clause alone allows is in its `slack` and
//! its `tolerances`.

use std::fmt;

use crate::measure::SECOND;

/// A tolerance that several clauses share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism<T> {
    /// Its name.
    pub name: &'static str,
    /// How much: microseconds, a share of one of a probe's own times, or a number of things.
    pub amount: T,
    /// The reason.
    pub because: &'static str,
}

/// A share of one of a probe's own times, such as half of its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(i64, i64);

impl Share {
    /// This share of a time.
    #[must_use]
    pub const fn of(self, time: i64) -> i64 {
        time.saturating_mul(self.0) / self.1
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            1 => write!(f, "{} times", self.0),
            part => write!(f, "{}/{part}", self.0),
        }
    }
}

macro_rules! mechanisms {
    ($list:ident: $type:ty; $( $(#[doc = $because:literal])+ $name:ident = $amount:expr; )+) => {
        $( $(#[doc = $because])+ pub const $name: $type = $amount; )+
        /// All of them, for the book.
        pub const $list: &[Mechanism<$type>] =
            &[$( Mechanism { name: stringify!($name), amount: $name, because: concat!($($because),+) } ),+];
    };
}

mechanisms! {
    MECHANISMS: i64;
    /// The kubelet's clock for a probe starts before the probe arrives, and stops after its answer: an answer may be this
    /// much earlier or later than the timeout and still fall on either side of it.
    NEAR = SECOND / 10;
    /// The runtime may take this long to start a command on a busy node: a probe with a shorter timeout may fail unseen.
    START_OF_A_COMMAND = 3 * SECOND;
    /// The runtime starts a process to end a command that is too late, which took up to two seconds on a busy node.
    TO_END_A_COMMAND = 3 * SECOND;
    /// The kubelet may not know for this long that a container was started again: it lists the containers once a second,
    /// and syncs the pod then. What its probes meet meanwhile counts for the life before.
    UNKNOWN_LIFE = 3 * SECOND;
    /// A life is new to the kubelet on a busy node for this long after its start.
    YOUNG = 3 * SECOND;
    /// The kill of a new life comes this much later on a busy node: containers' starts took up to three seconds in runs on
    /// two busy cores, and the kubelet's next list of them took as long again.
    TO_SETTLE = 6 * SECOND;
    /// The first delay between restarts. It doubles with each restart.
    FIRST_BACK_OFF = 10 * SECOND;
    /// The longest delay between restarts.
    LONGEST_BACK_OFF = 300 * SECOND;
    /// A restart may take this long beyond the back-off: the kubelet tries again every ten seconds, and a container has to
    /// start.
    TO_START = 15 * SECOND;
    /// The first restart waits for no back-off: the kubelet lists the containers once a second, syncs the pod, and has a
    /// container to start, which took up to three seconds on two busy cores.
    TO_START_AGAIN = 5 * SECOND;
    /// A deletion that the harness did not ask for is sighted at most this much later than the kubelet knew of it.
    LATE_SIGHT = 2 * SECOND;
    /// A container gets at least this long to end after its hook, whatever is left of its grace period.
    LEAST_GRACE = 2 * SECOND;
    /// The kubelet counts a grace period in whole seconds, and the stop signal is seen later than it is sent.
    WHOLE_SECOND = SECOND;
    /// The proxy of a node may take this long after the EndpointSlice has changed.
    PROXY = 2 * SECOND;
    /// The EndpointSlice controller may take this long after the pod has changed.
    SLICES = SECOND;
    /// The watches of pods and of slices are two: what follows may be heard this much earlier than what it follows from.
    TWO_WATCHES = SECOND;
    /// The lines of a target may be under way for this long when a case ends.
    UNDER_WAY = 2 * SECOND;
    /// A target that opens its port within this long after its start was open to every probe.
    OPENED_AT_ONCE = SECOND;
    /// A success may be held up on its way by this much without any trace of it.
    UNNOTICED = SECOND;
    /// Clocks of two programs are not told apart better than this: a probe at the very instant is not early.
    CLOCKS_APART = SECOND / 100;
    /// A probe's clock starts before the target sees it, by the time that a connection takes where nobody is held up.
    TO_CONNECT = SECOND * 15 / 100;
    /// A kill is done by the pod's worker, which took up to three seconds to come to it in runs that kept both cores busy.
    TO_STOP = 2 * SECOND;
    /// A request that a redirect led to may be seen this long after the probe's timeout: the target writes it down on a
    /// clock of its own.
    REDIRECTED_LATE = SECOND;
    /// Two tries of one probe follow one another at once: on an idle node they are never further apart than this.
    BETWEEN_TRIES = SECOND / 2;
    /// A process that was held up within this time before it saw a connection can have accepted it late.
    BEFORE_ACCEPTED = 2 * SECOND;
    /// A stalled process catches up within this time of the stall's end, in a burst; what it writes down later is fresh.
    STALL_LINGERS = SECOND / 10;
    /// A kubelet waits no longer than this for a processor of a saturated node, between the start of a probe's clock and its
    /// arrival: in a run with a load average of 75 on two processors a timeout of one second seemed 0.29 s short.
    SATURATION_DELAYS = SECOND;
    /// The API writes times in whole seconds and cuts off the rest.
    CUT_TO_SECONDS = SECOND;
}

mechanisms! {
    SHARES: Share;
    /// The first probe of a container comes within two periods: a kubelet waits for a random part of the first, so that not
    /// all probes of a node come at once.
    FIRST_TURNS = Share(2, 1);
    /// An answer within this share of the timeout is in time, however long the way between kubelet and target takes.
    PROMPT = Share(1, 2);
    /// A probe that had no answer for this share of the timeout, and was then given up, timed out: the kubelet's clock had
    /// started before the probe arrived.
    TIMED_OUT = Share(9, 10);
    /// An answer that takes this share of the timeout by its plan is too late, though pauses of a plan are not exact.
    FAR_TOO_LATE = Share(3, 2);
    /// Between two probes that are further apart than this share of the period, one may have been lost on its way.
    ONE_MISSED = Share(3, 2);
    /// Two tries of one probe are closer together than this share of the period, and two probes are not.
    BETWEEN_PROBES = Share(1, 4);
    /// A probe comes within two periods of any instant at which it is sent at all: one period until its next turn, and one
    /// more because a turn can be late. When none comes for that long, the kubelet has stopped sending it.
    PERIODS_TO_COME = Share(2, 1);
    /// An answer within one half of the period is quick: it cannot delay the next probe.
    QUICK = Share(1, 2);
    /// A probe that comes one half of a period off its beat has another reason than lateness.
    OFF_BEAT = Share(1, 2);
    /// On a node whose processors are all busy, though few tasks wait for each, what comes late is late by less than this part
    /// of the time: with a load average of 30 on two processors, statuses came 3.3 s after their probes at most.
    ONLY_BUSY = Share(1, 2);
    /// What piled up on an overloaded node takes as long again to be done: statuses of pods came late for seconds after
    /// thirty tasks had waited for two processors.
    CATCH_UP = Share(1, 1);
    /// Noise of more than one half of the timeout makes a result doubtful: the kubelet can have received an answer that the
    /// target sent too late, or missed one that was in time.
    DOUBTFUL = Share(1, 2);
}

mechanisms! {
    COUNTS: u64;
    /// The kubelet drops events about a pod after 25 in a burst; where this many warnings were recorded, one more may have
    /// been dropped.
    CROWD = 20;
}
