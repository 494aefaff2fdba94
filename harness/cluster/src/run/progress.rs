//! The reports of a run while it is in progress. The front end shows them and writes them to the log.

use std::collections::BTreeMap;

use probity_case::CaseName;
use probity_model::History;
use probity_model::history::NodeFacts;
use probity_model::verdict::Skip;
use probity_report::run_log::Usage;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// The capacity of the run that a case takes. The next case starts when this is dropped, so the front end keeps it until
/// it has stored the history: histories that are not stored yet fill the memory.
#[derive(Debug, Default)]
pub struct Room(#[expect(dead_code, reason = "it is only dropped")] Option<OwnedSemaphorePermit>);

impl From<OwnedSemaphorePermit> for Room {
    fn from(permit: OwnedSemaphorePermit) -> Self {
        Self(Some(permit))
    }
}

/// Something happened in a run. All times are microseconds since its start.
#[derive(Debug)]
pub enum Progress {
    /// The cluster is prepared, and the cases begin.
    Ready {
        /// The name of the context.
        context: String,
        /// The UID that identifies the cluster; empty if unknown.
        cluster_uid: String,
        /// The version of the API server.
        server: String,
        /// The namespace.
        namespace: String,
        /// The nodes that the harness may read.
        nodes: BTreeMap<String, NodeFacts>,
        /// The digest of the image, from the status of the recorder pod.
        image: String,
        /// When.
        us: i64,
    },
    /// A case began.
    Began {
        /// The case.
        case: CaseName,
        /// When.
        us: i64,
    },
    /// A case does something, or waits for it.
    Doing {
        /// The case.
        case: CaseName,
        /// What, in words.
        what: String,
        /// When.
        us: i64,
    },
    /// A case ended, with everything that happened in it.
    Ended {
        /// The case.
        case: CaseName,
        /// Its history.
        history: Box<History>,
        /// When it began.
        began_us: i64,
        /// When it ended.
        us: i64,
        /// The capacity that the case holds until its history is stored.
        room: Room,
    },
    /// A case did not run.
    Skipped {
        /// The case.
        case: CaseName,
        /// Why.
        reason: Skip,
        /// Why, in a sentence.
        why: String,
    },
    /// A case could not be arranged, because of the harness or of the cluster.
    Broken {
        /// The case.
        case: CaseName,
        /// Why, in a sentence.
        why: String,
        /// What happened before the failure. This history is evidence, but it is not judged.
        history: Box<History>,
        /// The capacity that the case holds until its history is stored.
        room: Room,
    },
    /// Few cases are left. The front end is asked which cases should run again now.
    Undecided {
        /// The channel for the answer: the names of these cases. Without an answer, the run ends.
        again: oneshot::Sender<Vec<CaseName>>,
    },
    /// Something that the user should know.
    Warning(String),
    /// An object could not be removed.
    Leftover {
        /// The object.
        what: String,
        /// Why.
        why: String,
    },
    /// Everything is done and cleaned up.
    Finished(Usage),
}
