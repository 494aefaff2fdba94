//! The language of cases: what is arranged, so that clauses can be judged.
//!
//! A case is one YAML file: a story, the clauses that it must give evidence for, pods as Kubernetes writes them, the
//! targets' plans, and steps. There is no logic in it and nothing is asserted by it; at most it has expectations from
//! a small closed vocabulary, for a reproduction that no clause covers yet. `matrix` makes several cases of one
//! file by writing literal values in the place of `${axis}`, or by making sidecars of containers.
//!
//! Beside the language stand its two readings: [`manifest`] says what is sent to the API server for a case, and
//! [`wait`] whether a history has what a step waits for. The crate reads no file and knows no cluster.

mod case;
pub mod forecast;
mod hint;
pub mod manifest;
mod matrix;
mod name;
pub mod names;
mod placement;
pub mod pod_rules;
mod role;
mod step;
mod step_words;
pub mod wait;
mod waiting;
mod workload;

pub use case::{Case, CasePod, ONLY, WrittenCase};
pub use hint::HintKind;
pub use matrix::masked;
pub use name::{CaseName, Profile};
pub use placement::{Placement, Toleration};
pub use step::{
    ChangeStep, ContainerRef, DeleteStep, EphemeralStep, ExecStep, MarkStep, MetricsStep, NodeStep,
    PatchStep, ScaleStep, Step, TryStep,
};
pub use step_words::flow;
pub use waiting::{AskedCondition, EventCondition, ServingCondition, Wait};
pub use workload::{KINDS as WORKLOAD_KINDS, UpdateStep, Workload};

#[cfg(test)]
mod tests;
