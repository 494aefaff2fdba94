//! The language of cases, which describes what to run so that clauses can be judged.
//!
//! A case is one YAML file: a story, the clauses that it must give evidence for, pods as Kubernetes writes them, the
//! targets' plans, and steps. It has no logic and no assertions, except expectations from a small closed vocabulary,
//! for bugs that no clause covers yet. `matrix` creates several cases from one file: it replaces `${axis}` with literal
//! values, or turns containers into sidecars.
//!
//! Two modules interpret the language: [`manifest`] generates the objects for the API server, and [`wait`] checks
//! whether a history meets the condition of a wait. The crate neither reads files nor connects to a cluster.

mod case;
mod effects;
pub mod forecast;
mod hint;
pub mod manifest;
mod matrix;
mod name;
pub mod names;
mod placement;
pub mod pod_rules;
mod reported;
mod role;
mod step;
mod step_words;
pub mod wait;
mod wait_conditions;
pub mod wide;
mod workload;

pub use case::{Case, CasePod, ONLY, WrittenCase};
pub use hint::HintKind;
pub use matrix::masked;
pub use name::{CaseName, Profile};
pub use placement::{Placement, Toleration};
pub use reported::{Reported, Shown};
pub use step::{
    ChangeStep, ContainerRef, DeleteStep, EphemeralStep, EvictStep, ExecStep, MarkStep, MetricsStep,
    NodeStep, PatchStep, ScaleStep, Step, TryStep,
};
pub use step_words::flow;
pub use wait_conditions::{AskedCondition, EventCondition, PodCondition, ServingCondition, Wait};
pub use wide::{AdvertiseStep, CordonStep, DrainStep, TaintStep, UntaintStep};
pub use workload::{KINDS as WORKLOAD_KINDS, UpdateStep, Workload};

#[cfg(test)]
mod tests;
