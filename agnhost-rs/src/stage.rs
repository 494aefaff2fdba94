//! The stage: the plan in force, the number of requests to each endpoint, and the events that have happened.
//!
//! All parts that answer use this module to find out which answer is due. A change replaces the whole plan, so a request
//! sees either all of a change or nothing of it. The witness line of the change is between the lines of the requests
//! before it and after it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};

use probity_script::witness::{ChangeSeen, Mark, ResetSeen};
use probity_script::{Change, Changed, Choice, Fact, Moment, Plan, Script, Span};
use tokio::sync::watch;

use crate::locks::{lock, read, write};
use crate::witness::{Stamp, Witness};

/// The plan in force and what its conditions depend on. Cheap to clone.
#[derive(Clone)]
pub struct Stage {
    shared: Arc<Shared>,
}

struct Shared {
    witness: Witness,
    original: Arc<Plan>,
    live: RwLock<Arc<Plan>>,
    changes: Mutex<u64>,
    counters: Mutex<BTreeMap<String, BTreeMap<String, u64>>>,
    marks: RwLock<BTreeMap<String, u64>>,
    turns: watch::Sender<u64>,
}

impl Stage {
    /// A stage with this plan in force.
    #[must_use]
    pub fn new(plan: Plan, witness: Witness) -> Self {
        let original = Arc::new(plan);
        let live = RwLock::new(Arc::clone(&original));
        let (changes, counters, marks) = (Mutex::default(), Mutex::default(), RwLock::default());
        let turns = watch::Sender::new(0);
        Self { shared: Arc::new(Shared { witness, original, live, changes, counters, marks, turns }) }
    }

    /// The witness that belongs to this stage.
    #[must_use]
    pub fn witness(&self) -> &Witness {
        &self.shared.witness
    }

    /// Calls `act` with the plan, which cannot change meanwhile. A witness line that `act` writes is on the same side of
    /// a change as the plan that it used.
    pub fn with_plan<R>(&self, act: impl FnOnce(&Plan) -> R) -> R {
        act(&read(&self.shared.live))
    }

    /// The plan in force.
    #[must_use]
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&read(&self.shared.live))
    }

    /// A watch that changes after each change of the plan and each event, so that its receivers can check the plan again.
    #[must_use]
    pub fn turns(&self) -> watch::Receiver<u64> {
        self.shared.turns.subscribe()
    }

    /// Counts one more probe at an endpoint (`listener` and path or service; `exec` and a command's name).
    pub fn count(&self, group: &str, name: &str) -> u64 {
        let mut counters = lock(&self.shared.counters);
        if let Some(count) = counters.get_mut(group).and_then(|names| names.get_mut(name)) {
            *count += 1;
            return *count;
        }
        counters.entry(group.to_owned()).or_default().insert(name.to_owned(), 1);
        1
    }

    /// The number of requests to the endpoint so far.
    #[must_use]
    pub fn counted(&self, group: &str, name: &str) -> u64 {
        lock(&self.shared.counters).get(group).and_then(|names| names.get(name)).copied().unwrap_or(0)
    }

    /// All counters, by group and name.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        lock(&self.shared.counters).clone()
    }

    /// Chooses the answer that `script` has for this probe, now.
    #[must_use]
    pub fn choose<A: Clone>(&self, script: &Script<A>, endpoint: ProbedEndpoint<'_>) -> Choice<A> {
        let since = if script.waits_for().next().is_some() { self.since() } else { BTreeMap::new() };
        let dice = self.shared.original.dice(endpoint.name);
        let moment = Moment {
            attempt: self.shared.witness.identity().attempt,
            elapsed: self.shared.witness.clock().elapsed(),
            probe: endpoint.probe,
            host: endpoint.host,
            since: &since,
            dice,
        };
        script.choose(&moment)
    }

    /// How long ago each event happened.
    #[must_use]
    pub fn since(&self) -> BTreeMap<String, Span> {
        let now = self.shared.witness.clock().mono_us();
        let ago = |at: &u64| Span::from_micros(now.saturating_sub(*at));
        read(&self.shared.marks).iter().map(|(name, at)| (name.clone(), ago(at))).collect()
    }

    /// Sets a mark. If the mark was set before, the time since the mark starts again from zero.
    pub fn mark(&self, name: &str, by: &str) -> Stamp {
        let mut marks = write(&self.shared.marks);
        let fact = Fact::Mark(Mark { name: name.to_owned(), by: by.to_owned() });
        let stamp = self.shared.witness.arrival(&fact);
        marks.insert(name.to_owned(), stamp.at.mono_us);
        drop(marks);
        self.turn();
        stamp
    }

    /// Puts a change into force.
    ///
    /// # Errors
    ///
    /// If the change does not fit the plan. In that case, nothing has changed.
    pub fn change(&self, change: Change) -> Result<Changed, String> {
        let text = serde_json::to_string(&change).map_err(|error| error.to_string())?;
        let mut live = write(&self.shared.live);
        let (plan, endpoints) = change.apply(&live)?;
        // Recorded under the lock: requests before this line saw the old plan, and requests after it see the new one.
        let stamp = self
            .shared
            .witness
            .arrival(&Fact::Change(ChangeSeen { endpoints: endpoints.clone(), change: text }));
        *live = Arc::new(plan);
        drop(live);
        *lock(&self.shared.changes) += 1;
        self.turn();
        Ok(Changed { seq: stamp.seq, mono_us: stamp.at.mono_us, wall_us: stamp.at.wall_us, endpoints })
    }

    /// Undoes all changes, removes all events except stop signals, and counts probes from 1 again.
    pub fn reset(&self) -> Stamp {
        let mut live = write(&self.shared.live);
        let changes = std::mem::take(&mut *lock(&self.shared.changes));
        let stamp = self.shared.witness.arrival(&Fact::Reset(ResetSeen { changes }));
        *live = Arc::clone(&self.shared.original);
        drop(live);
        lock(&self.shared.counters).clear();
        write(&self.shared.marks).retain(|name, _| name == STOP_EVENT);
        self.turn();
        stamp
    }

    fn turn(&self) {
        self.shared.turns.send_modify(|turn| *turn += 1);
    }
}

/// The group that counts the connections of each listener. No listener can have this name or the names below.
pub const CONNECTIONS: &str = "@connections";

/// The group that counts commands by name.
pub const EXEC: &str = "@exec";

/// The group that counts stop signals.
pub const PROCESS: &str = "@process";

/// The event of a stop signal.
pub const STOP_EVENT: &str = "sigterm";

/// The endpoint that received a probe, for choosing its answer.
#[derive(Clone, Copy, Debug)]
pub struct ProbedEndpoint<'a> {
    /// A stable name of the endpoint. The random choices of its script depend on this name.
    pub name: &'a str,
    /// The probe's number.
    pub probe: u64,
    /// The requested host.
    pub host: Option<&'a str>,
}

#[cfg(test)]
mod tests;
