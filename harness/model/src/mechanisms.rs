//! The shared tolerances: how much longer the kubelet, the runtime and the cluster's controllers take than a document
//! says, and how far a target's record can be off.
//!
//! Readings use these tolerances by name, and judges contain no numbers. A tolerance of a single clause is in its
//! `slack` or its `tolerances`.

use std::fmt;

use crate::measure::SECOND;

/// A tolerance that several clauses share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism<T> {
    /// Its name.
    pub name: &'static str,
    /// The value: microseconds, a share of one of a probe's own times, or a number of things.
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
    /// The kubelet's clock for a probe starts before the probe arrives, and stops after its answer: an answer may be
    /// this much earlier or later than the timeout and still count either way.
    NEAR = SECOND / 10;
    /// The runtime may take this long to start a command on a busy node: a probe with a shorter timeout may fail unseen.
    START_OF_A_COMMAND = 3 * SECOND;
    /// The runtime starts a process to end a command that exceeds its timeout. This took up to two seconds on a busy node.
    TO_END_A_COMMAND = 3 * SECOND;
    /// The kubelet may not know for this long that a container has restarted: it lists the containers once a second,
    /// and then syncs the pod. During that time it counts probe results for the previous instance.
    UNKNOWN_LIFE = 3 * SECOND;
    /// On a busy node, the kubelet may still be processing the start of a container instance this long after it.
    YOUNG = 3 * SECOND;
    /// On a busy node, the kill of a new container instance comes this much later: containers took up to three seconds
    /// to start in runs on two busy cores, and the kubelet's next list of them took as long again.
    TO_SETTLE = 6 * SECOND;
    /// The first delay between restarts. It doubles with each restart.
    FIRST_BACK_OFF = 10 * SECOND;
    /// The longest delay between restarts.
    LONGEST_BACK_OFF = 300 * SECOND;
    /// A restart may take this long beyond the back-off: the kubelet tries again every ten seconds, and the container
    /// needs time to start.
    TO_START = 15 * SECOND;
    /// The first restart has no back-off: the kubelet lists the containers once a second, syncs the pod, and starts the
    /// container, which took up to three seconds on two busy cores.
    TO_START_AGAIN = 5 * SECOND;
    /// A restarted kubelet needs this long before it syncs every pod: each container that ends during the start of
    /// the kubelet adds three seconds.
    TO_RESUME = 10 * SECOND;
    /// The watch shows a deletion that the harness did not request at most this much later than the kubelet learns
    /// about it.
    LATE_SIGHT = 2 * SECOND;
    /// After its preStop hook a container gets at least this long to stop, even if less of its grace period is left.
    LEAST_GRACE = 2 * SECOND;
    /// The kubelet counts a grace period in whole seconds, and the target sees the stop signal later than it is sent.
    WHOLE_SECOND = SECOND;
    /// A kubelet compares the volumes of its pods with what they need several times a second.
    VOLUMES_CHECKED = SECOND;
    /// After an EndpointSlice has changed, the proxy of a node may take this long to apply the change.
    PROXY = 2 * SECOND;
    /// The proxy of a node may gather the changes of EndpointSlices for this long before it applies them: some clusters
    /// set kube-proxy's minSyncPeriod to ten seconds.
    PROXY_GATHERS = 10 * SECOND;
    /// After a pod has changed, the EndpointSlice controller may take this long to update the EndpointSlices.
    SLICES = SECOND;
    /// Pods and slices have separate watches: the harness may receive an effect this much earlier than its cause.
    TWO_WATCHES = SECOND;
    /// The lines of a target may still be in transit for this long when a case ends.
    UNDER_WAY = 2 * SECOND;
    /// A kubelet builds a status, then reads the pod from the API server, and only then writes the status, so the status
    /// may be this old when it is written.
    TO_WRITE = 5 * SECOND;
    /// A kubelet may show the result of a container's last probe after the end of the container, until its next sync.
    TO_CORRECT = 3 * SECOND;
    /// A kubelet counts from startedAt, which is rounded down to a whole second, and the process begins after that,
    /// even later on a busy node: together at most this much.
    TO_BEGIN = 2 * SECOND;
    /// A target that opens its port within this time after its start counts as open to every probe.
    OPENED_AT_ONCE = SECOND;
    /// A success may be delayed in transit by this much without any trace.
    UNNOTICED = SECOND;
    /// The clocks of two programs cannot be compared more precisely than this: a probe at the exact instant is not
    /// early.
    CLOCKS_APART = SECOND / 100;
    /// A probe's clock starts before the target sees the probe, earlier by the time that a connection takes when
    /// nothing is stalled.
    TO_CONNECT = SECOND * 15 / 100;
    /// A stop signal can come before the process of a container runs only if the node was stalled or overloaded for at least this
    /// long before that: the kubelet first has to send a probe, to get its result, and to start the kill.
    TO_FAIL_UNSEEN = SECOND;
    /// The pod worker carries out a kill, and took up to three seconds to start it in runs that kept both cores busy.
    TO_STOP = 2 * SECOND;
    /// A request that follows a redirect may be seen this long after the probe's timeout: the target records it with a
    /// separate clock.
    REDIRECTED_LATE = SECOND;
    /// Two attempts of one probe follow each other at once: on an idle node they are never further apart than this.
    BETWEEN_TRIES = SECOND / 2;
    /// A process that was stalled within this time before it saw a connection may have accepted it late.
    BEFORE_ACCEPTED = 2 * SECOND;
    /// A process may be stalled for at most this long between reading a request and recording it.
    BEFORE_RECORDED = SECOND / 50;
    /// A stalled process catches up within this time after the end of the stall, in a burst; lines that it writes later
    /// are not late.
    STALL_LINGERS = SECOND / 10;
    /// On a saturated node a kubelet waits no longer than this for a processor, between the start of a probe's clock
    /// and the arrival of the probe: in a run with a load average of 75 on two processors a timeout of one second
    /// seemed 0.29 s short.
    SATURATION_DELAYS = SECOND;
    /// An overload of a node delays an effect by no more than this, however long the overload lasts, if the metronome keeps
    /// its pace. In runs of all core cases, whose pods overloaded a node with two processors, effects came at most 3.6 s
    /// after their bound.
    MOST_OVERLOAD = 10 * SECOND;
    /// A metronome that is later than this has not kept its pace. In the same runs, it was at most 1.0 s late. On a node
    /// where nothing got enough CPU time, it was late by minutes.
    LATE_BEAT = 2 * SECOND;
    /// If nothing passes between the API server and the harness for at least this long, which is longer than clauses
    /// allow for a status update, the API server counts as unreachable. Even on busy nodes, a status update takes less
    /// than this.
    OUTAGE = 2 * SECOND;
    /// A watch that had to list its objects again shows them within this time.
    LISTED_AGAIN = SECOND;
    /// The API truncates times to whole seconds.
    CUT_TO_SECONDS = SECOND;
    /// The wall clock of a node may be set back by this much without a trace: its distance from the monotonic clock is read
    /// only every few seconds, and drifts.
    CLOCK_STEP = SECOND;
}

