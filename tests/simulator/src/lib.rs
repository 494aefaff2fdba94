//! A kubelet in virtual time, with the API server and the endpoint controller around it, and the list of their possible
//! defects.
//!
//! [`simulate`] takes a case and writes the history that the harness would have recorded on a cluster of one node. The
//! targets send what `probity_script::wire` composes, as the real target does. The simulator exists to plant defects
//! that the judges must detect. It never replaces a cluster as evidence. It does not use a clock, files or real
//! randomness:
//! the same case, defects and seed give the same history, byte for byte.

mod amounts;
mod api;
mod budgets;
mod call;
mod collection;
mod conditions;
mod critical;
mod defects;
mod director;
mod endpoints;
mod ephemeral;
mod evictions;
mod gates;
mod identity;
mod kubelet;
mod node_facts;
mod node_loss;
mod node_shutdown;
mod node_verbs;
mod oddities;
mod pod;
mod pressure;
mod priorities;
mod processors;
mod resize;
mod settings;
mod shortage;
mod staged;
mod static_pods;
mod sysctls;
mod taints;
mod target;
mod templates;
mod updates;
mod users;
mod validation;
mod world;

use std::borrow::Cow;
use std::collections::BTreeSet;

use probity_case::Case;
use probity_model::History;

pub use defects::Defect;
pub use oddities::Oddity;

/// The case as the harness uses it once it knows the node of static pods.
fn placed(case: &Case) -> Cow<'_, Case> {
    if case.has_static_pods() {
        return Cow::Owned(case.clone().with_static_pods_on(probity_composer::NODE));
    }
    Cow::Borrowed(case)
}

/// The history of a case on a cluster with these defects; without defects, the cluster is faithful.
#[must_use]
pub fn simulate(case: &Case, defects: &[Defect], seed: u64) -> History {
    world::World::new(&placed(case), defects, seed).run()
}

/// The history of a case on a faithful cluster on which something unusual happens.
#[must_use]
pub fn simulate_oddly(case: &Case, oddity: Oddity, seed: u64) -> History {
    let case = placed(case);
    let mut world = world::World::new(&case, &[], seed);
    world.oddity = Some(oddity);
    world.run()
}

/// The faithful history of a case, and the defects that it depended on. No other defect changes it.
#[must_use]
pub fn simulate_faithful(case: &Case, seed: u64) -> (History, BTreeSet<Defect>) {
    let case = placed(case);
    let world = world::World::new(&case, &[], seed);
    let depends_on = world.depends_on();
    let history = world.run();
    (history, depends_on.take())
}