mechanisms! {
    SHARES: Share;
    /// The first probe of a container arrives within two periods: a kubelet waits for a random part of the first
    /// period, so that not all probes of a node run at the same time.
    FIRST_TURNS = Share(2, 1);
    /// An answer within this share of the timeout is in time, however long the transit between kubelet and target
    /// takes.
    PROMPT = Share(1, 2);
    /// A probe without an answer for this share of the timeout, which the kubelet then closed, timed out: the kubelet's
    /// clock started before the probe arrived.
    TIMED_OUT = Share(9, 10);
    /// An answer that takes this share of the timeout according to its plan is too late, even though pauses of a plan
    /// are not exact.
    FAR_TOO_LATE = Share(3, 2);
    /// If two probes are further apart than this share of the period, one may have been lost between them.
    ONE_MISSED = Share(3, 2);
    /// Two attempts of one probe are closer together than this share of the period; two probes are not.
    BETWEEN_PROBES = Share(1, 4);
    /// As long as the kubelet sends a probe, it comes within two periods: one period until it is next due, and one more
    /// because it can be late. If none comes for that long, the kubelet has stopped sending it.
    PERIODS_TO_COME = Share(2, 1);
    /// An answer within half of the period is quick: it cannot delay the next probe.
    QUICK = Share(1, 2);
    /// If a probe comes half a period away from its schedule, the reason is not lateness.
    OFF_BEAT = Share(1, 2);
    /// A probe that comes at most this share of its period before or after it is due is on time.
    ON_TIME = Share(1, 4);
    /// If all processors of a node are busy, but only a few tasks wait for each of them, events are late by less than
    /// this share of the time: with a load average of 30 on two processors, statuses came at most 3.3 s after their
    /// probes.
    ONLY_BUSY = Share(1, 2);
    /// An overloaded node needs as much time again to complete the work that has piled up: statuses of pods were late
    /// for seconds after thirty tasks had waited for two processors.
    CATCH_UP = Share(1, 1);
    /// During a long period on an overloaded node, many things happen one after the other, and each of them may be late. So an
    /// overload may excuse this share of a time, if that is more than `MOST_OVERLOAD`.
    OF_LONG_OVERLOAD = Share(1, 2);
    /// Noise of more than half of the timeout makes a result doubtful: the kubelet may have received an answer that the
    /// target sent too late, or missed one that was in time.
    DOUBTFUL = Share(1, 2);
    /// If noise filled this share of a time, the rest proves nothing: it consists of short pieces, and everything that had
    /// waited ran in them. On a machine that was stalled for 22 of 30 seconds, a faithful kubelet sent no probe at all.
    MOSTLY = Share(2, 3);
}

mechanisms! {
    COUNTS: u64;
    /// The kubelet drops events about a pod after a burst of 25; if this many warnings were recorded, another one may
    /// have been dropped.
    CROWD = 20;
    /// This many connections from a wrong place, each at a time at which only the probe was due, cannot have another
    /// source.
    STRAYS = 3;
}
